"""Trials of routines: the effect of a text, and the problems of a draft. Nothing is run, claimed or
stored."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from core.clock import SECOND_US
from core.lazy_dataclass import dataclass
from core.routine import Cron, Definition, Event, Lightweight, MessageInput, kept
from core.routine_json import Problem, read_definition
from core.routines.definitions import definition_of, kind_of, not_permitted
from core.routines.describe import what_fires
from core.routines.manage import RoutineManager
from core.routines.run import Asked, system_text, user_text
from core.routines.schedule import schedule_of, with_time_in_full
from core.routines.validation import problems
from core.store.routine_rows import RoutineRow, resting
from core.users import Principal

if TYPE_CHECKING:
    from core.jobs.dispatch import JobDispatcher
    from core.routines.matching.matcher import Hit


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
