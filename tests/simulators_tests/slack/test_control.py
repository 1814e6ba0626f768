"""The simulator as a process of its own, driven over HTTP."""

import asyncio

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.simulators.control_client import ControlError, simulator_process
from tests.simulators_tests.slack.conftest import ANN, APP_TOKEN, BOT_TOKEN

OPTIONS = ("--bot-token", BOT_TOKEN, "--app-token", APP_TOKEN, "--user", ANN, "--command", "/hubbub")


async def test_a_process_is_driven_and_judged_over_http() -> None:
    async with simulator_process("tests.simulators.slack", *OPTIONS) as (url, control):
        client = AsyncWebClient(BOT_TOKEN, base_url=f"{url}/api/", retry_handlers=[])
        dm = (await control.call("direct_channel", user_id=ANN))["id"]
        hello = await control.call("user_sends_text", user_id=ANN, text="hello")
        assert hello["channel"] == dm
        waiting = asyncio.create_task(control.call("wait_text", channel=dm, contains="back"))
        await client.chat_postMessage(channel=dm, text="hello *back*")
        assert (await waiting)["text"] == "hello *back*"

        await control.call("fail", kind="hold", method="chat.postMessage", count=1)
        sending = asyncio.create_task(client.chat_postMessage(channel=dm, text="held"))
        (held,) = await control.call("wait_held", timeout_s=30)
        assert (held["taken"], held["params"]["text"]) == (True, "held")
        await control.call("release")
        await sending

        await control.call("go_down")
        with pytest.raises(aiohttp.ClientConnectorError):
            await client.auth_test()
        await control.call("come_up")
        await client.auth_test()

        log = await control.call("log", since=2)
        assert [request["method"] for request in log["requests"]] == ["auth.test"]
        assert log["deliveries"][0]["payload"]["event"]["text"] == "hello"
        state = await control.call("channel_state", channel=dm)
        assert [message["text"] for message in state["messages"]] == ["hello", "hello *back*", "held"]
        assert await control.call("visible", channel=dm, ts=state["messages"][1]["ts"]) == "hello back"

        with pytest.raises(LookupError, match="no user U0X"):
            await control.call("user_sends_text", user_id="U0X", text="hello")
        with pytest.raises(LookupError, match="no operation 'user_sings'"):
            await control.call("user_sings", user_id=ANN)
        with pytest.raises(ControlError, match="unexpected keyword argument 'colour'"):
            await control.call("add_user", colour="red")
        with pytest.raises(TimeoutError):
            await control.call("wait_connected", timeout_s=0.05)
