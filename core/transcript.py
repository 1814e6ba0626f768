"""The journalled conversation: provider-neutral entries, in the order of their `seq`.

An entry is never changed. The model's context is a pure function of the live entries.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Literal

from core.messages import Attachment


@dataclass(frozen=True, slots=True)
class Origin:
    """The model that wrote an entry. `opaque` is replayed only to the same provider family."""

    provider: str
    model: str
    opaque: str = ""


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A person's text. `sender` is shown to the model if several people speak in one thread.

    `attachments`: the files described by the last lines of `text`, one line each.
    """

    text: str
    sender: str = ""
    attachments: tuple[Attachment, ...] = ()
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """The model's text, also with tool calls (then it may be empty)."""

    text: str
    origin: Origin | None = None
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model's intent to call a tool. `arguments` is the JSON text exactly as the model gave it."""

    call_id: str
    tool: str
    arguments: str
    kind: Literal["call"] = "call"


class ResultStatus(StrEnum):
    """The outcome of a call. Nothing but `ok` may look like success to the model."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The recorded outcome of a call; every call gets exactly one."""

    call_id: str
    status: ResultStatus
    text: str
    kind: Literal["result"] = "result"


@dataclass(frozen=True, slots=True)
class Summary:
    """A replacement for all entries up to `covers_to_seq`, as long as all of them are live."""

    text: str
    covers_to_seq: int
    kind: Literal["summary"] = "summary"


@dataclass(frozen=True, slots=True)
class Note:
    """A note from the hub to the model (a nudge, a limit)."""

    text: str
    kind: Literal["note"] = "note"


@dataclass(frozen=True, slots=True)
class OperatorSaid:
    """A text that a person wrote in the assistant's place. `by` is their name."""

    text: str
    by: str
    kind: Literal["operator"] = "operator"


Said = UserSaid | AssistantSaid | ToolCalled | ToolResult | Summary | Note | OperatorSaid


@dataclass(frozen=True, slots=True)
class Entry:
    """One journalled line of a thread. `seq` is never reused; `at` is microseconds UTC; `turn_id` is
    None outside of any turn."""

    seq: int
    turn_id: str | None
    at: int
    said: Said
    size_chars: int = field(init=False, repr=False, compare=False)
    """The length of the entry's text, counted once because whole conversations are measured
    repeatedly."""

    def __post_init__(self) -> None:
        said = self.said
        whole = said.tool + said.arguments if isinstance(said, ToolCalled) else said.text
        object.__setattr__(self, "size_chars", len(whole))


_SIZE = attrgetter("size_chars")


def total_chars(entries: Iterable[Entry]) -> int:
    """Return the total length of the entries' texts."""
    return sum(map(_SIZE, entries))


def in_call_order(said: Iterable[Said]) -> list[Said]:
    """Return the lines with the results that follow each other in the order of their calls, which need not be
    the order in which they came."""
    ordered: list[Said] = []
    position: dict[str, int] = {}
    results: list[ToolResult] = []

    def give() -> None:
        if len(results) > 1:
            results.sort(key=lambda result: position.get(result.call_id, -1))
        ordered.extend(results)
        results.clear()

    for one in said:
        if isinstance(one, ToolResult):
            results.append(one)
            continue
        if results:
            give()
        if isinstance(one, ToolCalled):
            position[one.call_id] = len(position)
        ordered.append(one)
    give()
    return ordered
