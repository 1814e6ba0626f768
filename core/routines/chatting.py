"""Routines in words, for the model of a chat turn."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core.clock import SECOND_US
from core.routines.desk import RoutineDesk
from core.store.routines import RoutineRow
from core.users import Principal

SHOWN_CHARS = 500


class RoutinesInWords:
    """What people do with their routines by talking. Raises what core.routines.desk raises."""

    def __init__(self, desk: RoutineDesk) -> None:
        self._desk = desk

    async def create(self, by: Principal, thread_id: str, page: Mapping[str, Any]) -> str:
        """A new one; what it finds is told where it was made."""
        return f"Made: {_line(await self._desk.create(by, page, thread_id))}"

    async def listed(self, by: Principal) -> str:
        """All of them."""
        rows = await self._desk.listed(by)
        return "\n".join(f"- {_line(row)}" for row in rows) or "There are no routines."

    async def change(self, by: Principal, name: str, page: Mapping[str, Any]) -> str:
        """What the page names is changed."""
        return f"Changed: {_line(await self._desk.change(by, name, page))}"

    async def delete(self, by: Principal, name: str) -> str:
        """It is forgotten."""
        return f"Deleted: {(await self._desk.delete(by, name)).text.name}"

    async def fire(self, by: Principal, name: str, key: str) -> str:
        """It runs once."""
        return f"Queued: run {await self._desk.fire(by, name, key)}; its result will be told."

    async def history(self, by: Principal, name: str, limit: int) -> str:
        """Its newest runs."""
        runs = await self._desk.history(by, name, limit)
        lines = (
            f"- {_when(run.due_at)}, fired by {run.kind}: {run.state.value}"
            f" {(run.error or run.result or '')[:SHOWN_CHARS]}".rstrip()
            for run in runs
        )
        return "\n".join(lines) or "It has not run yet."

    async def emit(
        self, by: Principal, source: str, event_type: str, payload: Mapping[str, Any], key: str
    ) -> str:
        """What an event fires."""
        fired = await self._desk.emit(by, source, event_type, payload, key)
        return f"Fired: {', '.join(fired)}" if fired else "No routine listens to that, or those rest."


def _line(row: RoutineRow) -> str:
    state = "on" if row.enabled else f"paused ({row.paused_because or 'by a person'})"
    at = row.text.next_slot_at
    return f"{row.text.name}, {row.text.kind}, {state}{f', next at {_when(at)} UTC' if at else ''}"


def _when(at: int) -> str:
    return f"{datetime.fromtimestamp(at // SECOND_US, UTC):%Y-%m-%d %H:%M}"
