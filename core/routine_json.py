"""A routine's definition as plain JSON: one form for the store, the API, the command line and the model.

    {"name": "morning", "trigger": {"type": "cron", "schedule": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
     "action": {"type": "lightweight", "prompt": "What is on today?"},
     "guardrails": {"cooldown_s": 300}, "notify": {"quiet_hours": "22:00-07:00"}}

Reading judges form alone (names, types, one of a few words) and reports every problem at once, each by the
dotted name of its field; `core.routines.definitions` judges the values. Nothing is guessed: a number
written as
text is a problem, and so is an unknown field. Field names are also the stored form, and change only
together with
a migration.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar, cast

from core.errors import HubError
from core.lazy import dataclass
from core.messages import Address
from core.routine import (
    Action,
    Cron,
    Definition,
    Event,
    Filters,
    FullJob,
    Guardrails,
    Lightweight,
    Manual,
    ManualInput,
    MessageInput,
    Notify,
    OnMatch,
    QuietHours,
    Reminder,
    RunInput,
    Signature,
    SlotInput,
    SystemEvent,
    SystemInput,
    Trigger,
    Webhook,
    WebhookInput,
)

# Reader of JSON objects from people and programs: it records every problem and stops at none.
#
# A form returns its fields by type and in the end lists all problems, each by the dotted name of its field,
# so
# that people can correct them at once. Nothing is guessed: a number written as text is a problem, and so is
# an
# unknown field. After a problem the field has a value that lets the reading continue; no caller may use the
# result while there are `problems`.

Word = TypeVar("Word", bound=StrEnum)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with one field, for the person who wrote it. `field`: its dotted name."""

    field: str
    message: str


class RoutineNotFound(HubError):
    """Error for a routine that the person does not have."""


class RoutineRefused(HubError):
    """A refused change. `problems`: all problems, each with its field ("" for none in particular); `formal`:
    the page is
    not a routine at all, whatever its values."""

    def __init__(self, *problems: Problem, formal: bool = False) -> None:
        super().__init__("; ".join(f"{problem.field} {problem.message}".strip() for problem in problems))
        self.problems = problems
        self.formal = formal


class Form:
    """One JSON object. A null field counts as omitted."""

    def __init__(self, page: Mapping[str, object]) -> None:
        self._page = page
        self._path = ""
        self._found: list[Problem] = []
        self._asked: set[str] = set()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems so far, with this form and its parts."""
        return tuple(self._found)

    def fault(self, name: str, message: str) -> None:
        """Record a problem with a field."""
        self._found.append(Problem(self._path + name, message))

    def text(self, name: str, usual: str | None = None) -> str:
        """Return a text; an omitted one without a default is a problem."""
        value = self._value(name, str, "text")
        if value is not None:
            return value
        if usual is None and self._page.get(name) is None:
            self.fault(name, "is missing")
        return usual or ""

    def text_or_none(self, name: str) -> str | None:
        """Return a trimmed text; None if it is omitted or blank."""
        return (self._value(name, str, "text") or "").strip() or None

    def flag(self, name: str, usual: bool) -> bool:
        """Return true or false."""
        value = self._value(name, bool, "true or false")
        return usual if value is None else value

    def number(self, name: str, usual: int) -> int:
        """Return a whole number."""
        value = self.number_or_none(name)
        return usual if value is None else value

    def number_or_none(self, name: str) -> int | None:
        """Return a whole number; None if it is omitted."""
        return self._value(name, int, "a whole number")

    def word(self, name: str, usual: Word) -> Word:
        """Return one of the words of `usual`'s type."""
        words = [str(member) for member in type(usual)]
        value = self.one_of(name, words, needed=False)
        return type(usual)(value) if value else usual

    def one_of(
        self,
        name: str,
        words: tuple[str, ...] | list[str],
        *,
        needed: bool = True,
    ) -> str:
        """Return one of the words; "" if there is none."""
        value = self._value(name, str, "text")
        if value in words:
            return cast("str", value)
        if value is not None or (needed and self._page.get(name) is None):
            self.fault(name, f"must be {'one of ' if len(words) > 1 else ''}{', '.join(words)}")
        return ""

    def texts(self, name: str, *, exact: bool = False) -> tuple[str, ...]:
        """Return a list of texts: trimmed unless `exact`, without blanks and duplicates."""
        listed = cast("list[object]", self._value(name, list, "a list of strings") or [])
        texts = [item for item in listed if isinstance(item, str)]
        if len(texts) < len(listed):
            self.fault(name, "must be a list of strings")
        kept = (text if exact else text.strip() for text in texts if text.strip())
        return tuple(dict.fromkeys(kept))

    def mapping(self, name: str) -> Mapping[str, object]:
        """Return an object unchanged; empty if it is omitted."""
        return cast("dict[str, object]", self._value(name, dict, "an object") or {})

    def part(self, name: str) -> "Form":
        """Return an object that is a form of its own; its problems are also this form's."""
        given = len(self._found)
        part = Form(self.mapping(name))
        if len(self._found) == given:  # a value that is no object was reported; its fields need no report
            part._path = f"{self._path}{name}."
            part._found = self._found
        return part

    def close(self, what: str = "here") -> None:
        """Record every unknown field. `what`: the thing that has no such field."""
        for name in self._page:
            if name not in self._asked:
                self.fault(name, f"is unknown {what}; known keys: {', '.join(sorted(self._asked))}")

    def _value(self, name: str, kind: type[Value], told: str) -> Value | None:
        self._asked.add(name)
        value = self._page.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fault(name, f"must be {told}")
            return None
        return value


TYPES: Mapping[type, str] = {
    Cron: "cron",
    Event: "event",
    SystemEvent: "system_event",
    Webhook: "webhook",
    Manual: "manual",
    Lightweight: "lightweight",
    FullJob: "full_job",
    Reminder: "reminder",
}
TRIGGERS = ("cron", "event", "system_event", "webhook", "manual")
ACTIONS = ("lightweight", "full_job", "reminder")

# --- writing --------------------------------------------------------------------------------------------


def definition_to_json(definition: Definition, *, whole: bool = False) -> dict[str, Any]:
    """Return the definition as JSON; defaults are left out unless `whole`."""
    return cast("dict[str, Any]", _written(definition, whole))


def _written(value: Any, whole: bool) -> Any:
    if isinstance(value, QuietHours):
        return f"{_clock(value.start_minute)}-{_clock(value.end_minute)}"
    if is_dataclass(value):
        page: dict[str, Any] = {"type": TYPES[type(value)]} if type(value) in TYPES else {}
        for part in fields(value):
            held = getattr(value, part.name)
            if whole or held != _usual(part):
                page[part.name] = dict(held) if part.name == "filters" else _written(held, whole)
        return page
    return list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value


def _usual(part: Field[Any]) -> object:
    return part.default if part.default_factory is MISSING else part.default_factory()


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


# --- reading --------------------------------------------------------------------------------------------


def read_definition(page: Mapping[str, object], timezone: str = "UTC") -> Definition | tuple[Problem, ...]:
    """Return the definition a page describes, or all its problems. `timezone`: default for schedules."""
    form = Form(page)
    definition = Definition(
        name=form.text("name").strip(),
        trigger=_trigger(form.part("trigger"), timezone),
        action=_action(form.part("action")),
        description=form.text("description", ""),
        guardrails=_guardrails(form.part("guardrails")),
        notify=_notify(form.part("notify")),
        enabled=form.flag("enabled", True),
    )
    form.close()
    return form.problems or definition


def _trigger(form: Form, timezone: str) -> Trigger:
    match kind := form.one_of("type", TRIGGERS):
        case "cron":
            usual = Cron("")
            trigger: Trigger = Cron(
                schedule=form.text("schedule"),
                timezone=form.text("timezone", timezone),
                downtime=form.word("downtime", usual.downtime),
                catch_up_limit=form.number("catch_up_limit", usual.catch_up_limit),
                jitter_s=form.number("jitter_s", usual.jitter_s),
            )
        case "event":
            trigger = Event(
                pattern=form.text("pattern"),
                ignore_case=form.flag("ignore_case", False),
                channel=form.text_or_none("channel"),
                sender=form.text_or_none("sender"),
                thread_id=form.text_or_none("thread_id"),
                on_match=form.word("on_match", OnMatch.ALSO_CHAT),
            )
        case "system_event":
            trigger = SystemEvent(form.text("source"), form.text("event_type"), _filters(form))
        case "webhook":
            trigger = Webhook(
                path=form.text("path"),
                secret_name=form.text_or_none("secret_name"),
                signature=form.word("signature", Signature.STANDARD),
                filters=_filters(form),
                fields=form.texts("fields"),
            )
        case "manual":
            trigger = Manual()
        case _:
            return Manual()
    form.close(f"to triggers of type {kind}")
    return trigger


def _action(form: Form) -> Action:
    match kind := form.one_of("type", ACTIONS):
        case "lightweight":
            usual = Lightweight("")
            action: Action = Lightweight(
                prompt=form.text("prompt"),
                context_paths=form.texts("context_paths"),
                max_tokens=form.number("max_tokens", usual.max_tokens),
                use_tools=form.flag("use_tools", usual.use_tools),
                max_tool_rounds=form.number("max_tool_rounds", usual.max_tool_rounds),
                allowed_tools=form.texts("allowed_tools"),
                grants=form.texts("grants", exact=True),
            )
        case "reminder":
            action = Reminder(form.text("text"))
        case "full_job":
            usual_job = FullJob("", "")
            action = FullJob(
                title=form.text("title"),
                description=form.text("description"),
                max_iterations=form.number("max_iterations", usual_job.max_iterations),
                allowed_tools=form.texts("allowed_tools"),
                grants=form.texts("grants", exact=True),
                sandbox=form.text_or_none("sandbox"),
                mode=form.text_or_none("mode"),
                image=form.text_or_none("image"),
            )
        case _:
            return Lightweight("")
    form.close(f"to actions of type {kind}")
    return action


def _guardrails(form: Form) -> Guardrails:
    usual = Guardrails()
    guardrails = Guardrails(
        cooldown_s=form.number("cooldown_s", usual.cooldown_s),
        max_concurrent=form.number("max_concurrent", usual.max_concurrent),
        dedup_window_s=form.number_or_none("dedup_window_s"),
        daily_runs=form.number_or_none("daily_runs"),
        daily_tokens=form.number_or_none("daily_tokens"),
        daily_budget_micro_usd=form.number_or_none("daily_budget_micro_usd"),
        timeout_s=form.number("timeout_s", usual.timeout_s),
        pause_after_failures=form.number("pause_after_failures", usual.pause_after_failures),
        rerun_interrupted=form.flag("rerun_interrupted", usual.rerun_interrupted),
    )
    form.close()
    return guardrails


def _notify(form: Form) -> Notify:
    usual = Notify()
    address = form.text_or_none("address")
    notify = Notify(
        channel=form.text_or_none("channel"),
        address=None if address is None else Address(address),
        thread_id=form.text_or_none("thread_id"),
        own_thread=form.flag("own_thread", usual.own_thread),
        on_success=form.flag("on_success", usual.on_success),
        on_failure=form.flag("on_failure", usual.on_failure),
        on_attention=form.flag("on_attention", usual.on_attention),
        quiet_hours=_hours(form),
    )
    form.close()
    return notify


def _hours(form: Form) -> QuietHours | None:
    said = form.text_or_none("quiet_hours")
    if said is None:
        return None
    hours = read_hours(said)
    if hours is None:
        form.fault("quiet_hours", "must be two times of day, such as 22:00-07:00")
    return hours


def read_hours(said: str) -> QuietHours | None:
    """Read `22:00-07:00`; return None for any other form."""
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", said, re.ASCII)
    if found is None:
        return None
    start_hour, start_minute, end_hour, end_minute = map(int, found.groups())
    return QuietHours(start_hour * 60 + start_minute, end_hour * 60 + end_minute)


def _filters(form: Form) -> Filters:
    """Return the filters, with numbers and booleans as text."""
    kept: list[tuple[str, str]] = []
    for name, value in form.mapping("filters").items():
        if isinstance(value, bool):
            kept.append((name, "true" if value else "false"))
        elif isinstance(value, str | int | float):
            kept.append((name, str(value)))
        else:
            form.fault(f"filters.{name}", "must be text, a number, true, or false")
    return tuple(kept)


# A run's input, as stored: `{"by": "slot", "slot_at": …}` with the fields of its kind.

_KINDS: Mapping[str, type[RunInput]] = {
    "slot": SlotInput,
    "message": MessageInput,
    "event": SystemInput,
    "delivery": WebhookInput,
    "manual": ManualInput,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def input_to_json(fired_by: RunInput) -> str:
    """Return an input as JSON text."""
    return json.dumps({"by": _NAMES[type(fired_by)], **asdict(fired_by)}, ensure_ascii=False)


def input_from_json(text: str) -> RunInput:
    """Read what `input_to_json` wrote."""
    page = cast("dict[str, Any]", json.loads(text))
    kind = _KINDS[page.pop("by")]
    if kind is MessageInput:
        page["groups"] = tuple(page["groups"])
        page["named_groups"] = tuple((name, found) for name, found in page["named_groups"])
    return kind(**page)
