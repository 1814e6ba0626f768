"""What a routine was refused is allowed below its notice, at every platform alike, and can be taken back."""

import json
from pathlib import Path
from typing import Any

from bot.config.load import load
from bot.routines.management import build_manager
from core.ids import RandomIds
from core.routines.manage import RoutineManager
from core.store.routine_rows import RoutineRow
from core.transcript import ResultStatus, ToolResult
from core.users import Principal, Role
from tests.everywhere.hub import OWNER, HubEverywhere, open_hub_everywhere
from tests.simulators.model.replies import ToolCall, text, tools

OLIVIA = Principal(OWNER, Role.OWNER, "Olivia")
ALLOW = "Allow for this routine"
OK, DENIED = ResultStatus.OK, ResultStatus.DENIED
NOTE = "write_file note.md"


def desk_of(town: HubEverywhere) -> RoutineManager:
    config = load(town.directory / "hubbub.toml", environ={}).config
    return build_manager(config, town.app.store, town.app.routines, town.clock, RandomIds())


async def night(town: HubEverywhere, row: RoutineRow, number: int) -> list[ResultStatus]:
    """The next run, and what came of its calls, in order."""
    await desk_of(town).fire(OLIVIA, row.text.name, f"night {number}")
    store = town.app.store

    async def over() -> bool:
        runs = await store.run_views.routine_runs(row.id, 10)
        return sum(run.state.over for run in runs) == number

    await town.until(over)
    newest, *_ = await store.run_views.routine_runs(row.id, 10)
    said = (await store.journal.run_steps(newest.id)).said
    return [one.status for one in said if isinstance(one, ToolResult)]


async def test_a_refused_call_is_allowed_at_every_platform_and_refused_again_once_that_is_revoked(
    tmp_path: Path,
) -> None:
    """A line that runs what a file says, and a call of a tool that is not in the routine's scope."""
    async with open_hub_everywhere(tmp_path) as town:
        workspace, desk = tmp_path / "workspace", desk_of(town)
        (workspace / "Makefile").write_text("test:\n\techo night >> tested\n")
        calls = (
            ToolCall("shell", {"command": "make test"}),
            ToolCall("write_file", {"path": "note.md", "content": "tested"}),
        )
        for name in ("telegram", "slack", "discord"):
            person = town.people[name]
            await person.says("hello")
            await person.sees("You said: hello")
            (workspace / "tested").unlink(missing_ok=True)
            town.model.rule(f"Test for {name}", tools(*calls))
            town.model.rule(f"Test for {name}", text("ROUTINE_OK"), on="tool")
            prompt = {"type": "lightweight", "prompt": f"Test for {name}"}
            action: dict[str, Any] = {**prompt, "use_tools": True, "allowed_tools": ["shell"]}
            made = {"name": f"nightly {name}", "trigger": {"type": "manual"}, "action": action}
            told = {"notify": {"channel": name}, "guardrails": {"cooldown_s": 0}}
            row = await desk.create(OLIVIA, {**made, **told})

            assert await night(town, row, 1) == [DENIED, DENIED], name
            notice = await person.sees(f"Routine “nightly {name}”")
            assert "shell make test" in notice.text
            assert NOTE in notice.text
            assert not (workspace / "tested").exists()
            await person.presses(ALLOW)
            await person.sees("may do this from its next run on")
            await person.presses(ALLOW)
            given = json.loads((await desk.find(OLIVIA, row.id)).text.definition)["action"]["grants"]
            assert [grant.partition(" [")[0] for grant in given] == ["shell make test", NOTE], name

            assert await night(town, row, 2) == [OK, OK], name
            assert (workspace / "tested").read_text() == "night\n"
            assert (workspace / "note.md").read_text() == "tested"

            await desk.change(OLIVIA, row.id, {"action": {"grants": [NOTE]}})
            assert await night(town, row, 3) == [DENIED, OK], name
            await desk.change(OLIVIA, row.id, {"action": {"grants": []}})
            assert await night(town, row, 4) == [DENIED, DENIED], name
            assert (workspace / "tested").read_text() == "night\n"
