"""Values of the hub as a recording holds them: JSON, read back through pydantic; a replay's time and ids."""

import asyncio
import contextlib
import dataclasses
import hashlib
import json
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache
from typing import Any, NoReturn, cast

from pydantic import TypeAdapter
from yarl import URL

from bot.recordings.log import Compared, Record, sort_key
from bot.runtime import StartError
from core import errors
from core.clock import SECOND_US, Clock
from core.errors import HubError, ModelFault, ModelMisconfigured, ModelUnavailable, ToolError
from core.events import RunKind
from core.ids import Ids, RandomIds
from core.job import JobState
from core.jobs.notices import ended
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Moved, Unreadable
from core.model.base import ModelReply, ModelRequest
from core.store.container_port import ContainerEnd, StoredChanges
from core.store.unattended_port import JobEnd
from core.tool import CallContext, CallPlan, Risk
from core.web import WebAnswer, WebRequest

_EVENTS = {kind.__name__: kind for kind in (InboundMessage, ChoiceAnswer, Moved, Unreadable)}


def plain_value(value: Any) -> Any:
    """Return a value as JSON: dataclasses as objects, bytes as their digest."""
    match value:
        case Enum():
            return value.value
        case str() | int() | float() | None:
            return value
        case bytes():
            return hashlib.sha256(value).hexdigest()
        case Mapping():
            items = cast("Mapping[str, Any]", value).items()
            return {str(name): plain_value(inner) for name, inner in items}
        case frozenset() | set():
            return sorted(plain_value(inner) for inner in cast("frozenset[Any]", value))
        case tuple() | list():
            return [plain_value(inner) for inner in cast("Sequence[Any]", value)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            return {name: plain_value(getattr(value, name)) for name in fields}
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a recording")


@lru_cache(16)
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read(kind: Any, stored: Any) -> Any:
    try:
        return _reader(kind).validate_python(stored)
    except ValueError as error:
        raise StartError(
            f"the recording holds no valid {getattr(kind, '__name__', kind)}; record it again"
        ) from error


# What comes in, what models are asked and what they reply.


def event_to_json(event: InboundEvent) -> dict[str, Any]:
    """Return an inbound event with its type."""
    return {"type": type(event).__name__, "event": plain_value(event)}


def event_from_json(stored: Mapping[str, Any]) -> InboundEvent:
    """Return the event. Raises StartError."""
    return read(_EVENTS.get(stored["type"], Unreadable), stored["event"])


def request_to_json(request: ModelRequest) -> dict[str, Any]:
    """Return all of a request but its tools, which many requests share, and what models do not see of it. Of
    images there are the names."""
    whole = plain_value(dataclasses.replace(request, tools=(), images=()))
    for unseen in ("conversation_tokens", "id"):
        whole.pop(unseen, None)
    return {**whole, "images": [image.name for image in request.images]}


def reply_from_json(stored: Mapping[str, Any]) -> ModelReply:
    """Return the reply. Raises StartError."""
    return read(ModelReply, stored)


def job_end_from_json(stored: Mapping[str, Any]) -> ContainerEnd:
    """Return the end of a job in a container. Raises StartError."""
    path = read(tuple[tuple[JobState, str], ...], stored["path"])
    changes = read(StoredChanges | None, stored["changes"])
    return ContainerEnd(JobEnd(path, ended, result=stored["result"]), changes)


# What tools send by HTTP. A body is text where it can be read as text, else a character for each byte.


def web_request_to_json(request: WebRequest) -> dict[str, Any]:
    """Return a request without its headers and the login in its address."""
    body = None if request.body is None else _text(request.body)[0]
    return {"method": request.method, "url": str(request.url.with_user(None)), "body": body}


def answer_to_json(answer: WebAnswer) -> dict[str, Any]:
    """Return an answer without its cookies."""
    body, encoding = _text(answer.body)
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "set-cookie"}
    known = {"status": answer.status, "reason": answer.reason, "headers": headers}
    return {"url": str(answer.url), **known, "body": body, "encoding": encoding}


def answer_from_json(stored: Mapping[str, Any]) -> WebAnswer:
    """Return the answer."""
    body = stored["body"].encode(stored["encoding"], "replace")
    return WebAnswer(URL(stored["url"]), stored["status"], stored["reason"], stored["headers"], body)


def _text(body: bytes) -> tuple[str, str]:
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError:
        return body.decode("latin-1"), "latin-1"


# What was found out about calls.


def plan_to_json(plan: CallPlan) -> dict[str, Any]:
    """Return what a plan says, without what it runs."""
    return {"risk": plain_value(plan.risk), "shown": plan.shown, "digests": dict(plan.digests)}


def plan_from_json(stored: Mapping[str, Any]) -> CallPlan:
    """Return a plan that can be judged and shown but never run. Raises StartError."""
    return CallPlan(risk_from_json(stored["risk"]), _never, stored["shown"], stored["digests"])


def risk_from_json(stored: Mapping[str, Any]) -> Risk:
    """Return the risk. Raises StartError."""
    return read(Risk, stored)


async def _never(call: CallContext) -> str:
    raise AssertionError(f"a replay runs nothing, not even {call.idempotency_key}")


# Errors, by the names of their classes.


def error_to_json(error: BaseException) -> dict[str, Any]:
    """Return an error of the hub; any other is a defect without details."""
    if not isinstance(error, HubError):
        return {"type": "", "message": ""}
    stored: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    match error:
        case ModelUnavailable(retry_after_s=retry_after_s):
            stored["retry_after_s"] = retry_after_s
        case ModelMisconfigured(fault=fault):
            stored["fault"] = fault.value
        case _:
            pass
    return stored


def error_from_json(stored: Mapping[str, Any]) -> Exception:
    """Return the error."""
    kind, message = getattr(errors, stored["type"], None), stored["message"]
    if not isinstance(kind, type) or not issubclass(kind, errors.ModelError | ToolError):
        return RuntimeError("a tool's own code failed while this was recorded")
    if issubclass(kind, ModelUnavailable):
        return kind(message, stored.get("retry_after_s"))
    if kind is ModelMisconfigured:
        return ModelMisconfigured(message, ModelFault(stored["fault"]))
    return kind(message)


# What a replay follows, and the first difference.

_AROUND_CHARS = 60


@dataclasses.dataclass(slots=True)
class Exchange:
    """A recorded request or call. `key`: it as it is compared. `end`: the record of its end, if any. `kept`:
    the number of the one that says that a call's outcome was stored, if any."""

    record: Record
    key: str
    told: str
    end: Record | None = None
    kept: int | None = None


class Findings:
    """What was shown, answered by the web and found out about calls, each to be used in its order."""

    def __init__(self, records: Sequence[Record], compared: Compared) -> None:
        self._shown: defaultdict[str, deque[Record]] = defaultdict(deque)
        self._web: defaultdict[str, deque[Record]] = defaultdict(deque)
        self._looks: defaultdict[str, deque[Record]] = defaultdict(deque)
        self._left: dict[int, Mapping[str, str]] = {}
        left: Mapping[str, str] = {}
        for record in records:
            match record["k"]:
                case "sent":
                    where = [record[name] for name in ("channel", "address", "message", "part")]
                    self._shown[sort_key(where)].append(record)
                case "web":
                    self._web[sort_key(compared.normal(record["request"]))].append(record)
                case "look":
                    call = compared.call(record["tool"], record["arguments"])
                    self._looks[f"{record['what']} {call}"].append(record)
                case "left":
                    left = record["calls"]
                case "session":
                    self._left[record["n"]], left = left, {}
                case _:
                    pass

    def shown(self, channel: str, to: str, message: str, part: int) -> Record | None:
        """Return the record of a part of a message, once; None if it wasn't shown."""
        waiting = self._shown.get(sort_key([channel, to, message, part]))
        return waiting.popleft() if waiting else None

    def unshown_before(self, number: int) -> bool:
        """Return whether something is still to be shown that was shown before that record."""
        return any(waiting and waiting[0]["n"] < number for waiting in self._shown.values())

    def left(self, restart: int | None) -> Mapping[str, str]:
        """Return the states of calls that the hub before that start had not reached. `restart`: its record's
        number."""
        return {} if restart is None else self._left[restart]

    def web(self, request: Any) -> Record | None:
        """Return the record of a request, as it is compared, once; None if it wasn't sent."""
        waiting = self._web.get(sort_key(request))
        return waiting.popleft() if waiting else None

    def look(self, what: str, call: str) -> Record | None:
        """Return the record of a finding about a call; the last one from then on. None without any."""
        waiting = self._looks.get(f"{what} {call}")
        if not waiting:
            return None
        return waiting.popleft() if len(waiting) > 1 else waiting[0]


def first_difference(expected: Any, came: Any, path: str = "") -> str:
    """Return where two JSON values differ first, and how; empty if they are equal."""
    if expected == came:
        return ""
    if isinstance(expected, dict) and isinstance(came, dict):
        one, other = cast("dict[str, Any]", expected), cast("dict[str, Any]", came)
        for name in [*one, *(name for name in other if name not in one)]:
            if name not in one or name not in other or one[name] != other[name]:
                return first_difference(one.get(name), other.get(name), f"{path}.{name}".lstrip("."))
    if isinstance(expected, list) and isinstance(came, list):
        old, new = cast("list[Any]", expected), cast("list[Any]", came)
        place = next((i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
        place = min(len(old), len(new)) if place is None else place
        pair = (old[place] if place < len(old) else None), (new[place] if place < len(new) else None)
        return first_difference(*pair, f"{path}[{place}]")
    at = 0
    if isinstance(expected, str) and isinstance(came, str):
        while at < min(len(expected), len(came)) and expected[at] == came[at]:
            at += 1
    return f"{path or 'it'}: expected {_excerpt(expected, at)}, came {_excerpt(came, at)}"


def _excerpt(value: Any, at: int) -> str:
    if value is None:
        return "nothing"
    if not isinstance(value, str):
        value, at = json.dumps(value, ensure_ascii=False), 0
    start, end = max(0, at - _AROUND_CHARS), at + _AROUND_CHARS
    cut = f"{'…' if start else ''}{value[start:end]}{'…' if end < len(value) else ''}"
    return json.dumps(cut, ensure_ascii=False)


def other_call(came: str, expected: Record | None) -> str:
    """Return how a call differs from the one that the recording has next; None: it has none."""
    if expected is None:
        return f"a call that the recording doesn't have: {came}"
    known = f"{expected['tool']} {sort_key(expected['arguments'])}"
    return f"record {expected['n']}: another call: expected {known}, came {came}"


# The time and ids of a recording and of its replay.

run_kind: ContextVar[str] = ContextVar("kind of the run that a task works for, empty outside", default="")
run_id: ContextVar[str] = ContextVar("the run that a task works for, empty outside", default="")
FOLLOWED = frozenset({RunKind.CHAT, RunKind.ROUTINE, RunKind.JOB})
"""The runs that a replay repeats. What a subtask did is the outcome of its call."""
FED = frozenset({"session", "in", "routine", "fired"})
"""What a replay brings about itself: starts, input, changes of routines and their runs."""


async def for_ever() -> NoReturn:
    """Wait until cancelled: the hub is stopped then."""
    while True:
        await asyncio.Event().wait()


class HeldClock:
    """A clock that stands still while an event is accepted, so that its replay sees the same time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: list[int] = []

    def now(self) -> int:
        return self._held[0] if self._held else self._clock.now()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    @contextlib.contextmanager
    def held(self) -> Iterator[int]:
        """Stand still in the block, and return the time."""
        at = self.now()
        self._held.append(at)
        try:
            yield at
        finally:
            self._held.remove(at)


class RecordedIds:
    """Ids of which the ones visible to people and models are recorded. `made`: called with kind and id."""

    def __init__(self, ids: Ids, made: Callable[[str, str], None]) -> None:
        self._ids = ids
        self._made = made

    def row_id(self) -> str:
        return self._ids.row_id()

    def call_id(self) -> str:
        return self._told("call", self._ids.call_id())

    def gate_id(self) -> str:
        return self._told("gate", self._ids.gate_id())

    def code(self) -> str:
        return self._told("code", self._ids.code())

    def _told(self, kind: str, value: str) -> str:
        self._made(kind, value)
        return value


class ReplayClock:
    """The recording's time: that of the newest input or answer and the time since then, but never later
    than `limit`, the time of the next."""

    def __init__(self) -> None:
        self.limit: float = math.inf
        self._at = self._latest = 0
        self._since_s = time.monotonic()
        self._held = False

    def now(self) -> int:
        passed_us = 0 if self._held else int((time.monotonic() - self._since_s) * SECOND_US)
        self._latest = max(self._latest, self._at, int(min(self._at + passed_us, self.limit)))
        return self._latest

    def set(self, at: int, *, held: bool = False) -> None:
        """Go on from this time; `held`: stand still there until the next call."""
        self._at, self._since_s, self._held = at, time.monotonic(), held

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ReplayIds:
    """The recorded ids in their order for each kind of run, then new ones. `since`: the number of the start
    of the hub that makes them; what an earlier one made and the replay's did not, it never will."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._fresh: Ids = RandomIds()
        self.since = 0
        self._kept: defaultdict[tuple[str, str], deque[Record]] = defaultdict(deque)
        for record in records:
            if record["k"] == "id":
                self._kept[record["of"], record["run"]].append(record)

    def row_id(self) -> str:
        return self._fresh.row_id()

    def call_id(self) -> str:
        return self._next("call") or self._fresh.call_id()

    def gate_id(self) -> str:
        return self._next("gate") or self._fresh.gate_id()

    def code(self) -> str:
        return self._next("code") or self._fresh.code()

    def _next(self, of: str) -> str | None:
        kept = self._kept[of, run_kind.get()]
        while kept and kept[0]["n"] < self.since:
            kept.popleft()
        return kept.popleft()["value"] if kept else None
