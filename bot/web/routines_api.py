"""Routines: each caller's own."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field

from bot.operator.unattended_views import (
    CalendarView,
    DraftView,
    EmittedView,
    ExpectedView,
    FiredView,
    RoutineTestView,
    RoutineView,
    RunView,
)
from bot.runtime import AdminError
from bot.web.endpoints import Call, Endpoint, ShortText
from bot.web.responses import Given
from core.clock import Clock
from core.ids import Ids
from core.routine import Definition, Filters, QuietHours
from core.routine_json import TYPES
from core.routines.definitions import read_text
from core.routines.manage import RoutineManager
from core.routines.tool_runs import outlook_of
from core.routines.trial import Moment, calendar, try_page, try_text
from core.store.port import Store
from core.store.routine_rows import RoutineRow
from core.tools.pipeline import CallPipeline
from core.users import zone_of

# The form of a routine, as JSON Schema: what `core.routine_json` reads, told by the same dataclasses.
#
# A field that is null counts as left out. What a value means (that a pattern can be matched, that a
# schedule has a next moment) is beyond a schema; the API answers it with 422.

Schema = dict[str, Any]
MAX_IN_CALENDAR = 100

_HOURS = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
_PLAIN: dict[object, Schema] = {str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}}


def whole_form() -> Schema:
    """Return the schema of a new routine: every field without a default is required."""
    return _object(Definition)


def change_form() -> Schema:
    """Return the form of a change: no field is required, and parts go by the routine's present type."""
    form = _object(Definition)
    del form["required"]
    for name in ("name", "trigger", "action"):
        kinds = ["string", "null"] if name == "name" else ["object", "null"]
        form["properties"][name] = {"type": kinds}
    return form


def _object(kind: type[Any]) -> Schema:
    hints = get_type_hints(kind)
    properties: Schema = {"type": {"const": TYPES[kind]}} if kind in TYPES else {}
    needed = list(properties)
    for part in fields(kind):
        if _needed(part):
            needed.append(part.name)
            properties[part.name] = _value(hints[part.name])
        else:
            properties[part.name] = {"anyOf": [_value(hints[part.name]), {"type": "null"}]}
    form: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**form, "required": needed} if needed else form


def _needed(part: dataclasses.Field[Any]) -> bool:
    return part.default is MISSING and part.default_factory is MISSING


def _value(hint: Any) -> Schema:
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    if get_origin(hint) in {Union, UnionType}:
        kinds = [_value(kind) for kind in get_args(hint) if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if hint is QuietHours:
        return {"type": "string", "pattern": _HOURS}
    if hint == Filters:
        return {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [word.value for word in hint]}
    return dict(_PLAIN[hint]) if hint in _PLAIN else _object(hint)


class RoutinePage(Given):
    """A routine's definition (see docs/routines.md)."""

    # Read by core.routines.definitions, as for chat and commands; the schema only tells its form.
    model_config = ConfigDict(
        frozen=True, extra="allow", json_schema_extra=lambda schema: schema.update(whole_form())
    )


class RoutineChange(Given):
    """A change to a routine."""

    model_config = ConfigDict(
        frozen=True, extra="allow", json_schema_extra=lambda schema: schema.update(change_form())
    )


class Runs(Given):
    """The number of runs."""

    limit: Annotated[int, Field(ge=1, le=200)] = 20


class Listing(Given):
    """A selection of routines: after the name `after`, with names that contain `query`."""

    after: Annotated[str, Field(max_length=200)] = ""
    query: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 200


class Days(Given):
    """The number of days, today included, and their time zone."""

    days: Annotated[int, Field(ge=1, le=31)] = 7
    timezone: Annotated[str, Field(max_length=100)] = "UTC"


class Draft(Given):
    """A draft of a routine, and a trial message."""

    definition: dict[str, Any]
    text: Annotated[str, Field(max_length=100_000)] | None = None


class RoutineTrial(Given):
    """A trial message, and calls to judge: each a tool's name, a space and its arguments."""

    text: Annotated[str, Field(max_length=100_000)] | None = None
    calls: Annotated[tuple[Annotated[str, Field(max_length=100_000)], ...], Field(max_length=20)] = ()


class SystemEvent(Given):
    """Something that happened. `event_id` makes a repeated request harmless."""

    source: ShortText
    event_type: ShortText
    payload: dict[str, Any] = Field(default_factory=dict)
    event_id: ShortText | None = None


class RoutinesApi:
    """One method per endpoint; core.routines.manage does the rest. `timezone`: the hub's."""

    def __init__(
        self,
        manager: RoutineManager,
        store: Store,
        clock: Clock,
        ids: Ids,
        pipeline: Callable[[], CallPipeline],
        *,
        timezone: str,
    ) -> None:
        self._manager = manager
        self._pipeline = pipeline
        self._store = store
        self._clock = clock
        self._ids = ids
        self._timezone = timezone

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        one, refusals = "/routines/{id}", (404, 409, 503)
        judged = (409, 422, 503)
        return [
            Endpoint("GET", "/routines", self.listed, list[RoutineView], query=Listing, refusals=(503,)),
            Endpoint("POST", "/routines", self.create, RoutineView, body=RoutinePage, refusals=judged),
            Endpoint("GET", one, self.show, RoutineView, refusals=refusals),
            Endpoint("PATCH", one, self.change, RoutineView, body=RoutineChange, refusals=(404, *judged)),
            Endpoint("DELETE", one, self.delete, RoutineView, refusals=refusals),
            Endpoint("POST", f"{one}/enable", self.enable, RoutineView, refusals=refusals),
            Endpoint("POST", f"{one}/disable", self.disable, RoutineView, refusals=refusals),
            Endpoint("POST", f"{one}/fire", self.fire, FiredView, refusals=refusals),
            Endpoint("GET", f"{one}/runs", self.runs, list[RunView], query=Runs, refusals=refusals),
            Endpoint("POST", f"{one}/test", self.test, RoutineTestView, body=RoutineTrial, refusals=refusals),
            Endpoint("POST", "/routine-drafts", self.draft, DraftView, body=Draft),
            Endpoint(
                "GET", "/routine-calendar", self.calendar, CalendarView, query=Days, refusals=(422, 503)
            ),
            Endpoint(
                "POST", "/events/emit", self.emit, EmittedView, body=SystemEvent, refusals=(409, 422, 503)
            ),
        ]

    async def listed(self, call: Call) -> list[RoutineView]:
        """List the caller's routines by name. For the next page, pass the last name as `after`."""
        query: Listing = call.query
        rows = await self._manager.listed(
            call.principal, after=query.after, limit=query.limit, containing=query.query
        )
        return [await self._view(row) for row in rows]

    async def create(self, call: Call) -> RoutineView:
        """Create a routine."""
        return await self._view(await self._manager.create(call.principal, _page(call)))

    async def show(self, call: Call) -> RoutineView:
        """Return a routine, by ID or name."""
        return await self._view(await self._found(call))

    async def change(self, call: Call) -> RoutineView:
        """Change the given fields of a routine."""
        return await self._view(await self._manager.change(call.principal, call.named, _page(call)))

    async def delete(self, call: Call) -> RoutineView:
        """Delete a routine and its runs."""
        return RoutineView.of(await self._manager.delete(call.principal, call.named), None)

    async def enable(self, call: Call) -> RoutineView:
        """Enable a routine."""
        return await self._view(await self._manager.switch(call.principal, call.named, enabled=True))

    async def disable(self, call: Call) -> RoutineView:
        """Pause a routine."""
        return await self._view(await self._manager.switch(call.principal, call.named, enabled=False))

    async def fire(self, call: Call) -> FiredView:
        """Run a routine once, ignoring its cooldown."""
        return FiredView(run_id=await self._manager.fire(call.principal, call.named, self._ids.row_id()))

    async def runs(self, call: Call) -> list[RunView]:
        """List a routine's runs, newest first."""
        query: Runs = call.query
        found = await self._manager.history(call.principal, call.named, query.limit)
        return [RunView.of(run) for run in found]

    async def test(self, call: Call) -> RoutineTestView:
        """Test whether a message would fire a routine, and what its runs would be refused; nothing runs."""
        body: RoutineTrial = call.body
        row, owner = await self._found(call), call.principal
        text = body.text
        trial = None if text is None else try_text(row, text, self._moment(call))
        definition = read_text(row.text.definition)
        standing = await self._store.journal.run_standing("", owner.user_id, row.thread_id)
        outlook = outlook_of(definition, self._pipeline(), owner, standing)
        action = definition.action
        tools: Sequence[str] = getattr(action, "allowed_tools", ())
        grants: Sequence[str] = getattr(action, "grants", ())
        return RoutineTestView(
            fires=None if trial is None else trial.fires,
            why="" if trial is None else trial.why,
            system=None if trial is None else trial.system,
            input=None if trial is None else trial.model_input,
            tools=[ExpectedView.of(outlook.of_tool(tool)) for tool in tools],
            grants=[ExpectedView.of(outlook.of_grant(grant)) for grant in grants],
            calls=[ExpectedView.of(outlook.of_call(written)) for written in body.calls],
        )

    async def draft(self, call: Call) -> DraftView:
        """Validate a draft without storing it: problems, trigger in words, and a message's effect."""
        body: Draft = call.body
        at = self._moment(call)
        return DraftView.of(try_page(body.definition, body.text, at), at.jobs)

    async def calendar(self, call: Call) -> CalendarView:
        """Return the upcoming runs of the caller's schedules, day by day."""
        query: Days = call.query
        found = zone_of(query.timezone)
        if found is None:
            raise AdminError("unusable", "must be the name of a time zone", "timezone")
        rows = await self._store.routines.routines_due_first(call.principal.user_id, MAX_IN_CALENDAR + 1)
        days = await asyncio.to_thread(calendar, rows[:MAX_IN_CALENDAR], found, self._clock.now(), query.days)
        return CalendarView.of(days, query.timezone, more=len(rows) > MAX_IN_CALENDAR)

    async def emit(self, call: Call) -> EmittedView:
        """Report an event to the caller's routines."""
        body: SystemEvent = call.body
        key = body.event_id or self._ids.row_id()
        fired = await self._manager.emit(call.principal, body.source, body.event_type, body.payload, key)
        return EmittedView(fired=list(fired))

    async def _found(self, call: Call) -> RoutineRow:
        return await self._manager.find(call.principal, call.named)

    async def _view(self, row: RoutineRow) -> RoutineView:
        newest = await self._store.run_views.routine_runs(row.id, 1)
        return RoutineView.of(row, newest[0] if newest else None)

    def _moment(self, call: Call) -> Moment:
        manager = self._manager
        return Moment(call.principal, self._clock.now(), self._timezone, manager.priced, manager.jobs())


def _page(call: Call) -> dict[str, Any]:
    body: RoutinePage | RoutineChange = call.body
    return dict(body.model_extra or {})
