"""The hub, the leader of a command, or both are killed between the programs of a line: nothing of it runs on,
the person is asked once what happened, and nothing is run twice."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Set
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.core.tools.processes_support import until
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, MortalHub, open_mortal_hub, survivors
from tests.crash.points import parse_commit_point

LINE = "./a && ./b | ./c"
PROGRAM = """#!/bin/sh
echo {name} >> ran
echo $PPID > at-{name}.new && mv at-{name}.new at-{name}
n=0
until [ -e go-{name} ] || [ $n -ge {tries} ]; do sleep 0.01; n=$((n + 1)); done
"""
TRIES = 12_000
"""Twice as long as any test waits: one that fails must not leave a program for ever."""
FORKS = "clone,clone3,fork,vfork"


@dataclass(frozen=True, slots=True)
class Moment:
    """A place between two programs: `reached` has begun and waits, the leader stops, those of `over` end.

    With `fork` the leader stops as it starts that many programs after `a`. `ran`: what has begun by then.
    """

    name: str
    reached: str
    over: str
    ran: str
    fork: int = 0

    def __str__(self) -> str:
        return self.name


IN_A = Moment("in a", reached="a", over="", ran="a")
AFTER_A = Moment("after a", reached="a", over="a", ran="a")
BETWEEN = Moment("between b and c", reached="a", over="a", ran="ab", fork=2)
AFTER_C = Moment("after c", reached="c", over="bc", ran="abc")


@pytest.mark.parametrize("killed", ["hub", "leader", "both"])
async def test_killed_after_its_first_program_a_line_is_asked_about_and_not_repeated(
    tmp_path: Path, killed: str
) -> None:
    await play(tmp_path, AFTER_A, killed)


async def test_the_hub_is_killed_while_a_program_continues(tmp_path: Path) -> None:
    """The program would not end by itself: the leader has to notice at once, not when it is over."""
    await play(tmp_path, IN_A, "hub")


@pytest.mark.slow
@pytest.mark.strace
@pytest.mark.parametrize("killed", ["hub", "leader", "both"])
@pytest.mark.parametrize("moment", [IN_A, BETWEEN, AFTER_C], ids=str)
async def test_killed_at_other_moments_a_line_is_asked_about_and_not_repeated(
    tmp_path: Path, moment: Moment, killed: str
) -> None:
    await play(tmp_path, moment, killed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "point,ran",
    [("record_process:1:before", ""), ("record_process:1:after", ""), ("finish_calls:1:before", "abc")],
)
async def test_killed_before_or_after_it_a_line_runs_whole_or_not_at_all(
    tmp_path: Path, point: str, ran: str
) -> None:
    """Before the gate opens nothing runs; when its outcome is about to be recorded, everything did."""
    async with open_mortal_hub(tmp_path) as town:
        lay_out(town)
        hub = await town.start(parse_commit_point(point))
        go(town, ran)
        await ask(town)
        await hub.wait(LIMIT_S)
        await until(lambda: not survivors(town), "all that ran is gone")
        await judge(town, {ran}, restart=True)


async def play(directory: Path, moment: Moment, killed: str) -> None:
    """The story, with a blow at the moment."""
    async with open_mortal_hub(directory) as town:
        lay_out(town)
        await town.start()
        await ask(town)
        await has_begun(town, "a")
        leader = int((town.workspace / "at-a").read_text())
        if moment.reached == "c":
            go(town, "a")
            await has_begun(town, "b")
            await has_begun(town, "c")
        async with held(town, leader, moment):
            if killed != "hub":
                os.kill(leader, signal.SIGKILL)
            if killed != "leader":
                await town.kill()
            with contextlib.suppress(ProcessLookupError):
                os.kill(leader, signal.SIGCONT)
            await until(lambda: not survivors(town), "all that ran is gone")
        may_have_run = {moment.ran, "abc"} if moment.fork and killed == "hub" else {moment.ran}
        await judge(town, may_have_run, restart=killed != "leader")


@contextlib.asynccontextmanager
async def held(town: MortalHub, leader: int, moment: Moment) -> AsyncIterator[None]:
    """The leader is stopped at the moment."""
    strace = None
    if moment.fork:
        strace = await stopping_at_fork(leader, moment.fork)
        go(town, moment.over)
        await has_begun(town, "b")
        await until(lambda: state(leader) in "tT", "the leader is stopped")
    elif moment.over:
        os.kill(leader, signal.SIGSTOP)
        go(town, moment.over)
        await until(lambda: survivors(town) == [leader], "only the leader is left")
    try:
        yield
    finally:
        if strace is not None:
            with contextlib.suppress(ProcessLookupError):
                strace.terminate()
            await strace.wait()


async def stopping_at_fork(leader: int, number: int) -> asyncio.subprocess.Process:
    """Have strace stop the leader as it begins to start the `number`-th program from now on."""
    strace = await asyncio.create_subprocess_exec(
        *("strace", "-p", str(leader), "-qq", "-o", os.devnull),
        *("-e", f"trace={FORKS}", "-e", f"inject={FORKS}:signal=SIGSTOP:when={number}"),
    )
    await until(lambda: "TracerPid:\t0" not in Path(f"/proc/{leader}/status").read_text(), "it is traced")
    return strace


def state(pid: int) -> str:
    """The letter of /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def lay_out(town: MortalHub) -> None:
    """The three programs."""
    for name in "abc":
        (town.workspace / name).write_text(PROGRAM.format(name=name, tries=TRIES))
        (town.workspace / name).chmod(0o755)


async def ask(town: MortalHub) -> None:
    """The owner asks for the line and agrees to it."""
    town.owner_says(f"please run: {LINE}")
    await town.telegram.wait_text(OWNER, "Run `", timeout_s=LIMIT_S)
    town.answer_cards(OWNER)


async def has_begun(town: MortalHub, name: str) -> None:
    await until((town.workspace / f"at-{name}").exists, f"{name} has begun")


def go(town: MortalHub, names: str) -> None:
    """Let these programs end."""
    for name in names:
        (town.workspace / f"go-{name}").touch()


async def judge(town: MortalHub, may_have_run: Set[str], *, restart: bool) -> None:
    """Nothing ran twice or too far, and one person is asked once, and told."""
    if restart:
        await town.start()
    await town.telegram.wait_text(OWNER, UNKNOWN, timeout_s=LIMIT_S)
    await town.answer_cards_until([OWNER], lambda: bool(town.answers(OWNER, "Done:")))
    ran = town.workspace / "ran"
    names = ran.read_text().split() if ran.exists() else []
    assert "".join(sorted(names)) in may_have_run
    assert len([message for message in town.shown_to(OWNER) if UNKNOWN in message.text]) == 1
    assert not survivors(town)
