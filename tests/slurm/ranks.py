"""An engine whose ranks are tasks of one step, as TensorRT-LLM's are: a recipe, a role manifest, and its adapter."""

RECIPE = """\
schema = 1
name = "ranks"

[model]
served_name = "tiny"

[roles.worker]
manifest = "ranks"
gpus = 16
setup = "export FROM_SETUP=yes\\n: >/made-by-the-preamble"

[ready]
timeout = "120s"
"""
"""One engine whose ranks are tasks of one step on two nodes, public itself."""

MANIFEST = """\
schema = 1
name = "ranks"
about = "ranks of one program"
adapter = "ranks"
kind = "engine"
image = "sim"
[program]
command = ["{python}"]
[ports.http]
base = 6100
[[gates]]
kind = "http"
url = "http://{ip}:{port.http}/health"
"""

ADAPTER = """\
from launcher.roles.base import Task
from launcher.roles.command import gates
from launcher.roles.plain import Plain
from launcher.run.script import ref

RANK = '''
import json, os, signal, sys
env, words = os.environ, sys.argv[1:]
print(json.dumps({
    "rank": env["PMIX_RANK"], "space": env["PMIX_NAMESPACE"], "size": env["SLURM_NTASKS"],
    "server": os.path.isdir(env["PMIX_SERVER_TMPDIR"]), "node": os.uname().nodename,
    "gpus": env["CUDA_VISIBLE_DEVICES"], "made": os.path.exists("/made-by-the-preamble"),
}), flush=True)
if env["PMIX_RANK"] == "0":
    os.execv(sys.executable, [sys.executable, "-m", "launcher.sim", *words])
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    signal.pause()
'''


class Ranks(Plain):
    def tasks(self, replica, net):
        host, port = ref("ip", replica.nodes[0]), replica.ports["http"]
        own = (f"--host={host}", f"--port={port}", f"--served-model-name={net.served_name}")
        words = (ref("python"), "-c", RANK, *own)
        return (
            Task(words, gates=gates(replica, net), nodes=replica.nodes, processes=2 * len(replica.nodes), mpi=True),
        )


ADAPTER = Ranks()
"""
