"""The settings of one conversation that people change in chat: `/verbose`, `/model` and `/think`."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from core import texts
from core.events import Verbosity
from core.ids import Ids
from core.inbound.submission import ThreadSetting
from core.lazy_dataclass import dataclass
from core.messages import Choice, Message, Plain
from core.store.accept import AcceptView, StatusSnapshot, Verdict, refused
from core.store.effects import Say, SetThread
from core.users import UNSET, ModelChoice, Role, Thinking, ThreadSettings

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
