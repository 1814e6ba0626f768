"""The simulator as a process of its own, driven over HTTP."""

import base64

import hikari
import pytest

from tests.simulators.control_client import ControlError
from tests.simulators.discord import discord_process
from tests.simulators_tests.discord.conftest import ANN, TOKEN


async def test_a_process_is_driven_and_judged_over_http() -> None:
    async with discord_process("--token", TOKEN, "--user", str(ANN)) as (url, control):
        guild = await control.call("create_guild", name="house", members=[ANN])
        hall = await control.call("create_channel", guild_id=guild["id"], name="hall")
        app = hikari.RESTApp(url=f"{url}/api/v10", max_retries=0)
        await app.start()
        async with app.acquire(TOKEN, "Bot") as rest:
            sent = await rest.create_message(int(hall["id"]), "hello **Ann**")
            shown = await control.call("wait_text", channel_id=hall["id"], contains="hello Ann")
            assert (shown["id"], shown["text"]) == (str(sent.id), "hello Ann")
            file = {"name": "a.txt", "content": base64.b64encode(b"abc").decode()}
            said = await control.call("user_sends_text", user_id=ANN, text="see", files=[file])
            assert said["files"] == [{"name": "a.txt", "size_bytes": 3, "media_type": "text/plain"}]
            await control.call("go_down")
            with pytest.raises(hikari.HTTPError):
                await rest.fetch_my_user()
            await control.call("come_up")
            await rest.fetch_my_user()
        await app.close()
        log = await control.call("log", since=1)
        assert [r["method"] for r in log["requests"]] == ["getCurrentUser"]
        state = await control.call("channel_state", channel_id=hall["id"])
        assert [m["content"] for m in state["messages"]] == ["hello **Ann**"]
        pressed = await control.call("user_presses_button", user_id=ANN, message_id=sent.id, custom_id="gone")
        assert pressed["failure"] == "This interaction failed"
        with pytest.raises(LookupError, match="no user 8"):
            await control.call("user_sends_text", user_id=8, text="hello")
        with pytest.raises(ControlError, match="is no forum"):
            await control.call("user_posts_in_forum", user_id=ANN, channel_id=hall["id"], title="t", text="x")
