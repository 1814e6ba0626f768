"""Files and the web as people meet them: what is asked first, what is refused, what is shown."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.core.tools.website import Website
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub

GUEST = 100


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


def call(tool: str, **arguments: Any) -> str:
    """Words that make the model call a tool."""
    return f"please call: {tool} {json.dumps(arguments)}"


async def answered(house: Hub, said: str, person: int = OWNER) -> str:
    """Return what the person reads once the call they asked for has come to something, without having been
    asked."""
    before = len(house.says(person))
    house.telegram.user_sends_text(person, said)
    await house.telegram.wait_for(lambda: len(house.says(person)) > before, LIMIT_S)
    assert not house.open_cards(person)
    return house.says(person)[before]


def told(house: Hub) -> str:
    """Return what the model was told of the last call."""
    return house.model.log[-1].body["messages"][-1]["content"]


async def test_a_file_is_written_after_a_yes_and_read_without_one(house: Hub) -> None:
    notes = house.workspace / "notes" / "today.txt"
    house.telegram.user_sends_text(OWNER, call("write_file", path="notes/today.txt", content="milk, eggs"))
    card = await house.card(OWNER)
    assert "path: notes/today.txt" in card.text
    assert "content: milk, eggs" in card.text
    assert not notes.parent.exists()
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "Wrote 10 bytes to notes/today.txt")
    assert notes.read_text() == "milk, eggs"
    assert "milk, eggs" in await answered(house, call("read_file", path="notes/today.txt"))
    assert "today.txt  10" in await answered(house, call("list_dir", path="notes"))


async def test_a_denied_write_leaves_the_workspace_as_it_was(house: Hub) -> None:
    (house.workspace / "a.txt").write_text("old")
    house.telegram.user_sends_text(OWNER, call("write_file", path="a.txt", content="new"))
    await house.pressed(OWNER, await house.card(OWNER), 1)
    await house.telegram.wait_text(OWNER, "Done:")
    assert [(path.name, path.read_text()) for path in house.workspace.iterdir()] == [("a.txt", "old")]


async def test_always_covers_the_one_file(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, call("write_file", path="log.txt", content="1"))
    await house.pressed(OWNER, await house.card(OWNER), 2)
    await house.telegram.wait_text(OWNER, "Wrote 1 byte to log.txt")
    assert "replaced" in await answered(house, call("write_file", path="./log.txt", content="22"))
    assert (house.workspace / "log.txt").read_text() == "22"
    house.telegram.user_sends_text(OWNER, call("write_file", path="other.txt", content="3"))
    await house.pressed(OWNER, await house.card(OWNER), 1)
    await house.telegram.wait_text(OWNER, "denied")
    assert not (house.workspace / "other.txt").exists()


OUTSIDE = ("../hubbub.toml", "{base}/hubbub.toml", "../data/hub.db", ".env", "link", "dir/hubbub.toml")
SEEN_ON_DISK = OUTSIDE[-2:]
"""Only the disk shows where these lead."""


@pytest.mark.parametrize("tool", ["read_file", "write_file"])
async def test_files_outside_the_workspace_are_refused(house: Hub, tool: str) -> None:
    config = house.directory / "hubbub.toml"
    before = config.read_text()
    (house.workspace / "link").symlink_to("../hubbub.toml")
    (house.workspace / "dir").symlink_to("..")
    (house.workspace / ".env").write_text(f"TOKEN={TOKEN}")
    content = {"content": "x"} if tool == "write_file" else {}
    for path in OUTSIDE:
        asked = call(tool, path=path.format(base=house.directory), **content)
        if content and path in SEEN_ON_DISK:
            house.telegram.user_sends_text(OWNER, asked)
            card = await house.card(OWNER)
            said = len(house.says(OWNER))
            await house.pressed(OWNER, card, 0)
            await house.telegram.wait_for(lambda said=said: len(house.says(OWNER)) > said, LIMIT_S)
        else:
            await answered(house, asked)
        assert f"{tool} " in told(house), path
        assert re.search("is blocked|was refused", told(house)), path
        assert TOKEN not in json.dumps(house.model.log[-1].body), path
    assert TOKEN not in "\n".join(house.says(OWNER))
    assert config.read_text() == before
    assert (house.workspace / ".env").read_text() == f"TOKEN={TOKEN}"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_web_tool_does_not_reach_this_machine(house: Hub, method: str) -> None:
    async with Website() as website:
        for host in ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]", "0"):
            await answered(house, call("http", url=website.url("/secret", host), method=method))
            assert "not on the public internet" in told(house), host
        assert website.seen == []


async def test_sending_to_the_web_is_asked_about_with_all_that_would_be_sent(house: Hub) -> None:
    body = {"name": "Olivia"}
    asked = call("http", url="https://shop.invalid/orders", method="POST", headers={"X-Key": "k"}, body=body)
    house.telegram.user_sends_text(OWNER, asked)
    card = await house.card(OWNER)
    for shown in ("https://shop.invalid/orders", "POST", '{"X-Key": "k"}', '{"name": "Olivia"}'):
        assert shown in card.text
    await house.pressed(OWNER, card, 1)
    await house.telegram.wait_text(OWNER, "denied")


async def test_a_failed_download_is_reported_to_the_model(house: Hub) -> None:
    assert "http failed." in await answered(house, call("http", url="http://nothing.invalid/"))
    assert "nothing.invalid could not be found" in told(house)


async def test_a_guest_has_none_of_these_tools(house: Hub) -> None:
    house.telegram.add_user(GUEST, first_name="Gus")
    (house.workspace / "a.txt").write_text("for Olivia")
    for asked in (call("read_file", path="a.txt"), call("list_dir"), call("http", url="http://a.invalid/")):
        assert "I have no tool named" in await answered(house, asked, GUEST)
