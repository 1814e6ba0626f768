"""`fetch URL` from the words to the answer, by a hub that is a process of its own."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest_asyncio
from aiohttp import web

from tests.core.tools.website import Website
from tests.harness.process import HubProcess, hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    """Configured with the demo model, not started."""
    async with open_hub(tmp_path, start=False) as opened:
        config = opened.directory / "hubbub.toml"
        config.write_text(config.read_text().replace('"openai"', '"demo"'))
        yield opened


def open_to(house: Hub, *lines: str) -> None:
    with (house.directory / "hubbub.toml").open("a") as config:
        config.write(f"[network]\nallow_private = {list(lines)}\n")


async def answered(house: Hub, said: str) -> str:
    """Return what the owner reads next, without having been asked anything."""
    before = len(house.says(OWNER))
    house.telegram.user_sends_text(OWNER, said)
    messages = await house.telegram.wait_bot_messages(OWNER, before + 1, timeout_s=LIMIT_S)
    assert house.open_cards(OWNER) == []
    return messages[before].text


async def test_a_page_of_an_opened_machine_is_fetched_without_asking(house: Hub) -> None:
    async with Website() as site, Website(host="127.0.0.2") as other:
        open_to(house, f"127.0.0.1:{site.port}", "10.0.0.0/8:443")

        async def page(request: web.Request) -> web.StreamResponse:
            if request.path == "/away":
                return web.Response(status=302, headers={"Location": other.url("/secret", "127.0.0.2")})
            return web.Response(text="<h1>News</h1><p>Rain tomorrow.", content_type="text/html")

        site.answer = page
        async with HubProcess(house.directory):
            await house.telegram.wait_polling(TOKEN, LIMIT_S)
            answer = await answered(house, f"fetch {site.url('/news', '127.0.0.1')}")
            assert answer.startswith(f"I fetched {site.url('/news', '127.0.0.1')}. Response:\n\n200 OK")
            assert "Rain tomorrow." in answer
            for closed in (
                site.url("/away", "127.0.0.1"),
                other.url("/", "127.0.0.2"),
                "https://10.0.0.1:1/",
            ):
                assert "is not on the public internet" in await answered(house, f"fetch {closed}"), closed
        assert site.paths == ["/news", "/away"]
        assert other.seen == []


async def test_a_name_that_resolves_to_another_address_leads_nowhere_else(house: Hub) -> None:
    """Open when it was judged first, another address of this network when it is used again."""
    async with Website() as site, Website(host="127.0.0.2", port=site.port) as inside:
        stands_for = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.1"]]

        async def look_up(host: str, port: int) -> Sequence[str]:
            return stands_for.pop(0)

        house.lookup = look_up
        open_to(house, f"127.0.0.1:{site.port}")
        await house.start()
        page = site.url("/news", "news.example.org")
        assert (await answered(house, f"fetch {page}")).startswith("I fetched")
        for _ in range(2):  # to what is not open alone, and to it beside what is
            assert "is not on the public internet" in await answered(house, f"fetch {page}")
        assert (await answered(house, f"fetch {page}")).startswith("I fetched")
        assert site.paths == ["/news", "/news"]
        assert inside.seen == []


async def test_doctor_names_what_was_opened(house: Hub) -> None:
    open_to(house, "127.0.0.1:8080", "10.0.0.0/8:443")
    ended = await hubbub(house.directory, "doctor", "--json")
    (network,) = [one for one in json.loads(ended.out) if one["what"] == "network"]
    assert network["health"] == "fine"
    assert network["message"].endswith("and 127.0.0.1:8080, 10.0.0.0/8:443")
