"""The quickstart through the real router: what is printed is what runs, and nothing stays behind."""

import json
import shlex
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from launcher.run.script import Script, bind, load, to_data
from tests.end.block import listening
from tests.end.deployment import Deployment, cmdline, environ

PORTS = (6100, 6132, 8000, 29000)


def script(deployment: Deployment, *words: str) -> Script:
    shown = deployment("plan", *words, *deployment.ports, "--json")
    return load(json.dumps(json.loads(shown.stdout)["script"]))


def test_from_nothing_to_a_completion_and_back(deployment: Deployment) -> None:
    up = deployment.up("quickstart", "--wait")
    assert up.returncode == 0, up.stderr
    assert f"tiny is ready at {deployment.url}" in up.stdout
    assert up.stdout.splitlines()[-1].startswith(f"curl {deployment.url}/v1/chat/completions ")
    assert {deployment.complete()["system_fingerprint"] for _ in range(4)} == {"worker-0", "worker-1"}

    (run,) = json.loads(deployment("ps", "--json").stdout)["runs"]
    assert (run["id"], run["state"], run["url"]) == (deployment.run.name, "ready", deployment.url)
    assert [(step["name"], step["state"]) for step in run["steps"]] == [
        ("worker-0", "running"), ("worker-1", "running"), ("router", "running"),
    ]  # fmt: skip

    down = deployment("down", "last")
    assert (down.returncode, down.stdout) == (0, "")
    assert down.stderr == f"{deployment.run.name}: stopped by `down`\n"
    assert deployment.left() == []
    assert listening(base + deployment.shift for base in PORTS) == []
    assert deployment.outcome()["exit"] == 0
    assert json.loads(deployment("ps", "--json").stdout)["runs"] == []


def test_curl_line_is_one_that_works(deployment: Deployment) -> None:
    up = deployment.up("quickstart", "--wait")
    curl, url, h, header, d, body = shlex.split(up.stdout.splitlines()[-1])
    assert (curl, h, d) == ("curl", "-H", "-d")
    request = Request(url, body.encode(), dict([header.split(": ")]))
    with build_opener(ProxyHandler({})).open(request, timeout=30) as answer:
        assert json.load(answer)["choices"][0]["message"]["content"]


def test_what_is_executed_is_what_was_planned(deployment: Deployment) -> None:
    planned = script(deployment, "quickstart")
    assert deployment.up("quickstart", "--wait").returncode == 0
    run = deployment.run
    slots = json.loads((run / "slots.json").read_text())
    bound: Script = bind(planned, slots)
    executed = load((run / "bound.json").read_text())
    assert executed == bound

    started = {event["step"]: event for event in deployment.events() if event["event"] == "start"}
    assert {step: event["argv"] for step, event in started.items()} == {
        child.name: list(child.argv) for child in bound.children
    }
    for child in bound.children:
        if child.role == "worker":  # the router writes its own title over its words
            assert cmdline(started[child.name]["pid"]) == list(child.argv)
            variables = environ(started[child.name]["pid"]).split(b"\0")
            assert all(f"{name}={value}".encode() in variables for name, value in child.env.items())
    written = json.loads((run / "workers.json").read_text())
    assert written == next(to_data(file.data) for file in bound.files if file.path == "workers.json")
    assert (run / "plan.json").read_text() == deployment("plan", "quickstart", *deployment.ports, "--json").stdout[:-1]


def test_a_secret_is_seen_only_where_it_was_asked_for(deployment: Deployment) -> None:
    canary = "canary-7f3a9c51"
    words = ("--set", 'roles.worker.env_from=["HF_TOKEN"]')
    up = deployment.up("quickstart", "--wait", *words, env={"HF_TOKEN": canary})
    assert up.returncode == 0, up.stderr
    entitled = {deployment.pid(who) for who in ("keeper", "supervisor", "worker-0", "worker-1")}
    assert all(canary.encode() in environ(pid) for pid in entitled)
    everyone = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    assert {pid for pid in everyone if canary.encode() in environ(pid)} == entitled
    assert all(canary not in " ".join(cmdline(pid)) for pid in [*entitled, deployment.pid("router")])
    plan = deployment("plan", "quickstart", *words, "--json", env={"HF_TOKEN": canary})
    assert canary not in plan.stdout + up.stdout + up.stderr
    assert deployment("down", "last").returncode == 0
    written = [path for path in deployment.home.rglob("*") if path.is_file() and canary.encode() in path.read_bytes()]
    assert written == []


def test_the_demo_sequence(deployment: Deployment) -> None:
    for words in (
        ("plan", "quickstart", "--graph", "text", *deployment.ports),
        ("up", "quickstart", "--wait", *deployment.ports),
        ("ps",),
        ("logs", "last", "worker-0"),
        ("down", "last"),
    ):
        done = deployment(*words)
        assert done.returncode == 0, done.stderr
        assert done.stdout or words[0] == "down"
