"""The simulator as a process of its own, driven over HTTP."""

import asyncio

import aiohttp
import pytest
from aiogram import Bot
from aiogram.client.telegram import TelegramAPIServer

from tests.simulators.control_client import ControlError, simulator_process
from tests.simulators_tests.telegram.conftest import ANN, TOKEN, PlainSession

SIMULATOR = "tests.simulators.telegram"


async def test_a_process_is_driven_and_judged_over_http() -> None:
    async with simulator_process(SIMULATOR, "--token", TOKEN, "--user", str(ANN)) as (
        url,
        control,
    ):
        bot = Bot(TOKEN, session=PlainSession(api=TelegramAPIServer.from_base(url)))
        await control.call("user_sends_text", user_id=ANN, text="hello")
        assert len(await bot.get_updates()) == 1
        waiting = asyncio.create_task(control.call("wait_text", chat_id=ANN, contains="back"))
        await bot.send_message(ANN, "hello back")
        assert (await waiting)["text"] == "hello back"

        await control.call("fail", kind="hold", method="sendMessage", count=1)
        sending = asyncio.create_task(bot.send_message(ANN, "held"))
        (held,) = await control.call("wait_held", timeout_s=30)
        assert (held["taken"], held["params"]["text"]) == (True, "held")
        await control.call("release")
        await sending

        await control.call("go_down")
        async with aiohttp.ClientSession() as client:
            with pytest.raises(aiohttp.ClientConnectorError):
                await client.get(f"{url}/bot{TOKEN}/getMe")
        await control.call("come_up")
        assert (await bot.get_me()).id == 123456

        log = await control.call("log", since=2)
        assert [r["method"] for r in log["requests"]] == ["sendMessage", "getMe"]

        forum = await control.call("create_supergroup", title="Forum", members=[ANN], is_forum=True)
        topic = await control.call("topic_created", chat_id=forum["id"], name="ideas")
        closed = await control.call("topic_closed", chat_id=forum["id"], topic_id=topic["id"])
        assert (topic["name"], closed["closed"]) == ("ideas", True)
        assert log["updates"][0]["deliveries"][0]["request"] == 1
        state = await control.call("chat_state", chat_id=ANN)
        assert [m["text"] for m in state["messages"]] == ["hello", "hello back", "held"]
        await bot.session.close()


async def test_mistakes_of_the_driver_are_reported() -> None:
    async with simulator_process(SIMULATOR, "--token", TOKEN) as (url, control):
        with pytest.raises(LookupError, match="no user 7"):
            await control.call("user_sends_text", user_id=ANN, text="hello")
        with pytest.raises(LookupError, match="no operation 'user_sings'"):
            await control.call("user_sings", user_id=ANN)
        with pytest.raises(ControlError, match="unexpected keyword argument 'colour'"):
            await control.call("add_user", colour="red")
        with pytest.raises(TimeoutError):
            await control.call("wait_requests", method="getMe", timeout_s=0.05)
        async with aiohttp.ClientSession() as client:
            async with client.get(f"{control.control_url}/") as response:
                operations = (await response.json())["result"]["operations"]
            assert "user_presses_button" in operations
            assert operations["fail"]["about"].startswith("Arms a fault")
            query = {"for": "number", "number": "1", "timeout_s": "5"}
            waiting = asyncio.create_task(client.get(f"{url}/_control/wait", params=query))
            async with client.get(f"{url}/bot{TOKEN}/getMe") as response:
                assert response.status == 200
            async with await waiting as response:
                assert await response.json() == {"ok": True, "result": 1}
