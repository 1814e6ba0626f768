"""Routines: each caller's own."""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field

from bot.operator.personal_routines import PersonalRoutines
from bot.operator.routine_views import (
    CalendarView,
    DraftView,
    EmittedView,
    FiredView,
    RoutineView,
    RunView,
    TrialView,
)
from bot.web.endpoints import Call, Endpoint, Given, ShortText
from core.routine import Definition, Filters, QuietHours
from core.routine_json import TYPES
from core.users import Principal

# The form of a routine, as JSON Schema: what `core.routine_json` reads, told by the same dataclasses.
#
# A field that is null counts as left out. What a value means (that a pattern can be matched, that a
# schedule has a next moment) is beyond a schema; the API answers it with 422.

Schema = dict[str, Any]

_HOURS = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
_PLAIN: dict[object, Schema] = {str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}}


def whole_form() -> Schema:
    """A routine that is made: every field without a usual value is needed."""
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

    # Read by core.routines.validation, as for chat and commands; the schema only tells its form.
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


class Trial(Given):
    """A trial message."""

    text: Annotated[str, Field(max_length=100_000)]


class SystemEvent(Given):
    """Something that happened. `event_id` makes a repeated request harmless."""

    source: ShortText
    event_type: ShortText
    payload: dict[str, Any] = Field(default_factory=dict)
    event_id: ShortText | None = None


class RoutinesApi:
    """One method per endpoint."""

    def __init__(self, routines_of: Callable[[Principal], PersonalRoutines]) -> None:
        self._routines_of = routines_of

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
            Endpoint("POST", f"{one}/test", self.test, TrialView, body=Trial, refusals=refusals),
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
        found = await self._routines(call).listed(
            after=query.after, limit=query.limit, containing=query.query
        )
        return list(found)

    async def create(self, call: Call) -> RoutineView:
        """Create a routine."""
        return await self._routines(call).create(_page(call))

    async def show(self, call: Call) -> RoutineView:
        """Return a routine, by ID or name."""
        return await self._routines(call).show(_named(call))

    async def change(self, call: Call) -> RoutineView:
        """Change the given fields of a routine."""
        return await self._routines(call).change(_named(call), _page(call))

    async def delete(self, call: Call) -> RoutineView:
        """Delete a routine and its runs."""
        return await self._routines(call).delete(_named(call))

    async def enable(self, call: Call) -> RoutineView:
        """Enable a routine."""
        return await self._routines(call).switch(_named(call), enabled=True)

    async def disable(self, call: Call) -> RoutineView:
        """Pause a routine."""
        return await self._routines(call).switch(_named(call), enabled=False)

    async def fire(self, call: Call) -> FiredView:
        """Run a routine once, ignoring its cooldown."""
        return await self._routines(call).fire(_named(call))

    async def runs(self, call: Call) -> list[RunView]:
        """List a routine's runs, newest first."""
        query: Runs = call.query
        return list(await self._routines(call).history(_named(call), query.limit))

    async def test(self, call: Call) -> TrialView:
        """Test whether a message would fire a routine, and why; nothing runs."""
        body: Trial = call.body
        return await self._routines(call).test(_named(call), body.text)

    async def draft(self, call: Call) -> DraftView:
        """Validate a draft without storing it: problems, trigger in words, and a message's effect."""
        body: Draft = call.body
        return await self._routines(call).draft(body.definition, body.text)

    async def calendar(self, call: Call) -> CalendarView:
        """Return the upcoming runs of the caller's schedules, day by day."""
        query: Days = call.query
        return await self._routines(call).calendar(query.timezone, query.days)

    async def emit(self, call: Call) -> EmittedView:
        """Report an event to the caller's routines."""
        body: SystemEvent = call.body
        return await self._routines(call).emit(body.source, body.event_type, body.payload, body.event_id)

    def _routines(self, call: Call) -> PersonalRoutines:
        return self._routines_of(call.caller.principal)


def _named(call: Call) -> str:
    return str(call.request.path_params["id"])


def _page(call: Call) -> dict[str, Any]:
    body: RoutinePage | RoutineChange = call.body
    return dict(body.model_extra or {})
