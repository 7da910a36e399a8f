"""`make demo`: the quickstart from nothing to a completion and back to nothing, with the words a user would type.

Runs are kept in a folder of the demo's own, so that stopping all of them stops nobody else's; the folder goes
when all went well, and stays, named, when something failed. `python docs/demo.py SHIFT` begins with other ports.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LAUNCH = [sys.executable, "-m", "launcher"]
ROOT = Path(__file__).parents[1]
RECIPE = "quickstart"
PROMPT = "Say hello."


class Interrupted(Exception):
    """Somebody wants the demo to end."""


class Demo:
    """One demonstration: `state` holds its runs, `shift` moves its ports where others have them."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.env = {**os.environ, "XDG_STATE_HOME": str(state)}
        self.sets: list[str] = []
        self.plan: dict[str, Any] = {}
        self.caught: list[int] = []
        self.cleaning = False
        # Collected, not raised: an exception between the start of a program and its name for us would lose it.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, frame: self.caught.append(number))

    def choose_ports(self, first: int) -> None:
        """The first shift, from `first` in hundreds, whose every port is free."""
        for shift in range(first, first + 5000, 100):
            self.sets = ["--set", f"ports.shift={shift}"] if shift else []
            self.plan = json.loads(self.output("plan", RECIPE, "--json", *self.sets))["plan"]
            if all(free(port) for step in self.plan["steps"] for port in step["ports"].values()):
                return
        raise SystemExit("demo: no free ports found")

    def show(self, *words: str) -> None:
        """Runs `launch` as a user would, its command line above its output."""
        line = f"$ launch {' '.join(words)}"
        print(f"\n\033[1m{line}\033[0m" if sys.stdout.isatty() else f"\n{line}", flush=True)
        self.run(words)

    def output(self, *words: str) -> str:
        return self.run(words, stdout=subprocess.PIPE)

    def run(self, words: Sequence[str], stdout: int | None = None) -> str:
        """Runs `launch` in a group of its own: it is told of an interruption once, by us, and waited for."""
        self.ask()
        process = subprocess.Popen(
            [*LAUNCH, *words],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            text=True,
            process_group=0,
        )
        told = False
        while True:
            try:
                said, _ = process.communicate(timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                if self.caught and not (told or self.cleaning):
                    told = True
                    process.terminate()
        self.ask()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, f"launch {' '.join(words)}")
        return said or ""

    def ask(self) -> None:
        """Raises `Interrupted` where somebody wants the demo to end."""
        if self.caught and not self.cleaning:
            raise Interrupted

    def complete(self) -> None:
        """One chat completion through the public port, the answer printed."""
        url = f"{shown(self.plan['url'])}/v1/chat/completions"
        body = {"model": self.plan["served_name"], "messages": [{"role": "user", "content": PROMPT}]}
        text = json.dumps(body)
        print(f"\n$ curl {url} -H 'content-type: application/json' -d '{text}'")
        request = urllib.request.Request(url, text.encode(), {"content-type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            choice = json.load(answer)["choices"][0]
        print(f"{choice['message']['content']}   (finish_reason: {choice['finish_reason']})")

    def stop(self) -> None:
        """Stops every run of the demo, whatever state it is in; nothing cuts that short."""
        self.cleaning = True
        self.show("down", "--all")


def free(port: int) -> bool:
    """Whether nobody listens on the port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def shown(text: str) -> str:
    """A URL of the plan for this machine: the only late reference in it is the first node's address."""
    head, _, tail = text.partition("\ufdd0")
    return f"{head}127.0.0.1{tail.partition(chr(0xFDD1))[2]}" if tail else head


def main() -> int:
    began = time.monotonic()
    state = Path(tempfile.mkdtemp(prefix="launch-demo-"))
    demo = Demo(state)
    done = False
    try:
        demo.choose_ports(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
        demo.show("plan", RECIPE, "--graph", "text", *demo.sets)
        demo.show("up", RECIPE, "--wait", *demo.sets)
        demo.complete()
        demo.show("ps")
        done = True
    except Interrupted:
        print("\ndemo: interrupted", file=sys.stderr)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"\ndemo: failed: {error}", file=sys.stderr)
    finally:
        demo.stop()
    if not done:
        print(f"demo: what happened is in {state}", file=sys.stderr)
        return 1
    shutil.rmtree(state)
    print(f"\nThat was all of it in {time.monotonic() - began:.1f} s, and nothing is left running.")
    print("Next: docs/guides/first-steps.md, or `.venv/bin/launch --help`.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
