"""Slack's own JavaScript clients against the simulator: nothing here may depend on the Python SDK's habits.

They are installed from npm by the lock beside them, once per lock, into pytest's cache.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from channels import slack
from tests.harness.npm import install
from tests.patience import PATIENCE_S
from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, APP_TOKEN, BOT_TOKEN

HERE = Path(__file__).parent / "node"
FILES = ("echo_bot.cjs", "web_calls.cjs")
Json = dict[str, Any]
pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def programs(pytestconfig: pytest.Config) -> Path:
    """Return where the programs lie beside their clients."""
    return install(pytestconfig, HERE / "package-lock.json", "node", FILES)


def methods_of_the_adapter() -> set[str]:
    """Those of the Web API that the hub's adapter names."""
    sources = "".join(path.read_text() for path in Path(slack.__path__[0]).glob("*.py"))
    named = re.findall(r'"((?:auth|chat|conversations|files|users|views)\.[A-Za-z.]+)"', sources)
    assert len(set(named)) >= 15
    return set(named)


class EchoBot:
    """The running program and what it told."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def told(self, what: str) -> Json:
        """Waits for the next line of a kind."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while line := await self._process.stdout.readline():
                found: Json = json.loads(line)
                if found["what"] == what:
                    return found
        raise AssertionError(f"the program ended without {what}")


@asynccontextmanager
async def node(programs: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        "node", *arguments, cwd=programs, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
async def bot(sim: SlackSimulator, programs: Path) -> AsyncIterator[EchoBot]:
    async with node(programs, "echo_bot.cjs", sim.api_url, BOT_TOKEN, APP_TOKEN) as process:
        bot = EchoBot(process)
        await bot.told("connected")
        yield bot


@pytest.mark.slow
async def test_a_bot_hears_answers_is_pressed_and_commanded(
    sim: SlackSimulator, bot: EchoBot, dm: str
) -> None:
    sent = sim.user_sends_text(ANN, "a < b")
    assert (await bot.told("message"))["text"] == "a &lt; b"
    answer = await sim.wait_text(dm, "echo: a < b")
    assert answer.metadata == {"event_type": "echo", "event_payload": {"of": sent.ts}}
    press = sim.user_presses_button(ANN, dm, answer.ts, "Press")
    assert (await bot.told("interactive"))["value"] == sent.ts
    assert (await sim.wait_settled(press.id)).state == "acked"
    assert (await sim.wait_text(dm, f"pressed by {ANN}")).ts == answer.ts
    (view,) = await sim.wait_for(lambda: list(sim.views.values()))
    sim.user_submits_view(ANN, view.id, {"words": "by hand"})
    assert (await bot.told("submitted"))["values"]["said"]["words"]["value"] == "by hand"
    sim.user_runs_command(ANN, "/hubbub", "hi")
    assert (await sim.wait_ephemeral(ANN)).text == "you said hi"
    await sim.wait_acked()


@pytest.mark.slow
async def test_a_bot_comes_back_after_a_refresh_and_hears_repetitions(
    sim: SlackSimulator, bot: EchoBot, dm: str
) -> None:
    await sim.close_sockets("refresh_requested", after_s=0.05)
    await bot.told("connected")
    await sim.wait_connected()
    sim.user_sends_text(ANN, "once")
    first = await bot.told("message")
    await sim.wait_bot_messages(dm)
    sim.redeliver(sim.deliveries(kind="events_api")[0].id)
    second = await bot.told("message")
    assert second["event_id"] == first["event_id"]
    assert (first["retry_num"], second["retry_num"], second["retry_reason"]) == (0, 1, "timeout")


@pytest.mark.slow
async def test_the_javascript_client_understands_the_web_api(
    sim: SlackSimulator, programs: Path, general: str
) -> None:
    sim.fail("rate_limit", method="users.info", retry_after_s=9)
    async with node(programs, "web_calls.cjs", sim.api_url, BOT_TOKEN, general, ANN) as process:
        output, _ = await process.communicate()
    answers = json.loads(output)
    assert answers["auth"]["user_id"] == sim.app().user.id
    assert answers["post"]["message"]["text"] == "a &lt; b"
    assert answers["update"]["text"] == "changed"
    assert answers["history"]["messages"][0]["metadata"]["event_payload"] == {"n": 1}
    assert answers["blocks"]["error"] == "invalid_blocks"
    assert "must be less than 3001 characters" in answers["blocks"]["response_metadata"]["messages"][1]
    assert (answers["unknown"]["code"], answers["unknown"]["error"]) == (
        "slack_webapi_platform_error",
        "channel_not_found",
    )
    assert (answers["limited"]["code"], answers["limited"]["retryAfter"]) == (
        "slack_webapi_rate_limited_error",
        9,
    )
    (file,) = answers["upload"]["files"][0]["files"]
    assert sim.world.files[file["id"]].read() == b"hello"
    streamed = sim.message(general, answers["stream"]["ts"])
    assert sim.look(streamed).text == "stream"
    assert answers["direct"]["channel"] == answers["opened"]["channel"]["id"] == sim.direct_channel(ANN).id
    assert {one["id"] for one in answers["joined"]["channels"]} == {general, answers["direct"]["channel"]}
    below = [one["text"] for one in answers["replies"]["messages"]]
    assert below[0] == "changed"
    assert below[-1] == "below"
    assert [sim.look(m).text for m in sim.ephemerals(ANN)] == ["for you alone"]
    assert (answers["deleted"]["ok"], answers["gone"]["error"]) == (True, "message_not_found")
    assert answers["unfiled"]["ok"]
    shown = [sim.look(m).text for m in sim.bot_messages(general)]
    assert shown == ["changed", "see\n[This file was deleted.]", "stream"]
    asked = {request.method for request in sim.requests()}
    assert methods_of_the_adapter() - asked == {"views.open"}  # which answers a press, see above
