"""Killed at any moment of a sign-in: the person signs in, no code is sent twice, and the call runs once.
Killed while an extension changes: it is as the last commit has it."""

import asyncio
import contextlib
import json
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.harness.forking import fork_into
from tests.scenarios.test_mcp import call
from tests.simulators.mcp.web import open_web_server
from tests.simulators.oauth import AuthorizationServer, open_authorization_server

POINTS = (
    "ask_to_sign_in:1:after",  # it waits, and nobody sees the link yet
    "record_part_sent:1:after",  # the link is shown
    "answer_sign_in:1:before",
    "answer_sign_in:1:after",  # the code has come
    "redeem_sign_in:1:after",  # it is about to be exchanged
    "finish_sign_in:1:before",  # it was exchanged, and the tokens are nowhere
    "finish_sign_in:1:after",  # they are in the vault, and the call has not run again
)
pytestmark = pytest.mark.slow


def link_in(town: MortalHub) -> str:
    """The newest link that is open; empty without one."""
    for message in reversed(town.shown_to(OWNER)):
        for row in (message.keyboard or {}).get("inline_keyboard", []):
            if "url" in row[0]:
                return str(row[0]["url"])
    return ""


async def driven(
    town: MortalHub, issuer: AuthorizationServer, words: str, until: Callable[[], bool] | None = None
) -> None:
    """The owner follows each link until a page answers, and until they read that, or something else is so; a
    hub that is gone is started again."""

    def read_that() -> bool:
        return any(words in one.text for one in town.answers(OWNER, "Done: "))

    followed = {""}
    async with asyncio.timeout(LIMIT_S), ClientSession() as browser:
        while not (until or read_that)():
            if town.hub is None or town.hub.returncode is not None:
                await town.start()
            link = link_in(town)
            if link in followed or not town.serves():
                await asyncio.sleep(0.02)
                continue
            address = json.loads((town.directory / "data" / "api.json").read_text())["url"]
            query = (await issuer.visit(link)).partition("?")[2]
            with contextlib.suppress(ClientError):
                async with browser.get(f"{address}/oauth/callback?{query}"):
                    followed.add(link)


@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_this_point_a_sign_in_is_completed_once(tmp_path: Path, point: str) -> None:
    async with open_web_server() as tools, open_authorization_server() as issuer:
        issuer.resource = tools.url
        tools.guard = issuer.challenge
        tools.resource_metadata = lambda: issuer.resource_metadata
        extra = f'\n[mcp.notes]\nurl = "{tools.url}"\n[approvals]\npreset = "auto"\n'
        async with open_mortal_hub(tmp_path, Setup(extra=extra)) as town:
            await town.start()
            town.owner_says(call("sign_in", server="notes"))
            await driven(town, issuer, "Signed in to notes.")
            async with asyncio.timeout(LIMIT_S):
                while not (tmp_path / "data" / "mcp" / "notes.json").exists():  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.02)
            await town.stop()
            issuer.revoke()
            await town.start(die_at=parse_commit_point(point))
            town.owner_says(call("notes__add", a=20, b=22))
            await driven(town, issuer, "42")
            assert town.starts == 3
            await town.stop()
        assert [one["name"] for one in tools.calls] == ["add"]
        codes = [form["code"] for _, path, form in issuer.requests if path == "/token" and "code" in form]
        assert len(codes) == len({*codes})


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("unit", ["put_extension", "change_extension"])
async def test_a_change_of_extensions_is_whole_after_a_kill(tmp_path: Path, unit: str, side: str) -> None:
    """A change that was committed is there after the restart, any other is not, and both can be repeated."""
    async with open_web_server() as tools, open_mortal_hub(tmp_path, Setup()) as town:
        add, remove = ("extensions", "add", "mine", "--url", tools.url), ("extensions", "remove", "mine")

        async def names() -> list[str]:
            return [one["name"] for one in json.loads(await town.command("extensions", "list", "--json"))]

        changes = add if unit == "put_extension" else remove
        await town.start()
        await town.served_at_last()
        if changes is remove:
            await town.command(*add)
        await town.stop()
        await town.start(die_at=parse_commit_point(f"{unit}:1:{side}"))
        await town.served_at_last()
        said = tmp_path / "cut-off"
        await (await fork_into(said, words=[*changes, "--config", str(tmp_path / "hubbub.toml")])).wait(
            LIMIT_S
        )
        assert await town.exit_code() == -signal.SIGKILL
        await town.start()
        await town.served_at_last()
        assert (await names() == ["mine"]) is ((changes is add) is (side == "after"))
        if side == "before":
            await town.command(*changes)
        assert await names() == (["mine"] if changes is add else [])
        await town.stop()


def rows(town: MortalHub, query: str) -> int:
    """Return how many rows of the hub's database fit."""
    path = f"file:{town.directory / 'data' / 'hub.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return len(database.execute(f"SELECT 1 FROM {query}").fetchall())


@pytest.mark.parametrize(
    "point", ["change_extension:1:after", "begin_sign_out:1:after", "end_sign_out:1:before"]
)
async def test_a_removed_sign_in_is_revoked_after_a_kill(tmp_path: Path, point: str) -> None:
    """The next hub revokes it, and says nothing of it since it is done."""
    async with (
        open_web_server() as tools,
        open_authorization_server() as issuer,
        open_mortal_hub(tmp_path, Setup()) as town,
    ):
        issuer.resource = tools.url
        tools.guard = issuer.challenge
        tools.resource_metadata = lambda: issuer.resource_metadata
        await town.start()
        await town.served_at_last()
        await town.command("extensions", "add", "mine", "--url", tools.url)
        town.owner_says("/extensions auth mine")
        await driven(town, issuer, "", until=lambda: rows(town, "secrets WHERE name LIKE '.sign-in.%'") > 0)
        await town.stop()
        await town.start(die_at=parse_commit_point(point))
        await town.served_at_last()
        removal = ("extensions", "remove", "mine", "--config", str(tmp_path / "hubbub.toml"))
        await (await fork_into(tmp_path / "cut-off", words=removal)).wait(LIMIT_S)
        assert await town.exit_code() == -signal.SIGKILL
        await town.start()
        async with asyncio.timeout(LIMIT_S):
            while rows(town, "sign_outs"):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
        assert not any(one.live or one.refresh for one in issuer.grants)
        await town.account()
        await town.stop()
        asked = sum(path == "/revoke" for _, path, _ in issuer.requests)
        assert asked == (2 if point.startswith("end") else 1)
        assert not any("not revoked" in one.text for one in town.shown_to(OWNER))
