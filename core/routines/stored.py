"""Routines between what people write and what the store keeps."""

import json
from dataclasses import replace

from core.clock import SECOND_US
from core.routine import Cron, Definition, Event, Manual, SystemEvent, Trigger, Webhook
from core.routine_json import definition_to_json, read_definition
from core.routine_run import Progress, RunStatus
from core.store.routines import RoutineRow, RoutineText


def kind_of(trigger: Trigger) -> str:
    """The word for a trigger's kind."""
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
    """What the store keeps of a definition."""
    guardrails, trigger = definition.guardrails, definition.trigger
    return RoutineText(
        name=definition.name,
        kind=kind_of(trigger),
        definition=json.dumps(definition_to_json(definition), ensure_ascii=False),
        cooldown_us=guardrails.cooldown_s * SECOND_US,
        max_concurrent=guardrails.max_concurrent,
        dedup_window_us=(guardrails.dedup_window_s or 0) * SECOND_US,
        reruns=guardrails.rerun_interrupted,
        webhook_path=trigger.path if isinstance(trigger, Webhook) else None,
        next_slot_at=next_slot_at,
        daily_runs=guardrails.daily_runs,
        daily_tokens=guardrails.daily_tokens,
        daily_micro_usd=guardrails.daily_budget_micro_usd,
    )


def definition_of(row: RoutineRow) -> Definition:
    """What a person wrote; enabled as it is now. Raises ValueError if this version cannot read it."""
    return replace(read_text(row.text.definition), enabled=row.enabled)


def read_text(definition: str) -> Definition:
    """A stored definition. Raises ValueError if this version cannot read it."""
    found = read_definition(json.loads(definition))
    if isinstance(found, tuple):
        told = "; ".join(f"{problem.field} {problem.message}" for problem in found)
        raise ValueError(f"the stored routine cannot be read: {told}")  # noqa: TRY004 - it is a value
    return found


def progress_of(row: RoutineRow, last_status: RunStatus | None, running: int) -> Progress:
    """What its runs left behind. `last_status`: of its newest run; `running`: how many run now."""
    return Progress(
        next_fire_at=row.text.next_slot_at,
        last_run_at=row.last_ended_at,
        last_status=last_status,
        running=running,
        run_count=row.run_count,
        consecutive_failures=row.failures,
        paused_because=row.paused_because or "",
        tested_as=row.tested_as,
    )
