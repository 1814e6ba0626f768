"""Routines for commands and the API: core.routines.manage as views, with refusals they can show."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from bot.operator.routine_views import (
    CalendarView,
    DraftView,
    EmittedView,
    FiredView,
    RoutineView,
    RunView,
    TrialView,
)
from bot.runtime import AdminError
from core.clock import Clock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.routines.describe import calendar
from core.routines.manage import RoutineManager, RoutineNotFound, RoutineRefused
from core.routines.trial import Moment, try_page, try_text
from core.store.port import Store
from core.store.routine_rows import RoutineRow
from core.timezones import zone
from core.users import Principal

MAX_IN_CALENDAR = 100
VIEWED_AT_ONCE = 20
MAX_WITH_STATUS = 200
"""Of longer lists the newest runs are not looked at one by one."""


class PersonalRoutines:
    """One person's operations on routines, in the process that holds the database. `timezone`: the hub's.

    All methods raise AdminError, and then nothing has changed."""

    def __init__(
        self, manager: RoutineManager, store: Store, by: Principal, clock: Clock, ids: Ids, *, timezone: str
    ) -> None:
        self._manager = manager
        self._store = store
        self._by = by
        self._clock = clock
        self._ids = ids
        self._timezone = timezone

    async def listed(
        self, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> Sequence[RoutineView]:
        """Those behind the name `after`, in order of name."""
        with _Refusing():
            rows = await self._manager.listed(self._by, after=after, limit=limit, containing=containing)
            if len(rows) > MAX_WITH_STATUS:
                return await _without_runs(rows)
            return [await self._view(row) for row in rows]

    async def show(self, name: str) -> RoutineView:
        """One, by name or id."""
        with _Refusing():
            return await self._view(await self._manager.find(self._by, name))

    async def create(self, page: Mapping[str, Any]) -> RoutineView:
        """A new one."""
        with _Refusing():
            return await self._view(await self._manager.create(self._by, page))

    async def change(self, name: str, page: Mapping[str, Any]) -> RoutineView:
        """Change the fields that the page names."""
        with _Refusing():
            return await self._view(await self._manager.change(self._by, name, page))

    async def switch(self, name: str, *, enabled: bool) -> RoutineView:
        """Pause or resume it."""
        with _Refusing():
            return await self._view(await self._manager.switch(self._by, name, enabled=enabled))

    async def delete(self, name: str) -> RoutineView:
        """It is forgotten; what it was."""
        with _Refusing():
            return RoutineView.of(await self._manager.delete(self._by, name), None)

    async def fire(self, name: str) -> FiredView:
        """It runs once."""
        with _Refusing():
            return FiredView(run_id=await self._manager.fire(self._by, name, self._ids.row_id()))

    async def history(self, name: str, limit: int) -> Sequence[RunView]:
        """Its newest runs, newest first."""
        with _Refusing():
            return [RunView.of(run) for run in await self._manager.history(self._by, name, limit)]

    async def test(self, name: str, text: str) -> TrialView:
        """Return whether and why a message of this text would fire it; nothing runs."""
        with _Refusing():
            return TrialView.of(try_text(await self._manager.find(self._by, name), text, self._moment))

    async def draft(self, page: Mapping[str, Any], text: str | None) -> DraftView:
        """Return the judgement of a routine that is still being written; nothing is stored."""
        return DraftView.of(try_page(page, text, self._moment))

    async def calendar(self, timezone: str, days: int) -> CalendarView:
        """The slots to come of the soonest schedules, by days of that zone."""
        found = zone(timezone)
        if found is None:
            raise AdminError("unusable", "must be the name of a time zone", "timezone")
        with _Refusing():
            rows = await self._store.routines.routines_due_first(self._by.user_id, MAX_IN_CALENDAR + 1)
        soonest, now = rows[:MAX_IN_CALENDAR], self._clock.now()
        prerender = await asyncio.to_thread(calendar, soonest, found, now, days)
        return CalendarView.of(prerender, timezone, more=len(rows) > MAX_IN_CALENDAR)

    async def emit(
        self, source: str, event_type: str, payload: Mapping[str, Any], event_id: str | None
    ) -> EmittedView:
        """Tell the person's routines of an event."""
        with _Refusing():
            key = event_id or self._ids.row_id()
            fired = await self._manager.emit(self._by, source, event_type, payload, key)
            return EmittedView(fired=list(fired))

    @property
    def _moment(self) -> Moment:
        return Moment(self._by, self._clock.now(), self._timezone, self._manager.priced)

    async def _view(self, row: RoutineRow) -> RoutineView:
        newest = await self._store.run_views.routine_runs(row.id, 1)
        return RoutineView.of(row, newest[0] if newest else None)


async def _without_runs(rows: Sequence[RoutineRow]) -> list[RoutineView]:
    """Views of very many, with pauses in which everything else runs."""
    views: list[RoutineView] = []
    for count, row in enumerate(rows):
        if count % VIEWED_AT_ONCE == 0:
            await asyncio.sleep(0)
        views.append(RoutineView.of(row, None))
    return views


class _Refusing:
    """Turn the manager's refusals into errors that commands and the API show."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        match error:
            case RoutineNotFound():
                raise AdminError("not_found", str(error)) from error
            case RoutineRefused():
                fields = [problem.field for problem in error.problems if problem.field]
                code = "refused" if not fields else "invalid" if error.formal else "unusable"
                raise AdminError(code, str(error), fields[0] if fields else None) from error
            case StoreUnavailable():
                raise AdminError("unavailable", str(error)) from error
            case _:
                pass
