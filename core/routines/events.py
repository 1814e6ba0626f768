"""System events: each fires the routines that wait for it, once for an event's id."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

from core.clock import Clock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.off_loop import off_loop
from core.routine import Filters, SystemEvent, SystemInput, claim_key, kept
from core.routine_json import input_from_json, input_to_json
from core.routines.definitions import definition_of
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.store.routine_rows import NewRun, StartedRun

# Payload fields that concern a routine: those its filters test, and those its model sees.


def passes(filters: Filters, payload: Any) -> bool:
    """Return whether the payload has every named field, as a text, number or truth value equal to the filter,
    ignoring case. A payload that is not an object passes only if there are no filters."""
    return all(_reads_as(value_of(payload, name), wanted) for name, wanted in filters)


def value_of(payload: Any, name: str) -> Any:
    """Return one field; `a.b` is field `b` of field `a`. A field named `a.b` itself takes precedence.
    None if there is none."""
    if not isinstance(payload, dict):
        return None
    page = cast("dict[str, Any]", payload)
    if name in page:
        return page[name]
    first, _, rest = name.partition(".")
    return value_of(page.get(first), rest) if rest else None


def _reads_as(value: Any, wanted: str) -> bool:
    match value:
        case bool():
            text = "true" if value else "false"
        case str():
            text = value
        case int() | float():
            text = str(value)
        case _:
            return False
    return text.casefold() == wanted.casefold()


def listens(trigger: SystemEvent, source: str, event_type: str, payload: Mapping[str, Any]) -> bool:
    """Return whether the trigger listens to this event. Case is ignored."""
    same = trigger.source.casefold() == source.casefold()
    return (
        same and trigger.event_type.casefold() == event_type.casefold() and passes(trigger.filters, payload)
    )


logger = logging.getLogger(__name__)

HUB = "hub"
"""Source of the hub's own events."""
STARTED, ROUTINE_FAILED = "started", "routine_failed"


class SystemEvents:
    """Sender of events to a person's routines, without the credentials in them (`leaks`). Raises
    StoreError."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        leaks: LeakDetector | None = None,
    ) -> None:
        self._leaks = leaks or LeakDetector()
        self._store = store
        self._clock = clock
        self._ids = ids

    async def emit(
        self, owner_id: str, source: str, event_type: str, payload: Mapping[str, Any], event_id: str
    ) -> Sequence[str]:
        """Return the names of the routines that fire. The same id returns the same names and starts no
        further run."""
        page = json.dumps(payload, ensure_ascii=False)
        text = kept(await off_loop(len(page), lambda: self._leaks.redacted(page)))
        fired_by = SystemInput(event_id, source, event_type, text)
        names: list[str] = []
        for row in await self._store.routines.event_routines(owner_id):
            try:
                trigger = definition_of(row).trigger
            except ValueError as error:
                logger.warning("routine.event_trigger_refused routine=%r error=%s", row.text.name, error)
                continue
            if not isinstance(trigger, SystemEvent) or not listens(trigger, source, event_type, payload):
                continue
            run = NewRun(
                id=self._ids.row_id(),
                routine_id=row.id,
                key=claim_key(fired_by),
                kind="system_event",
                input=input_to_json(fired_by),
                due_at=self._clock.now(),
            )
            claim = await self._store.runs.claim_run(run)
            names += [row.text.name] if claim.run_id is not None else []
        return names


class HubEvents:
    """Events of the hub itself, source `hub`: `started` for its owner's routines, `routine_failed` for those
    of the
    routine's owner. An event cut off by a kill or a store failure is not emitted later."""

    def __init__(self, events: SystemEvents, owner_id: str, ids: Ids) -> None:
        self._events = events
        self._owner_id = owner_id
        self._ids = ids

    async def started(self) -> None:
        """Emit the event of the hub's start."""
        await self._tell(self._owner_id, STARTED, {}, self._ids.row_id())

    async def failed(self, started: StartedRun, why: str) -> None:
        """Emit a run's failure, unless one of the hub's own events fired the run: failures would loop."""
        fired_by = input_from_json(started.run.input)
        if isinstance(fired_by, SystemInput) and fired_by.source == HUB:
            return
        page = {"routine": started.routine.text.name, "error": why}
        await self._tell(started.routine.owner_id, ROUTINE_FAILED, page, started.run.id)

    async def _tell(self, owner_id: str, event_type: str, page: Mapping[str, str], event_id: str) -> None:
        try:
            await self._events.emit(owner_id, HUB, event_type, page, f"{HUB}:{event_id}")
        except StoreUnavailable as error:
            logger.warning("routine.event_failed type=%s error=%s", event_type, error)
