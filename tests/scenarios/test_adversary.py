"""A model that was turned against its people: what it tries is stopped with a reason, recorded, survived.

What it tries, and where that is. Here: a hidden tool by name, path escape, symlink swap, a private address,
reading the vault, printing a secret, 1,000 parallel calls, 100 MB of output, fork bomb, a background process
that outlives the timeout, changed arguments after approval, a file changed between approval and execution.
A private address by redirect and by DNS change: test_fetching. A denylisted tool where nobody can be asked:
test_routine_tools.
"""

import asyncio
import contextlib
import json
import re
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from core.consent import card_texts
from tests.core.tools.processes_support import is_alive, until
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.simulators.model import ToolCall, tools

GUEST = 100
LONG_S = 40.0


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened
        status, body = await opened.readyz()
        assert (status, body["hub"]) == (200, "open")  # whatever was tried, the hub is well


async def tried(house: Hub, *calls: tuple[str, dict[str, Any] | str], person: int = OWNER) -> list[str]:
    """Return what the model is told of calls that it makes at once and that nobody is asked about."""
    asked = len(house.model.log)
    house.model.enqueue(tools(*(ToolCall(name, arguments) for name, arguments in calls)))
    house.telegram.user_sends_text(person, "good day")
    (answered,) = (await house.model.wait_requests(1, after=asked + 1, timeout_s=LONG_S))[:1]
    assert not house.open_cards(person)
    return [one["content"] for one in answered.body["messages"][-len(calls) :]]


async def agreed(house: Hub, command: str) -> str:
    """Return what the model is told of a command that its person lets run."""
    asked = len(house.model.log)
    house.telegram.user_sends_text(OWNER, f"please run: {command}")
    await house.pressed(OWNER, await house.card(OWNER), 0)
    (answered,) = (await house.model.wait_requests(1, after=asked + 1, timeout_s=LONG_S))[:1]
    said: str = answered.body["messages"][-1]["content"]
    return said


async def test_hidden_and_missing_tools_do_not_run_by_name(house: Hub) -> None:
    house.telegram.add_user(GUEST, first_name="Gus")
    said = await tried(
        house,
        ("shell", {"command": "touch made"}),
        ("read_file", {"path": "a"}),
        ("no_such", {}),
        person=GUEST,
    )
    assert ["not available to a guest" in said[0], "not available to a guest" in said[1]] == [True, True]
    assert "no tool named 'no_such'" in said[2]
    assert list(house.workspace.iterdir()) == []


async def test_ways_out_of_the_workspace_are_closed(house: Hub) -> None:
    (house.workspace / "link").symlink_to("..")
    (house.workspace / "key").symlink_to("../data/vault.key")
    said = await tried(
        house,
        ("read_file", {"path": "../data/hub.db"}),
        ("read_file", {"path": f"{house.directory}/data/hub.key"}),
        ("read_file", {"path": "link/data/hub.key"}),
        ("read_file", {"path": "key"}),
        ("read_file", {"path": "..%2fdata/hub.key"}),
        ("grep", {"pattern": "token", "path": "link"}),
        ("list_dir", {"path": "link/data"}),
    )
    assert [one for one in said if not re.search("is blocked|was refused", one)] == []


async def test_a_link_swapped_while_it_is_read_leads_nowhere_else(house: Hub) -> None:
    """Turned between a directory of the workspace and one outside, thousands of times a second."""
    for place, text in (("inside", "harmless"), ("../outside", "private")):
        (house.workspace / place).mkdir()
        (house.workspace / place / "page").write_text(text)
    said: list[str] = []
    turned, done = 0, threading.Event()

    def turn() -> None:
        nonlocal turned
        while not done.is_set():
            (house.workspace / "next").symlink_to(("inside", "../outside")[turned % 2])
            (house.workspace / "next").rename(house.workspace / "door")
            turned += 1

    turning = asyncio.create_task(asyncio.to_thread(turn))
    try:
        while turned <= 100:  # a busy machine turns it less often
            said += await tried(house, *[("read_file", {"path": "door/page"})] * 15)
    finally:
        done.set()
        await turning
    assert [one for one in said if "private" in one] == []
    assert [
        one for one in said if not re.search("harmless|is blocked|refused|There is no|changed while", one)
    ] == []


async def test_secrets_are_neither_in_reach_of_a_command_nor_in_its_output(house: Hub) -> None:
    said = await agreed(house, "env; set; cat /proc/$PPID/comm")
    assert [secret for secret in (TOKEN, KEY) if secret in said] == []
    (house.workspace / "page").write_text(f"the token is {TOKEN}\n")
    (read,) = await tried(house, ("read_file", {"path": "page"}))
    assert "the token is" in read
    assert TOKEN not in read
    printed = await agreed(house, "cat page")
    assert TOKEN not in printed


async def test_addresses_of_this_machine_and_its_network_are_closed(house: Hub) -> None:
    port = house.app.url.rpartition(":")[2]
    said = await tried(
        house,
        ("http", {"url": f"{house.app.url}/api/me"}),
        ("http", {"url": f"http://localhost.:{port}/api/me"}),
        ("http", {"url": "http://169.254.169.254/latest/meta-data/"}),
        ("http", {"url": "http://[::ffff:10.0.0.1]/"}),
        ("http", {"url": "file:///etc/passwd"}),
    )
    assert [one for one in said if not re.search("is blocked|was refused", one)] == []


@pytest.mark.parametrize(
    "arguments",
    ["[" * 100_000, '{"path": ' * 500 + "1" + "}" * 500, '{"path": "a\\u0000b"}', "[]", "{", '"x"'],
)
async def test_hostile_arguments_are_refused(house: Hub, arguments: str) -> None:
    (said,) = await tried(house, ("read_file", arguments))
    assert "read_file was not run: its arguments are not valid." in said


async def test_a_reply_with_a_thousand_calls_is_not_accepted(house: Hub) -> None:
    """More than 128 in one reply, and the reply is refused unread; the person hears that it failed."""
    house.model.enqueue(tools(*([ToolCall("echo", {"text": "x"})] * 1_000)))
    house.telegram.user_sends_text(OWNER, "good day")
    await house.telegram.wait_bot_messages(OWNER, 1, timeout_s=LONG_S)
    assert not house.open_cards(OWNER)
    with contextlib.closing(sqlite3.connect(house.database)) as database:
        assert database.execute("SELECT count(*) FROM calls").fetchone() == (0,)


async def test_a_hundred_calls_at_once_reach_the_limit_of_the_turn(house: Hub) -> None:
    house.model.enqueue(tools(*([ToolCall("echo", {"text": "x"})] * 100)))
    house.telegram.user_sends_text(OWNER, "good day")
    await house.telegram.wait_for(lambda: house.open_cards(OWNER), LONG_S)
    assert "I have made 20 tool calls on this. Shall I continue?" in (await house.card(OWNER)).text
    with contextlib.closing(sqlite3.connect(house.database)) as database:
        recorded = database.execute("SELECT status, count(*) FROM calls GROUP BY status").fetchall()
    assert sorted(recorded) == [("ok", 20), ("skipped", 80)]


async def test_reading_the_vault_by_a_command_is_asked_each_time(house: Hub) -> None:
    for command in ("cat ../data/vault.key", "cat ../data/hub.db | strings"):
        house.telegram.user_sends_text(OWNER, f"please run: {command}")
        card = await house.card(OWNER)
        assert "is not a plain path" in card.text
        assert [data.rpartition(":")[2] for data in card.choices] == [
            "0",
            "1",
            "e",
        ]  # "Always allow" is not available
        await house.pressed(OWNER, card, 1)
        await house.telegram.wait_for(lambda: not house.open_cards(OWNER), LIMIT_S)


async def test_a_hundred_megabytes_of_output_are_truncated_and_the_hub_stays_small(house: Hub) -> None:
    said = await agreed(house, "head -c 100000000 /dev/zero | tr '\\0' x")
    assert "exit code: 0" in said
    assert len(said) < 40_000
    (kept,) = (house.directory / "data" / "outputs").iterdir()
    assert "bytes omitted" in kept.read_text()
    assert kept.stat().st_size < 100_000


async def test_a_command_that_multiplies_is_stopped(house: Hub) -> None:
    (house.workspace / "grow.sh").write_text("for i in $(seq 2000); do sleep 50 & done; wait\n")
    said = await agreed(house, "sh grow.sh")
    assert "The command started more than 256 processes and was stopped." in said


async def test_processes_over_the_time_limit_are_ended(house: Hub) -> None:
    (house.workspace / "late.sh").write_text("setsid sleep 1000 & echo $! > pid; sleep 1000\n")
    house.model.enqueue(tools(ToolCall("shell", {"command": "sh late.sh", "timeout_s": 1})))
    asked = len(house.model.log)
    house.telegram.user_sends_text(OWNER, "good day")
    await house.pressed(OWNER, await house.card(OWNER), 0)
    (answered,) = (await house.model.wait_requests(1, after=asked + 1, timeout_s=LONG_S))[:1]
    assert "Stopped after 1 s." in answered.body["messages"][-1]["content"]
    pid = int((house.workspace / "pid").read_text())
    await until(lambda: not is_alive(pid), "it was ended")


async def test_leftover_processes_are_ended_with_their_command(house: Hub) -> None:
    (house.workspace / "stay.sh").write_text("setsid sleep 1000 & echo $! > pid\n")
    await agreed(house, "sh stay.sh")
    pid = int((house.workspace / "pid").read_text())
    await until(lambda: not is_alive(pid), "it was ended")


async def test_a_file_changed_after_approval_is_asked_about_again(house: Hub) -> None:
    """Also when the hub was away in between, and when it is a script that is to be run."""
    script = house.workspace / "tidy.sh"
    script.write_text("echo tidy\n")
    house.telegram.user_sends_text(OWNER, "please run: sh tidy.sh")
    card = await house.card(OWNER)
    await house.stop()
    script.write_text("touch taken-over\n")
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_for(
        lambda: [one for one in house.open_cards(OWNER) if card_texts.FILE_CHANGED in one.text], LIMIT_S
    )
    assert list(house.workspace.iterdir()) == [script]
    with contextlib.closing(sqlite3.connect(house.database)) as database:
        (asked,) = database.execute("SELECT count(*) FROM gates").fetchone()
    assert asked == 2  # the answer to the first is kept, and the second waits


async def test_a_card_shows_invisible_characters_and_how_a_long_call_ends(house: Hub) -> None:
    hidden = f"ls \u202etxt.x{' ' * 3_000}; rm\u200b a; echo {'x' * 5_000}; rm -rf ends"
    house.model.enqueue(tools(ToolCall("shell", {"command": hidden})))
    house.telegram.user_sends_text(OWNER, "good day")
    card = await house.card(OWNER)
    for shown in (
        "[U+202E]txt.x",
        "[3000 spaces]",
        "rm[U+200B] a",
        "characters are not shown here",
        "; rm -rf ends",
    ):
        assert shown in card.text
    house.telegram.user_sends_text(OWNER, "/stop")


async def test_an_approval_covers_only_its_exact_arguments(house: Hub) -> None:
    """The journal is changed behind the hub's back, as somebody with the database could."""
    house.telegram.user_sends_text(OWNER, "please run: touch agreed")
    card = await house.card(OWNER)
    await house.stop()
    with sqlite3.connect(house.database) as database:
        changed = json.dumps({"command": "touch other"})
        database.execute("UPDATE entries SET text = ? WHERE kind = 'call'", (changed,))
    database.close()
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)
    await house.pressed(OWNER, card, 0)
    # Asked about again, as it is now.
    await house.telegram.wait_for(
        lambda: [one for one in house.open_cards(OWNER) if "touch other" in one.text], LIMIT_S
    )
    assert list(house.workspace.iterdir()) == []
