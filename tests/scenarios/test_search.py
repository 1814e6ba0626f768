"""Search in what was said, by everyone who may: in chats, the API, the command line, and by the model."""

import asyncio
import json
from pathlib import Path

from tests.bot.web.api_client import client
from tests.harness.process import hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub

BEN = 100
WHERE = "/api/search?query=harbor+channel:telegram"


async def said(house: Hub, person: int, text: str) -> str:
    """What the bot answers to a text."""
    before = len(house.says(person))
    house.telegram.user_sends_text(person, text)
    await house.telegram.wait_for(lambda: len(house.says(person)) > before, LIMIT_S)
    return house.says(person)[-1]


async def test_everyone_finds_only_what_they_may_read(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[roles.guest]\ntools = ['thread_search']\n") as house:
        house.telegram.add_user(BEN, first_name="Ben")
        await said(house, OWNER, "please remember: the harbor opens at seven, 港口 too")
        await said(
            house, OWNER, "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH for the harbor"
        )
        await said(house, BEN, "the harbor is closed for Ben")
        await said(house, OWNER, "/new")
        found = await said(house, OWNER, "/search harb")
        assert "the harbor opens at seven" in found
        assert "Ben" not in found
        assert "港口" in await said(house, OWNER, "/search 港口")
        assert "I found nothing" in await said(
            house, OWNER, '/search abcdefghijklmnopqrstuvwxyz0123456789abcdefgh"*'
        )
        assert "Type /search followed by words" in await said(house, OWNER, "/search")
        result = await said(house, BEN, 'please call: thread_search {"query": "harbor"}')
        assert "closed for Ben" in result
        assert "seven" not in result
        (told,) = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]
        assert told.startswith("<tool_output"), "the result is fenced"

        async with client(house.directory) as api:
            async with asyncio.timeout(LIMIT_S):
                while len((await api.get(WHERE))["found"]) < 4:  # noqa: ASYNC110 - it is indexed a little later
                    await asyncio.sleep(0.1)
            of_ben = await api.get("/api/search?query=harbor+person:ben")
            assert {hit["owner"] for hit in of_ben["found"]} == {"Ben"}
            listed = await api.get("/api/threads?query=seven+harb")
            assert ["remember" in thread["title"] for thread in listed["threads"]] == [True]
        output = await hubbub(house.directory, "threads", "search", "harbor", "seven", "--json")
        assert ["opens at seven" in hit["excerpt"] for hit in json.loads(output.out)] == [True]
