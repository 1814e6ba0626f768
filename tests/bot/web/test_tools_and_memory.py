"""The catalog of tools, and what the hub remembers: own, forgotten at once, restored for a while."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from core.store.sql.people import UNDO_US
from tests.bot.web.api_client import Client, client
from tests.harness.telegram_hub import Hub, open_hub


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: Hub) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


async def remembered(api: Client, query: str = "") -> list[str]:
    return [note["text"] for note in (await api.get(f"/api/memory?query={query}"))["notes"]]


async def forgotten(api: Client, text: str) -> str:
    """Forget the note with that text; the id of its undo."""
    (note,) = [one for one in (await api.get("/api/memory"))["notes"] if one["text"] == text]
    status, page = await api.ask("POST", "/api/memory/forget", {"id": note["id"]})
    assert (status, page["outcome"]) == (200, "forgotten")
    return page["undo"]


async def test_a_deleted_note_is_restored_in_its_place_by_its_owner(house: Hub, api: Client) -> None:
    owner = (await api.get("/api/me"))["user_id"]
    mia = await api.member("Mia")
    member = (await mia.get("/api/me"))["user_id"]
    memory = house.app.store.memory
    for text in ("tea at five", "coffee at six", "x" * 3_000):
        await memory.write_memory(owner, text, text)
    await memory.write_memory(member, "k", "of Mia")
    assert await remembered(api) == ["x" * 2_000, "coffee at six", "tea at five"]
    assert await remembered(mia) == ["of Mia"]
    long = (await api.get("/api/memory"))["notes"][0]
    (whole,) = (await api.get(f"/api/memory?id={long['id']}"))["notes"]
    assert (len(whole["text"]), long["chars"]) == (3_000, 3_000)
    assert (await mia.ask("GET", f"/api/memory?id={long['id']}"))[0] == 404
    assert (await mia.refusal("POST", "/api/memory/forget", {"id": long["id"]}))[0] == 404

    undo = await forgotten(api, "coffee at six")
    assert (await remembered(api), await remembered(api, "coffee")) == (["x" * 2_000, "tea at five"], [])
    assert (await mia.refusal("POST", "/api/memory/restore", {"undo": undo}))[0] == 409
    assert (await api.ask("POST", "/api/memory/restore", {"undo": undo}))[0] == 200
    assert await remembered(api) == ["x" * 2_000, "coffee at six", "tea at five"], "in its old place"
    assert await remembered(api, "coffee") == ["coffee at six"]
    assert (await api.refusal("POST", "/api/memory/restore", {"undo": undo}))[0] == 409, "once"

    undo = await forgotten(api, "tea at five")
    house.clock.skip(UNDO_US // 1_000_000)
    assert (await api.refusal("POST", "/api/memory/restore", {"undo": undo}))[0] == 409
    await house.app.store.leases.renew_lease()
    with sqlite3.connect(house.directory / "data" / "hub.db") as database:
        assert database.execute("SELECT count(*) FROM undos").fetchone() == (0,), "gone from the disk"
    database.close()


async def test_a_document_gives_way_to_a_newer_one_at_its_path(house: Hub, api: Client) -> None:
    owner = (await api.get("/api/me"))["user_id"]
    memory = house.app.store.memory
    await memory.write_document(owner, "1", "garden", "beans", append=False, most=9)
    undo = await forgotten(api, "beans")
    await memory.write_document(owner, "2", "garden", "peas", append=False, most=9)
    assert (await api.refusal("POST", "/api/memory/restore", {"undo": undo}))[0] == 409
    await forgotten(api, "peas")
    assert (await api.ask("POST", "/api/memory/restore", {"undo": undo}))[0] == 200
    assert await remembered(api) == ["beans"]


async def test_the_catalog_shows_each_tools_description_and_the_persons_setting(api: Client) -> None:
    async def catalog(query: str = "") -> dict[str, Any]:
        page = await api.get(f"/api/tools/catalog{query}")
        return {one["name"]: one for one in page["tools"]}

    tools = await catalog()
    shell = tools["shell"]
    assert (shell["effect"], shell["now"], shell["rated"]) == ("effect", "asks", True)
    assert (tools["memory_search"]["effect"], tools["memory_search"]["now"]) == ("none", "runs")
    assert (tools["routine_delete"]["now"], tools["routine_delete"]["always_asks"]) == ("asks", True)
    assert shell["about"].startswith("Run a command line")
    owner = (await api.get("/api/me"))["user_id"]
    setting = {"user_id": owner, "tool": "shell", "setting": "disabled"}
    assert (await api.ask("POST", "/api/permissions", setting))[0] == 200
    shell = (await catalog())["shell"]
    assert (shell["setting"], shell["now"]) == ("disabled", "refused")
    mia = await api.member("Mia")
    member = (await mia.get("/api/me"))["user_id"]
    theirs = await catalog(f"?user_id={member}")
    assert (theirs["shell"]["now"], theirs["shell"]["offered"]) == ("refused", [])
    assert 'add "shell" to tools of [roles.member] in' in theirs["shell"]["remedy"]
    assert (shell["remedy"], shell["offered"]) == ("", ["always_allow", "ask_each_time", "disabled"])
    assert tools["routine_delete"]["offered"] == ["ask_each_time", "disabled"]  # no setting lets it run
    # Whatever is offered to a member has its effect; the outcomes of the settings, in their order:
    for setting, now in zip(theirs["memory_search"]["offered"], ("runs", "asks", "refused"), strict=True):
        chosen = {"user_id": member, "tool": "memory_search", "setting": setting}
        assert (await api.ask("POST", "/api/permissions", chosen))[0] == 200
        assert (await catalog(f"?user_id={member}"))["memory_search"]["now"] == now
    assert (await api.ask("GET", "/api/tools/catalog?user_id=none"))[0] == 404
