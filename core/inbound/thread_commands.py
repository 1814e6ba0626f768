"""Commands that choose, name, close and delete conversations: `/new`, `/threads`, `/thread`, `/rename`,
`/close`, `/export`, `/delete`; and those that set one up: `/verbose`, `/model` and `/think`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from core import texts
from core.events import Verbosity
from core.ids import Ids
from core.inbound import checkpoint_commands as words
from core.inbound.checkpoint_commands import back_to, busy
from core.inbound.submission import (
    Close,
    Delete,
    Export,
    NewThread,
    Rename,
    Threading,
    Threads,
    ThreadSetting,
    UseThread,
)
from core.lazy import dataclass
from core.messages import THREAD_FILE, Choice, ChoiceAnswer, File, Message, Plain, plain
from core.store.accept import AcceptView, StatusSnapshot, Verdict, refused
from core.store.conversations import ListMenu, MenuKind, ThreadChoice
from core.store.effects import (
    CloseThread,
    DeleteThread,
    OpenMenu,
    RebindThread,
    RenameThread,
    Say,
    SetThread,
    SwitchThread,
)
from core.users import UNSET, ModelChoice, Role, Thinking, ThreadSettings

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


DEFAULT = "default"
MAX_BUTTONS = 20
"""The number of values shown as buttons: platforms show at most 25."""

NO_THREAD = "There is no conversation here yet. Send a message first, then /{name}."
NOT_FOR_GUESTS = "Guests can't choose models."
MODELS = "Models for this conversation, in the order they are tried:"
MODEL_USAGE = "Type /model NAME to put one first, or /model default for the configured order."
MODELS_AS_CONFIGURED = "Models are tried in the configured order here."
GONE = "The chosen model {name} is not configured any more, so the configured order applies."
THINKING = "Models think with effort {effort} here{origin}. It has no effect on models that don't think."
THINKING_AS_CONFIGURED = "Models think as configured here."
THINK_USAGE = "Type /think off, low, medium, high or default."
HERE, BY_OPERATOR = " (chosen here)", " (set for you by the owner)"


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting: its value for this conversation, all values, and what to tell of it.

    `known`: returns the value that a person typed, or None. `now`: told once it is set, if that is less."""

    value: str
    values: tuple[str, ...]
    told: str
    usage: str
    known: Callable[[str], str | None]
    changed: Callable[[str], ThreadSettings]
    now: str | None = None


def thread_setting(
    submission: ThreadSetting, view: AcceptView, models: Mapping[str, str], ids: Ids
) -> Verdict:
    """Handle one of the commands, alone or with a new value. `models`: the configured models in order, each
    with its provider's name for it."""
    name, wanted = submission.name, submission.wanted
    if name != "verbose" and view.principal.role is Role.GUEST:
        return refused("guests can't choose models", NOT_FOR_GUESTS)
    thread, outcome = view.thread, f"command: /{name}"
    settings = UNSET if thread is None else thread.settings
    setting = _setting(name, settings, view, models)
    if not wanted:
        choices = () if thread is None else _buttons(name, setting)
        return Verdict(outcome, (_told(setting, choices, ids),))
    value = setting.known(wanted)
    if value is None:
        return refused("no such setting", setting.usage)
    if thread is None:
        return refused("no conversation yet", NO_THREAD.format(name=name))
    settings = setting.changed(value)
    setting = _setting(name, settings, view, models)
    said = Say(Message((Plain(setting.now or setting.told),)))
    return Verdict(outcome, (SetThread(thread.id, settings), said))


def _setting(name: str, now: ThreadSettings, view: AcceptView, models: Mapping[str, str]) -> _Setting:
    chosen, preferred = now.chosen, (view.status or StatusSnapshot()).preferences.chosen
    if name == "verbose":
        return _Setting(
            now.verbosity,
            tuple(Verbosity),
            texts.verbosity(now.verbosity),
            texts.VERBOSE_USAGE,
            lambda typed: _one_of(typed, tuple(Verbosity)),
            lambda value: replace(now, verbosity=Verbosity(value)),
        )
    if name == "think":
        values = (*Thinking, DEFAULT)
        return _Setting(
            chosen.thinking or DEFAULT,
            values,
            _thinking_told(chosen, preferred),
            THINK_USAGE,
            lambda typed: _one_of(typed, values),
            lambda value: replace(
                now, chosen=replace(chosen, thinking=None if value == DEFAULT else Thinking(value))
            ),
        )
    values = (*models, DEFAULT)
    return _Setting(
        chosen.model or DEFAULT,
        values,
        _models_told(chosen, preferred, models),
        MODEL_USAGE,
        lambda typed: _one_of(typed, values),
        lambda value: replace(now, chosen=replace(chosen, model=None if value == DEFAULT else value)),
        _model_told(chosen, preferred, models),
    )


def _one_of(typed: str, values: tuple[str, ...]) -> str | None:
    """Return the value of that name: exactly as typed if there is one, else in any case."""
    if typed in values:
        return typed
    return next((value for value in values if value.casefold() == typed.casefold()), None)


def _buttons(name: str, setting: _Setting) -> tuple[Choice, ...]:
    return tuple(
        Choice(f"✓ {value}" if value == setting.value else value, f"/{name} {value}")
        for value in setting.values[:MAX_BUTTONS]
    )


def _told(setting: _Setting, choices: tuple[Choice, ...], ids: Ids) -> Say:
    return Say(Message((Plain(setting.told),), choices, ids.gate_id() if choices else None))


def _thinking_told(chosen: ModelChoice, preferred: ModelChoice) -> str:
    effort = chosen.over(preferred).thinking
    if effort is None:
        return f"{THINKING_AS_CONFIGURED} {THINK_USAGE}"
    origin = BY_OPERATOR if chosen.thinking is None else HERE
    return f"{THINKING.format(effort=effort, origin=origin)} {THINK_USAGE}"


def _model_told(chosen: ModelChoice, preferred: ModelChoice, models: Mapping[str, str]) -> str | None:
    """Return the choice in one line; None if the list is needed to understand it."""
    first = chosen.over(preferred).model
    if first is None:
        return MODELS_AS_CONFIGURED
    origin = BY_OPERATOR if chosen.model is None else HERE
    return f"✓ {first}{origin}" if first in models else None


def _models_told(chosen: ModelChoice, preferred: ModelChoice, models: Mapping[str, str]) -> str:
    first = chosen.over(preferred).model
    lines = [MODELS]
    for name in sorted(models, key=lambda one: one != first):
        origin = BY_OPERATOR if chosen.model is None else HERE
        mark = f"✓ {name}{origin}" if name == first else name
        lines.append(mark if models[name] in ("", name) else f"{mark}: {models[name]}")
    if first is not None and first not in models:
        lines.append(GONE.format(name=first))
    return "\n".join([*lines, MODEL_USAGE])
