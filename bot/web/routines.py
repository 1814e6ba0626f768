"""Routines: each caller's own."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from bot.routine_desk import DeskOfRoutines
from bot.routine_views import (
    CalendarView,
    DraftView,
    EmittedView,
    FiredView,
    RoutineView,
    RunView,
    TrialView,
)
from bot.web.endpoints import Call, Endpoint, Given, ShortText
from bot.web.routine_form import change_form, whole_form
from core.users import Principal


class RoutinePage(Given):
    """A routine as one writes it (see docs/routines.md)."""

    # Read by core.routines.validation, as for chat and commands; the schema only tells its form.
    model_config = ConfigDict(
        frozen=True, extra="allow", json_schema_extra=lambda schema: schema.update(whole_form())
    )


class RoutineChange(Given):
    """What of a routine is changed."""

    model_config = ConfigDict(
        frozen=True, extra="allow", json_schema_extra=lambda schema: schema.update(change_form())
    )


class Runs(Given):
    """How many runs."""

    limit: Annotated[int, Field(ge=1, le=200)] = 20


class Listing(Given):
    """Which routines: those behind the name `after` whose names contain `query`."""

    after: Annotated[str, Field(max_length=200)] = ""
    query: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 200


class Days(Given):
    """How many days of which time zone, today among them."""

    days: Annotated[int, Field(ge=1, le=31)] = 7
    timezone: Annotated[str, Field(max_length=100)] = "UTC"


class Draft(Given):
    """A routine that is still being written, and a message that nobody wrote."""

    definition: dict[str, Any]
    text: Annotated[str, Field(max_length=100_000)] | None = None


class Trial(Given):
    """A message that nobody wrote."""

    text: Annotated[str, Field(max_length=100_000)]


class SystemEvent(Given):
    """Something that happened. `event_id` makes a repeated request harmless."""

    source: ShortText
    event_type: ShortText
    payload: dict[str, Any] = Field(default_factory=dict)
    event_id: ShortText | None = None


class RoutinesApi:
    """One method per endpoint."""

    def __init__(self, desk_of: Callable[[Principal], DeskOfRoutines]) -> None:
        self._desk_of = desk_of

    def endpoints(self) -> list[Endpoint]:
        """What is served."""
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
        """The caller's routines in order of name; further ones are asked for by the last one's name."""
        query: Listing = call.query
        found = await self._desk(call).listed(after=query.after, limit=query.limit, containing=query.query)
        return list(found)

    async def create(self, call: Call) -> RoutineView:
        """Make a routine."""
        return await self._desk(call).create(_page(call))

    async def show(self, call: Call) -> RoutineView:
        """One routine, by id or name."""
        return await self._desk(call).show(_named(call))

    async def change(self, call: Call) -> RoutineView:
        """Change what the page names."""
        return await self._desk(call).change(_named(call), _page(call))

    async def delete(self, call: Call) -> RoutineView:
        """Forget a routine and its runs."""
        return await self._desk(call).delete(_named(call))

    async def enable(self, call: Call) -> RoutineView:
        """Let a routine go on."""
        return await self._desk(call).switch(_named(call), enabled=True)

    async def disable(self, call: Call) -> RoutineView:
        """Pause a routine."""
        return await self._desk(call).switch(_named(call), enabled=False)

    async def fire(self, call: Call) -> FiredView:
        """Run a routine once, whatever its cooldown."""
        return await self._desk(call).fire(_named(call))

    async def runs(self, call: Call) -> list[RunView]:
        """The newest runs of a routine, newest first."""
        query: Runs = call.query
        return list(await self._desk(call).history(_named(call), query.limit))

    async def test(self, call: Call) -> TrialView:
        """Whether a message would fire a routine, and why; nothing is run."""
        body: Trial = call.body
        return await self._desk(call).test(_named(call), body.text)

    async def draft(self, call: Call) -> DraftView:
        """What is wrong with a routine, what would fire it, and what a message would do; nothing is kept."""
        body: Draft = call.body
        return await self._desk(call).draft(body.definition, body.text)

    async def calendar(self, call: Call) -> CalendarView:
        """The slots to come of the caller's schedules, day by day."""
        query: Days = call.query
        return await self._desk(call).calendar(query.timezone, query.days)

    async def emit(self, call: Call) -> EmittedView:
        """Tell the caller's routines of an event."""
        body: SystemEvent = call.body
        return await self._desk(call).emit(body.source, body.event_type, body.payload, body.event_id)

    def _desk(self, call: Call) -> DeskOfRoutines:
        return self._desk_of(call.caller.principal)


def _named(call: Call) -> str:
    return str(call.request.path_params["id"])


def _page(call: Call) -> dict[str, Any]:
    body: RoutinePage | RoutineChange = call.body
    return dict(body.model_extra or {})
