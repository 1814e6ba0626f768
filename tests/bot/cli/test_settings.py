"""`hubbub grants`, `permissions`, `secrets`, beside a running hub and without one: it holds at once."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.bot.cli.in_process import command
from tests.harness.process import Ended, hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub

ECHO = "please run: echo line >> out.txt"
TOUCH = "please run: touch made.txt"
BESIDE = pytest.mark.parametrize("running", [True, False], ids=["a hub runs", "no hub runs"])


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def said(house: Hub, *words: str) -> Ended:
    return await asyncio.to_thread(command, house.directory, *words)


def lines(house: Hub) -> list[str]:
    out = house.workspace / "out.txt"
    return out.read_text().split() if out.exists() else []


async def allowed_for_ever(house: Hub) -> str:
    """The owner presses "always", and is asked no more; the grant's id."""
    house.telegram.user_sends_text(OWNER, TOUCH)
    await house.pressed(OWNER, await house.card(OWNER), 2)
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    house.telegram.user_sends_text(OWNER, TOUCH)
    await house.telegram.wait_for(lambda: len([t for t in house.says(OWNER) if "Done:" in t]) > 1, LIMIT_S)
    (grant,) = json.loads((await said(house, "grants", "list", "--json")).out)
    return grant["id"]


@BESIDE
async def test_after_a_grant_is_revoked_its_calls_need_approval(house: Hub, *, running: bool) -> None:
    grant_id = await allowed_for_ever(house)
    listed = (await said(house, "grants", "list")).out
    assert (grant_id in listed, "no expiry" in listed, "revoked" in listed) == (True, True, False)
    assert (await said(house, "grants", "list", "--user", "nobody", "--json")).out == "[]\n"
    if not running:
        await house.stop()
    revoked = await hubbub(house.directory, "grants", "revoke", grant_id)
    assert (revoked.code, revoked.out) == (0, f"{grant_id}: revoked\n")
    again = await said(house, "grants", "revoke", grant_id)
    assert (again.code, again.complaint) == (1, f"no grant has the ID {grant_id}; run `hubbub grants list`")
    if not running:
        await house.start()
    house.telegram.user_sends_text(OWNER, TOUCH)
    await house.card(OWNER)


@BESIDE
async def test_a_disabled_tool_is_hidden_and_refused(house: Hub, *, running: bool) -> None:
    if not running:
        await house.stop()
    done = await hubbub(house.directory, "permissions", "set", "shell", "disabled")
    assert (done.code, done.out) == (0, "owner: shell: disabled\n")
    if not running:
        await house.start()
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.telegram.wait_for(lambda: house.says(OWNER), LIMIT_S)
    (asked, *_) = await house.model.wait_requests(timeout_s=LIMIT_S)
    assert "shell" not in {tool["function"]["name"] for tool in asked.body["tools"]}
    assert "http" in {tool["function"]["name"] for tool in asked.body["tools"]}
    assert house.open_cards(OWNER) == []
    assert lines(house) == []
    (setting,) = json.loads((await said(house, "permissions", "list", "--json")).out)
    assert (setting["user_id"], setting["tool"], setting["setting"]) == ("owner", "shell", "disabled")
    assert (await said(house, "permissions", "set", "shell", "default")).code == 0
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.card(OWNER)


async def test_a_call_waiting_for_approval_is_refused_once_its_tool_is_disabled(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, ECHO)
    card = await house.card(OWNER)
    assert (await said(house, "permissions", "set", "shell", "disabled")).code == 0
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_for(lambda: len(house.says(OWNER)) > 1, LIMIT_S)
    assert lines(house) == []


async def test_a_person_may_turn_off_approval_for_one_tool_or_all_tools(house: Hub) -> None:
    assert (await said(house, "permissions", "set", "shell", "always-allow")).code == 0
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    assert lines(house) == ["line"]
    assert (await said(house, "permissions", "set", "shell", "ask_each_time")).code == 0
    house.telegram.user_sends_text(OWNER, ECHO)
    card = await house.card(OWNER)
    assert [data.rpartition(":")[2] for data in card.choices] == ["0", "1", "e"]
    assert lines(house) == ["line"]


@pytest.mark.parametrize(
    "words, code, complaint",
    [
        (["shel", "disabled"], 1, "there is no tool named shel; did you mean shell?"),
        (
            ["shell", "off"],
            2,
            "off is not a setting; use one of always_allow, ask_each_time, disabled, default",
        ),
        (["shell", "disabled", "--user", "x"], 1, "no user has the ID x; run `hubbub users list`"),
    ],
)
async def test_an_unknown_setting_is_refused(house: Hub, words: list[str], code: int, complaint: str) -> None:
    ended = await said(house, "permissions", "set", *words)
    assert (ended.code, ended.out, ended.complaint) == (code, "", complaint)


@pytest.mark.parametrize(
    "words, code, answer, chosen",
    [
        (["model", "OWNER", "main"], 0, "owner: model main", ("main", None)),
        (["think", "OWNER", "high"], 0, "owner: thinking high", (None, "high")),
        (["model", "OWNER", "default"], 0, "owner: model as configured", (None, None)),
        (["think", "OWNER", "Default"], 0, "owner: thinking as configured", (None, None)),
        (["model", "OWNER", "other"], 1, "no model is called other; the models are main", (None, None)),
        (["think", "OWNER", "hard"], 1, "thinking: ", (None, None)),
        (["model", "x", "main"], 1, "no user has the id x; list the users", (None, None)),
    ],
)
async def test_an_operator_chooses_a_persons_model_and_effort(
    house: Hub, words: list[str], code: int, answer: str, chosen: tuple[str | None, str | None]
) -> None:
    ended = await said(house, "users", *(word.replace("OWNER", "owner") for word in words))
    assert (ended.code, (ended.out if code == 0 else ended.complaint)[: len(answer)]) == (code, answer)
    (owner,) = json.loads((await said(house, "users", "list", "--json")).out)
    assert (owner["model"], owner["thinking"]) == chosen


async def test_secrets_are_stored_by_the_running_hub(house: Hub) -> None:
    value = b"a-value-of-the-running-hub"
    kept = await asyncio.to_thread(command, house.directory, "secrets", "set", "one", stdin=value)
    assert (kept.code, kept.out) == (0, "one: stored; used from the next start of the hub\n")
    assert (await said(house, "secrets", "rotate")).code == 0
    assert (
        await said(house, "secrets", "delete", "two")
    ).complaint == "there is no secret named two; run `hubbub secrets list`"
    files = [path for path in (house.directory / "data").rglob("*") if path.is_file()]
    assert [path for path in files if value in path.read_bytes()] == []


async def test_a_login_link_to_the_console_is_printed(house: Hub) -> None:
    link = await said(house, "login", "--json")
    assert (link.code, link.err) == (0, "")
    assert json.loads(link.out)["url"].startswith(f"{house.app.url}/login#code=")
    await house.stop()
    none = await said(house, "login")
    assert (none.code, none.out) == (1, "")
    assert none.complaint.startswith("no hub is running here; start one with: hubbub run")
