"""The built-in hook on `session_end`: it has a model summarize the session, into a file of the workspace.

A summary takes longer than hooks may, so the hook only begins it. The hub waits for what was begun when it
stops, at most `STOP_WAIT_S`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.errors import HubError
from core.hooks.chain import HookEvent, Point, Reply
from core.lazy import dataclass
from core.messages import folded, quoted
from core.model.base import ModelRequest
from core.runs.unseen_models import UnseenModels
from core.safety.fencing import FENCE_RULE, fence_tool_output, sanitise
from core.store.feed import Threads
from core.store.port import People
from core.transcript import AssistantSaid, Entry, OperatorSaid, UserSaid
from core.usage import CallKind, Payer
from core.users import Role, TimeZones

logger = logging.getLogger(__name__)

FOLDER = "sessions"
STOP_WAIT_S = 8.0
"""The longest that a stopping hub waits for hooks on `session_end` and summaries. It is less than the ten
seconds after which container runtimes kill."""
MAX_AT_ONCE = 3
SUMMARY_TIMEOUT_S = 60.0
"""Counted from when the summary's turn has come, so that many sessions ending at once lose none."""
MAX_THREADS = 20
MAX_ENTRIES = 200
"""Of each thread, the newest."""
TRANSCRIPT_LIMIT_CHARS = 24_000
MAX_SUMMARY_TOKENS = 600

_SYSTEM = (
    "You write the summary of a person's session with their assistant, as Markdown without a heading: what "
    "they wanted, what was done and decided, and what is still open. Use at most twelve short lines. Claim "
    f"nothing that the conversations do not say. {FENCE_RULE}"
)


class Unfinished:
    """Work that outlives its caller and is waited for when the hub stops, at most `wait_s`."""

    def __init__(self, wait_s: float = STOP_WAIT_S) -> None:
        self._wait_s = wait_s
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Do the work as a task of its own."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait for all work, also what it begins, within the bound. Cancel the rest."""
        until_s = asyncio.get_running_loop().time() + self._wait_s
        while self._tasks and (left_s := until_s - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left_s)
        if left := set(self._tasks):
            logger.warning("sessions.unfinished count=%d", len(left))
            for task in left:
                task.cancel()
            await asyncio.wait(left)


@dataclass(frozen=True, slots=True)
class Line:
    """A thing said in a session. `thread`: its title. `at`: microseconds UTC."""

    thread: str
    at: int
    text: str


class SessionSummaries:
    """The hook. `append`: adds text to a file of the workspace; raises ToolError. `idle_s`: the silence that
    ends a session. `new_id`: returns an id for the work of one summary."""

    def __init__(
        self,
        people: People,
        threads: Threads,
        models: UnseenModels,
        append: Callable[[str, str], Awaitable[None]],
        timezones: TimeZones,
        unfinished: Unfinished,
        idle_s: float,
        new_id: Callable[[], str],
    ) -> None:
        self._new_id = new_id
        self._people = people
        self._threads = threads
        self._models = models
        self._append = append
        self._timezones = timezones
        self._unfinished = unfinished
        self._idle_us = int(idle_s * SECOND_US)
        self._turn = asyncio.Semaphore(MAX_AT_ONCE)
        self._writing = asyncio.Lock()

    async def __call__(self, event: HookEvent) -> Reply:
        """Begin the summary of the session that ended."""
        if event.point is Point.SESSION_END and event.user_id is not None:
            work = self._summarize(event.user_id, event.thread_ids)
            self._unfinished.begin(work, f"summary of a session of {event.user_id}")
        return None

    async def _summarize(self, user_id: str, thread_ids: Sequence[str]) -> None:
        try:
            async with self._turn, asyncio.timeout(SUMMARY_TIMEOUT_S):
                await self._write(user_id, thread_ids)
        except TimeoutError:
            logger.warning("session.summary_failed user=%s error=timeout", user_id)
        except HubError as error:
            logger.warning("session.summary_failed user=%s error=%s", user_id, error)
        except Exception:  # the task's boundary: a defect here must not reach the hub
            logger.exception("session.summary_failed user=%s", user_id)

    async def _write(self, user_id: str, thread_ids: Sequence[str]) -> None:
        person = await self._people.user(user_id)
        if person is None or person.role is Role.GUEST:
            return
        said = await self._said(thread_ids)
        if not said:
            return
        system = f"{_SYSTEM} The person is {quoted(person.name)}."
        request = ModelRequest(system, (UserSaid(_fenced(said)),), max_output_tokens=MAX_SUMMARY_TOKENS)
        payer = Payer(CallKind.SUMMARY, self._new_id(), user_id)
        run = self._models.begin(_untold, payer)
        try:
            reply = await run.reply(request)
        finally:
            await run.models.meter.settle()
        text = sanitise(reply.text).strip()
        if not text:
            logger.warning("session.summary_failed user=%s error=the model said nothing", user_id)
            return
        zone = ZoneInfo(await self._timezones.of(user_id))
        began, ended = (datetime.fromtimestamp(one.at / SECOND_US, zone) for one in (said[0], said[-1]))
        path = f"{FOLDER}/{user_id}/{ended:%Y-%m-%d}.md"
        heading = f"## {began:%Y-%m-%d %H:%M} to {ended:%Y-%m-%d %H:%M} ({folded(str(zone))})"
        async with self._writing:
            await self._append(path, f"{heading}\n\n{text}\n\n")
        logger.info("session.summary_written user=%s path=%s", user_id, path)

    async def _said(self, thread_ids: Sequence[str]) -> Sequence[Line]:
        """Return what people and the assistant said in the session, oldest first."""
        said: list[Line] = []
        for thread_id in thread_ids[-MAX_THREADS:]:
            thread = await self._threads.thread(thread_id)
            title = folded(thread.title) if thread is not None and thread.title else "conversation"
            entries = await self._threads.entries(thread_id, MAX_ENTRIES)
            said += [line for entry in entries if (line := _line(title, entry)) is not None]
        said.sort(key=lambda line: line.at)
        return _of_one_session(said, self._idle_us)


def _line(thread: str, entry: Entry) -> Line | None:
    """Return the entry as a line. Calls, their results and notes are left out."""
    match entry.said:
        case UserSaid(text, sender):
            by = folded(sender) if sender else "person"
        case AssistantSaid(text):
            by = "assistant"
        case OperatorSaid(text, name):
            by = f"operator {folded(name)}"
        case _:
            return None
    return Line(thread, entry.at, f"{by}: {text.strip()}") if text.strip() else None


def _of_one_session(said: Sequence[Line], idle_us: int) -> Sequence[Line]:
    """Return what was said since the last silence that ended a session."""
    for after in range(len(said) - 1, 0, -1):
        if said[after].at - said[after - 1].at >= idle_us:
            return said[after:]
    return said


def _fenced(said: Sequence[Line]) -> str:
    """Return the newest lines that fit, by thread, each thread fenced."""
    threads: dict[str, list[str]] = {}
    left_chars = TRANSCRIPT_LIMIT_CHARS
    for line in reversed(said):
        if left_chars <= 0:
            break
        threads.setdefault(line.thread, []).append(line.text[:left_chars])
        left_chars -= len(line.text)
    blocks = [fence_tool_output(thread, "\n".join(reversed(lines))) for thread, lines in threads.items()]
    return "\n\n".join(reversed(blocks))


def _untold(event: object) -> None:
    """Show nothing: a summary is no run of a person."""
    del event
