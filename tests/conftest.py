"""What every suite shares: seconds per suite and figures, no skipping in CI, golden files, a Python 3.9."""

import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Machines are shared: how long an example took says nothing about the code.
settings.register_profile("launch", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "launch")

FIGURE = "figure"
"""Name of a property of a test that is printed at the end of the run."""


class Suites:
    """Counts tests and seconds of each folder of `tests/`; with `CI` set, a skipped test is a failed run."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()
        self.skipped = 0
        self.figures: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.figures += [str(value) for name, value in report.user_properties if name == FIGURE]
        suite = self.suite(report.nodeid)
        self.seconds[suite] += report.duration  # type: ignore[assignment]
        self.tests[suite] += report.when == "call"
        self.skipped += report.skipped and not hasattr(report, "wasxfail")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.skipped += report.skipped

    @staticmethod
    def suite(nodeid: str) -> str:
        parts = nodeid.partition("::")[0].split("/")
        return parts[1] if len(parts) > 2 else parts[-1].removesuffix(".py")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.figures:
            terminalreporter.section("figures")
            for figure in sorted(self.figures):
                terminalreporter.line(figure)
        terminalreporter.section("seconds per suite")
        for suite, seconds in sorted(self.seconds.items()):
            terminalreporter.line(f"{seconds:8.1f} s  {self.tests[suite]:5} tests  {suite}")
        if self.skipped and os.environ.get("CI"):
            terminalreporter.line(f"refused: {self.skipped} skipped; in CI every test must run", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden files instead of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    # Under `nohup`, or as a shell's background job, these are ignored, and a program we start would ignore them too.
    for number, handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    config.pluginmanager.register(Suites())


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Print a line at the end of the run, wherever the test runs: what was counted."""
    return lambda text: record_property(FIGURE, text)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare text with a golden file to the byte; `make golden` writes it instead."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; `make golden` writes it anew"

    return compare


def python39_path() -> str | None:
    """A Python 3.9: `$LAUNCH_PYTHON39`, one on PATH, or one that pyenv has."""
    home = Path(os.environ.get("PYENV_ROOT", Path("~/.pyenv").expanduser()))
    found = [os.environ.get("LAUNCH_PYTHON39"), *map(str, sorted(home.glob("versions/3.9.*/bin/python3.9")))]
    found.append(shutil.which("python3.9"))
    for program in filter(None, found):
        done = subprocess.run(
            [program, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True
        )
        if done.stdout.strip() == "(3, 9)":
            return program
    return None


@pytest.fixture(scope="session")
def python39() -> str:
    """Path of a real Python 3.9, the oldest the supervisor runs on."""
    program = python39_path()
    if program is None:
        pytest.fail("no Python 3.9 found: the supervisor's tests need one (pyenv install 3.9, or set LAUNCH_PYTHON39)")
    return program
