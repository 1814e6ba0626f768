"""What a routine was refused is allowed below its notice, at every platform alike, and can be taken back."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.config.load import load
from bot.routines.service import build_manager
from core.ids import RandomIds
from core.routines.manage import RoutineManager
from core.store.routine_rows import RoutineRow
from core.transcript import ResultStatus, ToolResult
from core.users import Principal, Role
from tests.bot.web.api_client import client
from tests.everywhere.hub import OWNER, HubEverywhere, open_hub_everywhere
from tests.simulators.model.replies import ToolCall, text, tools

OLIVIA = Principal(OWNER, Role.OWNER, "Olivia")
ALLOW = "Allow for this routine"
OK, DENIED = ResultStatus.OK, ResultStatus.DENIED
NOTE = "write_file note.md"


def desk_of(town: HubEverywhere) -> RoutineManager:
    config = load(town.directory / "hubbub.toml", environ={}).config
    return build_manager(config, town.app.store, town.app.routines, town.clock, RandomIds())


def action_of(kind: str, name: str) -> dict[str, Any]:
    """Return an action that has the shell, and the words that its model hears."""
    scope = {"type": kind, "allowed_tools": ["shell"]}
    if kind == "full_job":
        return {**scope, "title": f"Nightly {name}", "description": f"Test for {name}"}
    return {**scope, "prompt": f"Test for {name}", "use_tools": True}


async def granted(town: HubEverywhere, name: str) -> list[dict[str, Any]]:
    """The grants of a routine, as the API lists them."""
    async with client(town.directory) as api:
        return [one for one in await api.get("/api/grants") if one["subject"] == f"routine “nightly {name}”"]


async def has_grants(town: HubEverywhere, name: str, count: int) -> bool:
    return len(await granted(town, name)) == count


async def revoke(town: HubEverywhere, name: str, nth: int) -> None:
    """Take back the routine's grant at that place of the list."""
    async with client(town.directory) as api:
        listed = await granted(town, name)
        status, _ = await api.ask("POST", "/api/grants/revoke", {"id": listed[nth]["id"]})
    assert status == 200


async def night(town: HubEverywhere, row: RoutineRow, number: int) -> list[ResultStatus]:
    """The next run, and what came of its calls, in order."""
    await desk_of(town).fire(OLIVIA, row.text.name, f"night {number}")
    store = town.app.store

    async def over() -> bool:
        runs = await store.run_views.routine_runs(row.id, 10)
        return sum(run.state.over for run in runs) == number

    await town.until(over)
    newest, *_ = await store.run_views.routine_runs(row.id, 10)
    said = (await store.journal.run_steps(newest.job_id or newest.id)).said
    return [one.status for one in said if isinstance(one, ToolResult)]


@pytest.mark.parametrize("kind", ["lightweight", "full_job"])
async def test_a_refused_call_is_allowed_at_every_platform_and_refused_again_once_that_is_revoked(
    tmp_path: Path, kind: str
) -> None:
    """A line that runs what a file says, and a call of a tool that is not in the routine's scope."""
    async with open_hub_everywhere(tmp_path) as town:
        workspace = tmp_path / "workspace"
        (workspace / "Makefile").write_text("test:\n\techo night >> tested\n")
        calls = (
            ToolCall("shell", {"command": "make test"}),
            ToolCall("write_file", {"path": "note.md", "content": "tested"}),
        )
        platforms = ("telegram", "slack", "discord")
        for name in platforms:
            await town.people[name].says("hello")
            await town.people[name].sees("You said: hello")
        for name in platforms:  # wherever the owner wrote last, the notice is where the routine names
            person = town.people[name]
            (workspace / "tested").unlink(missing_ok=True)
            town.model.rule(f"Test for {name}", tools(*calls))
            town.model.rule(f"Test for {name}", text("ROUTINE_OK"), on="tool")
            made = {"name": f"nightly {name}", "trigger": {"type": "manual"}, "action": action_of(kind, name)}
            told = {"notify": {"channel": name}, "guardrails": {"cooldown_s": 0}}
            async with client(town.directory) as api:
                status, saved = await api.ask("POST", "/api/routines", {**made, **told})
            assert status == 200, saved
            row = await desk_of(town).find(OLIVIA, saved["id"])

            assert await night(town, row, 1) == [DENIED, DENIED], name
            notice = await person.sees(f"Routine “nightly {name}”")
            assert "shell make test" in notice.text
            assert NOTE in notice.text
            assert not (workspace / "tested").exists()
            await person.presses(ALLOW)
            await person.sees("may do this from its next run on")
            await person.presses(ALLOW)
            await town.until(partial(has_grants, town, name, 2))
            given = [(one["tool"], one["pattern"].partition(" [")[0]) for one in await granted(town, name)]
            assert given == [("shell", "make test"), ("write_file", "note.md")], name

            assert await night(town, row, 2) == [OK, OK], name
            assert (workspace / "tested").read_text() == "night\n"
            assert (workspace / "note.md").read_text() == "tested"

            await revoke(town, name, 0)
            assert await night(town, row, 3) == [DENIED, OK], name
            await revoke(town, name, 0)
            assert await night(town, row, 4) == [DENIED, DENIED], name
            assert (workspace / "tested").read_text() == "night\n"
