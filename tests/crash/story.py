"""The scenario "message → model → approved shell tool that appends a line → answer", killed and judged."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path

from tests.crash.entry import RELEASED
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, MortalHub
from tests.crash.points import AtCommit, InHook, InModel, InTelegram, InTool, Point
from tests.harness.forking import Forked
from tests.simulators.model import Hold

ANSWER = "Done:"
LINE = "line"
BLOCKING = " && echo . | tee written && cat gate"
"""Tells that the line is written, then waits for a word that never comes."""
AS_TIME_ALLOWS = frozenset(
    {
        *("sendChatAction", "setMessageReaction", "editMessageText", "begin_preview", "record_preview"),
        *("link_audit", "expire_gates", "remind_gates", "renew_lease", "begin_runs", "index_said"),
    }
)
"""How often these come depends on how long a story takes: not every telling passes each of their points."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The facts about a kill. `trace`: what the dead hub had passed."""

    point: Point
    trace: tuple[str, ...]

    @property
    def in_window(self) -> bool | None:
        """Between the commit that marks the call running and the one that records its outcome; None where
        one of the two was under way when something else killed the hub."""
        if self._under_way("mark_running") or self._under_way("finish_calls"):
            return None
        return "mark_running:1:after" in self.trace and "finish_calls:1:after" not in self.trace

    def _under_way(self, unit: str) -> bool:
        before = f"{unit}:1:before"
        return before in self.trace and f"{unit}:1:after" not in self.trace and before != str(self.point)


async def play(
    town: MortalHub, point: Point | None, request: str = "", *, lease_s: float | None = None
) -> Kill | None:
    """The whole story; with a point, the hub is killed there and started again. `request`: what the owner
    says instead of asking for the line. `lease_s`: the hub is not killed but suspended for more than three
    leases that last so long, while another takes over."""
    kill, stopped_at = None, 0.0
    at = point if isinstance(point, AtCommit) else None
    hub = await (town.start(at) if lease_s is None else town.start(stop_at=at, lease_s=lease_s))
    held = _arm(town, point)
    if isinstance(point, InTool):
        make_gates(town)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(_people(town, request or _line(blocking=isinstance(point, InTool))))
        if point is not None:
            await struck_or_over(point, _until_struck(town, point, hub, lease_s), people)
            if lease_s is None:
                await town.kill()
            else:
                await suspend(town, hub)
            stopped_at = time.monotonic()
            kill = Kill(point, tuple(town.trace()))
            if held is not None:
                town.telegram.clear_faults()
            town.model.clear_faults()
            await town.start(lease_s=lease_s)
        await people
        # The people may have been content before the kill: let the hub pick up what it had left.
        await town.telegram.wait_for(town.listens, LIMIT_S)
    if lease_s is not None:
        # Real time is what is tested here: the leases that lapse are of a process that sleeps.
        await asyncio.sleep(max(0, stopped_at + 4 * lease_s - time.monotonic()))
        written = lines_written(town)
        (town.directory / RELEASED).touch()
        hub.send_signal(signal.SIGCONT)
        assert await hub.wait(LIMIT_S) == 1, "the hub that was suspended ends by itself"
        assert lines_written(town) == written, "it has no effect any more"
    return kill


async def suspend(town: MortalHub, hub: Forked) -> None:
    """Suspend the whole process, but not within a commit: it would keep the database from everybody."""
    while True:
        hub.send_signal(signal.SIGSTOP)
        await is_suspended(hub)
        with contextlib.closing(sqlite3.connect(town.directory / "data" / "hub.db", timeout=0.1)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                hub.send_signal(signal.SIGCONT)
            else:
                return


async def is_suspended(hub: Forked) -> None:
    """Wait until the process is."""
    stat = Path(f"/proc/{hub.pid}/stat")
    async with asyncio.timeout(LIMIT_S):
        while stat.read_text().rpartition(")")[2].split()[0] != "T":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.005)


def _arm(town: MortalHub, point: Point | None) -> object:
    match point:
        case InTelegram(method, nth):
            return town.telegram.fail("hold", method=method, skip=nth - 1, count=1)
        case InModel(nth) if nth == 1:
            return town.model.fault(Hold(at="before_headers"))
        case InHook() if town.hooks is not None:
            return town.hooks.hold(point)
        case _:
            return None


async def struck_or_over(
    point: object, struck: Coroutine[None, None, None], people: asyncio.Task[None]
) -> None:
    """Until the hub is at the point, or the people are content without it where that can be."""
    striking = asyncio.create_task(struck)
    try:
        if AS_TIME_ALLOWS & set(str(point).split(":")):
            await asyncio.wait([people, striking], return_when=asyncio.FIRST_COMPLETED)
            if not striking.done():
                return
        await striking
    finally:
        striking.cancel()


async def _until_struck(town: MortalHub, point: Point, hub: Forked, lease_s: float | None) -> None:
    """Until the hub is at the point: dead or suspended already, or inside what is held."""
    match point:
        case AtCommit():
            await (hub.wait(LIMIT_S) if lease_s is None else is_suspended(hub))
        case InTelegram():
            await town.telegram.wait_held(timeout_s=LIMIT_S)
        case InModel(nth):
            if nth == 2:
                await town.telegram.wait_text(town.chat_id, "Run `", timeout_s=LIMIT_S)
                town.model.fault(Hold(at="before_headers"))
            await town.model.wait_requests(state="held", timeout_s=LIMIT_S)
        case InTool():
            await asyncio.to_thread(wait_for_writer, town)
        case InHook():
            assert town.hooks is not None
            await town.hooks.wait_held(LIMIT_S)


def make_gates(town: MortalHub) -> None:
    """Return what a blocking tool tells through, and waits at."""
    for name in ("written", "gate"):
        os.mkfifo(town.workspace / name)


def wait_for_writer(town: MortalHub) -> None:
    """The tool opens the pipe for writing once its line is written."""
    with (town.workspace / "written").open() as pipe:
        pipe.read(1)


def _line(*, blocking: bool) -> str:
    return f"please run: echo {LINE} >> out" + (BLOCKING if blocking else "")


async def _people(town: MortalHub, request: str) -> None:
    town.owner_says(request)

    def news() -> bool:
        return town.has_unpressed(OWNER) or finished(town)

    while not finished(town):
        await town.telegram.wait_for(news, LIMIT_S)
        town.answer_cards(OWNER)


def finished(town: MortalHub) -> bool:
    """Answered, nothing open, nothing left for the hub to fetch, and it listens again."""
    return bool(
        town.answers(OWNER, ANSWER)
        and not town.open_cards(OWNER)
        and town.telegram.all_confirmed()
        and town.listens()
    )


async def judge(town: MortalHub, kill: Kill | None) -> None:
    """The promises, from what the platform saw and what is on disk."""
    lines = lines_written(town)
    asked = [message for message in town.shown_to(OWNER) if UNKNOWN in message.text]
    in_window = False if kill is None else kill.in_window
    if in_window is None:
        in_window = bool(asked)
    assert len(lines) <= 1, f"the line was written {len(lines)} times"
    if not in_window:
        assert lines == [LINE], "the line was not written"
    assert bool(asked) == in_window, "unknown is reported exactly for a call cut off in its window"
    assert not town.open_cards(OWNER), "a card was left without its outcome"
    judge_places(town)
    _judge_copies(town)


def lines_written(town: MortalHub) -> list[str]:
    """Return what the tool has left on disk."""
    out = town.workspace / "out"
    return out.read_text().split() if out.exists() else []


def judge_places(town: MortalHub) -> None:
    """Everything is said in the conversation it belongs to."""
    strayed = [message.text for message in town.shown_to(OWNER) if message.topic_id != town.topic_id]
    assert not strayed, f"said outside the conversation: {strayed}"
    assert town.topic_id is None or town.telegram.bot_messages(OWNER) == []


def _judge_copies(town: MortalHub) -> None:
    """Return what the platform took before the kill is found, and so nothing is sent twice."""
    sent = Counter(str(request.params["text"]) for request in town.telegram.requests("sendMessage", ok=True))
    twice = [text for text, times in sent.items() if times > 1]
    assert not twice, f"sent twice: {twice}"
