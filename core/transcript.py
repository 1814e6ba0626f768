"""The journalled conversation: provider-neutral entries, in the order of their `seq`.

An entry is never changed. The model's context is a pure function of the live entries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from operator import attrgetter
from typing import Literal, final

from core.lazy import dataclass
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
    """The model's text, also with tool calls (then it may be empty).

    `suggestions`: texts for the person's next message, shown as the choices of the menu `menu_id`. Models
    don't see them again."""

    text: str
    origin: Origin | None = None
    suggestions: tuple[str, ...] = ()
    menu_id: str = ""
    kind: Literal["assistant"] = "assistant"


@final
@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model's intent to call a tool. `arguments` is the JSON text exactly as the model gave it.

    `reason`: the model's own for this call; empty if it wrote none beside what it said with all calls."""

    call_id: str
    tool: str
    arguments: str
    reason: str = ""
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
    """The recorded outcome of a call; every call gets exactly one.

    `fault`: how the tool itself has failed, on a line; "" if it has not, or it is no part of the record."""

    call_id: str
    status: ResultStatus
    text: str
    kind: Literal["result"] = "result"
    fault: str = field(default="", compare=False)


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
    None outside of any turn.

    `undone`: a person took it back, so that no model is shown it."""

    seq: int
    turn_id: str | None
    at: int
    said: Said
    undone: bool = False
    size_chars: int = field(init=False, repr=False, compare=False)
    """The length of the entry's text, counted once because whole conversations are measured
    repeatedly."""
    tokens: int = field(default=0, init=False, repr=False, compare=False)
    """The estimated tokens, 0 until core.model.base has counted them."""

    def __post_init__(self) -> None:
        said = self.said
        whole = said.tool + said.arguments if isinstance(said, ToolCalled) else said.text
        object.__setattr__(self, "size_chars", len(whole))


_SIZE = attrgetter("size_chars")


def total_chars(entries: Iterable[Entry]) -> int:
    """Return the total length of the entries' texts."""
    return sum(map(_SIZE, entries))


def since_summary(entries: Sequence[Entry]) -> list[Entry]:
    """Return the newest summary of live entries, if there is one, and those that it doesn't cover."""
    newest = next((entry for entry in reversed(entries) if isinstance(entry.said, Summary)), None)
    covered = newest.said.covers_to_seq if newest is not None and isinstance(newest.said, Summary) else 0
    later = [one for one in entries if one.seq > covered and not isinstance(one.said, Summary)]
    return later if newest is None else [newest, *later]


def by_turn(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the entries turn by turn. Those of no turn, as in a branch, belong to the input before them."""
    turns: list[list[Entry]] = []
    for entry in entries:
        if not turns or begins_turn(turns[-1][-1], entry):
            turns.append([])
        turns[-1].append(entry)
    return turns


def begins_turn(before: Entry, entry: Entry) -> bool:
    """Return whether an entry is of another turn than the one before it."""
    if before.turn_id is not None or entry.turn_id is not None:
        return before.turn_id != entry.turn_id
    return isinstance(entry.said, UserSaid) and not isinstance(before.said, UserSaid)


def in_call_order(said: Sequence[Said]) -> list[Said]:
    """Return the lines with the results that follow each other in the order of their calls, which need not be
    the order in which they came. Messages that came while a call ran come after its result."""
    if _OF_CALLS.isdisjoint(map(type, said)):
        return list(said)
    ordered: list[Said] = []
    position: dict[str, int] = {}
    results: list[ToolResult] = []
    aside: list[Said] = []
    running: set[str] = set()

    def give() -> None:
        if len(results) > 1:
            results.sort(key=lambda result: position.get(result.call_id, -1))
        ordered.extend(results)
        results.clear()
        if not running:
            ordered.extend(aside)
            aside.clear()

    for one in said:
        if isinstance(one, ToolResult):
            results.append(one)
            running.discard(one.call_id)
            continue
        if running and isinstance(one, Note | UserSaid | OperatorSaid):
            aside.append(one)
            continue
        if results:
            give()
        if isinstance(one, ToolCalled):
            position[one.call_id] = len(position)
            running.add(one.call_id)
        ordered.append(one)
    give()
    return [*ordered, *aside]


_OF_CALLS = frozenset({ToolCalled, ToolResult})
