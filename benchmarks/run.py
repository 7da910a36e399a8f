"""`make bench`: what `launch` costs beside its limits and its peers, in one run; writes `benchmarks/results.md`."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import Cost, medians
from benchmarks.peers import HUNDRED, PEERS, STANDINS, Peer

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results.md")
ROUNDS = 11
LAUNCH = [sys.executable, "-m", "launcher"]

BARE = "python -c pass"
"""How fast the machine is just now: what every start of a Python costs."""
OURS = {
    BARE: [sys.executable, "-c", "pass"],
    "one pydantic model": [sys.executable, str(Path(__file__).with_name("one_model.py"))],
    "launch --help": [*LAUNCH, "--help"],
    "launch check": [*LAUNCH, "check", "quickstart"],
    "launch plan": [*LAUNCH, "plan", "quickstart"],
    "launch render": [*LAUNCH, "render", "quickstart", "--cluster", "gb300"],
    "launch images matrix": [*LAUNCH, "images", "matrix", "--changed-since", "HEAD"],
}

MANY = {"launch": [sys.executable, str(HUNDRED / "launch_recipes.py")]}

Limit = tuple[str, float, float, str]
"""(what, measured, limit, unit)"""

Many = tuple[dict[str, float], float]
"""(CPU seconds of one of a hundred: `check`, `all`; peak MB of the process)"""


def commands(costs: dict[str, Cost]) -> Iterator[str]:
    """The table of commands."""
    yield "| command | CPU s | × bare Python | wall s | peak MB |"
    yield "|---|---|---|---|---|"
    bare = costs[BARE].cpu
    for name, one in costs.items():
        yield f"| `{name}` | {one.cpu:.3f} | {one.cpu / bare:.1f} | {one.wall:.3f} | {one.peak:.0f} |"


def growth(plans: dict[int, float]) -> Iterator[str]:
    """The table of plans."""
    yield "| nodes × 4 GPUs | CPU s | µs a node |"
    yield "|---|---|---|"
    for nodes, seconds in plans.items():
        yield f"| {nodes} | {seconds:.3f} | {seconds / nodes * 1e6:.0f} |"


def hundred(many: Mapping[str, Many]) -> Iterator[str]:
    """The table of a hundred jobs in one process."""
    yield "| program | ms a job, checked alone | ms a job, rendered too | peak MB |"
    yield "|---|---|---|---|"
    for name, (each, peak) in many.items():
        alone = f"{each['check'] * 1e3:.2f}" if "check" in each else "–"
        yield f"| `{name}` | {alone} | {each['all'] * 1e3:.2f} | {peak:.0f} |"


def limits(
    costs: dict[str, Cost], plans: dict[int, float], many: Mapping[str, Many], flags: Mapping[str, float]
) -> list[Limit]:
    """What issue and design promise, beside what was measured."""
    model, check = costs["one pydantic model"], costs["launch check"]
    least, most = min(plans), max(plans)
    return [
        ("`launch --help`, CPU", costs["launch --help"].cpu, 0.05, "s"),
        ("`launch check` over one pydantic model, CPU", check.cpu - model.cpu, 0.05, "s"),
        ("`launch check`, peak memory", check.peak, 40, "MB"),
        ("a recipe of a hundred checked in one process, CPU", many["launch"][0]["check"] * 1e3, 3, "ms"),
        *((f"flags of one role read and checked, {name}, CPU", each, 2, "ms") for name, each in flags.items()),
        ("plan of 2,500 nodes × 4 GPUs, CPU", plans[2500], 1.0, "s"),
        (f"growth from {least} to {most} nodes over linear", plans[most] / plans[least] / (most / least), 1.5, "×"),
    ]


def promises(rows: Sequence[Limit]) -> Iterator[str]:
    """The table of limits."""
    yield "| promise | measured | limit | |"
    yield "|---|---|---|---|"
    for what, measured, limit, unit in rows:
        yield f"| {what} | {measured:.3g} {unit} | {limit:g} {unit} | {'met' if measured <= limit else 'MISSED'} |"


def machine() -> str:
    """Processor, cores and system, for whoever compares."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    load = f"load average {os.getloadavg()[0]:.1f}"
    return f"{model}, {os.cpu_count()} cores, {load}, {platform.system()} {platform.release()}"


def report(
    promised: Sequence[Limit],
    costs: dict[str, Cost],
    plans: dict[int, float],
    many: Mapping[str, Many],
    peers: Sequence[Peer],
) -> str:
    """The whole of results.md."""
    ours = [f"{name} {version(name)}" for name in ("launcher", "pydantic")]
    programs = [f"Python {platform.python_version()}", *ours, *(f"{peer.package} {peer.version}" for peer in peers)]
    lines = [
        "# Measurements",
        "",
        f"Written by `make bench` on {time.strftime('%Y-%m-%d')}: {machine()}; {', '.join(programs)}.",
        f"Medians of {ROUNDS} runs in alternating order, all in one session; a busy machine makes all of them dearer.",
        "",
        *("## Promises", "", *promises(promised), ""),
        *("## Commands", "", *commands(costs), ""),
        *("vec-inf and submitit have no dry run: they submit to a stand-in of `sbatch`; submitit has no commands.", ""),
        *(
            "## A hundred jobs in one process",
            "",
            "CPU of one, to the words of its job.",
            "",
            *hundred(many),
            "",
        ),
        *("## Planning", "", "CPU seconds of `plan` alone, a worker on each node.", "", *growth(plans)),
    ]
    return "\n".join(lines) + "\n"


def printed(words: Sequence[str], rounds: int = 3) -> dict[str, float]:
    """The figures that a program of ours prints, the median of each over some runs."""
    runs = []
    for _ in range(rounds):
        done = subprocess.run(words, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout))
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def surround(folder: str) -> None:
    """A home without anything of the user's, and stand-ins of Slurm's programs, for all that is measured."""
    for name, text in STANDINS.items():
        program = Path(folder) / name
        program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        program.chmod(0o755)
    os.environ.update(HOME=folder, PATH=f"{folder}{os.pathsep}{os.environ['PATH']}")
    # Nobody compiles anew at each call; where a machine says so, figures would be of the compiler.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def main() -> int:
    words, many = dict(OURS), dict(MANY)
    for peer in PEERS:
        peer.install()
        words.update(peer.commands())
        many[peer.package] = peer.many()
    with tempfile.TemporaryDirectory() as folder:
        surround(folder)
        os.chdir(folder)
        costs = medians(words, ROUNDS)
        peaks = medians(many, 1)
        each = {name: (printed(one), peaks[name].peak) for name, one in many.items()}
        scale = printed([sys.executable, "-m", "benchmarks.plan_scale"], rounds=1)
        flags = printed([sys.executable, "-m", "benchmarks.flag_cost"])
    plans = {int(nodes): seconds for nodes, seconds in scale.items()}
    promised = limits(costs, plans, each, flags)
    text = report(promised, costs, plans, each, PEERS)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(measured <= limit for _, measured, limit, _ in promised) else 1


if __name__ == "__main__":
    raise SystemExit(main())
