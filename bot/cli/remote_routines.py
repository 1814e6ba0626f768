"""Routines of the owner in a hub that runs on this machine, over its API."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from bot.cli.remote import HubClient, read_page
from bot.routine_views import FiredView, RoutineView, RunView, TrialView

ROUTINES = "/api/routines"


class RemoteRoutines(HubClient):
    """See bot.routine_desk.RoutineActions."""

    async def listed(
        self, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> Sequence[RoutineView]:
        """See RoutineActions."""
        found: list[RoutineView] = []
        while limit is None or len(found) < limit:
            query = urlencode({"after": found[-1].name if found else after, "query": containing})
            pages = await self._call("GET", f"{ROUTINES}?{query}")
            found += [read_page(RoutineView, page) for page in pages]
            if not pages:
                break
        return found[:limit]

    async def show(self, name: str) -> RoutineView:
        """See RoutineActions."""
        return read_page(RoutineView, await self._call("GET", _of(name)))

    async def create(self, page: Mapping[str, Any]) -> RoutineView:
        """See RoutineActions."""
        return read_page(RoutineView, await self._call("POST", ROUTINES, page))

    async def change(self, name: str, page: Mapping[str, Any]) -> RoutineView:
        """See RoutineActions."""
        return read_page(RoutineView, await self._call("PATCH", _of(name), page))

    async def switch(self, name: str, *, enabled: bool) -> RoutineView:
        """See RoutineActions."""
        action = "enable" if enabled else "disable"
        return read_page(RoutineView, await self._call("POST", f"{_of(name)}/{action}"))

    async def delete(self, name: str) -> RoutineView:
        """See RoutineActions."""
        return read_page(RoutineView, await self._call("DELETE", _of(name)))

    async def fire(self, name: str) -> FiredView:
        """See RoutineActions."""
        return read_page(FiredView, await self._call("POST", f"{_of(name)}/fire"))

    async def history(self, name: str, limit: int) -> Sequence[RunView]:
        """See RoutineActions."""
        pages = await self._call("GET", f"{_of(name)}/runs?limit={limit}")
        return [read_page(RunView, page) for page in pages]

    async def test(self, name: str, text: str) -> TrialView:
        """See RoutineActions."""
        return read_page(TrialView, await self._call("POST", f"{_of(name)}/test", {"text": text}))

    async def _call(self, method: str, path: str, page: Mapping[str, Any] | None = None) -> Any:
        body = None if page is None else json.dumps(dict(page))
        return await asyncio.to_thread(self._request, method, path, body)


def _of(name: str) -> str:
    return f"{ROUTINES}/{quote(name, safe='')}"
