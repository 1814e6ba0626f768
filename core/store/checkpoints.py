"""Values about a conversation's turns that commands such as `/undo` and `/resume` are judged on."""

from enum import StrEnum

from core.lazy_dataclass import dataclass
from core.store.rows import TurnState

UNDONE = "↩ Undone"
"""The mark on messages of undone turns, where a platform can show it."""


@dataclass(frozen=True, slots=True)
class LastingEffect:
    """A call that ran and has an effect outside of the conversation, which no undo takes back.

    `arguments`: as they ran, as JSON text."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a conversation before one of its live turns.

    `number`: the turn's, counted from 1 over the whole conversation.
    `text`: the beginning of its input, empty if it only went on with an earlier one.
    `effects`: what it did outside of the conversation."""

    turn_id: str
    number: int
    text: str
    state: TurnState
    effects: tuple[LastingEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of a conversation.

    `newest`: its newest live turns, the newest first.
    `undoable`: the number of them that can be undone.
    `redoable`: the number of turns that `/redo` brings back.
    `named`: the live turn that was asked for by its number."""

    newest: tuple[Checkpoint, ...] = ()
    undoable: int = 0
    redoable: int = 0
    named: Checkpoint | None = None

    def back_to(self, turn_id: str) -> int | None:
        """Return the number of turns to undo so that this one and all after it are gone. None: it can't be
        undone."""
        for turns, checkpoint in enumerate(self.newest[: self.undoable], start=1):
            if checkpoint.turn_id == turn_id:
                return turns
        return None


class MenuKind(StrEnum):
    """The kind of a list with a button for each line: checkpoints to go back to, threads to switch to, or the
    question about deleting a thread."""

    CHECKPOINTS = "checkpoints"
    THREADS = "threads"
    DELETION = "deletion"


@dataclass(frozen=True, slots=True)
class ListMenu:
    """A list with a button for each line, in the order of `items`: ids of turns or threads. A question about
    deleting has the thread as its first item.

    `thread_id`: the conversation it was asked for in, if there was one.
    `scope`: the external id under which it was asked for."""

    id: str
    kind: MenuKind
    user_id: str
    thread_id: str | None
    scope: str | None
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadChoice:
    """A thread of a person that they can switch to. `channel`: where it was last active."""

    id: str
    title: str
    channel: str
    closed: bool
