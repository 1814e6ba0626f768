"""The commands an operator types, as processes of their own, beside a running hub and without one."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from markdown_it import MarkdownIt

from bot.cli.api import lock_or_hub
from bot.runtime import CommandFailed
from core.store.lease import DataDirectoryLock
from tests.harness.process import environment, hubbub
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub

ECHO = "please run: echo line >> out.txt"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra='[agent]\nsystem_prompt = "Be brief."') as opened:
        yield opened


# ---------------------------------------------------------------- looking


@pytest.mark.parametrize(
    "words", [["threads", "list"], ["threads", "show", "x"], ["users", "list"], ["approvals", "list"]]
)
async def test_listings_before_the_first_start_say_so(tmp_path: Path, words: list[str]) -> None:
    ended = await hubbub(tmp_path, *words)
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint == f"There is no database in {tmp_path}/data yet; start the hub first."


async def test_listings_of_a_bad_configuration_are_a_usage_error(tmp_path: Path) -> None:
    ended = await hubbub(tmp_path, "threads", "list", "--config", "nowhere.toml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaint == "nowhere.toml: no such file; create it or choose another one"


async def test_a_conversation_is_listed_and_shown(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await house.telegram.wait_text(OWNER, "Done:")
    house.telegram.user_sends_text(OWNER, "clear\x1b[2J it")
    await house.telegram.wait_text(OWNER, "You said: clear")
    (thread,) = json.loads((await hubbub(house.directory, "threads", "list", "--json")).out)
    assert (thread["channel"], thread["owner_id"], thread["state"]) == ("telegram", "owner", "idle")
    assert (thread["turns"], thread["active"], thread["tokens"] > 0) == (2, True, True)
    table, shown, plain, cut = await asyncio.gather(
        hubbub(house.directory, "threads", "list"),
        hubbub(house.directory, "threads", "show", thread["id"], "--json"),
        hubbub(house.directory, "threads", "show", thread["id"].replace("-", "")),
        hubbub(house.directory, "threads", "show", thread["id"], "--limit", "1"),
    )
    assert thread["id"] in table.out
    page = json.loads(shown.out)
    assert page["thread"] == thread
    assert [entry["kind"] for entry in page["entries"][:4]] == ["user", "assistant", "call", "result"]
    assert page["entries"][0]["text"] == ECHO
    assert (page["entries"][2]["name"], page["entries"][3]["status"]) == ("shell", "ok")
    assert page["earlier"] is False
    house.telegram.user_sends_text(OWNER, "/undo")
    await house.telegram.wait_text(OWNER, "Undid the last turn")
    where = ("threads", "set", thread["id"], "--title", "Echoes", "--tags", "a,b", "--archive", "--close")
    changed, nothing = await asyncio.gather(
        hubbub(house.directory, *where), hubbub(house.directory, "threads", "set", thread["id"])
    )
    assert changed.out == f"{thread['id']}: Echoes [a, b], completed, archived\n"
    assert (nothing.code, nothing.out) == (2, "")
    unlisted, listed, exported = await asyncio.gather(
        hubbub(house.directory, "threads", "list", "--json"),
        hubbub(house.directory, "threads", "list", "--archived", "--json"),
        hubbub(house.directory, "threads", "export", thread["id"]),
    )
    assert json.loads(unlisted.out) == []
    assert [one["tags"] for one in json.loads(listed.out)] == [["a", "b"]]
    assert "## user (undone) ·" in exported.out
    assert exported.out.count("(undone)") == 2
    assert (plain.code, plain.err) == (0, "")
    assert f"2 turns, {thread['tokens']} tokens, begun " in plain.out
    assert f": {ECHO}\n" in plain.out
    assert not re.search(r"assistant: \n(?! {4})", plain.out)  # a model that only calls says nothing
    assert "\x1b" not in table.out + plain.out
    assert "(only the newest entry; use --limit for more)" in cut.out
    assert ECHO not in cut.out.split("\n", 2)[2]  # after the title
    copy = house.directory / "copy.md"
    delete = ("threads", "delete", thread["id"])
    unasked = await hubbub(house.directory, *delete)
    assert (unasked.code, unasked.out) == (2, "")
    deleted = await hubbub(house.directory, *delete, "--export", str(copy))
    assert deleted.out == f"{thread['id']}: deleted\n"
    assert copy.read_text() == exported.out
    again = await hubbub(house.directory, *delete, "--yes")
    assert (again.code, again.out) == (1, "")
    assert json.loads((await hubbub(house.directory, "threads", "list", "--archived", "--json")).out) == []


async def test_a_conversation_is_exported_whole_and_as_it_is(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "please run: echo '```'")
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await house.telegram.wait_text(OWNER, "Done:")
    (thread,) = json.loads((await hubbub(house.directory, "threads", "list", "--json")).out)
    text, page, none = await asyncio.gather(
        hubbub(house.directory, "threads", "export", thread["id"]),
        hubbub(house.directory, "threads", "export", thread["id"], "--json"),
        hubbub(house.directory, "threads", "export", "x"),
    )
    entries = json.loads(page.out)["entries"]
    assert (text.code, text.err) == (0, "")
    headings = [token.map for token in MarkdownIt().parse(text.out) if token.type == "heading_open"]
    assert len(headings) == 1 + sum(bool(entry["text"]) for entry in entries)
    assert all(entry["text"] in text.out for entry in entries)
    assert (none.code, none.out) == (1, "")


async def test_an_unknown_thread_is_reported(house: Hub) -> None:
    ended = await hubbub(house.directory, "threads", "show", "no-such-thread")
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint == ("No thread has the ID no-such-thread; `hubbub threads list` shows the IDs.")


async def test_empty_listings_say_so(house: Hub) -> None:
    threads, approvals, none = await asyncio.gather(
        hubbub(house.directory, "threads", "list"),
        hubbub(house.directory, "approvals", "list"),
        hubbub(house.directory, "approvals", "list", "--json"),
    )
    assert threads.out == "There are no conversations yet.\n"
    assert approvals.out == "No open requests.\n"
    assert json.loads(none.out) == []


async def test_open_gates_are_listed(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.card(OWNER)
    table, listed, users = await asyncio.gather(
        hubbub(house.directory, "approvals", "list"),
        hubbub(house.directory, "approvals", "list", "--json"),
        hubbub(house.directory, "users", "list", "--json"),
    )
    (approval,) = json.loads(listed.out)
    assert approval["id"] in table.out
    assert "echo line >> out.txt" in approval["title"] + approval["detail"]
    assert approval["options"][:2] == ["approve", "deny"]
    assert (approval["kind"], approval["requester_id"], approval["votes"]) == ("approval", "owner", [])
    (owner,) = json.loads(users.out)
    assert (owner["id"], owner["role"]) == ("owner", "owner")
    assert [(a["channel"], a["platform_user_id"]) for a in owner["accounts"]] == [("telegram", str(OWNER))]


# ---------------------------------------------------------------- configuration


async def test_config_check_shows_the_effective_settings_without_secrets(house: Hub) -> None:
    ended = await hubbub(house.directory, "config", "check", "--json", env={"HUBBUB__HTTP__PORT": "8123"})
    page = json.loads(ended.out)
    assert (ended.code, page["ok"], page["source"], page["problems"]) == (0, True, "hubbub.toml", [])
    assert page["config"]["http"] == {"host": "127.0.0.1", "port": 8123, "public_url": ""}
    assert page["config"]["agent"]["system_prompt"] == "Be brief."
    assert page["config"]["channels"]["telegram"]["token"] == "***"
    for secret in (TOKEN, TOKEN.partition(":")[2], KEY):
        assert secret not in ended.out


async def test_config_check_lists_problems_as_json(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text("[http]\nprot = 80\nport = 'x'\n")
    ended = await hubbub(tmp_path, "config", "check", "--json")
    page = json.loads(ended.out)
    assert (ended.code, page["ok"]) == (2, False)
    assert len(page["problems"]) == 2
    assert "hubbub.toml:2: http.prot: unknown key; did you mean port?" in page["problems"]


# ---------------------------------------------------------------- being quick

HELP = """
import sys
from bot.__main__ import main
try:
    main()
finally:
    sys.stderr.write(" ".join(sys.modules))
"""
HEAVY = {"starlette", "uvicorn", "httpx", "aiohttp", "telegram", "aiosqlite", "sqlite3", "pydantic", "rich"}
MODULES_LIMIT = 220
"""A program that imports typer, and prints its help without rich, has about 200."""


@pytest.mark.parametrize("words", [[], ["threads"], ["threads", "show"]])
async def test_help_loads_nothing_it_does_not_need(tmp_path: Path, words: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", HELP, *words, "--help"),
        cwd=tmp_path,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    loaded = err.decode().split()
    assert process.returncode == 0
    assert "Usage: hubbub" in out.decode()
    assert not HEAVY & set(loaded)
    assert [name for name in loaded if name.startswith(("core.", "channels.", "bot.config.load"))] == [
        "core.lazy"
    ]
    assert len(loaded) < MODULES_LIMIT, len(loaded)


async def test_a_listing_loads_no_module_that_writes_or_connects(house: Hub) -> None:
    await house.stop()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", HELP, "threads", "list", "--json"),
        cwd=house.directory,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    loaded = set(err.decode().split())
    assert (process.returncode, json.loads(out)) == (0, [])
    assert "aiosqlite" in loaded
    assert not {"starlette", "uvicorn", "httpx", "aiohttp", "telegram", "rich"} & loaded
    assert not {"core.store.sqlite.store", "core.inbound.hub", "channels.manager"} & loaded


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["thread"], "No such command 'thread'. Did you mean 'threads'?"),
        (["threads", "lis"], "No such command 'lis'. Did you mean 'list'?"),
        (["--hlp"], "No such option: --hlp"),
    ],
)
async def test_unknown_commands_are_usage_errors(tmp_path: Path, words: list[str], complaint: str) -> None:
    ended = await hubbub(tmp_path, *words)
    assert (ended.code, ended.out) == (2, "")
    assert complaint in ended.err


async def test_lists_of_commands_name_them_with_their_help(tmp_path: Path) -> None:
    every = (await hubbub(tmp_path, "--help")).out
    group = (await hubbub(tmp_path, "threads", "--help")).out
    assert re.search(r"^  run +Run the hub until it is interrupted\.$", every, re.MULTILINE)
    assert re.search(r"^  threads +List, show, export and delete conversations\.$", every, re.MULTILINE)
    assert re.search(r"^  show +Show a conversation", group, re.MULTILINE)


# ---------------------------------------------------------------- changing


def lines(house: Hub) -> list[str]:
    out = house.workspace / "out.txt"
    return out.read_text().split() if out.exists() else []


async def waiting(house: Hub) -> str:
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.card(OWNER)
    (approval,) = json.loads((await hubbub(house.directory, "approvals", "list", "--json")).out)
    return approval["id"]


@pytest.mark.parametrize("running", [True, False], ids=["a hub runs", "no hub runs"])
async def test_approving_by_command_runs_the_call_once(house: Hub, *, running: bool) -> None:
    gate_id = await waiting(house)
    if not running:
        await house.stop()
    ended = await hubbub(house.directory, "approvals", "decide", gate_id.upper(), "approve")
    assert (ended.code, ended.out, ended.err) == (0, f"{gate_id}: Approved by owner\n", "")
    again = await hubbub(house.directory, "approvals", "decide", gate_id, "deny")
    assert (again.code, again.out) == (1, "")
    assert again.complaint == "already closed: Approved by owner"
    if not running:
        assert lines(house) == []
        await house.start()
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    assert lines(house) == ["line"]
    await house.telegram.wait_for(
        lambda: house.telegram.bot_messages(OWNER)[0].text.endswith("Approved by owner"), LIMIT_S
    )


async def test_an_unknown_answer_is_a_usage_error(house: Hub) -> None:
    ended = await hubbub(house.directory, "approvals", "decide", "abc", "perhaps")
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaint.startswith(
        "perhaps is not a valid answer; use one of approve, deny, one_by_one, always"
    )


async def test_an_unresponsive_hub_is_reported(house: Hub) -> None:
    away = {"url": "http://127.0.0.1:9", "token": "x", "pid": os.getpid()}
    (house.directory / "data" / "api.json").write_text(json.dumps(away))
    ended = await hubbub(house.directory, "approvals", "decide", "abc", "deny")
    assert ended.code == 1
    assert ended.complaint.startswith("the hub at http://127.0.0.1:9 does not respond (")


@pytest.mark.parametrize(
    "left", [None, {"url": "http://127.0.0.1:9", "token": "x", "pid": 1}], ids=["-", "killed"]
)
def test_a_command_waits_for_a_hub_that_is_starting(tmp_path: Path, left: dict[str, object] | None) -> None:
    """Also where the hub before it was killed and has left its address."""
    page = tmp_path / "api.json"
    if left is not None:
        page.write_text(json.dumps(left))

    def publish(_: float) -> None:
        page.write_text(json.dumps({"url": "http://127.0.0.1:8", "token": "y", "pid": os.getpid()}))

    with DataDirectoryLock(tmp_path):
        access = lock_or_hub(tmp_path, DataDirectoryLock(tmp_path), 1, publish)
        assert access is not None
        assert access.url == "http://127.0.0.1:8"


def test_a_command_waits_until_another_command_releases_the_data(tmp_path: Path) -> None:
    other, own = DataDirectoryLock(tmp_path), DataDirectoryLock(tmp_path)
    other.acquire()
    assert lock_or_hub(tmp_path, own, 1, lambda _: other.release()) is None
    with pytest.raises(
        CommandFailed, match=r"has not published its API address within 1 s: try again later$"
    ):
        lock_or_hub(tmp_path, DataDirectoryLock(tmp_path), 1, lambda _: None)
    own.release()


@pytest.mark.parametrize(
    "running", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["a hub runs", "no hub runs"]
)
async def test_people_are_paired_linked_and_removed(tmp_path: Path, *, running: bool) -> None:
    async with open_hub(tmp_path, direct="pairing") as house:
        house.telegram.add_user(8, first_name="Bo")
        house.telegram.user_sends_text(8, "hello")
        await house.telegram.wait_for(lambda: house.says(8), LIMIT_S)
        if not running:
            await house.stop()
        (request,) = json.loads((await hubbub(tmp_path, "pair", "list", "--json")).out)
        assert request["code"] in (await hubbub(tmp_path, "pair", "list")).out
        owner = await hubbub(tmp_path, "pair", "approve", request["code"], "--as", "owner")
        assert (owner.code, owner.out) == (1, "")
        nobody = await hubbub(tmp_path, "pair", "approve", "")
        assert (nobody.code, nobody.out) == (1, "")
        assert nobody.complaint == "code: String should have at least 1 character"
        fine = await hubbub(tmp_path, "pair", "approve", request["code"].lower())
        assert (fine.code, fine.out, fine.err) == (0, "telegram:8: allowed as Bo (member)\n", "")
        added = await hubbub(tmp_path, "users", "add", "Cy", "--account", "telegram:9", "--json")
        user_id = json.loads(added.out)["id"]
        linked = await hubbub(tmp_path, "users", "link", user_id, "telegram:10")
        assert (linked.code, linked.out) == (0, "telegram:10: allowed as Cy\n")
        invited = await hubbub(tmp_path, "users", "invite", user_id)
        if running:
            assert (invited.code, "/login#code=" in invited.out) == (0, True)
            assert invited.err.startswith("For Cy, once, until ")
        else:
            assert (invited.code, invited.out) == (1, "")
            assert invited.complaint == "the console needs a running hub; start one with: hubbub run"
        zoned = await hubbub(tmp_path, "users", "timezone", user_id, "asia/tokyo")
        assert (zoned.code, zoned.out) == (0, f"{user_id}: time zone Asia/Tokyo\n")
        unknown = await hubbub(tmp_path, "users", "timezone", user_id, "Asia/Tokio")
        assert unknown.code == 1
        assert unknown.complaint.startswith("no time zone is called Asia/Tokio; write Asia/Tokyo")
        assert "Asia/Tokyo" in (await hubbub(tmp_path, "users", "list")).out
        revoked = await hubbub(tmp_path, "pair", "revoke", "telegram:10")
        assert (revoked.code, revoked.out) == (0, "telegram:10: access removed\n")
        if not running:
            await house.start()
        house.telegram.user_sends_text(8, "me again")
        await house.telegram.wait_text(8, "You said: me again", timeout_s=LIMIT_S)
        cleared = await hubbub(tmp_path, "users", "timezone", user_id, "default")
        assert (cleared.code, cleared.out) == (0, f"{user_id}: time zone of the hub\n")
        users = json.loads((await hubbub(tmp_path, "users", "list", "--json")).out)
        assert [user["timezone"] for user in users if user["id"] == user_id] == [None]
        accounts = {f"{a['channel']}:{a['platform_user_id']}": a["via"] for u in users for a in u["accounts"]}
        assert accounts["telegram:8"] == accounts["telegram:9"] == "paired"
        assert accounts["telegram:10"] == "revoked"


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["pair", "approve", "ABCDEFGH", "--as", "boss"], "--as must be one of member, me, owner"),
        (
            ["pair", "revoke", "telegram"],
            "telegram is not an account; use channel:id, such as telegram:12345",
        ),
        (["users", "link", "x", ":1"], ":1 is not an account; use channel:id, such as telegram:12345"),
        (["users", "add", " "], "a user needs a name"),
        (
            ["users", "add", "telegram:12345"],
            "telegram:12345 is an account; use: users add NAME --account telegram:12345",
        ),
    ],
)
async def test_invalid_arguments_are_usage_errors(tmp_path: Path, words: list[str], complaint: str) -> None:
    ended = await hubbub(tmp_path, *words)
    assert (ended.code, ended.out, ended.complaint) == (2, "", complaint)


async def test_the_first_owner_is_paired_on_the_command_line(tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="pairing", start=False) as house:
        config = tmp_path / "hubbub.toml"
        config.write_text(config.read_text().replace(f'owner_identities = ["telegram:{OWNER}"]', ""))
        await house.start()
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_for(lambda: house.says(OWNER), LIMIT_S)
        (request,) = json.loads((await hubbub(tmp_path, "pair", "list", "--json")).out)
        ended = await hubbub(tmp_path, "pair", "approve", request["code"], "--as", "owner")
        assert (ended.code, ended.out) == (0, f"telegram:{OWNER}: allowed as owner (owner)\n")
        house.telegram.user_sends_text(OWNER, ECHO)
        assert "echo line" in (await house.card(OWNER)).text
