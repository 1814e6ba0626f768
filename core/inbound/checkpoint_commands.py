"""Commands that go back in a conversation or on from a point of it: `/undo`, `/redo`, `/retry`, `/clear`,
`/resume`, `/branch` and `/compact`, with their texts. While something runs or waits there, they are refused
with the reason.
"""

import json
from collections.abc import Sequence
from typing import assert_never, cast

from core import texts
from core.ids import Ids
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
from core.texts import count

SHOWN_CHARS = 60
NOTHING_TO_UNDO = "There is nothing to undo here."
NOTHING_TO_REDO = "There is nothing to redo here."
NOTHING_TO_RETRY = "There is nothing to retry here. Send a message first."
NOTHING_TO_RESUME = "There is nothing to resume here. Send a message first."
NOTHING_TO_BRANCH = "There is nothing to branch from here. Send a message first."
NOTHING_TO_CLEAR = "There is no conversation to clear here."
CLEARED = (
    "Cleared. I don't use anything said here before. It stays in the history and in exports;"
    " /undo can't bring it back."
)
RETRYING = "Trying again. I don't use my earlier answer."
CONTINUING = "Continuing where I was interrupted."
CONTINUE_NOTE = "The person asks you to continue with what was interrupted."
CLOSED_BEFORE = "The conversation here was closed, so this is a new one. /threads lists the earlier ones."
GONE = "That turn is no longer part of the conversation."
NOT_YOURS = "Only the person who asked for this list can use it."
UNDO_USAGE = "Type /undo, or /undo and a number of turns, such as /undo 3."
BRANCH_USAGE = "Type /branch, or /branch and the number of a turn from the list of /resume."
BUSY_RUNNING = "I'm still working here, so I can't do that now. Send /stop first, or wait for the answer."
BUSY_QUEUED = "Messages are still queued here, so I can't do that now. Wait for them, or send /stop first."


def busy_waiting(title: str) -> str:
    """Return the refusal of a command while something waits for a person."""
    return (
        f"“{short(title)}” still waits for an answer, so I can't do that now. Decide it or send /stop first."
    )


def short(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"


def at_most(turns: int) -> str:
    """Return the refusal to undo more turns than there are checkpoints."""
    if not turns:
        return NOTHING_TO_UNDO
    return f"I can undo at most {count(turns, 'turn')} here."


def undone(turns: int, first: str, left: int, effects: Sequence[str]) -> str:
    """Return the answer to `/undo`. `first`: the text of the earliest turn undone; `left`: how many turns can
    still be undone."""
    what = "the last turn" if turns == 1 else f"the last {turns} turns"
    since = f", back to before “{short(first)}”" if first else ""
    more = f"{count(left, 'more turn')} can be undone." if left else "No more turns can be undone."
    return "\n".join([f"Undid {what}{since}. {more} /redo brings it back.", *lasting(effects)])


def redone(turns: int, undoable: int) -> str:
    """Return the answer to `/redo`."""
    what = "the last undone turn" if turns == 1 else f"{turns} undone turns"
    return f"Brought back {what}. {count(undoable, 'turn')} can be undone."


def again(effects: Sequence[str]) -> str:
    """Return the answer to `/retry`."""
    return "\n".join([RETRYING, *lasting(effects)])


def lasting(effects: Sequence[str]) -> list[str]:
    """Return the line that names the effects which stay; none if there are none."""
    return [f"These effects stay: {', '.join(effects)}."] if effects else []


def checkpoint_line(number: int, text: str, turns: int) -> str:
    """Return a line of the list of checkpoints. `turns`: how many an undo to there takes back."""
    return f"Turn {number}: {short(text) or '(continued)'} – /undo {turns}"


def checkpoints(lines: Sequence[str]) -> str:
    """Return the list of checkpoints, the newest first."""
    return "\n".join(["Go back to before one of these turns:", *lines])


def checkpoint_label(number: int) -> str:
    """Return the label of a checkpoint's button."""
    return f"Before turn {number}"


def no_such_turn(number: int) -> str:
    """Return the refusal to branch after a turn that is not part of the conversation."""
    return f"Turn {number} is not part of this conversation. /resume lists the turns."


def branch_title(title: str) -> str:
    """Return the title of a branch."""
    return f"{title or 'Conversation'} (branch)"


def branched(title: str, number: int, origin_id: str) -> str:
    """Return the answer to `/branch`."""
    of = f"“{short(title)}”" if title else "the conversation"
    return (
        f"This is now a branch of {of}, up to turn {number}. Messages here no longer reach the original."
        f" /thread {origin_id} goes back to it."
    )


# Conversations as a whole.

NOTHING_TO_CLOSE = "There is no conversation to close here."
NOTHING_TO_RENAME = "There is no conversation to rename here. Send a message first."
NOTHING_TO_DELETE = "There is no conversation to delete here."
DELETE_USAGE = "Type /delete to delete this conversation. I ask before I do."
NOTHING_TO_EXPORT = "There is no conversation to export here."
EXPORT_IN_PRIVATE = (
    "I send exports only in private conversations. Type /thread and the ID or title there, then /export."
)
EXPORT_FIRST = "Export first"
EXPORTING = "The export comes as a file. This card stays here."
DELETE_NOW = "Delete for good"
KEEP = "Keep it"
KEPT = "Nothing was deleted."
DELETED = (
    "Deleted for good. Your next message here starts a new conversation."
    " What this app shows of the old one, only you can delete."
)
BUSY_SENDING = "I'm still sending something here, so I can't do that now. Try again in a moment."
RENAME_USAGE = "Type /rename and a title."
CLOSED_ALREADY = "This conversation is closed already. Your next message starts a new one."
NO_THREADS = "You have no conversations yet. Send a message to start one."
NO_SUCH_THREAD = "You have no conversation with that ID or title. /threads lists yours."
NO_THREADS_HERE = "You have no conversations here yet. Your others are listed in private conversations."
NO_SUCH_THREAD_HERE = (
    "You have no conversation here with that ID or title. /threads lists those of this place; your others are"
    " listed in private conversations."
)
YOUR_THREADS_HERE = "Your conversations here, the most recently active first:"
YOUR_THREADS = "Your conversations, the most recently active first:"
SEVERAL_THREADS = "Several conversations fit. Choose one:"
LABEL_CHARS = 30


def new_thread(title: str) -> str:
    """Return the answer to `/new`."""
    named = f" It is called “{title}”." if title else ""
    return f"Started a new conversation. Earlier messages stay in the previous one.{named}"


def title_too_long(limit_chars: int) -> str:
    """Return the refusal of a long title."""
    return f"A title has at most {limit_chars} characters."


def renamed(title: str) -> str:
    """Return the answer to `/rename`."""
    return f"This conversation is now called “{title}”."


def closed(thread_id: str) -> str:
    """Return the answer to `/close`."""
    return (
        f"Closed. Your next message here starts a new conversation. /thread {thread_id} opens this one again."
    )


def deletion(title: str) -> str:
    """Return the question before a conversation is deleted."""
    return (
        f"Delete {named(title)} for good? Nothing that was said in it, no undo and no search brings it back;"
        " records of approvals and costs stay. Press a button; or type /export, which sends you a copy first,"
        " or /delete now."
    )


def exported(title: str, thread_id: str) -> str:
    """Return the message with a conversation as a file."""
    return (
        f"The file has all of {named(title)}, also undone turns and the tools' results."
        f" `hubbub threads export {thread_id}` prints the same."
    )


def switched(title: str, channel: str, *, closed: bool) -> str:
    """Return the answer to `/thread`. `channel`: where the conversation was last active."""
    opened = " It was closed and is open again." if closed else ""
    return f"Continuing {named(title)}, last active on {channel}.{opened}"


def named(title: str) -> str:
    """Return a conversation's name in a sentence."""
    return f"“{short(title)}”" if title else "a conversation without a title"


def thread_line(title: str, channel: str, thread_id: str, *, closed: bool) -> str:
    """Return a line of a list of conversations."""
    state = ", closed" if closed else ""
    return f"{short(title) or '(no title)'} ({channel}{state}) – /thread {thread_id}"


def thread_label(number: int, title: str) -> str:
    """Return the label of a conversation's button."""
    label = f"{number}. {' '.join(title.split()) or '(no title)'}"
    return label if len(label) <= LABEL_CHARS else f"{label[: LABEL_CHARS - 1]}…"


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
            return undo(turns, held) if turns else refused("/undo: wrong arguments", UNDO_USAGE)
        case Redo():
            return _redo(held)
        case Retry():
            return _retry(held, ids)
        case Clear():
            return Verdict("command: /clear", (ClearThread(), Say(plain(CLEARED))))
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
            word = NOTHING_TO_UNDO
        case Redo():
            word = NOTHING_TO_REDO
        case Retry():
            word = NOTHING_TO_RETRY
        case Clear():
            word = NOTHING_TO_CLEAR
        case Resume():
            word = NOTHING_TO_RESUME
        case Compact():
            word = texts.NOTHING_TO_COMPACT
        case Branch():
            word = NOTHING_TO_BRANCH
        case _:
            assert_never(submission)
    return refused("no conversation yet", word)


def busy(view: AcceptView) -> str | None:
    """Return the reason a conversation can't be changed now; None if nothing runs or waits in it."""
    state = None if view.thread is None else view.thread.active_turn_state
    if state is TurnState.WAITING:
        return busy_waiting(view.open_gates[0].gate.title if view.open_gates else "")
    if state is not None:
        return BUSY_RUNNING
    return BUSY_QUEUED if view.waiting else None


def undo(turns: int, held: Checkpoints) -> Verdict:
    """Take back that many turns."""
    if turns > held.undoable:
        return refused("too far back", at_most(held.undoable))
    gone = held.newest[:turns]
    said = undone(turns, gone[-1].text, held.undoable - turns, _effects(gone))
    return Verdict("command: /undo", (UndoTurns(turns), Say(plain(said))))


def _redo(held: Checkpoints) -> Verdict:
    if not held.redoable:
        return refused("nothing to redo", NOTHING_TO_REDO)
    said = redone(held.redoable, held.undoable + held.redoable)
    return Verdict("command: /redo", (RedoTurns(), Say(plain(said))))


def _retry(held: Checkpoints, ids: Ids) -> Verdict:
    if not held.undoable:
        return refused("nothing to retry", NOTHING_TO_RETRY)
    said = again(_effects(held.newest[:1]))
    return Verdict("command: /retry", (RetryTurn(ids.row_id()), Say(plain(said))))


def _resume(held: Checkpoints, ids: Ids) -> Verdict:
    if held.newest and held.newest[0].state in INTERRUPTED:
        on = ContinueTurn(ids.row_id(), CONTINUE_NOTE)
        return Verdict("command: /resume", (on, Say(plain(CONTINUING))))
    listed = held.newest[: held.undoable]
    if not listed:
        return refused("nothing to resume", NOTHING_TO_RESUME)
    lines = [checkpoint_line(one.number, one.text, turns) for turns, one in enumerate(listed, start=1)]
    message = Message(
        (Plain(checkpoints(lines)),),
        tuple(Choice(checkpoint_label(one.number)) for one in listed),
        ids.gate_id(),
    )
    return Verdict(
        "command: /resume", (OpenMenu(MenuKind.CHECKPOINTS, tuple(one.turn_id for one in listed), message),)
    )


def _branch(number: int | None, thread: ThreadRow, held: Checkpoints, ids: Ids) -> Verdict:
    if number is None:
        return refused("/branch: wrong arguments", BRANCH_USAGE)
    if not held.newest:
        return refused("nothing to branch from", NOTHING_TO_BRANCH)
    last = held.newest[0] if number == 0 else held.named
    if last is None:
        return refused("no such turn", no_such_turn(number))
    title = branch_title(thread.title)
    said = branched(thread.title, last.number, thread.id)
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
        return Verdict("refused: no such turn", answer=GONE)
    return undo(turns, held)


def before_input(turn_id: str, view: AcceptView) -> Verdict | tuple[UndoTurns | Say, ...]:
    """Return the effects before a message that is sent instead of a turn's input, or the refusal of it."""
    held = view.checkpoints or Checkpoints()
    turns = held.back_to(turn_id)
    if turns is None:
        return refused("no such turn", GONE)
    if (reason := busy(view)) is not None:
        return refused("busy", reason)
    lines = lasting(_effects(held.newest[:turns]))
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
    return effect.tool if of is None else f"{effect.tool} ({short(of)})"
