"""Calls as these suites make them: let through, asked about, and with an outcome."""

from core.gates import ConsentSettings
from core.store.rows import CallRow, TurnStart
from core.transcript import ResultStatus, ToolResult
from core.users import Principal
from tests.contracts.store.bench import Bench


def go(call: CallRow, principal: Principal, standing: ConsentSettings) -> str | None:
    return None


def ok(call_id: str, text: str = "fine") -> ToolResult:
    return ToolResult(call_id, ResultStatus.OK, text)


async def ask_person(world: Bench, start: TurnStart, call_id: str) -> object:
    gate = world.gate(start, call_id)
    return await world.store.turns.ask_person(gate, [world.card(gate)])
