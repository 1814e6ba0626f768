"""Calls as these suites make them: let through, asked about, and with an outcome."""

from core.prompts import Standing
from core.store.rows import CallRow, TurnStart
from core.transcript import ResultStatus, ToolResult
from core.users import Principal
from tests.contracts.store.world import World


def go(call: CallRow, principal: Principal, standing: Standing) -> str | None:
    return None


def ok(call_id: str, text: str = "fine") -> ToolResult:
    return ToolResult(call_id, ResultStatus.OK, text)


async def ask_person(world: World, start: TurnStart, call_id: str) -> object:
    prompt = world.prompt(start, call_id)
    return await world.store.ask_person(prompt, [world.card(prompt)])
