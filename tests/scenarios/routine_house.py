"""The parts that scenarios of routines share: a routine of the owner's, asked for, and what its runs came
to."""

from collections.abc import Mapping
from typing import Any

from bot.config.load import load
from bot.routines.service import build_manager
from core.ids import RandomIds
from core.routines.manage import RoutineManager
from core.store.routine_rows import RoutineRow, RoutineRunRow
from core.users import Principal, Role
from tests.harness.telegram_hub import OWNER, Hub

OLIVIA = Principal("owner", Role.OWNER, "Olivia")


def desk_of(house: Hub) -> RoutineManager:
    config = load(house.directory / "hubbub.toml", environ={}).config
    return build_manager(config, house.app.store, house.app.routines, house.clock, RandomIds())


async def greeted(house: Hub) -> None:
    """The bot may write to people on Telegram only once they wrote to it."""
    house.telegram.user_sends_text(OWNER, "hi")
    await house.telegram.wait_text(OWNER, "You said: hi")


async def runs_of(house: Hub, row: RoutineRow) -> list[RoutineRunRow]:
    return list(await house.app.store.run_views.routine_runs(row.id, 100))


async def ended(house: Hub, row: RoutineRow, number: int = 1) -> list[RoutineRunRow]:
    """The routine's runs, newest first, once so many have ended."""
    runs: list[RoutineRunRow] = []

    async def enough() -> bool:
        nonlocal runs
        runs = await runs_of(house, row)
        return sum(run.state.over for run in runs) >= number

    await house.until(enough)
    return runs


async def fired(house: Hub, name: str, action: Mapping[str, Any], **page: Any) -> RoutineRunRow:
    """The one run of a new routine that somebody asks for; its name begins with that one."""
    desk = desk_of(house)
    name = f"{name} {len(await desk.listed(OLIVIA))}"
    made = {"name": name, "trigger": {"type": "manual"}, "action": {"type": "lightweight", **action}, **page}
    row = await desk.create(OLIVIA, made)
    await desk.fire(OLIVIA, name, "once")
    (run,) = await ended(house, row)
    return run
