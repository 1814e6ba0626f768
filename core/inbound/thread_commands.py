"""Commands that choose, name, close and delete conversations: `/new`, `/threads`, `/thread`, `/rename`,
`/close`, `/export`, `/delete`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from core.ids import Ids
from core.inbound import conversation_texts as words
from core.inbound.checkpoint_commands import back_to, busy
from core.inbound.submission import (
    Close,
    Delete,
    Export,
    NewThread,
    Rename,
    Threading,
    Threads,
    UseThread,
)
from core.messages import THREAD_FILE, Choice, ChoiceAnswer, File, Message, Plain, plain
from core.store.accept import AcceptView, Verdict, refused
from core.store.conversations import ListMenu, MenuKind, ThreadChoice
from core.store.effects import (
    CloseThread,
    DeleteThread,
    OpenMenu,
    RebindThread,
    RenameThread,
    Say,
    SwitchThread,
)

MAX_TITLE_CHARS = 80
"""Also the limit of titles made from a first message."""


def choose(submission: Threading, view: AcceptView, ids: Ids, scope: str | None, *, direct: bool) -> Verdict:
    """Handle one of the commands. `scope`: the external id of the event's conversation."""
    match submission:
        case NewThread(title):
            return _new(title, ids)
        case Close():
            return _close(view)
        case Rename(title):
            return _rename(title, view)
        case Delete(confirmed):
            return _delete(confirmed, view, ids)
        case Export():
            return _export(view, direct=direct)
        case Threads():
            return _list(view.threads, ids, direct=direct)
        case UseThread():
            return _use(view.threads, ids, scope, direct=direct)
        case _:
            assert_never(submission)


def _new(title: str, ids: Ids) -> Verdict:
    if len(title) > MAX_TITLE_CHARS:
        return refused("the title is too long", words.title_too_long(MAX_TITLE_CHARS))
    said = Say(plain(words.new_thread(title)))
    return Verdict("command: /new", (RebindThread(ids.row_id(), title), said))


def _close(view: AcceptView) -> Verdict:
    if view.thread is None:
        return refused("no conversation yet", words.NOTHING_TO_CLOSE)
    if view.thread.closed_at is not None:
        return refused("closed already", words.CLOSED_ALREADY)
    if (reason := busy(view)) is not None:
        return refused("busy", reason)
    return Verdict("command: /close", (CloseThread(), Say(plain(words.closed(view.thread.id)))))


def _rename(title: str, view: AcceptView) -> Verdict:
    if view.thread is None:
        return refused("no conversation yet", words.NOTHING_TO_RENAME)
    if not title:
        return refused("/rename: wrong arguments", words.RENAME_USAGE)
    if len(title) > MAX_TITLE_CHARS:
        return refused("the title is too long", words.title_too_long(MAX_TITLE_CHARS))
    return Verdict("command: /rename", (RenameThread(title), Say(plain(words.renamed(title)))))


def _delete(confirmed: bool | None, view: AcceptView, ids: Ids) -> Verdict:
    if confirmed is None:
        return refused("/delete: wrong arguments", words.DELETE_USAGE)
    if view.thread is None:
        return refused("no conversation yet", words.NOTHING_TO_DELETE)
    if (reason := _not_deletable(view)) is not None:
        return refused("busy", reason)
    if confirmed:
        return Verdict("command: /delete", (DeleteThread(), Say(plain(words.DELETED))))
    choices = tuple(map(Choice, _DELETION))
    message = Message((Plain(words.deletion(view.thread.title)),), choices, ids.gate_id())
    return Verdict("command: /delete, asked", (OpenMenu(MenuKind.DELETION, (view.thread.id,), message),))


_DELETION = (words.EXPORT_FIRST, words.DELETE_NOW, words.KEEP)
"""The choices of the question about deleting, in order."""


def _export(view: AcceptView, *, direct: bool) -> Verdict:
    """Send a conversation as a file. It tells more than others in a group have seen: the tools' results."""
    on = view.thread
    if on is None:
        return refused("no conversation yet", words.NOTHING_TO_EXPORT)
    if not direct:
        return refused("exports are sent in private only", words.EXPORT_IN_PRIVATE)
    file = File(f"{THREAD_FILE}{on.id}", f"conversation-{on.id}.md", "text/markdown")
    said = Say(Message((Plain(words.exported(on.title, on.id)),), files=(file,)))
    return Verdict("command: /export", (said,))


def _not_deletable(view: AcceptView) -> str | None:
    return words.BUSY_SENDING if view.sending and not busy(view) else busy(view)


def delete_pressed(event: ChoiceAnswer, view: AcceptView) -> Verdict:
    """Handle an answer to the question about deleting."""
    label = _DELETION[event.choice] if 0 <= event.choice < len(_DELETION) else words.KEEP
    if view.thread is None or label == words.KEEP:
        return Verdict("command: /delete, kept", answer=words.KEPT)
    if label == words.EXPORT_FIRST:
        exported = _export(view, direct=event.direct)
        return replace(exported, answer=words.EXPORTING) if event.direct else exported
    if (reason := _not_deletable(view)) is not None:
        return Verdict("refused: busy", answer=reason)
    return Verdict("command: /delete", (DeleteThread(), Say(plain(words.DELETED))))


def _list(found: Sequence[ThreadChoice], ids: Ids, *, direct: bool) -> Verdict:
    if not found:
        return refused("no conversation yet", words.NO_THREADS if direct else words.NO_THREADS_HERE)
    heading = words.YOUR_THREADS if direct else words.YOUR_THREADS_HERE
    return Verdict("command: /threads", (_menu(heading, found, ids),))


def _menu(heading: str, found: Sequence[ThreadChoice], ids: Ids) -> OpenMenu:
    lines = [words.thread_line(one.title, one.channel, one.id, closed=one.closed) for one in found]
    choices = tuple(
        Choice(words.thread_label(number, one.title)) for number, one in enumerate(found, start=1)
    )
    message = Message((Plain("\n".join([heading, *lines])),), choices, ids.gate_id())
    return OpenMenu(MenuKind.THREADS, tuple(one.id for one in found), message)


def _use(found: Sequence[ThreadChoice], ids: Ids, scope: str | None, *, direct: bool) -> Verdict:
    if not found:
        word = words.NO_SUCH_THREAD if direct else words.NO_SUCH_THREAD_HERE
        return refused("no such conversation", word)
    if len(found) > 1:
        return Verdict("command: /thread", (_menu(words.SEVERAL_THREADS, found, ids),))
    (one,) = found
    said = Say(plain(words.switched(one.title, one.channel, closed=one.closed)))
    return Verdict("command: /thread", (SwitchThread(one.id, scope), said))


def pressed(event: ChoiceAnswer, menu: ListMenu, view: AcceptView) -> Verdict:
    """Handle a press in a list of threads."""
    chosen = menu.items[event.choice] if 0 <= event.choice < len(menu.items) else ""
    found = next((one for one in view.threads if one.id == chosen), None)
    if found is None:
        return Verdict("refused: no such conversation", answer=words.NO_SUCH_THREAD)
    said = Say(plain(words.switched(found.title, found.channel, closed=found.closed)))
    return Verdict("command: /thread", (SwitchThread(found.id, menu.scope), said))


def pressed_in_list(event: ChoiceAnswer, menu: ListMenu, view: AcceptView) -> Verdict:
    """Return the verdict on a press in a list."""
    if menu.user_id != view.principal.user_id:
        return Verdict("refused: not their list", answer=words.NOT_YOURS)
    if menu.kind is MenuKind.THREADS:
        return pressed(event, menu, view)
    if menu.kind is MenuKind.DELETION:
        return delete_pressed(event, view)
    return back_to(event, menu, view)
