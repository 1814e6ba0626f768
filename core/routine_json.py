"""A routine's definition as plain JSON: one form for the store, the API, the command line and the model.

    {"name": "morning", "trigger": {"type": "cron", "schedule": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
     "action": {"type": "lightweight", "prompt": "What is on today?"},
     "guardrails": {"cooldown_s": 300}, "notify": {"quiet_hours": "22:00-07:00"}}

Reading judges form alone — names, types, one of a few words — and tells every fault at once, each by the
dotted name of its field; what the values mean is judged by `core.routines.validation`. Nothing is guessed: a
number written as text is a fault, and so is a field nobody knows. Field names are also the stored form, and
change only together with a migration.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, cast

from core.forms import Form, Problem
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
    Notify,
    OnMatch,
    QuietHours,
    Signature,
    SystemEvent,
    Trigger,
    Webhook,
)

TYPES: Mapping[type, str] = {
    Cron: "cron",
    Event: "event",
    SystemEvent: "system_event",
    Webhook: "webhook",
    Manual: "manual",
    Lightweight: "lightweight",
    FullJob: "full_job",
}
TRIGGERS = ("cron", "event", "system_event", "webhook", "manual")
ACTIONS = ("lightweight", "full_job")

# --- writing --------------------------------------------------------------------------------------------


def definition_to_json(definition: Definition, *, whole: bool = False) -> dict[str, Any]:
    """The definition as JSON takes it; what is as usual is left out unless the `whole` of it is wanted."""
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
    """The definition a page describes, or all that keeps it from being one. `timezone`: of schedules that
    name none."""
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
                grants=form.texts("grants"),
            )
        case "full_job":
            usual_iterations = FullJob("", "").max_iterations
            action = FullJob(
                form.text("title"), form.text("description"), form.number("max_iterations", usual_iterations)
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
    """`22:00-07:00`, or None if it is not of that form."""
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", said, re.ASCII)
    if found is None:
        return None
    start_hour, start_minute, end_hour, end_minute = map(int, found.groups())
    return QuietHours(start_hour * 60 + start_minute, end_hour * 60 + end_minute)


def _filters(form: Form) -> Filters:
    """Numbers and truth values as JSON writes them."""
    kept: list[tuple[str, str]] = []
    for name, value in form.mapping("filters").items():
        if isinstance(value, bool):
            kept.append((name, "true" if value else "false"))
        elif isinstance(value, str | int | float):
            kept.append((name, str(value)))
        else:
            form.fault(f"filters.{name}", "must be text, a number, true or false")
    return tuple(kept)
