"""Conversations as the API and `--json` show them: one shape for both. See bot.views for what holds of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, assert_never

from core.store.rows import ThreadRow
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    OperatorSaid,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """One conversation. `state`: of its active turn (`running`, `waiting`), else `idle`."""

    id: str
    owner_id: str
    channel: str
    title: str
    state: str
    created_at: int
    last_active_at: int

    @classmethod
    def of(cls, row: ThreadRow) -> Self:
        """The row without what only its channel can read."""
        return cls(
            id=row.id,
            owner_id=row.owner_id,
            channel=row.channel,
            title=row.title,
            state="idle" if row.active_turn_state is None else row.active_turn_state.value,
            created_at=row.created_at,
            last_active_at=row.last_active_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """One line of a conversation.

    `kind`: user, assistant, call, result, summary, note, operator. `name`: who speaks (user, operator) or the
    tool (call); `text` of a call: its arguments as the model gave them; `status`: of a result.
    """

    seq: int
    turn_id: str | None
    at: int
    kind: str
    text: str
    name: str | None = None
    call_id: str | None = None
    status: str | None = None

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """The entry, whatever it is, in one flat shape."""
        said = entry.said
        name = call_id = status = None
        match said:
            case UserSaid(text, sender):
                name = sender
            case ToolCalled(call_id, name, text):
                pass
            case ToolResult(call_id, result, text):
                status = result.value
            case OperatorSaid(text, name):
                pass
            case AssistantSaid(text) | Summary(text) | Note(text):
                pass
            case _:
                assert_never(said)
        return cls(
            seq=entry.seq,
            turn_id=entry.turn_id,
            at=entry.at,
            kind=said.kind,
            text=text,
            name=name or None,
            call_id=call_id,
            status=status,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """A thread with its newest entries, in order. `earlier`: there are entries before them."""

    thread: ThreadView
    entries: tuple[EntryView, ...]
    earlier: bool


class Conversations(Protocol):
    """The store as far as conversations are shown."""

    async def thread(self, thread_id: str) -> ThreadRow | None:
        """See Store."""
        ...

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        """See Store."""
        ...


async def conversation(store: Conversations, thread_id: str, limit: int) -> ConversationView | None:
    """A thread with its newest entries; None if there is none of that id."""
    row = await store.thread(thread_id)
    if row is None:
        return None
    newest = await store.entries(thread_id, limit + 1)
    entries = tuple(EntryView.of(entry) for entry in newest[-limit:])
    return ConversationView(thread=ThreadView.of(row), entries=entries, earlier=len(newest) > limit)
