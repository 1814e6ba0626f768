"""Tools that fail again and again in jobs: the owner is told, jobs go without them, chats keep them."""

from pathlib import Path

from core.job import JobState
from tests.bot.cli.test_jobs import page, said
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.routine_house import fired
from tests.scenarios.test_jobs import becomes, started
from tests.scenarios.test_mcp import NOTE, answered, offered, section, told
from tests.scenarios.test_mcp import becomes as server_becomes
from tests.simulators.model import ToolCall, text, tools

FAIL = "raw__fail"
LEFT_OUT = f"{FAIL} is not available to an unattended run: it failed 5 times in a row"


async def fails(house: Hub, words: str, nth: int, times: int) -> str:
    """Run a job that calls the failing tool so often; returns what its model was told of the last call."""
    for _ in range(times):
        house.model.enqueue(tools(ToolCall(FAIL, {})))
    house.model.enqueue(text("That was it."))
    named = await started(house, f"/job --tools {FAIL} {words}", nth)
    await becomes(house, named, JobState.COMPLETED)
    return [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "tool"][-1]


async def test_a_tool_that_fails_five_times_in_a_row_is_left_out_of_jobs_until_a_reset(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path, extra=section(tmp_path)) as house, client(tmp_path) as api:
        assert await page(house, "tools", "list") == await api.get("/api/tools/failing") == []
        await server_becomes(house, "ready")
        await fails(house, "first", 1, 3)
        # Refused calls and wrong arguments say nothing of a tool.
        house.model.enqueue(tools(ToolCall(NOTE, {"text": 5}), ToolCall("shell", {"command": "ls"})))
        named = await started(house, f"/job --tools {NOTE} go wrong", 2)
        await becomes(house, named, JobState.COMPLETED)
        await house.stop()
        await house.start()
        await server_becomes(house, "ready")
        (failing,) = await page(house, "tools", "list")
        assert (failing["name"], failing["failures"], failing["left_out_at"]) == (FAIL, 3, None)
        assert LEFT_OUT not in await fails(house, "second", 3, 2)
        assert LEFT_OUT in await fails(house, "third", 4, 1)
        assert FAIL not in offered(house)
        house.model.rule("Try it", tools(ToolCall(FAIL, {})))
        house.model.rule("Try it", text("Tried."), on="tool")
        await fired(house, "try", {"prompt": "Try it", "use_tools": True, "allowed_tools": [FAIL]})
        assert LEFT_OUT in told(house)
        assert FAIL not in offered(house)
        notices = f"The tool {FAIL} has failed 5 times in a row in jobs and routines"
        house.clock.pass_by(61)
        await house.telegram.wait_text(OWNER, notices)
        await house.stop()
        await house.start()
        await server_becomes(house, "ready")
        house.clock.pass_by(61)
        # Command line and API show it, the owner alone.
        (failing,) = await page(house, "tools", "list")
        async with client(tmp_path) as again:
            assert await again.get("/api/tools/failing") == [failing]
            assert (failing["failures"], failing["left_out_at"] is None) == (5, False)
            member = await again.member("bob")
            assert (await member.refusal("GET", "/api/tools/failing"))[0] == 403
            assert (await member.refusal("POST", "/api/tools/reset", {"name": FAIL}))[0] == 403
        assert FAIL in (await said(house, "tools", "list"))[1]
        # A chat keeps it.
        await answered(house, "hello")
        assert FAIL in offered(house)
        assert [notices in one for one in house.says(OWNER)].count(True) == 1
        assert (await said(house, "tools", "reset", FAIL))[0] == 0
        assert await said(house, "tools", "reset", FAIL) == (
            1,
            f"no failures of {FAIL} are recorded; run `hubbub tools list`\n",
        )
        assert LEFT_OUT not in await fails(house, "fourth", 5, 1)
        (failing,) = await page(house, "tools", "list")
        assert (failing["failures"], failing["left_out_at"]) == (1, None)
