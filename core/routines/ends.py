"""What the end of a run means for its routine and its owner."""

from datetime import datetime
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.routine import Definition
from core.routine_run import RunStatus
from core.routines import texts
from core.routines.lightweight import Performed
from core.routines.status import fingerprint
from core.routines.stored import definition_of, read_text
from core.routines.telling import is_told, told_at
from core.store.routines import BudgetDay, RoutineRow, RunEnd

FIRST_BACKOFF_S = 60
LONGEST_BACKOFF_S = 3600
RESULT_LIMIT_CHARS = 16_000


def end_of(routine: RoutineRow, performed: Performed, *, now: int, menu_id: str, timezone: str) -> RunEnd:
    """The end as the store keeps it. `timezone`: of the owner's quiet hours."""
    try:
        definition = definition_of(routine)
    except ValueError:
        return RunEnd(RunStatus.FAILED, error=performed.text)
    failed = performed.status is RunStatus.FAILED and not performed.out_of_budget
    failures = routine.failures + 1 if failed else routine.failures
    text = performed.text[:RESULT_LIMIT_CHARS]
    well = performed.status in {RunStatus.OK, RunStatus.ATTENTION}
    told = is_told(definition.notify, performed.status, failures) or bool(performed.remarks)
    shown = texts.with_remarks(text, performed.remarks)
    pause_after = definition.guardrails.pause_after_failures
    return RunEnd(
        state=performed.status,
        result=text if well and text else None,
        error=None if well else text,
        input_tokens=performed.spent.tokens_in,
        output_tokens=performed.spent.tokens_out,
        cost_micro_usd=performed.spent.cost_micro_usd,
        budget_since=day_start(now, timezone) if performed.out_of_budget else 0,
        document=performed.document,
        tested_as=fingerprint(definition) if well else None,
        notice=_told(definition, performed, shown) if told or performed.out_of_budget else None,
        notice_at=told_at(definition.notify.quiet_hours, now, timezone),
        menu_id=menu_id,
        missing_grants=performed.missing_grants,
        backoff_us=min(FIRST_BACKOFF_S << min(failures - 1, 10), LONGEST_BACKOFF_S) * SECOND_US
        if failed
        else 0,
        pause_after=pause_after if failed else 0,
        pause_reason=f"it failed {failures} times in a row: {text[:200]}",
        pause_notice=_pause_notice(definition, failures, text),
    )


def budget_day(now: int, timezone: str) -> BudgetDay:
    """Today in that zone, and how owners are told of what is used up."""

    def told(definition: str, why: str) -> tuple[str, int]:
        try:
            read = read_text(definition)
        except ValueError:
            return texts.budget_used_up("?", why), now
        return texts.budget_used_up(read.name, why), told_at(read.notify.quiet_hours, now, timezone)

    return BudgetDay(day_start(now, timezone), told)


def day_start(now: int, timezone: str) -> int:
    """When the day began in that zone, in microseconds UTC."""
    moment = datetime.fromtimestamp(now / SECOND_US, ZoneInfo(timezone))
    return int(moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()) * SECOND_US


def _told(definition: Definition, performed: Performed, shown: str) -> str:
    if performed.out_of_budget:
        return texts.budget_used_up(definition.name, shown.removesuffix("."))
    return _notice(texts.heading(definition.name, performed.status), shown)


def _notice(heading: str, text: str) -> str:
    return f"{heading}\n\n{text}" if text else heading


def _pause_notice(definition: Definition, failures: int, text: str) -> str:
    heading = texts.paused_heading(definition.name, failures)
    return _notice(heading, f"{text}\n\n{texts.how_to_resume(definition.name)}")
