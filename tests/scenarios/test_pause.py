"""Stopping all tools at once: what runs is ended, nothing begins, over restarts, until the owner lets go."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from bot.app import Seams
from core.clock import Clock
from core.safety.fencing import ResultLimits
from core.tool import Arguments, CallContext, CallPlan, Tool
from core.tools.execution import HostExecutor, ToolPause
from core.transcript import ToolResult
from tests.bot.web.api_client import client
from tests.core.tools.processes_support import shells_in, until
from tests.harness.process import hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub

GUEST = 100


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra="[roles.guest]\ntools = ['time']\n") as opened:
        yield opened


async def says(house: Hub, text: str, answer: str, person: int = OWNER) -> None:
    """A person writes, and is answered with these words behind all that was said before."""
    before = len(house.says(person))
    house.telegram.user_sends_text(person, text)
    await house.telegram.wait_for(
        lambda: any(answer in said for said in house.says(person)[before:]), LIMIT_S
    )


async def sleeping(house: Hub, line: str = "touch begun; exec sleep 1000") -> None:
    """Let a command run that would go on for long."""
    house.telegram.user_sends_text(OWNER, f"please run: {line}")
    card = await house.card(OWNER)
    await house.pressed(OWNER, card, 0)
    await until(lambda: (house.workspace / "begun").exists(), "the command began")
    assert shells_in(house.workspace)


async def test_pause_ends_running_tools_until_the_owner_unpauses(house: Hub) -> None:
    await sleeping(house)
    await says(house, "/pause", "All tools are paused.")
    assert not shells_in(house.workspace)
    await house.telegram.wait_text(OWNER, "shell was stopped while it ran: all tools are paused")
    await says(house, "please call: time {}", "Not run: all tools are paused")
    await house.stop()
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    await says(house, "please call: time {}", "Not run: all tools are paused")
    await says(house, "/resume", "Go back to before one of these turns:")
    await says(house, "please call: time {}", "Not run: all tools are paused")
    await says(house, "/unpause", "Tools can run again.")
    await says(house, "please call: time {}", "UTC")


async def test_calls_approved_while_paused_do_not_run(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "please run: touch made")
    card = await house.card(OWNER)
    await says(house, "/pause", "All tools are paused.")
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "Not run: all tools are paused")
    assert list(house.workspace.iterdir()) == []


async def test_status_shows_a_pause_and_one_recorded_by_another_process_holds(house: Hub) -> None:
    with contextlib.closing(sqlite3.connect(house.database, isolation_level=None)) as database:
        database.execute("INSERT INTO tool_pause (id, by, at) VALUES (1, 'owner', 0)")
    house.telegram.add_user(GUEST, first_name="Gus")
    for person in (OWNER, GUEST):
        await says(house, "/status", "All tools are paused.", person)
    house.telegram.user_sends_text(OWNER, "please run: touch made")
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await house.telegram.wait_text(OWNER, "Not run: all tools are paused")
    assert list(house.workspace.iterdir()) == []


async def test_stop_ends_tools_that_ignore_cancellation(house: Hub) -> None:
    await sleeping(house, "trap '' TERM INT HUP; touch begun; while :; do sleep 1; done")
    await says(house, "/stop", "Stopped.")
    await says(house, "and now?", "and now?")
    assert not shells_in(house.workspace), "the next turn begins once the command was ended"


async def test_only_the_owner_pauses_tools(house: Hub) -> None:
    house.telegram.add_user(GUEST, first_name="Gus")
    await says(house, "/pause", "Only the owner", GUEST)
    await says(house, "please call: time {}", "UTC", GUEST)
    await says(house, "/pause", "All tools are paused.")
    await says(house, "/unpause", "Only the owner", GUEST)
    await says(house, "please call: time {}", "Not run: all tools are paused", GUEST)


async def test_programs_and_commands_pause_tools_too(house: Hub) -> None:
    await sleeping(house)
    api = json.loads((house.directory / "data" / "api.json").read_text())
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {api['token']}"}) as http:
        for outcome in ("paused", "already paused"):
            answer = await http.post(f"{house.app.url}/api/tools/pause", json={})
            assert await answer.json() == {"id": "tools", "outcome": outcome}
        await until(lambda: not shells_in(house.workspace), "the command was ended")
        # Stopped before that is recorded, the hub would ask at its next start what became of the call.
        await house.telegram.wait_text(OWNER, "shell was stopped while it ran: all tools are paused")
        await house.stop()
    ended = await hubbub(house.directory, "tools", "unpause")
    assert (ended.code, ended.out) == (0, "tools: running\n")
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    await says(house, "please call: time {}", "UTC")


class EndsLate(HostExecutor):
    """Runs each tool until it is stopped, and then until the pause was answered, for up to two seconds."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.answered = asyncio.Event()
        self.over = False

    async def run(
        self,
        call_id: str,
        tool: Tool,
        arguments: Arguments,
        context: CallContext,
        clock: Clock,
        limits: ResultLimits,
        pause: ToolPause,
        plan: CallPlan | None,
    ) -> ToolResult:
        late = replace(tool, run=self._runs)
        return await super().run(call_id, late, arguments, context, clock, limits, pause, plan)

    async def _runs(self, context: CallContext, arguments: Arguments) -> str:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await self.answered.wait()
            self.over = True
        return ""


@pytest.mark.parametrize("door", ["platform", "console", "command"])
async def test_a_pause_is_answered_once_a_tool_that_takes_long_to_end_is_over(
    tmp_path: Path, door: str
) -> None:
    tools = EndsLate()
    async with open_hub(tmp_path, start=False) as house:
        await house.serve(Seams(clock=house.clock, executor=tools))
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        house.telegram.user_sends_text(OWNER, "please call: time {}")
        async with asyncio.timeout(LIMIT_S):
            await tools.begun.wait()
        match door:
            case "platform":
                await says(house, "/pause", "All tools are paused.")
            case "console":
                async with client(tmp_path) as api:
                    assert "All tools are paused." in (await api.send("/pause"))["answer"]
            case _:
                assert (await hubbub(tmp_path, "tools", "pause")).out == "tools: paused\n"
        tools.answered.set()
        assert tools.over
        await house.telegram.wait_text(OWNER, "time was stopped while it ran: all tools are paused")


async def test_tools_run_again_as_soon_as_a_program_or_a_command_says_so(house: Hub) -> None:
    async with client(house.directory) as api:
        for unpause in ("unpause", "resume"):
            for change, answer in (("pause", "Not run: all tools are paused"), (unpause, "UTC")):
                assert (await api.ask("POST", f"/api/tools/{change}", {}))[0] == 200
                await says(house, "please call: time {}", answer)
    for change, answer in (("pause", "Not run: all tools are paused"), ("unpause", "UTC")):
        assert (await hubbub(house.directory, "tools", change)).code == 0
        await says(house, "please call: time {}", answer)


async def test_after_a_restore_nothing_runs_until_the_owner_unpauses_tools(house: Hub) -> None:
    await says(house, "please call: time {}", "UTC")
    assert (await hubbub(house.directory, "db", "backup", "copy.db")).code == 0
    await house.stop()
    restored = await hubbub(house.directory, "db", "restore", "copy.db")
    assert (restored.code, "Tools are paused" in restored.out) == (0, True)
    assert "hubbub tools unpause" in restored.out
    doctor = await hubbub(house.directory, "doctor")
    assert "all tools are paused" in doctor.out
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    await says(house, "please call: time {}", "Not run: all tools are paused")
    await says(house, "/unpause", "Tools can run again.")
    before = len(house.says(OWNER))
    await says(house, "please call: time {}", "UTC")
    assert len(house.says(OWNER)) == before + 1
