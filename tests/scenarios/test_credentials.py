"""Credentials that a person is asked for: from their next message into the vault, and nowhere else."""

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp
import pytest_asyncio

from bot.config.keys import VaultKeyRing
from core.store.sqlite.offline import sealed_in
from tests.harness.process import HubProcess
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Card, Hub, open_hub
from tests.scenarios.test_access import MENTION
from tests.scenarios.test_leaks import LEAK, heard, traces

PASSWORD = "correct horse-battery 7 Staple"
"""Has no shape that anything could be recognised by."""
OTHER = "/open-sesame 41"
"""Looks like a command, and is none."""
WANTED = {"name": "garden", "purpose": "to read the sensors"}
GUEST = 50


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra='groups = "addressed"') as opened:
        opened.telegram.add_user(GUEST, first_name="Gus")
        yield opened


@pytest_asyncio.fixture
async def configured(tmp_path: Path) -> AsyncIterator[Hub]:
    """Configured, not started."""
    async with open_hub(tmp_path, start=False) as opened:
        yield opened


async def asked(house: Hub, name: str = "garden", person: int = OWNER) -> Card:
    """The card that asks for a credential."""
    wanted = {**WANTED, "name": name}
    house.telegram.user_sends_text(person, f"please call: tool_auth {json.dumps(wanted)}")
    shown = await house.telegram.wait_text(person, f"Please send me the credential “{name}”")
    buttons = [b for row in (shown.keyboard or {}).get("inline_keyboard", []) for b in row]
    assert [button["text"] for button in buttons] == ["Cancel"]
    await house.until(lambda: _is_known(house))
    return Card(shown.id, shown.text, tuple(button["callback_data"] for button in buttons))


async def _is_known(house: Hub) -> bool:
    """The hub has heard where its card is shown."""
    with contextlib.closing(sqlite3.connect(house.database)) as database:
        unknown = "SELECT count(*) FROM outbox WHERE gate_id IS NOT NULL AND order_key IS NULL"
        return database.execute(f"{unknown} AND edit_of IS NULL").fetchone() == (0,)


def told(house: Hub) -> str:
    """Return what the model was told of the last call."""
    results = [one for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]
    return results[-1]["content"]


def kept(house: Hub) -> dict[str, str]:
    """The vault, opened."""
    keys = VaultKeyRing(house.directory / "data", {}).keys()
    return {one.name: keys.open(one) for one in sealed_in(house.database)} if keys is not None else {}


def nowhere(house: Hub, planted: Sequence[str], told_of: Sequence[str]) -> None:
    """In no file, with the hub's database and its log as they are now, and in nothing that was said."""
    for one in planted:
        assert traces(house.directory, one) == []
        assert not [text for text in told_of if one in text or json.dumps(one)[1:-1] in text]


async def test_a_requested_file_is_stored_in_the_vault_only(configured: Hub) -> None:
    """In a real process, looked for while it runs, and once it was killed: database and its log, logs, what
    those who look on are told, what the model is asked, what is shown. Also what has the look of a token, and
    what is corrected afterwards."""
    house = configured
    async with (
        HubProcess(house.directory, env={"HUBBUB__LOG__LEVEL": "debug"}) as hub,
        aiohttp.ClientSession() as http,
    ):
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        api = json.loads((house.directory / "data" / "api.json").read_text())
        events = await http.get(f"{hub.url}/api/events", headers={"Authorization": f"Bearer {api['token']}"})
        seen: list[str] = []
        listening = asyncio.create_task(heard(events, seen))
        planted = {"garden": PASSWORD, "gate": OTHER, "shed": LEAK}
        for name, value in planted.items():
            card = await asked(house, name)
            assert "the model and the logs don't see it" in card.text
            sent = house.telegram.user_sends_text(OWNER, f" {value}\n")
            await house.telegram.wait_text(OWNER, f"Stored in the vault as {name}.")
            await house.telegram.wait_for(lambda sent=sent: sent.deleted, LIMIT_S)
            await house.until(lambda name=name: _answered(house, name))
            assert name in told(house)
        assert kept(house) == planted
        everything = [json.dumps(one.body) for one in house.model.log.all()]
        nowhere(house, list(planted.values()), everything)
        pages = [await _page(http, hub.url, path, api["token"]) for path in await _pages(http, hub.url, api)]
        everything += pages
        hub.process.kill()
        await hub.process.wait()
        await asyncio.wait([listening])
        events.close()
        everything += [hub.out, hub.err, *seen, *house.says(OWNER)]
        everything += [json.dumps(one.body) for one in house.model.log.all()]
        assert any("[not kept]" in one for one in pages)
        nowhere(house, list(planted.values()), everything)


async def _page(http: aiohttp.ClientSession, url: str, path: str, token: str) -> str:
    async with http.get(f"{url}/api/{path}", headers={"Authorization": f"Bearer {token}"}) as answer:
        return await answer.text()


async def _pages(http: aiohttp.ClientSession, url: str, api: dict[str, str]) -> list[str]:
    """Return what the console shows of all this."""
    listed = json.loads(await _page(http, url, "threads", api["token"]))
    threads = [f"threads/{one['id']}?limit=100" for one in listed["threads"]]
    return [*threads, "approvals?state=decided"]


async def _answered(house: Hub, name: str) -> bool:
    return f"stored in the vault as {name}]" in json.dumps(house.model.log[-1].body)


async def test_others_keep_writing_and_commands_stay_commands(house: Hub) -> None:
    await asked(house)
    house.telegram.user_sends_text(GUEST, "good evening")
    await house.telegram.wait_text(GUEST, "You said: good evening")
    house.telegram.user_sends_text(OWNER, "/status")
    await house.telegram.wait_text(OWNER, "Waiting for an answer.")
    house.telegram.user_sends_text(OWNER, PASSWORD)
    await house.telegram.wait_text(OWNER, "Stored in the vault as garden.")
    assert kept(house) == {"garden": PASSWORD}


async def test_after_cancel_the_next_message_is_a_message_and_after_stop_the_one_after_it(
    house: Hub,
) -> None:
    card = await asked(house)
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == '"owner" chose: Cancel'
    await asked(house, "gate")
    house.telegram.user_sends_text(OWNER, "/stop")
    await house.telegram.wait_text(OWNER, "I am no longer waiting for the credential “gate”")
    house.telegram.user_sends_text(OWNER, PASSWORD)
    await house.telegram.wait_text(
        OWNER, "I asked you for a credential earlier and am no longer waiting for it."
    )
    assert traces(house.directory, PASSWORD) == []
    house.telegram.user_sends_text(OWNER, "never mind")
    await house.telegram.wait_text(OWNER, "never mind")
    assert kept(house) == {}


async def test_a_request_for_a_credential_survives_a_restart(house: Hub) -> None:
    """Neither while it waits, nor for what is sent meanwhile."""
    await asked(house)
    await house.stop()
    house.telegram.user_sends_text(OWNER, PASSWORD)
    await house.start()
    await house.telegram.wait_text(OWNER, "Stored in the vault as garden.")
    assert kept(house) == {"garden": PASSWORD}
    assert traces(house.directory, PASSWORD) == []


async def test_a_late_credential_is_not_stored(house: Hub) -> None:
    await asked(house)
    house.telegram.clock = lambda: time.time() + 310
    house.telegram.user_sends_text(OWNER, PASSWORD)
    await house.telegram.wait_text(OWNER, "this message came too late. I did not store it")
    await house.telegram.wait_text(OWNER, "Done:")
    assert "Not answered" in told(house)
    assert kept(house) == {}
    assert traces(house.directory, PASSWORD) == []


async def test_no_credential_is_requested_in_a_group(house: Hub) -> None:
    """Nor is anything kept of whom the vault does not belong to."""
    group = house.telegram.create_group("Garden", [OWNER, GUEST]).id
    wanted = f"please call: tool_auth {json.dumps(WANTED)}"
    house.telegram.user_sends_text(OWNER, f"{MENTION} {wanted}", chat_id=group)
    await house.telegram.wait_text(group, "Done:")
    assert "Not asked: other people can read this conversation." in told(house)


async def test_an_edited_credential_is_not_stored_elsewhere(house: Hub) -> None:
    await asked(house)
    sent = house.telegram.user_sends_text(OWNER, "not this")
    await house.telegram.wait_text(OWNER, "Stored in the vault as garden.")
    house.telegram.user_edits_text(OWNER, sent.id, PASSWORD)
    house.telegram.user_sends_text(OWNER, "and now?")
    await house.telegram.wait_text(OWNER, "You said: and now?")
    assert traces(house.directory, PASSWORD) == []
