"""The states of threads and turns, and the legal changes of each. Any other change raises."""

from collections.abc import Mapping
from enum import StrEnum

from core.errors import IllegalChange
from core.store.rows import ThreadRow, TurnState


class ThreadState(StrEnum):
    """The state of a conversation: at rest, at work, waiting for a person, cut off in its newest turn, or
    closed."""

    IDLE = "idle"
    PROCESSING = "processing"
    AWAITING = "awaiting"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"


THREAD_CHANGES: Mapping[ThreadState, frozenset[ThreadState]] = {
    ThreadState.IDLE: frozenset({ThreadState.PROCESSING, ThreadState.COMPLETED}),
    ThreadState.PROCESSING: frozenset({ThreadState.IDLE, ThreadState.AWAITING, ThreadState.INTERRUPTED}),
    ThreadState.AWAITING: frozenset({ThreadState.IDLE, ThreadState.PROCESSING, ThreadState.INTERRUPTED}),
    ThreadState.INTERRUPTED: frozenset({ThreadState.IDLE, ThreadState.PROCESSING, ThreadState.COMPLETED}),
    ThreadState.COMPLETED: frozenset({ThreadState.IDLE, ThreadState.INTERRUPTED}),
}
"""Undo turns an interrupted thread into an idle one; reopening makes it what it was."""
TURN_CHANGES: Mapping[TurnState, frozenset[TurnState]] = {
    TurnState.RUNNING: frozenset(
        {TurnState.WAITING, TurnState.DONE, TurnState.FAILED, TurnState.STOPPED, TurnState.CRASHED}
    ),
    TurnState.WAITING: frozenset({TurnState.RUNNING, TurnState.STOPPED}),
    TurnState.DONE: frozenset(),
    TurnState.FAILED: frozenset(),
    TurnState.STOPPED: frozenset(),
    TurnState.CRASHED: frozenset(),
}
INTERRUPTED = frozenset({TurnState.FAILED, TurnState.STOPPED, TurnState.CRASHED})
"""The ends of a turn without an answer: `/resume` continues from there."""


def thread_state(thread: ThreadRow, newest: TurnState | None = None) -> ThreadState:
    """Return a thread's state. `newest`: of its newest live turn."""
    match thread.active_turn_state:
        case TurnState.RUNNING:
            return ThreadState.PROCESSING
        case TurnState.WAITING:
            return ThreadState.AWAITING
        case _:
            if thread.closed_at is not None:
                return ThreadState.COMPLETED
            return ThreadState.INTERRUPTED if newest in INTERRUPTED else ThreadState.IDLE


def require_change(thread: ThreadRow, becomes: ThreadState) -> None:
    """Raise IllegalChange unless the thread may change so."""
    state = thread_state(thread)
    if becomes not in THREAD_CHANGES[state]:
        raise IllegalChange(f"thread {thread.id} is {state}, so it can't become {becomes}")


def may_become(becomes: TurnState) -> str:
    """Return the states from which a turn may change so, as a list in SQL."""
    states = sorted(state.value for state, changes in TURN_CHANGES.items() if becomes in changes)
    return f"({', '.join(map(repr, states))})"
