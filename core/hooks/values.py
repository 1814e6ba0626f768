"""What a hook is told, and what it may say to that. This is what code outside the hub is written against.

A hook is an `async def` that takes a `HookEvent` and returns None (nothing stands against it), a `Change` or
a `Reject`. What looks like a credential is struck out of what it is told, and so is every argument that a
tool keeps from being shown.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

STRUCK_OUT = "[REDACTED]"


class Point(StrEnum):
    """Where hooks are asked.

    BEFORE_INBOUND: a person's message, before a turn takes it; also words that answer a question.
    BEFORE_TOOL_CALL: a call that a model asks
    for, before anybody is asked for consent. TRANSFORM_RESPONSE: what a model says, before it is kept.
    BEFORE_OUTBOUND: anything that goes out to a channel. SESSION_START, SESSION_END: somebody writes after a
    long silence, or for the first time; has been silent for long. These two are told, and nothing can be
    said to them.
    """

    BEFORE_INBOUND = "before_inbound"
    BEFORE_TOOL_CALL = "before_tool_call"
    TRANSFORM_RESPONSE = "transform_response"
    BEFORE_OUTBOUND = "before_outbound"
    SESSION_START = "session_start"
    SESSION_END = "session_end"


@dataclass(frozen=True, slots=True)
class HookEvent:
    """`text`: of a message; `tool` and `arguments`: of a call. `user_id`: whom it is about; what goes out
    is for an `address` of a `channel`. What is not known at a point is None."""

    point: Point
    text: str = ""
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    user_id: str | None = None
    thread_id: str | None = None
    channel: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Go on with this instead: a whole `text`, or `arguments` that take the place of those of the same
    names; the others stay as they are."""

    text: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """It goes no further. `reason` is told to whoever it was for."""

    reason: str


Reply = Change | Reject | None
Hook = Callable[[HookEvent], Awaitable[Reply]]
