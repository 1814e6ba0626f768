"""What recordings hear from the store: events as they are accepted, outcomes of calls as they are kept,
routines and their runs; and how a replay's hub gets routines and runs."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from bot.app import App
from bot.recordings.log import Left, Record
from bot.recordings.values import plain_value, read
from bot.runtime import StartError
from channels.webchat import WEB
from core.ids import RandomIds
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage
from core.model.visible_text import is_silent
from core.ports import OutboxRow
from core.routine import Lightweight
from core.routines.definitions import definition_of
from core.routines.run import READ_LIMIT_BYTES
from core.routines.triggers import HEARTBEAT_ID, LIST, LIST_LIMIT_BYTES
from core.store.accept import Accepted, AcceptView, Admission, Admitted, Judge, Verdict
from core.store.port import Inbound, Store, Turns, UnfinishedRuns
from core.store.routine_rows import (
    BudgetDay,
    NewRun,
    RoutineRow,
    RoutineRunRow,
    RoutineText,
    RunEnd,
    StartedRun,
)
from core.store.rows import CallState, NewCall, RunCheck, TurnState
from core.store.unattended_port import RoutineRuns
from core.store.units import committed
from core.transcript import AssistantSaid, ToolResult
from core.usage import Reservation
from core.users import Identity


def routine_to_json(row: RoutineRow, owner: str) -> dict[str, Any]:
    """Return the record of a routine. `owner`: their name."""
    text = plain_value(row.text)
    known = {"id": row.id, "owner": owner, "thread": row.thread_id, "enabled": row.enabled}
    return {**known, "text": text}


def routine_from_json(stored: Mapping[str, Any]) -> RoutineText:
    """Return a routine's definition for a replay, in which only messages fire it by themselves: slots,
    deliveries, events of the hub and people's wishes are runs of the recording."""
    text = read(RoutineText, stored["text"])
    kind = text.kind if text.kind == "event" else "manual"
    return dataclasses.replace(text, kind=kind, next_slot_at=None, webhook_path=None)


def routine_end(started: StartedRun, end: RunEnd | RoutineRunRow) -> dict[str, Any]:
    """Return how a routine's run ended. Why one failed may name ids, and isn't compared."""
    run = {"id": started.routine.id, "key": started.run.key}
    return {"run": run, "name": started.routine.text.name, "state": end.state.value, "text": end.result or ""}


async def kept_calls(store: Store, left: Left) -> AsyncIterator[int]:
    """Return the calls of a killed hub whose outcomes the store has, though their records lack."""
    for number, (call, status) in left.calls.items():
        steps = await store.journal.run_steps(call["of"])
        ended = {one.call_id: one.status for one in steps.said if isinstance(one, ToolResult)}
        unknown = {one.call_id for one in steps.calls if one.state is CallState.UNKNOWN}
        if call["id"] in unknown or ended.get(call["id"]) == status:
            yield number


async def not_reached(store: Store, left: Left) -> Mapping[str, str]:
    """Return what a killed hub had not come to, with the states: calls that it neither began nor asked people
    about, and the ends of routines' runs (see `end_of`)."""
    found = [await store.journal.run_steps(run) for run in sorted(left.runs)]
    calls = [call for steps in found for call in steps.calls if call.call_id not in left.begun]
    states = {one.call_id: one.state for one in calls if one.state in {CallState.INTENT, CallState.APPROVED}}
    runs = [one for one in await _runs(store, left) if (one.routine.id, one.run.key) in left.fired]
    return states | {end_of(one): CallState.RUNNING for one in runs if not one.run.state.over}


def end_of(started: StartedRun) -> str:
    """Return a name for the end of a routine's run."""
    return f"{started.routine.id} {started.run.key}"


async def _runs(store: Store, left: Left) -> list[StartedRun]:
    """Return the newest runs of each routine; none without an earlier hub."""
    return [
        StartedRun(run, row)
        for row in (await store.routines.routines() if left.since is not None else ())
        for run in await store.run_views.routine_runs(row.id, NEWEST_RUNS)
    ]


async def lost_turns(store: Store, left: Left) -> AsyncIterator[dict[str, str]]:
    """Return the records of the ends of turns that a killed hub committed, and did not record."""
    newest = await store.explanations.explain_recent(NEWEST_EVENTS) if left.turns else ()
    ends = {one.turn_id: one.turn_state for one in reversed(newest) if one.turn_id in left.turns}
    for turn_id, state in ends.items():
        match state:
            case TurnState.DONE:
                last = (await store.journal.run_steps(turn_id)).said[-1]
                text = last.text if isinstance(last, AssistantSaid) and not is_silent(last.text) else ""
                yield {"of": turn_id, "result": "finished", "text": text}
            case TurnState.FAILED:
                yield {"of": turn_id, "result": "failed", "text": ""}  # the text is not compared
            case _:
                pass


async def lost_runs(store: Store, left: Left) -> AsyncIterator[tuple[StartedRun, bool, bool]]:
    """Return the runs that a killed hub began or ended without a record of it: whether each one's beginning
    lacks, and whether its end does. The first that began is the first."""
    for started in sorted(await _runs(store, left), key=lambda one: one.run.started_at or 0):
        run, key = started.run, (started.routine.id, started.run.key)
        begun = key not in left.fired and (run.started_at or 0) >= (left.since or 0)
        if begun or key in left.fired:
            ended = run.state.over and key not in left.ran
            if begun or ended:
                yield started, begun, ended


def files_of(row: RoutineRow) -> Iterator[tuple[str, int]]:
    """The files that a routine's question may hold, and how much of each is read."""
    with contextlib.suppress(ValueError):
        action = definition_of(row).action
        if row.id == HEARTBEAT_ID:
            yield LIST, LIST_LIMIT_BYTES
        elif isinstance(action, Lightweight):
            yield from ((path, READ_LIMIT_BYTES) for path in action.context_paths)


def nothing_to_read(path: str, limit_bytes: int) -> bytes:
    """Read nothing, before a recording begins."""
    raise ValueError(f"{path} is not read: at most {limit_bytes} bytes")


NEWEST_RUNS = NEWEST_EVENTS = 200
"""More than may run or wait of one routine, and more than turns have events that run at a time."""


@dataclass(slots=True)
class Arrival:
    """An event that is being accepted, as it came. `time`: when, in microseconds UTC. `withheld`: nothing of
    its content is stored. `heard`: it was recorded."""

    number: int
    event: InboundEvent
    time: int
    withheld: bool = False
    heard: bool = False

    @property
    def edits(self) -> bool:
        """True if it changes an earlier message."""
        return isinstance(self.event, InboundMessage) and self.event.edits is not None


arriving: ContextVar[Arrival | None] = ContextVar("the event that a task lets the hub accept", default=None)


@dataclass(frozen=True, slots=True)
class HeardJudge:
    """A judge whose decision tells of the event, in the transaction and thus before the commit."""

    judge: Judge
    heard: Callable[[bool], None]

    @property
    def gate_id(self) -> str | None:
        return self.judge.gate_id

    @property
    def routine_ids(self) -> Sequence[str]:
        return self.judge.routine_ids

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        admission = self.judge.admit(event, identity)
        if not isinstance(admission, Admitted):
            self.heard(False)
        return admission

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        verdict = self.judge.decide(event, view)  # seals the secrets in it
        self.heard(verdict.withheld)
        return verdict


class HearsRoutines(Protocol):
    """Hears of events, routines and their runs as they are stored."""

    def arrived(self, arrival: Arrival) -> None: ...

    def accepted(self, arrival: Arrival, accepted: Accepted) -> None: ...

    async def routine_changed(self, row: RoutineRow) -> None: ...

    def routine_deleted(self, routine_id: str) -> None: ...

    async def routine_begun(self, started: StartedRun) -> None: ...

    def routine_ended(self, started: StartedRun, end: RunEnd) -> None: ...

    def goes_on(self, name: str, state: CallState, /) -> Awaitable[None]:
        """A call has become an intent, or is about to be marked as running. `name`: its ID. Or a run of a
        routine is about to end: see `end_of`."""
        ...

    def kept(self, call_ids: Sequence[str], /) -> None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """Hears of runs alone. `begun`, `ended`: called with each run of a routine; `goes_on`: as below; `kept`:
    with the ids of calls whose outcomes were stored."""

    begun: Callable[[StartedRun], None]
    ended: Callable[[StartedRun, RunEnd], None]
    goes_on: Callable[[str, CallState], Awaitable[None]]
    kept: Callable[[Sequence[str]], None]

    def arrived(self, arrival: Arrival) -> None:
        pass

    def accepted(self, arrival: Arrival, accepted: Accepted) -> None:
        pass

    async def routine_changed(self, row: RoutineRow) -> None:
        pass

    def routine_deleted(self, routine_id: str) -> None:
        pass

    async def routine_begun(self, started: StartedRun) -> None:
        self.begun(started)

    def routine_ended(self, started: StartedRun, end: RunEnd) -> None:
        self.ended(started, end)


class _Facets:
    """Some facets of a store, or units of a facet, in place of its own."""

    def __init__(self, inner: object, **instead: object) -> None:
        self._inner = inner
        self.__dict__ |= instead

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def _accept_heard(
    inbound: Inbound, hears: HearsRoutines, event: InboundEvent, judge: Judge, *, send_now: bool
) -> Accepted:
    arrival = arriving.get()
    if arrival is None or arrival.heard:
        return await inbound.accept_event(event, judge, send_now=send_now)

    def heard(withheld: bool) -> None:
        arrival.withheld = withheld
        if not arrival.heard:
            arrival.heard = True
            hears.arrived(arrival)

    if not isinstance(event, InboundMessage | ChoiceAnswer) or arrival.edits:
        heard(False)  # nobody judges it
    accepted = await inbound.accept_event(event, HeardJudge(judge, heard), send_now=send_now)
    if not accepted.duplicate:
        hears.accepted(arrival, accepted)
    return accepted


def _heard_calls(turns: Turns, recovery: UnfinishedRuns, hears: HearsRoutines) -> dict[str, object]:
    """Return the facets that store what becomes of calls."""

    async def record_reply_and_intents(
        run_id: str, reply: AssistantSaid, calls: Sequence[NewCall], **how: Any
    ) -> None:
        await turns.record_reply_and_intents(run_id, reply, calls, **how)
        for call in calls[:1]:
            await hears.goes_on(call.call_id, CallState.INTENT)

    async def mark_running(run_id: str, call_id: str, check: RunCheck, **limits: Any) -> str | None:
        await hears.goes_on(call_id, CallState.RUNNING)
        return await turns.mark_running(run_id, call_id, check, **limits)

    async def finish_calls(run_id: str, results: Sequence[ToolResult], **how: Any) -> Reservation | None:
        ids = [result.call_id for result in results]
        return await committed(turns.finish_calls(run_id, results, **how), lambda _: hears.kept(ids))

    async def mark_unknown(call_id: str, *card: Any) -> tuple[OutboxRow, ...]:
        return await committed(recovery.mark_unknown(call_id, *card), lambda _: hears.kept([call_id]))

    told = {"record_reply_and_intents": record_reply_and_intents, "mark_running": mark_running}
    return {
        "turns": _Facets(turns, finish_calls=finish_calls, **told),
        "recovery": _Facets(recovery, mark_unknown=mark_unknown),
    }


def _heard_runs(runs: RoutineRuns, hears: HearsRoutines) -> object:
    async def begin_runs(*, most: int, day: BudgetDay) -> Sequence[StartedRun]:
        begun = await runs.begin_runs(most=most, day=day)
        for started in begun:
            await hears.routine_begun(started)
        return begun

    async def finish_run(run_id: str, end: RunEnd) -> bool:
        started = await runs.started_run(run_id)
        if started is not None:
            await hears.goes_on(end_of(started), CallState.RUNNING)
        ended = await runs.finish_run(run_id, end)
        if ended and started is not None:
            hears.routine_ended(started, end)
        return ended

    return _Facets(runs, begin_runs=begin_runs, finish_run=finish_run)


def heard_store(store: Store, hears: HearsRoutines) -> Store:
    """Return a store that tells of events, outcomes of calls, routines and their runs."""
    inbound, routines = store.inbound, store.routines

    def told(
        unit: Callable[..., Awaitable[RoutineRow | None]],
    ) -> Callable[..., Awaitable[RoutineRow | None]]:
        async def changes(*arguments: Any, **named: Any) -> RoutineRow | None:
            row = await unit(*arguments, **named)
            if row is not None:
                await hears.routine_changed(row)
            return row

        return changes

    async def delete_routine(routine_id: str) -> bool:
        gone = await routines.delete_routine(routine_id)
        if gone:
            hears.routine_deleted(routine_id)
        return gone

    changing = {
        "save_routine": told(routines.save_routine),
        "rewrite_routine": told(routines.rewrite_routine),
        "switch_routine": told(routines.switch_routine),
        "delete_routine": delete_routine,
    }
    facets = {
        "inbound": _Facets(inbound, accept_event=partial(_accept_heard, inbound, hears)),
        "routines": _Facets(routines, **changing),
        "runs": _heard_runs(store.runs, hears),
        **_heard_calls(store.turns, store.recovery, hears),
    }
    return cast("Store", _Facets(store, **facets))


class FedHub(Protocol):
    """What the replay's hub is made to do besides hearing messages."""

    async def take_up(self, person: str, thread_id: str) -> object:
        """Let a person go on with a thread in the console."""
        ...

    async def put_routine(self, record: Record, thread_id: str | None) -> None:
        """Make a routine what it became."""
        ...

    async def delete_routine(self, routine_id: str) -> None:
        """Delete a routine."""
        ...

    async def fire(self, record: Record) -> None:
        """Let a run of a routine begin that no message began."""
        ...


class ReplayedHub:
    """A hub whose routines are put, and run, as the recording has it. Implements FedHub."""

    def __init__(self, app: App, workspace: Path) -> None:
        self._app = app
        self._workspace = workspace

    async def take_up(self, person: str, thread_id: str) -> object:
        return await self._app.store.inbound.take_up_thread(person, WEB, thread_id, thread_id)

    async def put_routine(self, record: Record, thread_id: str | None) -> None:
        routines, text = self._app.store.routines, routine_from_json(record)
        row = await routines.routine(record["id"])
        if row is None:
            people = await self._app.store.people.people()
            owners = [one.user.user_id for one in people if one.user.name == record["owner"]]
            row = await routines.save_routine(record["id"], owners[0], text, thread_id) if owners else None
        elif row.text != text:
            row = await routines.rewrite_routine(row.id, text, version=row.version)
        if row is not None and row.enabled != record["enabled"]:
            row = await routines.switch_routine(row.id, enabled=record["enabled"], next_slot_at=None)
        if row is None:
            raise StartError(f"the recording's routine {text.name!r} can't be made here; record it again")
        self._app.routines.changed(row)

    async def delete_routine(self, routine_id: str) -> None:
        await self._app.store.routines.delete_routine(routine_id)
        self._app.routines.deleted(routine_id)

    async def fire(self, record: Record) -> None:
        for name, text in record["files"].items():
            file = (self._workspace / name).resolve()
            if file.is_relative_to(self._workspace.resolve()):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        run, ids = record["run"], RandomIds()
        new = NewRun(ids.row_id(), record["id"], **run, heeds_guardrails=False)
        await self._app.store.runs.claim_run(new)
        self._app.routines.fired([record["id"]])
