"""Triggers of routines besides their schedule: messages, webhooks, system events, and the heartbeat.

The registries of event routines and webhooks take changes over with the next message or delivery. A system
event fires the routines that wait for it, once for its id.

By the heartbeat, at an interval or once a day, the model works through the owner's list, HEARTBEAT.md of the
workspace. It is a normal routine, created and updated from the configuration; the engine handles its slots,
runs, limits and notices. Only its active hours are special, and that an empty list calls no model.
"""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.lazy import dataclass
from core.messages import InboundMessage
from core.off_loop import off_loop
from core.routine import (
    Cron,
    Definition,
    Downtime,
    Event,
    Filters,
    Guardrails,
    Lightweight,
    Match,
    MessageInput,
    OnMatch,
    QuietHours,
    SystemEvent,
    SystemInput,
    Webhook,
    kept,
)
from core.routine_json import input_from_json
from core.routines.definitions import definition_of, read_text, text_of
from core.routines.matching.matcher import Heard, Hit, Listener, Matcher
from core.routines.matching.nodes import PatternRefused
from core.routines.schedule import next_slot
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.store.routine_rows import NewRun, RoutineRow, RoutineText, StartedRun

logger = logging.getLogger(__name__)

LOADED_AT_ONCE = 10


class PatternRegistry:
    """Registry of all enabled event routines. Permissions and threads are judged with the message, in the
    transaction
    that accepts it; here only text, channel and sender are matched."""

    def __init__(self) -> None:
        self._matcher = Matcher()
        self._events: dict[str, Event] = {}
        self._readers: frozenset[str] = frozenset()

    def changed(self, row: RoutineRow) -> None:
        """Apply a change of the routine; one that cannot be read hears nothing, which is logged."""
        self.deleted(row.id)
        if row.text.kind != "event" or not row.enabled:
            return
        try:
            trigger = definition_of(row).trigger
            if isinstance(trigger, Event):
                heard = replace(trigger, thread_id=None)
                self._matcher.put(Listener(row.id, row.owner_id, heard))
                self._events[row.id] = trigger
                self._readers |= {row.owner_id}
        except (ValueError, PatternRefused) as error:
            logger.warning("routine.trigger_refused routine=%r error=%s", row.text.name, error)

    async def load(self, rows: Iterable[RoutineRow]) -> None:
        """Apply `changed` to many, with pauses in which everything else runs."""
        for count, row in enumerate(rows):
            if count % LOADED_AT_ONCE == 0:
                await asyncio.sleep(0)
            self.changed(row)

    def deleted(self, routine_id: str) -> None:
        """Remove the routine."""
        if self._events.pop(routine_id, None) is not None:
            self._matcher.remove(routine_id)

    def matches(self, message: InboundMessage) -> Sequence[Match]:
        """Return the routines the message fires, judged by the message alone."""
        if not self._events or not message.text:
            return ()
        sender = message.sender
        names = tuple(name for name in (sender.platform_user_id, sender.username) if name)
        hits = self._matcher.match(Heard(message.text, self._readers, message.channel, names))
        return [self._match(hit, message) for hit in hits]

    def _match(self, hit: Hit, message: InboundMessage) -> Match:
        routine_id = hit.listener.routine_id
        trigger = self._events[routine_id]
        heard = MessageInput(
            event_key=message.key,
            channel=message.channel,
            sender=message.sender.name,
            text=kept(message.text),
            groups=hit.found.groups,
            named_groups=hit.found.names,
        )
        digest = hashlib.sha256(" ".join(message.text.split()).encode("utf-8", "replace")).hexdigest()
        return Match(routine_id, heard, digest, trigger.on_match is OnMatch.CONSUME, trigger.thread_id)


@dataclass(frozen=True, slots=True)
class WebhookEntry:
    """A webhook: the routine it fires, and the checks on a delivery."""

    routine_id: str
    trigger: Webhook


class WebhookRegistry:
    """Registry of all webhooks. A pause is judged where the run is claimed: only a sender who knows the
    secret learns
    of it."""

    def __init__(self) -> None:
        self._by_path: dict[str, WebhookEntry] = {}
        self._paths: dict[str, str] = {}

    def changed(self, row: RoutineRow) -> None:
        """Apply a change of the routine; one that cannot be read has no webhook, which is logged."""
        self.deleted(row.id)
        if row.text.kind != "webhook":
            return
        try:
            trigger = definition_of(row).trigger
        except ValueError as error:
            logger.warning("routine.webhook_unavailable routine=%r error=%s", row.text.name, error)
            return
        if isinstance(trigger, Webhook):
            self._by_path[trigger.path] = WebhookEntry(row.id, trigger)
            self._paths[row.id] = trigger.path

    def deleted(self, routine_id: str) -> None:
        """Remove the routine's webhook."""
        path = self._paths.pop(routine_id, None)
        entry = None if path is None else self._by_path.get(path)
        if entry is not None and entry.routine_id == routine_id:  # another routine may have taken the path
            del self._by_path[entry.trigger.path]

    def at(self, path: str) -> WebhookEntry | None:
        """Return the webhook at that path."""
        return self._by_path.get(path)


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


HUB = "hub"
"""Source of the hub's own events."""
STARTED, ROUTINE_FAILED = "started", "routine_failed"


class SystemEvents:
    """Sender of events to a person's routines, without the credentials in them (`leaks`). `fired` is
    called with claimed runs. Raises StoreError."""

    def __init__(
        self,
        store: Store,
        fired: Callable[[Sequence[str]], None],
        clock: Clock,
        ids: Ids,
        leaks: LeakDetector | None = None,
    ) -> None:
        self._leaks = leaks or LeakDetector()
        self._store = store
        self._fired = fired
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
        claimed: list[str] = []
        for row in await self._store.routines.event_routines(owner_id):
            try:
                trigger = definition_of(row).trigger
            except ValueError as error:
                logger.warning("routine.event_trigger_refused routine=%r error=%s", row.text.name, error)
                continue
            if not isinstance(trigger, SystemEvent) or not listens(trigger, source, event_type, payload):
                continue
            run = NewRun.fired(fired_by, self._ids.row_id(), row.id, self._clock.now())
            claim = await self._store.runs.claim_run(run)
            names += [row.text.name] if claim.run_id is not None else []
            claimed += [row.id] if claim.run_id is not None and not claim.repeated else []
        if claimed:
            self._fired(claimed)
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


HEARTBEAT_ID = "heartbeat"
NAMES = ("heartbeat", "heartbeat of the hub")
"""Names of the routine; the second is for an owner who has a routine with the first name."""
LIST = "HEARTBEAT.md"
LIST_LIMIT_BYTES = 64_000
SWITCHED_OFF = "[heartbeat] enabled is false"
_PROMPT = (
    "Go through my list below and check whether anything on it needs me now. If nothing does, there is "
    "nothing to report. Otherwise say briefly what needs me and what I could do."
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOTHING = re.compile(r"#.*|(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]?\])?|[-*_=]{3,}")
"""A line without a task: empty, a heading, an empty bullet or box, a rule."""


@dataclass(frozen=True, slots=True)
class Asleep:
    """The reason no model is called."""

    why: str


class Heartbeat:
    """One heartbeat. `awake`: hours of the owner's day, None for all; `read_file`: reads from the
    workspace,
    raises ValueError."""

    def __init__(
        self, read_file: Callable[[str, int], bytes], awake: QuietHours | None, clock: Clock
    ) -> None:
        self._read_file = read_file
        self._awake = awake
        self._clock = clock

    def action(self, timezone: str) -> Lightweight | Asleep:
        """Return the action for now. `timezone`: the owner's."""
        moment = datetime.fromtimestamp(self._clock.now() / SECOND_US, ZoneInfo(timezone))
        if self._awake is not None and not _covers(self._awake, moment.hour * 60 + moment.minute):
            return Asleep("outside active_hours")
        try:
            listed = self._read_file(LIST, LIST_LIMIT_BYTES).decode("utf-8", "replace")
        except ValueError as error:
            return Asleep(f"{LIST}: {error}")
        if asks_for_nothing(listed):
            return Asleep(f"{LIST} has no entries")
        return Lightweight(f"{_PROMPT}\n\n# {LIST}\n\n{listed}")


def _covers(awake: QuietHours, minute: int) -> bool:
    """Return whether a minute is within the active hours; equal start and end mean the whole day."""
    return awake.start_minute == awake.end_minute or awake.cover(minute)


def asks_for_nothing(listed: str) -> bool:
    """Return whether there are only headings, comments and empty items. An unclosed comment hides the
    rest."""
    return all(_NOTHING.fullmatch(line.strip()) for line in _COMMENT.sub("", listed).splitlines())


# --- upkeep ---------------------------------------------------------------------------------------------


async def keep_heartbeat(
    store: Store, owner_id: str, schedule: str | None, timezone: str, clock: Clock
) -> None:
    """Bring the routine in line with the configuration; None removes it. A heartbeat that a person paused
    stays paused.
    Raises StoreUnavailable."""
    row = await store.routines.routine(HEARTBEAT_ID)
    if schedule is None:
        if row is not None and row.enabled:
            await store.routines.switch_routine(
                row.id, enabled=False, next_slot_at=None, because=SWITCHED_OFF
            )
        return
    definition = _definition(schedule, timezone)
    now = clock.now()
    if row is None:
        for name in NAMES:
            text = _text(replace(definition, name=name), now, now)
            if await store.routines.save_routine(HEARTBEAT_ID, owner_id, text, None) is not None:
                return
        logger.error("heartbeat.names_taken names=%r", " and ".join(NAMES))
        return
    text = _text(replace(definition, name=row.text.name), now, row.created_at)
    if not _says(row, text.definition):
        await store.routines.rewrite_routine(row.id, text, version=row.version)
    if row.paused_because == SWITCHED_OFF:
        await store.routines.switch_routine(row.id, enabled=True, next_slot_at=text.next_slot_at)


def schedule_of_beats(every_s: int, at: str) -> str:
    """Return the schedule of the configuration. `at`: a time of day, "" for every `every_s` seconds."""
    hour, _, minute = at.partition(":")
    return f"{int(minute)} {int(hour)} * * *" if at else f"every {every_s // 60} m"


def _definition(schedule: str, timezone: str) -> Definition:
    # A missed beat is not made up for: the next one reads the same list.
    every = Cron(schedule, timezone, Downtime.SKIP)
    return Definition(
        name=NAMES[0],
        trigger=every,
        action=Lightweight(f"Go through {LIST}."),
        description=f"Checks {LIST} in the workspace; see [heartbeat] in the configuration.",
        guardrails=Guardrails(cooldown_s=0),
    )


def _text(definition: Definition, now: int, anchor: int) -> RoutineText:
    assert isinstance(definition.trigger, Cron)  # noqa: S101 - made so
    return text_of(definition, next_slot(definition.trigger, now, anchor))


def _says(row: RoutineRow, definition: str) -> bool:
    try:
        return read_text(row.text.definition) == read_text(definition)
    except ValueError:
        return False
