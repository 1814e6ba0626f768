"""Trials of routines: their triggers in words, the effect of a text, and the problems of a draft. Nothing is
run, claimed or stored.

A schedule is described from the same fields that its slots are computed from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, assert_never

from core.clock import SECOND_US
from core.lazy import dataclass
from core.routine import (
    Cron,
    Definition,
    Event,
    Filters,
    Lightweight,
    Manual,
    MessageInput,
    Once,
    SystemEvent,
    Trigger,
    Webhook,
    kept,
)
from core.routine_json import Problem, read_definition
from core.routines.definitions import definition_of, kind_of, not_permitted, problems
from core.routines.manage import RoutineManager
from core.routines.run import Asked, system_text, user_text
from core.routines.schedule import (
    MONTHS,
    WEEKDAYS,
    Every,
    Fields,
    Part,
    Schedule,
    once_at,
    read_schedule,
    schedule_of,
    with_time_in_full,
)
from core.store.routine_rows import RoutineRow, resting
from core.users import Principal, zone_of

if TYPE_CHECKING:
    from core.jobs.service import JobDispatcher
    from core.routines.matching.matcher import Hit


_UNITS = {"m": "minute", "h": "hour", "d": "day"}
_MAX_TIMES = 6


def what_fires(trigger: Trigger) -> str:
    """Describe a trigger, such as "A message on chat in which “deploy” is found". Raises
    ScheduleRefused."""
    match trigger:
        case Cron():
            return describe(trigger.schedule, trigger.timezone)
        case Event():
            channel = f" on {trigger.channel}" if trigger.channel else ""
            sender = f" by {trigger.sender}" if trigger.sender else ""
            return f"A message{channel}{sender} in which “{trigger.pattern}” matches"
        case SystemEvent():
            return f"The event {trigger.source} {trigger.event_type}{_where(trigger.filters)}"
        case Webhook():
            return f"A request to /api/webhooks/{trigger.path}{_where(trigger.filters)}"
        case Manual():
            return "Started by a person only"
        case _:
            assert_never(trigger)


def _where(filters: Filters) -> str:
    return f" where {_joined([f'{name} is “{value}”' for name, value in filters])}" if filters else ""


def describe(schedule: str, timezone: str = "") -> str:
    """Describe a schedule, such as "At 09:00 on Monday to Friday (Europe/Berlin)". Raises
    ScheduleRefused."""
    said = read_schedule(schedule)
    if isinstance(said, Once):
        return _once(said, timezone)
    words = _every(said.count, _UNITS[said.unit]) if isinstance(said, Every) else _fields(said)
    zone = f" ({timezone})" if timezone else ""
    return f"{words[0].upper()}{words[1:]}{zone}"


def _once(once: Once, timezone: str) -> str:
    """Describe one time; of one that clocks skip, also why it is later than written."""
    found = zone_of(timezone) if timezone else None
    local = once_at(once, found or UTC).astimezone(found or UTC)
    words = f"once at {local:%Y-%m-%d} {_clock(local)}{f' ({timezone})' if found else ''}"
    skipped = not once.exact and local.replace(tzinfo=None) != once.reading
    told = f"; clocks skip {_clock(once.reading)} that day" if skipped else ""
    return f"{words[0].upper()}{words[1:]}{told}"


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def _fields(fields: Fields) -> str:
    return " ".join(filter(None, (_time(fields.minute, fields.hour), _day(fields), _month(fields.month))))


def _time(minute: Part, hour: Part) -> str:
    times = [f"{at:02}:{past:02}" for at in hour.values for past in minute.values]
    if not hour.stepped and not minute.stepped and len(times) <= _MAX_TIMES:
        return f"at {_joined(times)}"
    hours = "" if hour.open else f" of {_hours(hour)}"
    if minute.open or minute.step > 1:
        return _every(minute.step, "minute") + hours
    if minute.values == (0,):
        return _every(hour.step, "hour") if hour.open or hour.step > 1 else f"on the hour{hours}"
    past = (
        f"at minute{'s' if len(minute.values) > 1 else ''} {_ranges(list(map(str, minute.values)), minute)}"
    )
    return past + (" of every hour" if hour.open else hours)


def _hours(hour: Part) -> str:
    if hour.step > 1:
        return f"every {_ordinal(hour.step)} hour"
    return f"hour{'s' if len(hour.values) > 1 else ''} {_ranges(list(map(str, hour.values)), hour)}"


def _day(fields: Fields) -> str:
    day, weekday = fields.day, fields.weekday
    days = f"on the {_ranges([_ordinal(value) for value in day.values], day)} of the month"
    if day.step > 1:
        days = f"on every {_ordinal(day.step)} day of the month from the 1st"
    ordered = sorted(weekday.values, key=lambda value: value or 7)
    names = [WEEKDAYS[value] for value in ordered]
    weekdays = f"on {_ranges(names, weekday, ordered)}"
    match day.open, weekday.open:
        case True, True:
            fixed = not (fields.minute.stepped or fields.hour.stepped)
            return "every day" if fixed and fields.month.open else ""
        case False, True:
            return days
        case True, False:
            return weekdays
        case _:
            return f"{days} or {weekdays}"


def _month(month: Part) -> str:
    return "" if month.open else f"in {_ranges([MONTHS[value - 1] for value in month.values], month)}"


def _ranges(names: list[str], part: Part, values: Sequence[int] | None = None) -> str:
    """Return names of values; three or more in a row as "first to last"."""
    numbers = list(part.values if values is None else (value or 7 for value in values))
    if len(names) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{names[0]} to {names[-1]}"
    return _joined(names)


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# The next slots, by calendar day in the local time zone.

MAX_A_DAY = 24
"""Slots of one routine counted on one day; this number means "or more"."""
SHOWN_A_DAY = 3


@dataclass(frozen=True, slots=True)
class DaySlots:
    """One routine's slots of one day: the first ones, and their number (see MAX_A_DAY)."""

    routine_id: str
    name: str
    slots: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Day:
    """A day with due slots, the earliest first."""

    date: date
    routines: tuple[DaySlots, ...]


def calendar(rows: Iterable[RoutineRow], zone: tzinfo, now: int, days: int) -> tuple[Day, ...]:
    """Return the slots of enabled schedules from now until the end of `days` days in `zone`, today included.
    Days without slots are left out. Jitter is not shown, because it is small next to a day."""
    end = _midnight(_local_day(now, zone) + timedelta(days=days), zone)
    found: dict[date, list[DaySlots]] = {}
    for row in rows:
        for day, slots in _by_day(row, zone, now, end):
            found.setdefault(day, []).append(slots)
    return tuple(
        Day(day, tuple(sorted(found[day], key=lambda one: (one.slots, one.name)))) for day in sorted(found)
    )


def _by_day(row: RoutineRow, zone: tzinfo, now: int, end: int) -> Iterator[tuple[date, DaySlots]]:
    schedule = _schedule(row)
    if schedule is None or row.text.next_slot_at is None:
        return
    at = schedule.next_after(max(now, row.text.next_slot_at - 1))
    while at is not None and at < end:
        day = _local_day(at, zone)
        over = _midnight(day + timedelta(days=1), zone)
        slots = tuple(islice(schedule.between(at - 1, over - 1), MAX_A_DAY))
        yield day, DaySlots(row.id, row.text.name, slots[:SHOWN_A_DAY], len(slots))
        at = schedule.next_after(over - 1)


def _schedule(row: RoutineRow) -> Schedule | None:
    try:
        trigger = definition_of(row).trigger
        return schedule_of(trigger, row.created_at) if isinstance(trigger, Cron) else None
    except ValueError:
        return None  # the list shows the reason


def _local_day(at: int, zone: tzinfo) -> date:
    return datetime.fromtimestamp(at // SECOND_US, zone).date()


def _midnight(day: date, zone: tzinfo) -> int:
    """Return the first moment of the day."""
    begin = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(begin.astimezone(UTC).timestamp()) * SECOND_US


SLOTS_TOLD = 5


@dataclass(frozen=True, slots=True)
class Moment:
    """The circumstances of a trial. `timezone`: the hub's; `priced`: whether model prices are known; `jobs`:
    None if there are none."""

    by: Principal
    now: int
    timezone: str
    priced: bool = False
    jobs: "JobDispatcher | None" = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The model's input in a trial: `system` and `model_input`; only the names of the context files."""

    fires: bool
    why: str
    system: str | None = None
    model_input: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A routine in the making: all its problems. If its trigger is valid, also a description of the
    trigger, the next slots of a schedule, and the effect of a text."""

    problems: tuple[Problem, ...]
    fires_on: str | None = None
    slots: tuple[int, ...] = ()
    trial: Trial | None = None


def try_text(row: RoutineRow, text: str, at: Moment) -> Trial:
    """Return whether a message of this text would fire the routine now, and the model's input."""
    try:
        definition = definition_of(row)
    except ValueError as error:
        return Trial(False, str(error))
    trial = _tried(definition, text, row.state, at)
    if trial.model_input is None:
        return trial
    if not row.enabled:
        return replace(trial, fires=False, why=f"it is paused; otherwise it would fire: {trial.why}")
    if row.cools_until > at.now:
        rests = resting(row.cools_until)
        return replace(trial, fires=False, why=f"it is {rests}; otherwise it would fire: {trial.why}")
    return trial


def try_page(page: Mapping[str, object], text: str | None, at: Moment) -> Draft:
    """Return the judgement of a page that describes a routine (see core.routine_json)."""
    found = read_definition(with_time_in_full(page, at.now, at.timezone), at.timezone)
    if isinstance(found, tuple):
        return Draft(found)
    trigger, wrong = found.trigger, tuple(problems(found))
    told = (*wrong, *not_permitted(found, at.by, priced=at.priced, jobs=at.jobs))
    if any(problem.field.startswith("trigger.") for problem in wrong):
        return Draft(told)
    slots: tuple[int, ...] = ()
    if isinstance(trigger, Cron):
        prerender = schedule_of(trigger, at.now).between(at.now, at.now + _FAR_US)
        slots = tuple(islice(prerender, SLOTS_TOLD))
    trial = _tried(found, text, "", at) if text is not None and isinstance(trigger, Event) else None
    return Draft(told, what_fires(trigger), slots, trial)


_FAR_US = 50 * 366 * 86_400 * SECOND_US


def _tried(definition: Definition, text: str, state: str, at: Moment) -> Trial:
    trigger = definition.trigger
    if not isinstance(trigger, Event):
        kind = kind_of(trigger).replace("_", " ")
        return Trial(False, f"its trigger is {kind}, not a message")
    hit = _hit(trigger, text)
    if hit is None:
        return Trial(False, f"the pattern {trigger.pattern!r} does not match the text")
    groups = ", ".join(f"{number}: {group!r}" for number, group in enumerate(hit.found.groups, start=1))
    why = f"the pattern matches {hit.found.text!r}{f' (groups {groups})' if groups else ''}"
    if not isinstance(definition.action, Lightweight):
        return Trial(True, why)
    asked = _asked(definition, definition.action, trigger, hit, text, state, at)
    return Trial(True, why, system_text(asked, with_tools=definition.action.use_tools), user_text(asked))


def _hit(trigger: Event, text: str) -> "Hit | None":
    """Return the match of a message that passes every filter."""
    # RE2 is loaded only for a trial: reading lists of routines needs none of it.
    from core.routines.matching.matcher import Heard, Listener, Matcher

    matcher = Matcher()
    matcher.put(Listener("tried", "tried", replace(trigger, thread_id=None)))
    sender = () if trigger.sender is None else (trigger.sender,)
    return next(iter(matcher.match(Heard(text, frozenset({"tried"}), trigger.channel or "", sender))), None)


def _asked(
    definition: Definition, action: Lightweight, trigger: Event, hit: "Hit", text: str, state: str, at: Moment
) -> Asked:
    message = MessageInput(
        event_key="tried",
        channel=trigger.channel or "any channel",
        sender=trigger.sender or at.by.name,
        text=kept(text),
        groups=hit.found.groups,
        named_groups=hit.found.names,
    )
    files = dict.fromkeys(action.context_paths, "(the file's content when the routine runs)")
    told = definition.notify.on_attention
    return Asked(definition.name, at.by.name, action, message, files, {}, state, at.now, at.timezone, told)


# Operations on routines in words, for the model of a chat turn.

SHOWN_CHARS = 500


class RoutinesInWords:
    """Operations on routines by talking. Raises what core.routines.manage raises."""

    def __init__(self, manager: RoutineManager) -> None:
        self._manager = manager

    async def create(self, by: Principal, thread_id: str, page: Mapping[str, Any]) -> str:
        """Create a routine; its notices go to the thread where it was made."""
        return f"Created: {_line_in_full(await self._manager.create(by, page, thread_id))}"

    async def objection(self, by: Principal, page: Mapping[str, Any]) -> str | None:
        """Return why a routine cannot be created, or None."""
        return await self._manager.objection(by, page)

    async def remind(self, by: Principal, thread_id: str, text: str, when: str, key: str) -> str:
        """Set a reminder that is sent to the thread where it was set."""
        row = await self._manager.remind(by, text, when, key, thread_id)
        return f"Reminder set: {what_fires(definition_of(row).trigger)}. It is the routine “{row.text.name}”."

    async def listed(self, by: Principal) -> str:
        """List the person's routines."""
        rows = await self._manager.listed(by)
        return "\n".join(f"- {_line(row)}" for row in rows) or "There are no routines."

    async def change(self, by: Principal, name: str, page: Mapping[str, Any]) -> str:
        """Change the fields that the page names."""
        return f"Changed: {_line_in_full(await self._manager.change(by, name, page))}"

    async def delete(self, by: Principal, name: str) -> str:
        """Delete a routine."""
        return f"Deleted: {(await self._manager.delete(by, name)).text.name}"

    async def fire(self, by: Principal, name: str, key: str) -> str:
        """Run a routine once."""
        return f"Queued: run {await self._manager.fire(by, name, key)}; its result will be sent."

    async def history(self, by: Principal, name: str, limit: int) -> str:
        """List the newest runs of a routine."""
        runs = await self._manager.history(by, name, limit)
        lines = (
            f"- {_when(run.due_at)}, fired by {run.kind}: {run.state.value}"
            f" {(run.error or run.result or '')[:SHOWN_CHARS]}".rstrip()
            for run in runs
        )
        return "\n".join(lines) or "It has not run yet."

    async def emit(
        self, by: Principal, source: str, event_type: str, payload: Mapping[str, Any], key: str
    ) -> str:
        """Return the routines an event fires."""
        fired = await self._manager.emit(by, source, event_type, payload, key)
        return (
            f"Fired: {', '.join(fired)}"
            if fired
            else "No routine fired. Either no routine waits for this event, or those that do can't run now."
        )


def _line(row: RoutineRow) -> str:
    state = "on" if row.enabled else f"paused ({row.paused_because or 'by a person'})"
    state = "done" if row.done_at is not None else state
    at = row.text.next_slot_at
    return f"{row.text.name}, {row.text.kind}, {state}{f', next at {_when(at)} UTC' if at else ''}"


def _line_in_full(row: RoutineRow) -> str:
    """Return the line of a routine with its schedule, and the time zone that counts for it."""
    trigger = definition_of(row).trigger
    return f"{_line(row)}. {what_fires(trigger)}" if isinstance(trigger, Cron) else _line(row)


def _when(at: int) -> str:
    return f"{datetime.fromtimestamp(at // SECOND_US, UTC):%Y-%m-%d %H:%M}"
