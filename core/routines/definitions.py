"""Conversion of routines between what people write and what the store keeps, and their one validation.

Problems are values: each names its field and says what would be right, and all are reported at once.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sized
from dataclasses import replace
from datetime import UTC
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never, cast

from core.clock import SECOND_US
from core.job import WORKER, JobOrder
from core.lazy import LazyModule
from core.routine import (
    MAX_LISTED,
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
    Progress,
    Reminder,
    RunStatus,
    SystemEvent,
    Trigger,
    Webhook,
)
from core.routine_json import Problem, definition_to_json, read_definition
from core.store.routine_rows import RoutineRow, RoutineText
from core.users import Principal, Role, zone_of

if TYPE_CHECKING:
    from core.jobs.service import JobDispatcher


if TYPE_CHECKING:
    from core.routines import schedule
    from core.routines.matching import nodes
    from core.routines.matching import pattern as pattern_module
else:
    nodes = LazyModule("core.routines.matching.nodes")
    pattern_module = LazyModule("core.routines.matching.pattern")
    schedule = LazyModule("core.routines.schedule")


def kind_of(trigger: Trigger) -> str:
    """Return the word for a trigger's kind."""
    match trigger:
        case Cron():
            return "cron"
        case Event():
            return "event"
        case SystemEvent():
            return "system_event"
        case Webhook():
            return "webhook"
        case Manual():
            return "manual"


def text_of(definition: Definition, next_slot_at: int | None) -> RoutineText:
    """Return the stored form of a definition."""
    guardrails, trigger = definition.guardrails, definition.trigger
    return RoutineText(
        name=definition.name,
        kind=kind_of(trigger),
        definition=json.dumps(definition_to_json(definition), ensure_ascii=False),
        cooldown_us=guardrails.cooldown_s * SECOND_US,
        max_concurrent=guardrails.max_concurrent,
        dedup_window_us=(guardrails.dedup_window_s or 0) * SECOND_US,
        # Sending a reminder and dispatching a job are done once, however often they are begun.
        reruns=guardrails.rerun_interrupted or isinstance(definition.action, Reminder | FullJob),
        webhook_path=trigger.path if isinstance(trigger, Webhook) else None,
        next_slot_at=next_slot_at,
        daily_runs=guardrails.daily_runs,
        daily_tokens=guardrails.daily_tokens,
        daily_micro_usd=guardrails.daily_budget_micro_usd,
    )


def definition_of(row: RoutineRow) -> Definition:
    """Return the definition a person wrote, enabled as it is now. Raises ValueError if this version cannot
    read it."""
    return replace(read_text(row.text.definition), enabled=row.enabled)


def read_text(definition: str) -> Definition:
    """Read a stored definition. Raises ValueError if this version cannot read it."""
    found = read_definition(json.loads(definition))
    if isinstance(found, tuple):
        told = "; ".join(f"{problem.field} {problem.message}" for problem in found)
        raise ValueError(f"the stored routine is not readable: {told}")  # noqa: TRY004 - it is a value
    return found


def progress_of(row: RoutineRow, last_status: RunStatus | None, running: int) -> Progress:
    """Return what the routine's runs left behind. `last_status`: status of its newest run; `running`: number
    of runs
    that run now."""
    return Progress(
        next_fire_at=row.text.next_slot_at,
        last_run_at=row.last_ended_at,
        last_status=last_status,
        running=running,
        run_count=row.run_count,
        consecutive_failures=row.failures,
        paused_because=row.paused_because or "",
        tested_as=row.tested_as,
        done=row.done_at is not None,
    )


# The limits on a routine that depend on who makes it.


def job_order(action: FullJob, task: str) -> JobOrder:
    """Return the job that each run of a routine asks for."""
    return JobOrder(
        task,
        action.allowed_tools,
        project=action.sandbox,
        mode=action.mode or WORKER,
        image=action.image,
    )


NO_JOBS = "cannot be full_job: jobs are turned off in this hub ([jobs] enabled = false); use lightweight"


def not_permitted(
    definition: Definition, by: Principal, *, priced: bool, jobs: "JobDispatcher | None" = None
) -> Iterator[Problem]:
    """Yield everything this person may not use, or that is not available. `priced`: whether model prices are
    known. `jobs`: None if there are none."""
    if isinstance(definition.action, FullJob):
        if jobs is None:
            yield Problem("action.type", NO_JOBS)
        elif (why := jobs.refusal(by, job_order(definition.action, ""))) is not None:
            yield Problem("action", why)
    if by.role is Role.GUEST:
        yield Problem("", "guests can't have routines")
    if isinstance(definition.trigger, Webhook) and by.role is not Role.OWNER:
        yield Problem("trigger.type", "webhook is for the owner only: the owner's secrets sign requests")
    if getattr(definition.action, "context_paths", ()) and by.role is not Role.OWNER:
        yield Problem("action.context_paths", "is for the owner only: it is the owner's workspace")
    if getattr(definition.action, "grants", ()) and by.role is not Role.OWNER:
        yield Problem(
            "action.grants",
            "is for the owner only; leave it out, and the routine uses only tools that need no approval",
        )
    if definition.notify.address is not None and by.role is not Role.OWNER:
        told = "is for the owner only: leave it out to get notices where you write to the hub"
        yield Problem("notify.address", told)
    if definition.guardrails.daily_budget_micro_usd is not None and not priced:
        told = "needs the model's price: set input_usd_per_million for the model, or use daily_tokens"
        yield Problem("guardrails.daily_budget_micro_usd", told)


# The status of a routine, in one word.


class DisplayStatus(StrEnum):
    """The status a list shows; the first that applies."""

    DONE = "done"
    DISABLED = "disabled"
    PAUSED = "paused"
    RUNNING = "running"
    UNTESTED = "untested"
    FAILING = "failing"
    ATTENTION = "attention"
    ACTIVE = "active"


def display_status(definition: Definition, progress: Progress) -> DisplayStatus:
    """Return the display status of a routine whose runs left `progress`."""
    signs = (
        (progress.done and not progress.running, DisplayStatus.DONE),
        (not definition.enabled, DisplayStatus.DISABLED),
        (bool(progress.paused_because), DisplayStatus.PAUSED),
        (progress.running > 0, DisplayStatus.RUNNING),
        (progress.tested_as != fingerprint(definition), DisplayStatus.UNTESTED),
        (progress.consecutive_failures > 0, DisplayStatus.FAILING),
        (progress.last_status is RunStatus.ATTENTION, DisplayStatus.ATTENTION),
    )
    return next((status for holds, status in signs if holds), DisplayStatus.ACTIVE)


def fingerprint(definition: Definition) -> str:
    """Return 64 hex digits that change with trigger, action and guardrails.

    They do not change with name, description, notices, the order of filters, or a written-out
    default."""
    page = definition_to_json(definition)
    behaviour = {part: page.get(part) for part in ("trigger", "action", "guardrails")}
    return hashlib.sha256(json.dumps(behaviour, sort_keys=True).encode()).hexdigest()


DAY_S = 86_400
MAX_NAME = 100
MAX_DESCRIPTION = 2_000
MAX_PROMPT = 32_000
MAX_REMINDER = 2_000
MAX_DESCRIBED_TASK = 16_000
"""Limit of a job's description, which leaves room in its task for the routine's name."""
MAX_WORD = 200
"""Limit of a source, an event type, a filter's name or value, a field's name."""
MAX_GRANT = 16_000
"""Limit of a grant's pattern: the exact text of a command line."""

_NOT_ON_ONE_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Line ends, control characters, and characters that change the writing direction."""

Problems = tuple[Problem, ...]


def validate(page: Mapping[str, object], timezone: str = "UTC") -> Definition | Problems:
    """Return the definition that a page of JSON describes (see `core.routine_json`), or all its
    problems. `timezone`: default for schedules."""
    definition = read_definition(page, timezone)
    if isinstance(definition, tuple):
        return definition
    return tuple(problems(definition)) or definition


def change(
    definition: Definition, page: Mapping[str, object], timezone: str = "UTC"
) -> Definition | Problems:
    """Return the definition with the fields of the page changed; null sets a field back to its default.

    Within trigger and action only fields of their present type can change, unless the page names a `type`:
    then that part is replaced as a whole, so that no trigger turns into another one by a stray field.
    """
    whole = definition_to_json(definition, whole=True)
    for name, value in page.items():
        held = whole.get(name)
        if isinstance(held, dict) and isinstance(value, dict) and "type" not in value:
            whole[name] = cast("dict[str, Any]", held) | value
        else:
            whole[name] = value
    return validate(whole, timezone)


def problems(definition: Definition) -> Iterator[Problem]:
    """Yield all problems with a definition's values."""
    yield from _text("name", definition.name, MAX_NAME)
    if _NOT_ON_ONE_LINE.search(definition.name):
        yield Problem("name", "must be one line of visible characters")
    if len(definition.description) > MAX_DESCRIPTION:
        yield Problem("description", f"must have at most {MAX_DESCRIPTION} characters")
    yield from _trigger(definition.trigger)
    yield from _action(definition.action)
    yield from _guardrails(definition.guardrails)
    yield from _notify(definition.notify)


# --- triggers -------------------------------------------------------------------------------------------


def _trigger(trigger: Trigger) -> Iterator[Problem]:
    match trigger:
        case Cron():
            yield from _cron(trigger)
        case Event():
            yield from _pattern(trigger)
            yield from _words(
                "trigger", channel=trigger.channel, sender=trigger.sender, thread_id=trigger.thread_id
            )
        case SystemEvent():
            yield from _text("trigger.source", trigger.source, MAX_WORD)
            yield from _text("trigger.event_type", trigger.event_type, MAX_WORD)
            yield from _filters(trigger.filters)
        case Webhook():
            if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", trigger.path):
                told = "must be 1 to 100 of a-z, 0-9, dot, dash and underscore; first a letter or digit"
                yield Problem("trigger.path", told)
            if not trigger.secret_name:
                yield Problem("trigger.secret_name", "must name the secret in the vault that signs requests")
            yield from _filters(trigger.filters)
            yield from _listed("trigger.fields", trigger.fields, MAX_WORD)
        case Manual():
            pass
        case _:
            assert_never(trigger)


def _pattern(trigger: Event) -> Iterator[Problem]:
    if not trigger.pattern:
        yield Problem("trigger.pattern", "must not be empty")
        return
    # RE2 is loaded to save a pattern, and where routines have patterns.

    try:
        pattern_module.Pattern(trigger.pattern, ignore_case=trigger.ignore_case)
    except nodes.PatternRefused as refused:
        yield Problem("trigger.pattern", str(refused))


def _cron(trigger: Cron) -> Iterator[Problem]:
    faults = tuple(_text("trigger.schedule", trigger.schedule, MAX_WORD))
    yield from faults or _schedule(trigger)
    if zone_of(trigger.timezone) is None:
        yield Problem("trigger.timezone", "must be the name of a time zone, such as Europe/Berlin")
    yield from _between("trigger.catch_up_limit", trigger.catch_up_limit, 1, 100)
    yield from _between("trigger.jitter_s", trigger.jitter_s, 0, 3600)


def _schedule(trigger: Cron) -> Iterator[Problem]:
    # Loaded to save a schedule, and where routines have schedules.

    try:
        schedule.Schedule(trigger.schedule, zone_of(trigger.timezone) or UTC)
    except schedule.ScheduleRefused as refused:
        yield Problem("trigger.schedule", str(refused))


def _filters(filters: Filters) -> Iterator[Problem]:
    yield from _few("trigger.filters", filters)
    for name, value in filters:
        if not name or len(name) > MAX_WORD or len(value) > MAX_WORD:
            yield Problem(f"trigger.filters.{name[:MAX_WORD]}", f"must have at most {MAX_WORD} characters")


# --- actions, limits, notices ---------------------------------------------------------------------------


def _action(action: Action) -> Iterator[Problem]:
    match action:
        case Lightweight():
            yield from _text("action.prompt", action.prompt, MAX_PROMPT)
            yield from _listed("action.context_paths", action.context_paths, 500)
            yield from _between("action.max_tokens", action.max_tokens, 1, 200_000)
            yield from _between("action.max_tool_rounds", action.max_tool_rounds, 1, 20)
            yield from _listed("action.allowed_tools", action.allowed_tools, MAX_WORD)
            if action.allowed_tools and not action.use_tools:
                yield Problem("action.use_tools", "must be true for a routine with allowed tools")
            if action.grants and not action.use_tools:
                yield Problem("action.use_tools", "must be true for a routine with grants")
            yield from _grants(action.grants)
        case Reminder():
            yield from _text("action.text", action.text, MAX_REMINDER)
        case FullJob():
            yield from _text("action.title", action.title, MAX_WORD)
            yield from _text("action.description", action.description, MAX_DESCRIBED_TASK)
            yield from _between("action.max_iterations", action.max_iterations, 1, 200)
            for name in ("sandbox", "mode", "image"):
                if (given := getattr(action, name)) is not None:
                    yield from _text(f"action.{name}", given, MAX_WORD)
            yield from _listed("action.allowed_tools", action.allowed_tools, MAX_WORD)
            yield from _grants(action.grants)
        case _:
            assert_never(action)


def _grants(grants: tuple[str, ...]) -> Iterator[Problem]:
    yield from _few("action.grants", grants)
    for grant in grants:
        _, _, pattern = grant.partition(" ")
        if len(pattern) > MAX_GRANT:
            yield Problem("action.grants", f"must have at most {MAX_GRANT} characters each after the tool")
        if not pattern:
            told = 'must each be a tool and a pattern for its calls, such as "shell git *"'
            yield Problem("action.grants", told)


def _guardrails(guardrails: Guardrails) -> Iterator[Problem]:
    yield from _between("guardrails.cooldown_s", guardrails.cooldown_s, 0, 30 * DAY_S)
    yield from _between("guardrails.max_concurrent", guardrails.max_concurrent, 1, 10)
    for name, (given, most) in {
        "dedup_window_s": (guardrails.dedup_window_s, 30 * DAY_S),
        "daily_runs": (guardrails.daily_runs, 10_000),
        "daily_tokens": (guardrails.daily_tokens, 10**9),
        "daily_budget_micro_usd": (guardrails.daily_budget_micro_usd, 10**12),
    }.items():
        if given is not None:
            yield from _between(f"guardrails.{name}", given, 1, most)
    yield from _between("guardrails.timeout_s", guardrails.timeout_s, 10, 3600)
    yield from _between("guardrails.pause_after_failures", guardrails.pause_after_failures, 0, 100)


def _notify(notify: Notify) -> Iterator[Problem]:
    yield from _words("notify", channel=notify.channel, address=notify.address, thread_id=notify.thread_id)
    if notify.channel is None and notify.address is not None:
        yield Problem("notify.channel", "is required with an address")
    if notify.own_thread and notify.thread_id is not None:
        yield Problem("notify.own_thread", "must be false with a thread_id")


# --- shared checks ------------------------------------------------------------------------------------


def _text(field: str, value: str, most: int | None) -> Iterator[Problem]:
    if not value.strip():
        yield Problem(field, "must not be empty")
    elif most is not None and len(value) > most:
        yield Problem(field, f"must have at most {most} characters")


def _words(part: str, **values: str | None) -> Iterator[Problem]:
    for name, value in values.items():
        yield from _text(f"{part}.{name}", value or "-", MAX_WORD)


def _few(field: str, values: Sized) -> Iterator[Problem]:
    if len(values) > MAX_LISTED:
        yield Problem(field, f"must be at most {MAX_LISTED}")


def _listed(field: str, values: tuple[str, ...], most: int) -> Iterator[Problem]:
    yield from _few(field, values)
    if any(len(value) > most for value in values):
        yield Problem(field, f"must have at most {most} characters each")


def _between(field: str, value: int, least: int, most: int) -> Iterator[Problem]:
    if not least <= value <= most:
        yield Problem(field, f"must be from {least} to {most}")
