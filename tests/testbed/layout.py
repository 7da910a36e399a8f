"""What a testbed looks like, and the configuration files of Slurm that make it so. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONTROLLER_PORT = 17000
"""Of slurmctld; node N listens on this plus N. Every testbed has network namespaces of its own."""

USERS: Mapping[str, int] = {"alice": 20001, "user": 20002}
"""Ordinary users of a testbed and their ids; `root` is there too."""


@dataclass(frozen=True)
class Layout:
    """The parts of a testbed that tests vary."""

    nodes: int = 4
    gpus: int = 8
    cpus: int = 32
    memory: int = 64000
    """MiB that each node claims to have."""
    affinity: bool = False
    """TaskPlugin=task/affinity: steps are bound to CPUs, so nodes claim no more than the machine has."""
    networks: tuple[str, ...] = ()
    """Interfaces that each node has, each a network of its own; none: all nodes share one loopback."""
    kill_wait: int = 5
    slurmd_timeout: int = 300
    """Seconds until Slurm takes a silent node for down."""
    pyxis: tuple[str, ...] | None = ()
    """Words of the plugin's line in plugstack.conf, `{root}` the testbed's folder; None: a site without pyxis."""
    lines: tuple[str, ...] = ()
    """More lines of slurm.conf."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names."""
        return tuple(f"node{number}" for number in range(1, self.nodes + 1))

    def address(self, number: int, network: int = 0) -> str:
        """Where node `number` (1 is the first, 0 the login node) is on a network."""
        return f"10.77.{network}.{100 + number}" if self.networks else "127.0.0.1"


_FIXED = """\
ClusterName=testbed
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
GresTypes=gpu
ReturnToService=2
JobRequeue=0
# Batch jobs start at once, and so do heterogeneous ones, which only the backfill scheduler starts.
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL MaxTime=1 State=UP
"""


def slurm_conf(layout: Layout, root: Path) -> str:
    """The text of slurm.conf for a testbed in `root`."""
    lines = [
        f"SlurmctldHost=login({layout.address(0)})",
        f"SlurmctldPort={CONTROLLER_PORT}",
        f"AuthInfo=socket={root}/munge/socket",
        f"StateSaveLocation={root}/state",
        f"SlurmctldPidFile={root}/slurmctld.pid",
        f"SlurmctldLogFile={root}/log/slurmctld",
        f"SlurmdSpoolDir={root}/local/spool",
        f"SlurmdPidFile={root}/local/slurmd.pid",
        f"SlurmdLogFile={root}/log/%n",
        f"PlugStackConfig={root}/etc/plugstack.conf",
        f"TaskPlugin={'task/affinity' if layout.affinity else 'task/none'}",
        f"KillWait={layout.kill_wait}",
        f"SlurmdTimeout={layout.slurmd_timeout}",
        *layout.lines,
        *_nodes(layout),
    ]
    return _FIXED + "\n".join(lines) + "\n"


def _nodes(layout: Layout) -> list[str]:
    gres = f" Gres=gpu:{layout.gpus}" if layout.gpus else ""
    shape = f"CPUs={layout.cpus} RealMemory={layout.memory}{gres} State=UNKNOWN"
    ports = f"[{CONTROLLER_PORT + 1}-{CONTROLLER_PORT + layout.nodes}]"
    if not layout.networks:
        return [f"NodeName=node[1-{layout.nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports} {shape}"]
    return [
        f"NodeName={name} NodeAddr={layout.address(number)} Port={CONTROLLER_PORT + number} {shape}"
        for number, name in enumerate(layout.names, 1)
    ]


def gres_conf(layout: Layout, root: Path) -> str:
    """The text of gres.conf: without device nodes Slurm never sets CUDA_VISIBLE_DEVICES."""
    if not layout.gpus:
        return ""
    return f"NodeName=node[1-{layout.nodes}] Name=gpu File={root}/local/dev/nvidia[0-{layout.gpus - 1}]\n"


def plugstack_conf(layout: Layout, root: Path, plugin: Path | None) -> str:
    """The text of plugstack.conf: `plugin` with its arguments, in each node's own folders."""
    if plugin is None or layout.pyxis is None:
        return ""
    words = [
        "required",
        str(plugin),
        f"runtime_path={root}/local/pyxis",
        f"data_path={root}/local/enroot",
        *(word.replace("{root}", str(root)) for word in layout.pyxis),
    ]
    return " ".join(words) + "\n"


def passwd(root: Path) -> str:
    """Lines for /etc/passwd: the testbed's users."""
    return "".join(f"{name}:x:{uid}:{uid}::{root}/home/{name}:/bin/bash\n" for name, uid in USERS.items())


def group(root: Path) -> str:
    """Lines for /etc/group: one group for each user."""
    return "".join(f"{name}:x:{uid}:\n" for name, uid in USERS.items())


def subuid() -> str:
    """The text of /etc/subuid and /etc/subgid: alice may have other users in her containers, user may not."""
    return "alice:200000:65536\n"


def hosts(layout: Layout) -> str:
    """The text of /etc/hosts on every node."""
    lines = ["127.0.0.1 localhost"]
    for number, name in enumerate(("login", *layout.names)):
        lines.append(f"{layout.address(number)} {name}")
        lines += [f"{layout.address(number, at)} {name}-{network}" for at, network in enumerate(layout.networks)]
    return "\n".join(lines) + "\n"
