"""Commands that go back in a conversation or on from a point of it: `/undo`, `/redo`, `/retry`, `/clear`,
`/resume`, `/branch` and `/compact`. While something runs or waits there, they are refused with the reason."""

import json
from collections.abc import Sequence
from typing import assert_never, cast

from core import texts
from core.ids import Ids
from core.inbound import conversation_texts as words
from core.inbound.submission import Branch, Clear, Compact, Redo, Resume, Retry, Rewinding, Undo
from core.messages import Choice, ChoiceAnswer, Message, Plain, plain
from core.store.accept import AcceptView, Verdict, refused
from core.store.conversations import INTERRUPTED, Checkpoint, Checkpoints, LastingEffect, ListMenu, MenuKind
from core.store.effects import (
    BranchThread,
    ClearThread,
    CompactThread,
    ContinueTurn,
    OpenMenu,
    RedoTurns,
    RetryTurn,
    Say,
    UndoTurns,
)
from core.store.rows import ThreadRow, TurnState

MAX_NAMED = 10
"""The number of lasting effects that an answer names."""
MAX_ARGUMENTS_CHARS = 100_000
_NAMING = ("path", "to")
"""The arguments that name what a tool changed, or whom it told."""


def rewind(submission: Rewinding, view: AcceptView, ids: Ids) -> Verdict:
    """Handle one of the commands."""
    held = view.checkpoints or Checkpoints()
    thread = view.thread
    if thread is None:
        return _nothing(submission)
    if (reason := busy(view)) is not None:
        return refused("busy", reason)
    match submission:
        case Undo(turns):
            return undo(turns, held) if turns else refused("/undo: wrong arguments", words.UNDO_USAGE)
        case Redo():
            return _redo(held)
        case Retry():
            return _retry(held, ids)
        case Clear():
            return Verdict("command: /clear", (ClearThread(), Say(plain(words.CLEARED))))
        case Resume():
            return _resume(held, ids)
        case Compact():
            return Verdict("command: /compact", (CompactThread(ids.row_id()),))
        case Branch(number):
            return _branch(number, thread, held, ids)
        case _:
            assert_never(submission)


def _nothing(submission: Rewinding) -> Verdict:
    match submission:
        case Undo():
            word = words.NOTHING_TO_UNDO
        case Redo():
            word = words.NOTHING_TO_REDO
        case Retry():
            word = words.NOTHING_TO_RETRY
        case Clear():
            word = words.NOTHING_TO_CLEAR
        case Resume():
            word = words.NOTHING_TO_RESUME
        case Compact():
            word = texts.NOTHING_TO_COMPACT
        case Branch():
            word = words.NOTHING_TO_BRANCH
        case _:
            assert_never(submission)
    return refused("no conversation yet", word)


def busy(view: AcceptView) -> str | None:
    """Return the reason a conversation can't be changed now; None if nothing runs or waits in it."""
    state = None if view.thread is None else view.thread.active_turn_state
    if state is TurnState.WAITING:
        return words.busy_waiting(view.open_gates[0].gate.title if view.open_gates else "")
    if state is not None:
        return words.BUSY_RUNNING
    return words.BUSY_QUEUED if view.waiting else None


def undo(turns: int, held: Checkpoints) -> Verdict:
    """Take back that many turns."""
    if turns > held.undoable:
        return refused("too far back", words.at_most(held.undoable))
    gone = held.newest[:turns]
    said = words.undone(turns, gone[-1].text, held.undoable - turns, _effects(gone))
    return Verdict("command: /undo", (UndoTurns(turns), Say(plain(said))))


def _redo(held: Checkpoints) -> Verdict:
    if not held.redoable:
        return refused("nothing to redo", words.NOTHING_TO_REDO)
    said = words.redone(held.redoable, held.undoable + held.redoable)
    return Verdict("command: /redo", (RedoTurns(), Say(plain(said))))


def _retry(held: Checkpoints, ids: Ids) -> Verdict:
    if not held.undoable:
        return refused("nothing to retry", words.NOTHING_TO_RETRY)
    said = words.again(_effects(held.newest[:1]))
    return Verdict("command: /retry", (RetryTurn(ids.row_id()), Say(plain(said))))


def _resume(held: Checkpoints, ids: Ids) -> Verdict:
    if held.newest and held.newest[0].state in INTERRUPTED:
        on = ContinueTurn(ids.row_id(), words.CONTINUE_NOTE)
        return Verdict("command: /resume", (on, Say(plain(words.CONTINUING))))
    listed = held.newest[: held.undoable]
    if not listed:
        return refused("nothing to resume", words.NOTHING_TO_RESUME)
    lines = [words.checkpoint_line(one.number, one.text, turns) for turns, one in enumerate(listed, start=1)]
    message = Message(
        (Plain(words.checkpoints(lines)),),
        tuple(Choice(words.checkpoint_label(one.number)) for one in listed),
        ids.gate_id(),
    )
    return Verdict(
        "command: /resume", (OpenMenu(MenuKind.CHECKPOINTS, tuple(one.turn_id for one in listed), message),)
    )


def _branch(number: int | None, thread: ThreadRow, held: Checkpoints, ids: Ids) -> Verdict:
    if number is None:
        return refused("/branch: wrong arguments", words.BRANCH_USAGE)
    if not held.newest:
        return refused("nothing to branch from", words.NOTHING_TO_BRANCH)
    last = held.newest[0] if number == 0 else held.named
    if last is None:
        return refused("no such turn", words.no_such_turn(number))
    title = words.branch_title(thread.title)
    said = words.branched(thread.title, last.number, thread.id)
    branch = BranchThread(ids.row_id(), title, last.turn_id)
    return Verdict("command: /branch", (branch, Say(plain(said))))


def back_to(event: ChoiceAnswer, menu: ListMenu, view: AcceptView) -> Verdict:
    """Handle a press in the list of checkpoints."""
    held = view.checkpoints or Checkpoints()
    if (reason := busy(view)) is not None:
        return Verdict("refused: busy", answer=reason)
    chosen = menu.items[event.choice] if 0 <= event.choice < len(menu.items) else ""
    turns = held.back_to(chosen)
    if turns is None:
        return Verdict("refused: no such turn", answer=words.GONE)
    return undo(turns, held)


def before_input(turn_id: str, view: AcceptView) -> Verdict | tuple[UndoTurns | Say, ...]:
    """Return the effects before a message that is sent instead of a turn's input, or the refusal of it."""
    held = view.checkpoints or Checkpoints()
    turns = held.back_to(turn_id)
    if turns is None:
        return refused("no such turn", words.GONE)
    if (reason := busy(view)) is not None:
        return refused("busy", reason)
    lines = words.lasting(_effects(held.newest[:turns]))
    return (UndoTurns(turns), *(Say(plain(line)) for line in lines))


def _effects(turns: Sequence[Checkpoint]) -> list[str]:
    """Return the effects that stay of these turns, each once, in the order in which they were made."""
    named = dict.fromkeys(_named(effect) for turn in reversed(turns) for effect in turn.effects)
    listed = list(named)[:MAX_NAMED]
    return [*listed, f"{len(named) - MAX_NAMED} more"] if len(named) > MAX_NAMED else listed


def _named(effect: LastingEffect) -> str:
    if len(effect.arguments) > MAX_ARGUMENTS_CHARS:
        return effect.tool
    try:
        arguments: object = json.loads(effect.arguments)
    except (ValueError, RecursionError):
        return effect.tool
    if not isinstance(arguments, dict):
        return effect.tool
    page = cast("dict[str, object]", arguments)
    of = next((value for name in _NAMING if isinstance(value := page.get(name), str) and value), None)
    return effect.tool if of is None else f"{effect.tool} ({words.short(of)})"
