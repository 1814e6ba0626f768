"""`hubbub extensions` beside a running hub and without one, and the API it stands on."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.bot.cli.in_process import command as typed
from tests.bot.web.api_client import client
from tests.bot.web.test_login import logged_in
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.test_extensions import command
from tests.scenarios.test_mcp import answered, becomes, call, section

NEEDS_A_SECRET = 'test ${#API_KEY} = 6 && exec "$@"'


async def said(house: Hub, *words: str, stdin: bytes = b"") -> str:
    done = await asyncio.to_thread(typed, house.directory, *words, stdin=stdin)
    assert done.code == 0, done.complaint
    return done.out


@pytest.mark.parametrize("running", [True, False], ids=["a hub runs", "no hub runs"])
async def test_an_extension_added_by_command_gets_its_secret_and_is_used(
    tmp_path: Path, *, running: bool
) -> None:
    argv = command(tmp_path / "raw")
    async with open_hub(tmp_path, extra=section(tmp_path, name="set")) as house:
        await becomes(house, "ready", "set")
        if not running:
            await house.stop()
        await said(house, "secrets", "set", "key", stdin=b"s3cret")
        options = (
            "--secret",
            "API_KEY=key",
            "--requirement",
            "never",
            "--",
            "sh",
            "-c",
            NEEDS_A_SECRET,
            "sh",
        )
        await said(house, "extensions", "add", "mine", *options, *argv)
        if not running:
            await house.start()
        await becomes(house, "ready", "mine")
        assert "42" in await answered(house, call("mine__add", a=20, b=22))
        listed = json.loads(await said(house, "extensions", "list", "--json"))
        assert [(one["name"], one["configured"], one["users"]) for one in listed] == [
            ("mine", False, ["owner"]),
            ("set", True, ["owner"]),
        ]
        assert "s3cret" not in json.dumps(listed)
        if not running:
            await house.stop()
        assert await said(house, "extensions", "disable", "mine") == "mine: disabled\n"
        refused = await asyncio.to_thread(typed, house.directory, "extensions", "disable", "set")
        assert (refused.code, "set in the configuration" in refused.complaint) == (1, True)
        if not running:
            await house.start()
        assert "mine: disabled" in await answered(house, "/extensions", OWNER)


async def test_a_browser_adds_no_command_and_a_member_changes_nothing_of_others(tmp_path: Path) -> None:
    async with open_hub(tmp_path), client(tmp_path) as api:
        page = await logged_in(api)
        new = {"name": "mine", "command": ["true"]}
        status, refusal = await page.ask("POST", "/api/extensions", new)
        assert (status, refusal["error"]["field"]) == (403, "command")
        member = await api.member("Mia")
        url = {"name": "mine", "url": "http://127.0.0.1:1/mcp"}
        assert (await member.ask("POST", "/api/extensions", url))[0] == 403
        assert (await page.ask("POST", "/api/extensions", url))[0] == 200
        assert (await member.get("/api/extensions")) == []
        change = {"name": "mine", "change": "remove"}
        assert (await member.ask("POST", "/api/extensions/change", change))[0] == 404
        (one,) = await api.get("/api/extensions")
        assert one["state"].startswith("failed: not reachable")
        assert (await page.ask("POST", "/api/extensions/change", change))[0] == 200
        assert await api.get("/api/extensions") == []
