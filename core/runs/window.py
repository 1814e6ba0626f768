"""The part of a conversation that a model call is shown: a pure function of the live entries and the room.

Everything is shown as long as it fits. Above a threshold the results of older calls are shortened, and what
still doesn't fit is left out by whole turns, the oldest first. Compaction (core.runs.compaction) makes sure
that this is rarely needed.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.lazy_dataclass import dataclass
from core.model.base import ModelRequest, ToolSpec, entry_tokens, prompt_tokens, said_tokens
from core.names import folded
from core.transcript import Entry, Note, Said, Summary, ToolResult, UserSaid, by_turn, in_call_order

DROPPED_NOTE = "Earlier parts of this conversation were left out because it is too long."
MINUTE_US = 60 * SECOND_US
VERBATIM_TURNS = 10
"""The newest turns that are not summarized as long as they fit, and not shortened if that is enough."""
SHORTENED_EVERY_TURNS = 5
"""The steps in which older turns are shortened, so that most requests begin as the one before."""
RESULT_HEAD_CHARS, RESULT_TAIL_CHARS = 400, 200
"""The parts of an older call's result that stay."""


@dataclass(frozen=True, slots=True)
class Room:
    """The estimated tokens that a conversation may take in a request.

    `limit_tokens`: all of the room. `compact_tokens`: from here on the conversation is made shorter."""

    limit_tokens: int
    compact_tokens: int


NO_LIMIT = Room(10**12, 10**12)


@dataclass(frozen=True, slots=True)
class Window:
    """The lines that a model is shown. `tokens`: their estimate. `whole_tokens`: that of all lines, with
    older results shortened if there is a need to."""

    said: list[Said]
    tokens: int
    whole_tokens: int


def build_window(entries: Sequence[Entry], room: Room, timezone: str) -> Window:
    """Return the conversation as far as it fits, oldest first. The newest turn is always kept.

    A call and its result are never separated, because a turn is kept or left out as a whole. What people
    said in a turn is followed by the time of its arrival: it is the newest turn's variable fact, and stays
    as it is, so that the next request begins with all of this one."""
    tokens = whole_tokens = total_tokens(entries)
    if tokens > min(room.limit_tokens, room.compact_tokens):
        summary, turns = split(entries)
        turns = shortened(turns)
        whole_tokens = total_tokens(summary) + sum(map(total_tokens, turns))
        if whole_tokens > room.compact_tokens:
            turns = shortened(turns, whole=1)
            whole_tokens = total_tokens(summary) + sum(map(total_tokens, turns))
        leaves_out = whole_tokens > room.limit_tokens and len(turns) > 1
        note = [Entry(0, None, 0, Note(DROPPED_NOTE))] if leaves_out else []
        limit_tokens = room.limit_tokens - total_tokens([*summary, *note])
        turns = turns[len(turns) - (newest_that_fit(turns, limit_tokens) or 1) :]
        if len(turns) == 1:
            turns = [_squeezed(turns[0], limit_tokens)]
        entries = [*summary, *note, *(entry for turn in turns for entry in turn)]
        tokens = total_tokens(entries)
    return Window(in_call_order(_dated(entries, timezone)), tokens, whole_tokens)


_TOKENS = attrgetter("tokens")


def total_tokens(entries: Sequence[Entry]) -> int:
    """Return the estimated tokens of entries. Each entry is counted once."""
    for entry in entries:
        if not entry.tokens:
            entry_tokens(entry)
    return sum(map(_TOKENS, entries))


Turn = Sequence[Entry]


def split(entries: Sequence[Entry]) -> tuple[Sequence[Entry], list[Turn]]:
    """Return the summary that the entries begin with, if any, and their turns."""
    first = 1 if entries and isinstance(entries[0].said, Summary) else 0
    return entries[:first], list[Turn](by_turn(entries[first:]))


def newest_that_fit(turns: Sequence[Turn], limit_tokens: int, most: int = 10**9) -> int:
    """Return the number of newest turns that together take at most this number of tokens."""
    kept = used = 0
    for turn in reversed(turns[-most:]):
        used += total_tokens(turn)
        if used > limit_tokens:
            break
        kept += 1
    return kept


def shortened(turns: Sequence[Turn], whole: int = VERBATIM_TURNS) -> list[Turn]:
    """Return the turns with shorter results in those before the newest `whole`."""
    older = max(len(turns) - whole, 0) // SHORTENED_EVERY_TURNS * SHORTENED_EVERY_TURNS
    return [[*map(_shortened, turn)] for turn in turns[:older]] + list(turns[older:])


def is_due(entries: Sequence[Entry], room: Room) -> bool:
    """Return whether a conversation that takes too much of its room is to be made shorter now.

    As long as all of it fits, that is tried in the first, second, fourth, eighth … turn of those that are
    too many: after the first, a summary could not be had, and each try costs a model call."""
    summary, turns = split(entries)
    used, too_many = total_tokens(summary), 0
    for turn in shortened(turns, whole=1):
        used += total_tokens(turn)
        too_many += used > room.compact_tokens
    return used > room.limit_tokens or too_many & (too_many - 1) == 0


def _squeezed(turn: Turn, limit_tokens: int) -> Turn:
    """Return a turn with its older results shortened as far as it takes to fit."""
    lines, used = list(turn), total_tokens(turn)
    for place, entry in enumerate(lines):
        if used <= limit_tokens:
            break
        lines[place] = _shortened(entry)
        used -= entry.tokens - entry_tokens(lines[place])
    return lines


def _shortened(entry: Entry) -> Entry:
    said = entry.said
    short = RESULT_HEAD_CHARS + RESULT_TAIL_CHARS
    if not isinstance(said, ToolResult) or len(said.text) <= short + short // 2:
        return entry
    return _short_result(entry)


@lru_cache(512)  # the same object each time, so that it is counted and written once
def _short_result(entry: Entry) -> Entry:
    said = entry.said
    assert isinstance(said, ToolResult)  # noqa: S101 - its only caller has looked
    return replace(entry, said=replace(said, text=cut_in_the_middle(said.text)))


def cut_in_the_middle(
    text: str, head_chars: int = RESULT_HEAD_CHARS, tail_chars: int = RESULT_TAIL_CHARS
) -> str:
    """Return the beginning and the end of a longer text, with the number of characters left out."""
    left_out = len(text) - head_chars - tail_chars
    if left_out <= 0:
        return text
    mark = f"\n[{left_out:,} characters left out here by the hub]\n"
    return text[:head_chars] + mark + text[len(text) - tail_chars :]


def _dated(entries: Sequence[Entry], timezone: str) -> list[Said]:
    """Return the lines, with a note of the time after what people said in a row in one turn."""
    dated: list[Said] = []
    arrived: Entry | None = None
    for entry in entries:
        by_person = type(entry.said) is UserSaid
        if arrived is not None and (not by_person or entry.turn_id != arrived.turn_id):
            dated.append(time_note(arrived.at // MINUTE_US, timezone))
        arrived = entry if by_person else None
        dated.append(entry.said)
    if arrived is not None:
        dated.append(time_note(arrived.at // MINUTE_US, timezone))
    return dated


@lru_cache(4096)  # the same object each time, so that adapters recognize what they have written before
def time_note(minute: int, timezone: str) -> Note:
    """Return the note about the time when a turn took a message. `minute`: since the epoch, UTC."""
    moment = datetime.fromtimestamp(minute * 60, ZoneInfo(timezone))
    return Note(f"time: {moment:%A, %Y-%m-%d %H:%M} ({folded(timezone)})")


def tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """Estimate the context tokens that the tools' descriptions take."""
    return sum(map(_TOKENS, tools))


def request_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a whole request."""
    said = request.conversation_tokens or sum(map(said_tokens, request.conversation))
    return prompt_tokens(request.system) + said + tool_tokens(request.tools)


# The command that makes a conversation shorter at once: the text that its turn begins with.

COMMAND = "/compact"


def compaction_focus(text: str) -> str | None:
    """Return what `/compact` is to keep above all, empty if the person named nothing; None for any other
    text. Commands are never input for the assistant, so no other turn begins with one."""
    if not text.lstrip().startswith("/"):
        return None
    command, *focus = text.split(maxsplit=1) or [""]
    return "".join(focus).strip() if command.lower().partition("@")[0] == COMMAND else None
