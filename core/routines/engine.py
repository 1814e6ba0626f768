"""The routine engine: it claims due slots, starts runs within the limits, and brings each to one
recorded end.

One timer looks at due slots: every `MAX_REST_S`, at the next slot, and when it is woken. Due times
are a column
of the store, so a look that is late or made twice loses and repeats nothing: each slot can be
claimed only once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from core.clock import SECOND_US, Clock, Timers
from core.errors import BudgetUsedUp, HubError, ModelError, StoreError
from core.events import RunKind, RunResult
from core.ids import Ids
from core.lazy import dataclass
from core.messages import InboundMessage
from core.routine import (
    Cron,
    Definition,
    FullJob,
    Lightweight,
    Match,
    Reminder,
    RunStatus,
    SlotInput,
)
from core.routines import notices, triggers
from core.routines.definitions import definition_of, fingerprint, read_text
from core.routines.notices import RoutineNotifier, is_told
from core.routines.run import LightweightRuns, Performed
from core.routines.schedule import jitter_us, slots_due
from core.routines.tool_runs import FullJobs, performed_by, thread_of
from core.routines.triggers import HEARTBEAT_ID, Asleep, Heartbeat, HubEvents
from core.runs.metering import OwnBudgetUsedUp
from core.runs.registry import Run, RunRegistry, RunSignals
from core.runs.unattended import remarks_of
from core.store.port import Store
from core.store.routine_rows import BudgetDay, NewRun, NextDue, RoutineRow, RunEnd, StartedRun
from core.store.rows import UnfinishedRun
from core.store.units import patiently
from core.usage import day_start
from core.users import TimeZones, timezone_in_force, told_at

logger = logging.getLogger(__name__)

# The effect of a run's end on its routine and owner.

FIRST_BACKOFF_S = 60
LONGEST_BACKOFF_S = 3600
RESULT_LIMIT_CHARS = 16_000


def end_of(
    routine: RoutineRow, performed: Performed, *, now: int, menu_id: str, timezone: str, owners_timezone: str
) -> RunEnd:
    """Return the end of a run as stored. `timezone`: of daily budgets. `owners_timezone`: of quiet hours."""
    try:
        definition = definition_of(routine)
    except ValueError:
        return RunEnd(RunStatus.FAILED, error=performed.text, answer=performed.reply)
    failed = performed.status is RunStatus.FAILED and not performed.out_of_budget
    failures = routine.failures + 1 if failed else routine.failures
    text = performed.text[:RESULT_LIMIT_CHARS]
    well = performed.status in {RunStatus.OK, RunStatus.ATTENTION}
    told = is_told(definition.notify, performed.status, failures) or bool(performed.remarks)
    told = told or performed.changes
    shown = notices.with_remarks(text, performed.remarks)
    pause_after = definition.guardrails.pause_after_failures
    return RunEnd(
        state=performed.status,
        answer=performed.reply,
        result=text if well and text else None,
        error=None if well else text,
        budget_since=day_start(now, timezone) if performed.out_of_budget else 0,
        document=performed.document,
        tested_as=fingerprint(definition) if well else None,
        notice=_told(definition, performed, shown) if told or performed.out_of_budget else None,
        notice_at=told_at(definition.notify.quiet_hours, now, owners_timezone),
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
    """Return today in that zone, and how owners are notified of a budget that is used up."""

    def told(definition: str, why: str, owners: str | None) -> tuple[str, int]:
        try:
            read = read_text(definition)
        except ValueError:
            return notices.budget_used_up("?", why), now
        quiet_in = timezone_in_force(owners, timezone)
        return notices.budget_used_up(read.name, why), told_at(read.notify.quiet_hours, now, quiet_in)

    return BudgetDay(day_start(now, timezone), told)


def _told(definition: Definition, performed: Performed, shown: str) -> str:
    if performed.of_hub:
        return notices.stopped_by_budget(definition.name, shown)
    if performed.out_of_budget:
        return notices.budget_used_up(definition.name, shown.removesuffix("."))
    if isinstance(definition.action, Reminder) and performed.status is RunStatus.ATTENTION:
        return _notice(notices.REMINDER, shown)
    return _notice(notices.heading(definition.name, performed.status), shown)


def _notice(heading: str, text: str) -> str:
    return f"{heading}\n\n{text}" if text else heading


def _pause_notice(definition: Definition, failures: int, text: str) -> str:
    heading = notices.paused_heading(definition.name, failures)
    return _notice(heading, f"{text}\n\n{notices.how_to_resume(definition.name)}")


READ_AT_ONCE = 200
MAX_REST_S = 30.0
SLOTS, BEAT, RETENTION = "routines.slots", "routines.heartbeat", "routines.retention"
"""The engine's timers."""
AGAIN_S = 5.0
FORGET_EVERY_S = 3600.0
DONE_KEPT_US = 30 * 24 * 3600 * SECOND_US
"""How long one-time routines are kept once they are done."""


@dataclass(frozen=True, slots=True)
class EngineParts:
    """The parts the engine works with."""

    store: Store
    runs: LightweightRuns
    notifier: RoutineNotifier
    patterns: triggers.PatternRegistry
    webhooks: triggers.WebhookRegistry
    full_jobs: FullJobs
    heartbeat: Heartbeat
    events: HubEvents
    signals: RunSignals
    clock: Clock
    timers: Timers
    ids: Ids
    registry: RunRegistry


class RoutineEngine:
    """Implementation of core.routines.service.Engine. `most`: runs at a time, over all routines."""

    def __init__(self, parts: EngineParts, *, most: int, timezones: TimeZones) -> None:
        self._parts = parts
        self._store = parts.store
        self._clock = parts.clock
        self._timers = parts.timers
        self._most = most
        self._timezones = timezones
        self._resumed: list[StartedRun] = []
        self._in_hand: dict[str, asyncio.Event] = {}
        """The runs that run or are about to run; each event is set once its run has ended."""

    # --- messages --------------------------------------------------------------------------------------

    def matches(self, message: InboundMessage) -> Sequence[Match]:
        return self._parts.patterns.matches(message)

    def changed(self, row: RoutineRow) -> None:
        self._parts.patterns.changed(row)
        self._parts.webhooks.changed(row)

    def deleted(self, routine_id: str) -> None:
        self._parts.patterns.deleted(routine_id)
        self._parts.webhooks.deleted(routine_id)

    def webhook(self, path: str) -> triggers.WebhookEntry | None:
        return self._parts.webhooks.at(path)

    # --- starting --------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        after = ""
        while rows := await self._store.routines.listening_routines(after, READ_AT_ONCE):
            await self._parts.patterns.load(rows)
            for row in rows:
                self._parts.webhooks.changed(row)
            after = rows[-1].id

    async def run(self) -> None:
        await self._parts.events.started()
        async with asyncio.TaskGroup() as group:
            look = partial(self._look, group)
            self._timers.every(SLOTS, MAX_REST_S, look)
            self._timers.every(RETENTION, FORGET_EVERY_S, self._forget_done)
            try:
                while True:
                    await self._parts.signals.something()
                    self._timers.at(SLOTS, self._clock.now(), look)
            finally:
                for name in (SLOTS, BEAT, RETENTION):
                    self._timers.cancel(name)

    async def _look(self, group: asyncio.TaskGroup) -> None:
        """Carry out the due runs, and look again when there is more to do. Raises StoreUnavailable."""
        next_at = self._clock.now() + int(AGAIN_S * SECOND_US)
        try:
            next_at = await self._do_due(group)
        finally:
            self._timers.at(SLOTS, next_at, partial(self._look, group))

    async def _do_due(self, group: asyncio.TaskGroup) -> int:
        """Do what is due; return until when there is nothing more to do."""
        now = self._clock.now()
        await self._finish_jobs()
        for row in await self._store.runs.due_routines(now):
            await self._claim(row, now)
        begun = await self._store.runs.begin_runs(most=self._most, day=self._today())
        resumed, self._resumed = self._resumed, []
        for started in (*resumed, *begun):
            self._in_hand.setdefault(started.run.id, asyncio.Event())
            group.create_task(self._carry_out(started), name=f"routine run {started.run.id}")
        await self._parts.notifier.tell_due()
        await self._await_beat()
        return now + int(_rest_s(await self._store.run_views.next_due(), now) * SECOND_US)

    async def _forget_done(self) -> None:
        """Delete the one-time routines that have been done for long. Raises StoreUnavailable."""
        await self._store.routines.forget_done_routines(self._clock.now() - DONE_KEPT_US)

    def _today(self) -> BudgetDay:
        return budget_day(self._clock.now(), self._timezones.default)

    async def _await_beat(self) -> None:
        """Set the heartbeat's timer to its next slot; without one there is none."""
        row = await self._store.routines.routine(HEARTBEAT_ID)
        self._timers.cancel(BEAT)
        if row is not None and row.enabled and row.text.next_slot_at is not None:
            self._timers.at(BEAT, row.text.next_slot_at, self._beat)

    async def _beat(self) -> None:
        """Have its slot looked at with all others."""
        self._parts.signals.wake()

    async def _claim(self, row: RoutineRow, now: int) -> None:
        slot_at = row.text.next_slot_at
        definition = await self._definition(row)
        if definition is None or slot_at is None or not isinstance(definition.trigger, Cron):
            return
        due = slots_due(definition.trigger, slot_at, now, row.created_at)
        late_us = jitter_us(row.id, definition.trigger.jitter_s)
        runs = [
            self._slot_run(row, at, at + late_us, due.skipped, in_line=len(due.slots) > 1) for at in due.slots
        ]
        await self._store.runs.claim_slots(
            row.id, slot_at, runs, next_slot_at=due.next_slot_at, skipped=due.skipped
        )

    def _slot_run(self, row: RoutineRow, slot_at: int, due_at: int, skipped: int, *, in_line: bool) -> NewRun:
        """Return the run for a slot. `in_line`: one of several missed slots that all run, one after
        another."""
        fired_by, run_id = SlotInput(slot_at, skipped), self._parts.ids.row_id()
        return NewRun.fired(fired_by, run_id, row.id, due_at, heeds_guardrails=not in_line)

    async def _definition(self, row: RoutineRow) -> Definition | None:
        """Return the definition; None if it cannot be read, which pauses the routine. The others continue."""
        try:
            return definition_of(row)
        except ValueError as error:
            logger.error("routine.paused routine=%r owner=%s error=%s", row.text.name, row.owner_id, error)  # noqa: TRY400
            await self._store.routines.switch_routine(
                row.id, enabled=False, next_slot_at=None, because=str(error)
            )
            return None

    # --- runs that a hub left --------------------------------------------------------------------------

    async def resume(self, run: UnfinishedRun) -> None:
        left = await self._store.runs.started_run(run.run_id)
        if left is None:
            return
        if not left.routine.text.reruns:
            await self._end(left, RunStatus.INTERRUPTED, notices.interrupted())
            return
        started = await self._store.runs.resume_run(run.run_id, day=self._today())
        if started is not None:
            logger.info("run.resumed run=%s routine=%r", run.run_id, started.routine.text.name)
            self._resumed.append(started)
            self._in_hand[run.run_id] = asyncio.Event()

    async def join(self, run: UnfinishedRun, timeout_s: float) -> None:
        ended = self._in_hand.get(run.run_id)
        if ended is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await ended.wait()

    async def set_aside(self, run: UnfinishedRun) -> None:
        left = await self._store.runs.started_run(run.run_id)
        if left is not None:
            await self._end(left, RunStatus.FAILED, notices.crashed_repeatedly(run.crashes))

    def unfinished(self) -> Sequence[str]:
        return tuple(self._in_hand)

    async def _end(self, left: StartedRun, status: RunStatus, why: str) -> None:
        """End a run that is not started again."""
        name = left.routine.text.name
        logger.warning("run.interrupted run=%s routine=%r status=%s", left.run.id, name, status)
        await self._finish(left, Performed(status, why, None))

    # --- running ---------------------------------------------------------------------------------------

    async def _carry_out(self, started: StartedRun) -> None:
        run_id, thread_id = started.run.id, thread_of(started)
        try:
            with self._parts.registry.running(run_id, thread_id, RunKind.ROUTINE) as run:
                performed = await self._perform(started, run)
                if performed is not None:
                    await self._finish(started, performed)
                await self._parts.registry.report_faults(run, said=False)
                failed = performed is not None and performed.status is RunStatus.FAILED
                run.result = RunResult.FINAL if failed else RunResult.SUCCESS
        except Exception:
            # The task's boundary: if even recording the end fails, the run is found when the lease ends.
            logger.exception("run.crashed run=%s routine=%r", started.run.id, started.routine.text.name)
        else:
            self._in_hand.pop(started.run.id).set()
        finally:
            self._parts.signals.wake()

    async def _perform(self, started: StartedRun, run: Run) -> Performed | None:
        """Perform a run, and return its end; None if a job does its work from here on."""
        try:
            definition = definition_of(started.routine)
            limit_s = definition.guardrails.timeout_s
            try:
                async with asyncio.timeout(limit_s):
                    return await self._act(started, definition, run)
            except TimeoutError:
                told = notices.timed_out(limit_s)
        except StoreError:
            raise
        except OwnBudgetUsedUp as error:
            return Performed(RunStatus.FAILED, str(error), None, out_of_budget=True)
        except BudgetUsedUp as error:
            told = f"Stopped: {error}"
            return Performed(RunStatus.FAILED, told, None, out_of_budget=True, of_hub=True)
        except ModelError as error:
            told = f"The model did not answer: {error}"
        except (HubError, ValueError) as error:
            told = str(error)
        except Exception:
            told = notices.broke(started.run.id)
            logger.exception(
                "run.unexpected_error run=%s routine=%r", started.run.id, started.routine.text.name
            )
        return Performed(RunStatus.FAILED, told, None)

    async def _act(self, started: StartedRun, definition: Definition, run: Run) -> Performed | None:
        action = definition.action
        if started.routine.id == HEARTBEAT_ID:
            beat = self._parts.heartbeat.action(await self._timezones.of(started.routine.owner_id))
            if isinstance(beat, Asleep):
                return Performed(RunStatus.SKIPPED, beat.why, None)
            action = beat
        match action:
            case Lightweight():
                return await self._parts.runs.perform(started, action, run)
            case Reminder(text):
                return Performed(RunStatus.ATTENTION, text, None)
            case FullJob():
                await self._parts.full_jobs.dispatch(started, action)
                return None

    async def _finish(self, started: StartedRun, performed: Performed) -> None:
        """End a run that this hub has in hand."""
        steps = await patiently(lambda: self._store.journal.run_steps(started.run.id), self._clock)
        missing = await patiently(lambda: self._parts.runs.missing_grants(started, steps), self._clock)
        await self._record(started, replace(performed, remarks=remarks_of(steps), missing_grants=missing))

    async def _finish_jobs(self) -> None:
        """End the runs whose jobs are over, also those that an earlier hub dispatched. Raises
        StoreUnavailable."""
        for ended in await self._store.runs.ended_jobs():
            try:
                await self._record(ended.started, performed_by(ended))
            except StoreError:
                raise
            except Exception:  # a defect with one run: the others are still ended
                run = ended.started.run
                logger.exception("run.crashed run=%s routine=%r", run.id, ended.started.routine.text.name)

    async def _record(self, started: StartedRun, performed: Performed) -> None:
        """Record the one end of a run."""
        now, menu_id = self._clock.now(), self._parts.ids.gate_id()
        owners = await patiently(lambda: self._timezones.of(started.routine.owner_id), self._clock)
        end = end_of(
            started.routine,
            performed,
            now=now,
            menu_id=menu_id,
            timezone=self._timezones.default,
            owners_timezone=owners,
        )
        end = replace(end, models=self._parts.registry.trace(started.run.id))
        if not await patiently(lambda: self._store.runs.finish_run(started.run.id, end), self._clock):
            return  # it was deleted, or another hub has ended it
        logger.info(
            "run.finished run=%s routine=%r status=%s",
            started.run.id,
            started.routine.text.name,
            performed.status,
        )
        if performed.status is RunStatus.FAILED:
            await self._parts.events.failed(started, performed.text)


def _rest_s(due: NextDue, now: int) -> float:
    """Return the seconds to rest. Work that could not start now waits for a run to end, which wakes the
    engine."""
    times = [at for at in (due.slot_at, due.run_at, due.notice_at) if at is not None and at > now]
    if due.slot_at is not None and due.slot_at <= now:
        return AGAIN_S
    if due.notice_at is not None and due.notice_at <= now:
        return 0.0
    return min([MAX_REST_S, *((at - now) / SECOND_US for at in times)])
