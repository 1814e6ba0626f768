"""The hooks of one point, called one after the other. If a hook fails or is slow, its own setting
decides."""

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Any, Protocol, assert_never, cast

from core.gates import Wrote
from core.lazy import dataclass
from core.off_loop import off_loop
from core.safety.leaks import LeakDetector
from core.tool import Arguments, Tool
from core.users import Principal

# The events hooks receive and the answers they may give. Code outside the hub is written against
# this.
#
# A hook is an `async def` that takes a `HookEvent` and returns None (no objection), a `Change` or a
# `Reject`. Text that looks like a credential is removed from the event, and so is every argument
# that a tool keeps from being shown.

STRUCK_OUT = "[REDACTED]"


class Point(StrEnum):
    """A point at which hooks are called.

    BEFORE_INBOUND: a person's message, before a turn takes it; also words that answer a question.
    BEFORE_TOOL_CALL: a call that a model asks for, before any person is asked for consent.
    TRANSFORM_RESPONSE: a model's text, before it is stored.
    BEFORE_OUTBOUND: any message sent to a channel.
    SESSION_START, SESSION_END: a person writes after a long silence or for the first time; has been
    silent for long. Hooks are notified of these two and cannot answer.
    """

    BEFORE_INBOUND = "before_inbound"
    BEFORE_TOOL_CALL = "before_tool_call"
    TRANSFORM_RESPONSE = "transform_response"
    BEFORE_OUTBOUND = "before_outbound"
    SESSION_START = "session_start"
    SESSION_END = "session_end"


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event for hooks. A value that is unknown at a point is None.

    `text`: the text of a message.
    `tool` and `arguments`: the tool and arguments of a call.
    `user_id`: the person it is about.
    `thread_ids`: the threads of a session that ended, last active last.
    `channel`, `address`: the destination of an outgoing message."""

    point: Point
    text: str = ""
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    user_id: str | None = None
    thread_id: str | None = None
    channel: str | None = None
    address: str | None = None
    thread_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the event: a whole `text`, or `arguments` that replace those of the same names. The
    others stay as they are."""

    text: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejection of the event. `reason` is shown to the person it was for."""

    reason: str


Reply = Change | Reject | None


class Hook(Protocol):
    """Code that is called with an event. A hook at a URL answers with text from outside."""

    async def __call__(self, event: HookEvent, /) -> Reply:
        """Return the answer; any exception is a failure of this hook alone."""
        ...


TEXT_LIMIT_CHARS = 100_000
REASON_LIMIT_CHARS = 500
DEFAULT_PRIORITY = 100
DEFAULT_TIMEOUT_S = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Registered:
    """A hook with its settings. A lower `priority` is called first.

    `closed`: a failure, or no answer for `timeout_s`, counts as a rejection."""

    name: str
    points: frozenset[Point]
    hook: Hook
    priority: int = DEFAULT_PRIORITY
    timeout_s: float = DEFAULT_TIMEOUT_S
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """An event that all hooks let pass, with their changes. `changed`: it differs from the original."""

    event: HookEvent
    changed: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """An event that a hook rejected."""

    hook: str
    reason: str


Judged = Passed | Rejected


class Chain:
    """The hooks of one point. `leaks`: detects secrets, which are hidden from all hooks."""

    def __init__(self, hooks: Iterable[Registered], leaks: LeakDetector) -> None:
        self._hooks = tuple(sorted(hooks, key=lambda one: one.priority))
        self._leaks = leaks
        self._asking = _Asking()

    async def judge(self, event: HookEvent, fixed: frozenset[str] = frozenset()) -> Judged:
        """Call all hooks, each with the result of the one before, until one rejects.

        `fixed`: arguments that no hook may see or change."""
        now = event
        for one in self._hooks:
            try:
                shown = await off_loop(_chars(now), partial(self._shown, now, fixed))
                reply = await self._asking.ask(one, shown)
                match reply:
                    case None:
                        continue
                    case Reject(reason):
                        return Rejected(one.name, str(reason)[:REASON_LIMIT_CHARS])
                    case Change():
                        now = _changed(now, reply, fixed)
                    case _:
                        assert_never(reply)
            except TimeoutError:
                failed = f"no response within {one.timeout_s:g} s"
                logger.warning("hook.timed_out hook=%s point=%s error=%s", one.name, event.point, failed)
            except Exception as error:  # a hook is not our code: its failure must not end more than itself
                failed = "it failed"
                logger.warning("hook.failed hook=%s point=%s", one.name, event.point, exc_info=error)
            else:
                continue
            if one.closed:
                return Rejected(one.name, failed)
        return Passed(now, changed=(now.text, now.arguments) != (event.text, event.arguments))

    def _shown(self, event: HookEvent, fixed: frozenset[str]) -> HookEvent:
        arguments = event.arguments
        if arguments is not None:
            arguments = {
                name: STRUCK_OUT if name in fixed else self._clean(value) for name, value in arguments.items()
            }
        return replace(event, text=self._leaks.redacted(event.text), arguments=arguments)

    def _clean(self, value: Any) -> Any:
        match value:
            case str():
                return self._leaks.redacted(value)
            case list():
                return [self._clean(one) for one in cast("list[Any]", value)]
            case dict():
                held = cast("dict[str, Any]", value)
                return {self._leaks.redacted(name): self._clean(one) for name, one in held.items()}
            case _:
                return value


class _Asking:
    """A caller of hooks that contains their failures. A hook that ignores its cancellation is
    abandoned, and one that would end the program counts as failed."""

    def __init__(self) -> None:
        self._left: set[asyncio.Task[Reply]] = set()

    async def ask(self, one: Registered, event: HookEvent) -> Reply:
        """Call a hook and return its answer. Raises TimeoutError, and any exception of the hook."""
        task = asyncio.create_task(_contained(one.hook, event), name=f"hook {one.name}")
        try:
            done, _ = await asyncio.wait({task}, timeout=one.timeout_s)
            if done:
                return task.result()
            raise TimeoutError
        finally:
            if not task.done():
                task.cancel()
                self._left.add(task)
                task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[Reply]) -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not warn when the task is discarded


async def _contained(hook: Hook, event: HookEvent) -> Reply:
    try:
        return await hook(event)
    except (SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _changed(event: HookEvent, change: Change, fixed: frozenset[str]) -> HookEvent:
    """Return the event with the change applied. Raises ValueError or TypeError if the change does not
    fit the event."""
    if change.text is not None:
        if event.arguments is not None or len(change.text) > TEXT_LIMIT_CHARS:
            raise ValueError("the text is too long, or this event has no text to change")
        change.text.encode()  # reject text that cannot be stored or sent
        event = replace(event, text=change.text)
    if change.arguments is not None:
        event = replace(event, arguments=_patched(event.arguments, change.arguments, fixed))
    return event


def _patched(
    arguments: Mapping[str, Any] | None, patch: Mapping[str, Any], fixed: frozenset[str]
) -> Mapping[str, Any]:
    if arguments is None:
        raise ValueError("this event has no arguments to change")
    if named := fixed.intersection(patch):
        raise ValueError(f"{', '.join(sorted(named))} may not be changed")
    json.dumps(patch, allow_nan=False, ensure_ascii=False).encode()
    return {**arguments, **patch}


def _chars(event: HookEvent) -> int:
    """Return the length of the event's text plus its arguments as JSON."""
    return len(event.text) + len(json.dumps(event.arguments, default=str))


# The hooks of single points, in the form their callers need.

HELD_BACK = "I can't send my reply here: {reason}"


class CallHooks:
    """The hooks for tool calls: implements core.tools.pipeline.CallHook."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def judge(
        self, tool: Tool, arguments: Arguments, principal: Principal, thread_id: str
    ) -> Mapping[str, Any] | str:
        event = HookEvent(
            Point.BEFORE_TOOL_CALL,
            tool=tool.name,
            arguments=dict(arguments),
            user_id=principal.user_id,
            thread_id=thread_id,
        )
        match await self._chain.judge(event, tool.sensitive):
            case Passed(changed):
                return changed.arguments or {}
            case Rejected(hook, reason):
                return f"blocked by the hook {hook}: {reason}"


class AnswerHooks:
    """The hooks for answers: implements core.runs.services.AnswerHook. Words that answer a question
    are treated like messages."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def heard(self, text: str, user_id: str, thread_id: str, channel: str) -> Wrote | str:
        event = HookEvent(
            Point.BEFORE_INBOUND, text=text, user_id=user_id, thread_id=thread_id, channel=channel
        )
        match await self._chain.judge(event):
            case Passed(changed):
                return Wrote(changed.text)
            case Rejected(_, reason):
                return reason


class ReplyHooks:
    """The hooks for replies: implements core.runs.services.ReplyHook."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def transformed(self, text: str, user_id: str | None, thread_id: str | None) -> str:
        event = HookEvent(Point.TRANSFORM_RESPONSE, text=text, user_id=user_id, thread_id=thread_id)
        match await self._chain.judge(event):
            case Passed(changed):
                return changed.text
            case Rejected(_, reason):
                return HELD_BACK.format(reason=reason)
