"""`--forks N`: N processes that run the tests side by side, forked once everything is collected.

Collecting takes longer than many a suite: every module is read, its assertions rewritten, the SDKs of all
platforms imported. Here it is done once for all, not by each process for itself. By default the tests of a
file stay in one process, so that what a file starts is started once; files are given out in their order as
processes become free. `--share test` gives out single tests.

A process that dies fails the test it ran; another goes on with what was left to it.
"""

import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn, cast

import pytest
from _pytest.config import create_terminal_writer
from _pytest.reports import TestReport

Group = Sequence[int]
"""Tests that stay together, by their place in the session."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("forks")
    group.addoption("--forks", type=int, default=0, metavar="N", help="processes that run tests; 0: this one")
    group.addoption("--share", choices=("file", "test"), default="file", help="what is given out at once")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Name no file before its dots: those of several files are mixed."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if config.option.forks and reporter is not None:
        reporter.showfspath = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run what was collected in forked processes, if asked to."""
    option = session.config.option
    failed = session.testsfailed and not option.continue_on_collection_errors
    if not option.forks or option.collectonly or failed or not session.items:
        return None
    # Each process has a directory of its own in this one.
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    _Crew(session, _groups(session.items, option.share)).run(option.forks)
    return True


def _groups(items: Sequence[pytest.Item], share: str) -> Iterator[Group]:
    def of(place: int) -> object:
        return place if share == "test" else items[place].nodeid.partition("::")[0]

    for _, places in groupby(range(len(items)), of):
        yield list(places)


@dataclass(slots=True)
class _Forked:
    """A process that runs tests. `left`: what it was given and has not begun; `runs`: what it is at."""

    number: int
    pid: int
    left: deque[int] = field(default_factory=deque[int])
    runs: int | None = None
    dismissed: bool = False


class _Crew:
    """Gives out tests and reports what comes of them, in the process that collected them."""

    def __init__(self, session: pytest.Session, groups: Iterator[Group]) -> None:
        self._session = session
        self._waiting = deque(groups)
        self._busy: dict[Connection, _Forked] = {}

    def run(self, count: int) -> None:
        """Until all tests are run, or one too many has failed."""
        try:
            for number in range(min(count, len(self._waiting))):
                self._fork(number)
            while self._busy:
                for ready in wait(list(self._busy)):
                    self._hear(cast(Connection, ready))
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)
        finally:
            for one in self._busy.values():
                os.kill(one.pid, signal.SIGKILL)
                os.waitpid(one.pid, 0)

    def _fork(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        ours, theirs = Pipe()
        pid = os.fork()
        if not pid:
            for other in [ours, *self._busy]:
                other.close()
            _serve(self._session, theirs, number)
        theirs.close()
        self._busy[ours] = _Forked(number, pid)

    def _hear(self, line: Connection) -> None:
        one = self._busy[line]
        try:
            word, said = line.recv()
        except (EOFError, ConnectionResetError):
            self._ended(line, one)
            return
        hook = self._session.config.hook
        match word:
            case "wants":
                self._give(line, one)
            case "begins":
                one.left.remove(said)
                one.runs = said
                item = self._session.items[said]
                hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            case "report":
                report = hook.pytest_report_from_serializable(config=self._session.config, data=said)
                hook.pytest_runtest_logreport(report=report)
            case "ends":
                one.runs = None
                item = self._session.items[said]
                hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            case _:
                raise RuntimeError(f"in process {one.number} of the tests:\n{said}")

    def _give(self, line: Connection, one: _Forked) -> None:
        group = self._waiting.popleft() if self._waiting else ()
        one.left.extend(group)
        one.dismissed = not group
        line.send(group)

    def _ended(self, line: Connection, one: _Forked) -> None:
        line.close()
        del self._busy[line]
        _, status = os.waitpid(one.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if one.dismissed and one.runs is None and not one.left and code == 0:
            return
        if one.runs is None:
            raise RuntimeError(f"process {one.number} of the tests ended with {code} between two tests")
        item = self._session.items[one.runs]
        why = f"the process that ran this test ended with {code}"
        died = TestReport(item.nodeid, item.location, {}, "failed", why, "call")
        self._session.config.hook.pytest_runtest_logreport(report=died)
        if one.left:
            self._waiting.appendleft(list(one.left))
        if self._waiting:
            self._fork(one.number)


# --- in the forked process --------------------------------------------------------------------------------


def _serve(session: pytest.Session, line: Connection, number: int) -> NoReturn:
    code = 1
    try:
        _become(session.config, line, number)
        _run_what_is_given(session, line)
        code = 0
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # nobody listens any more
    except BaseException:
        line.send(("broken", traceback.format_exc()))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # what the first process does at its end is not for this one to do


def _become(config: pytest.Config, line: Connection, number: int) -> None:
    """Share nothing that a process has to have for itself."""
    os.environ["PYTEST_XDIST_WORKER"] = f"gw{number}"  # as with `-n`
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"forked-{number}-{os.getpid()}"
    factory._basetemp.mkdir(mode=0o700)
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Terminal(config), "terminalreporter")
    # The files that output is captured in would have one position for all.
    capture: Any = plugins.get_plugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    plugins.register(_Teller(config, line), "hubbub-forked")


class _Terminal:
    """Where other plugins write what cannot wait for a report."""

    def __init__(self, config: pytest.Config) -> None:
        self._tw = create_terminal_writer(config, sys.stderr)


class _Teller:
    """Hands reports on to the process that reports."""

    def __init__(self, config: pytest.Config, line: Connection) -> None:
        self._config = config
        self._line = line

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._line.send(("report", data))


def _run_what_is_given(session: pytest.Session, line: Connection) -> None:
    """What comes after the last test of a group is asked for before it runs: fixtures end only after the last
    test that needs them."""
    given = _ask(line)
    while given:
        following: Group = ()
        for place, index in enumerate(given):
            if place == len(given) - 1:
                following = _ask(line)
                after = following[0] if following else None
            else:
                after = given[place + 1]
            line.send(("begins", index))
            session.config.hook.pytest_runtest_protocol(
                item=session.items[index], nextitem=None if after is None else session.items[after]
            )
            line.send(("ends", index))
        given = following


def _ask(line: Connection) -> Group:
    line.send(("wants", None))
    return line.recv()
