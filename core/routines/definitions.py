"""Conversion of routines between what people write and what the store keeps."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from core.clock import SECOND_US
from core.job import WORKER
from core.routine import (
    Cron,
    Definition,
    Event,
    FullJob,
    Manual,
    Progress,
    Reminder,
    RunStatus,
    SystemEvent,
    Trigger,
    Webhook,
)
from core.routine_json import Problem, definition_to_json, read_definition
from core.store.routine_rows import RoutineRow, RoutineText
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.jobs.dispatch import JobDispatcher


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


NO_JOBS = "cannot be full_job: jobs are turned off in this hub ([jobs] enabled = false); use lightweight"


def not_permitted(
    definition: Definition, by: Principal, *, priced: bool, jobs: "JobDispatcher | None" = None
) -> Iterator[Problem]:
    """Yield everything this person may not use, or that is not available. `priced`: whether model prices are
    known. `jobs`: None if there are none."""
    if isinstance(definition.action, FullJob):
        if jobs is None:
            yield Problem("action.type", NO_JOBS)
        elif (
            why := jobs.refusal(
                by,
                definition.action.allowed_tools,
                definition.action.sandbox,
                definition.action.mode or WORKER,
                definition.action.image,
            )
        ) is not None:
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
