"""Credentials in conversations: what was written by mistake is nowhere, what a model prints is not told."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest_asyncio

from core.store.sqlite.offline import sealed_in
from core.users import Role
from tests.harness.process import HubProcess, hubbub
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.simulators.model import text

LETTERS = "q7Rm2XvK9bTz4NcW8dLs6HfJ3gPy5aUe1oQi"
LEAK = "ghp_" + LETTERS
OTHER = "sk-proj-" + LETTERS[::-1] + LETTERS


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    """Configured, not started."""
    async with open_hub(tmp_path, start=False) as opened:
        yield opened


def traces(directory: Path, planted: str) -> list[str]:
    """The files in which it is found, as it is or as JSON and UTF-16 would have it."""
    needles = [planted.encode(), planted.encode("utf-16-le"), planted[::-1].encode()]
    return [
        str(path.relative_to(directory))
        for path in sorted(directory.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


async def heard(events: aiohttp.ClientResponse, into: list[str]) -> None:
    """Everything the hub tells those who look on."""
    with contextlib.suppress(aiohttp.ClientError):  # the hub is killed in the end
        async for line in events.content:
            into.append(line.decode())


async def test_a_credential_written_by_mistake_is_nowhere_but_in_the_vault(house: Hub) -> None:
    """Looked for in all files while the hub runs, and once it was killed: database, its log, logs, spills."""
    env = {"HUBBUB__LOG__LEVEL": "debug"}
    async with HubProcess(house.directory, env=env) as hub, aiohttp.ClientSession() as http:
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        api = json.loads((house.directory / "data" / "api.json").read_text())
        login = {"Authorization": f"Bearer {api['token']}"}
        events = await http.get(f"{hub.url}/api/events", headers=login)
        told: list[str] = []
        listening = asyncio.create_task(heard(events, told))
        house.telegram.user_sends_text(OWNER, f"use {LEAK} and ({OTHER}), please")
        said = await house.telegram.wait_text(OWNER, "I stored it in the vault as repository-token-")
        assert "api-key-" in said.text
        await house.telegram.wait_text(
            OWNER, "You said: use [repository-token removed] and ([api-key removed])"
        )
        sent = {"text": f"again: {LEAK}", "new": True}
        answer = await http.post(f"{hub.url}/api/chat/send", json=sent, headers=login)
        assert answer.status == 202, await answer.text()
        await house.model.wait_requests(2, timeout_s=LIMIT_S)
        for planted in (LEAK, OTHER):
            assert traces(house.directory, planted) == []
        kept = [secret.name for secret in sealed_in(house.database)]
        assert [name.rpartition("-")[0] for name in kept] == [
            "api-key",
            "repository-token",
            "repository-token",
        ]
        hub.process.kill()
        await hub.process.wait()
        await asyncio.wait([listening])
        events.close()
        everything = [hub.out, hub.err, *told, *(json.dumps(one.body) for one in house.model.log.all())]
        for planted in (LEAK, OTHER):
            assert traces(house.directory, planted) == []
            assert not [one for one in everything if planted in one]
            assert not [one for one in house.says(OWNER) if planted in one]
    listed = await hubbub(house.directory, "secrets", "list", "--json")
    assert [one["name"] for one in json.loads(listed.out)] == kept


async def test_strangers_guests_and_members_leave_nothing_in_the_vault(house: Hub) -> None:
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    house.telegram.add_user(50, first_name="Gus")
    for role in (Role.GUEST, Role.MEMBER):
        for gus in await house.app.store.people.people():
            if gus.user.role is not Role.OWNER:
                await house.app.store.people.set_role(gus.user.user_id, role, by="owner")
        house.telegram.user_sends_text(50, f"for a {role}: {LEAK}")
        await house.telegram.wait_text(50, "I did not store it.")
        await house.telegram.wait_text(50, f"You said: for a {role}: [repository-token removed]")
    assert traces(house.directory, LEAK) == []
    assert sealed_in(house.database) == ()


async def test_the_hubs_secrets_in_model_text_are_redacted(house: Hub) -> None:
    """Also while it is being written: in pieces of three letters, slowly enough for previews."""
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    printed = f"Your bot's token is {TOKEN}, mine is {KEY}, and yours {LEAK}. {'That is all. ' * 20}"
    house.model.enqueue(text(printed, chunk_chars=3, delay_s=0.02))
    house.telegram.user_sends_text(OWNER, "what do you know?")
    await house.telegram.wait_text(
        OWNER, "Your bot's token is [REDACTED], mine is [REDACTED], and yours [REDACTED]."
    )
    await house.telegram.wait_text(OWNER, "That is all. That is all.")
    shown = repr(house.telegram.requests())
    assert "That is all." in shown
    for secret in (LEAK, LEAK[:20], TOKEN.partition(":")[2]):
        assert secret not in shown
    house.telegram.user_sends_text(OWNER, "and what did you say?")
    await house.telegram.wait_text(OWNER, "You said: and what did you say?")
    assert LEAK not in json.dumps(house.model.log[-1].body)
    assert traces(house.directory / "data", LEAK) == []


async def test_secrets_in_tool_output_reach_neither_model_nor_files(house: Hub) -> None:
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    (house.workspace / "notes.txt").write_text(f"token {LEAK}\n" * 2000)
    asked: dict[str, Any] = {"path": "notes.txt"}
    house.telegram.user_sends_text(OWNER, f"please call: read_file {json.dumps(asked)}")
    await house.telegram.wait_text(OWNER, "Done:")
    assert "token [REDACTED]" in house.model.log[-1].body["messages"][-1]["content"]
    assert traces(house.directory / "data", LEAK) == []
    assert list((house.directory / "data" / "outputs").iterdir()) != []
