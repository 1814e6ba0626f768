"""`hubbub audit export --message KEY`: message → decision → effect → reply, and the chain it stands in."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.bot.cli.in_process import command
from tests.clock import zone_at_noon
from tests.harness.process import Ended
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.routine_house import OLIVIA, desk_of, ended, greeted
from tests.simulators.model import ToolCall, text, tools

RUN = "please run: echo line >> out.txt"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, timezone=zone_at_noon()) as opened:
        await greeted(opened)  # with the first message the account is recorded
        yield opened


async def exported(house: Hub, key: str, *words: str) -> Ended:
    return await asyncio.to_thread(command, house.directory, "audit", "export", "--message", key, *words)


async def page(house: Hub, key: str) -> dict[str, Any]:
    done = await exported(house, key, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def asked_for(house: Hub, sql: str, *parameters: object) -> list[Any]:
    connection = sqlite3.connect(house.database)
    try:
        return [row[0] for row in connection.execute(sql, parameters)]
    finally:
        connection.close()


def key_of(house: Hub, text: str) -> str:
    """The key of the message that says so."""
    (key,) = asked_for(house, "SELECT key FROM inbox WHERE text = ?", text)
    return key


async def approved(house: Hub, said: str = RUN) -> str:
    """The owner asks, approves, and is answered; returns the message's key."""
    house.telegram.user_sends_text(OWNER, said)
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await house.telegram.wait_text(OWNER, "Done:")
    await house.settled_sends()
    return key_of(house, said)


def told(record: dict[str, Any]) -> tuple[str, str | None]:
    return record["kind"], record["actor"]


async def test_a_message_its_decision_its_effect_and_its_reply_are_one_verified_chain(house: Hub) -> None:
    key = await approved(house)
    shown = await page(house, key)
    assert (shown["message"]["key"], shown["message"]["outcome"]) == (key, "turn 2")
    records = shown["records"]
    assert [told(record) for record in records] == [
        ("asked", "owner"),
        ("vote", "owner"),
        ("decided", "owner"),
        ("started", "owner"),
        ("ended", "owner"),
        ("answered", None),
    ]
    named = {"asked", "decided", "started", "ended", "answered"}
    for record in records:
        assert record["detail"].get("events") == ([key] if record["kind"] in named else None)
    press = records[1]["detail"]["event"]
    assert press.startswith("tg:123456:cb:")
    assert records[2]["detail"]["event"] == press, "who decided by which press"
    (reply,) = shown["replies"]
    assert reply == {"outbox": reply["outbox"], "state": "sent", "record": records[-1]["record"]}
    (refs,) = asked_for(house, "SELECT refs FROM outbox WHERE id = ?", reply["outbox"])
    answer = house.telegram.bot_messages(OWNER)[-1]
    assert answer.text.startswith("Done:")
    assert [ref.rpartition(":")[2] for ref in json.loads(refs)] == [str(answer.id)]
    assert (shown["verified"]["ok"], shown["verified"]["findings"]) == (True, [])


async def test_a_press_leads_to_its_request_and_original_message(house: Hub) -> None:
    key = await approved(house)
    (press,) = asked_for(house, "SELECT key FROM inbox WHERE kind = 'choice'")
    records = (await page(house, press))["records"]
    assert [record["kind"] for record in records] == ["asked", "vote", "decided"]
    assert records[0]["detail"]["events"] == [key]


async def test_changes_and_grants_by_a_message_stand_in_its_chain(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    await house.settled_sends()
    house.telegram.user_sends_text(OWNER, "command: echo changed >> out.txt", reply_to=card.id)
    await house.telegram.wait_text(OWNER, "Done:")
    kinds = [record["kind"] for record in (await page(house, key_of(house, RUN)))["records"]]
    assert kinds == ["asked", "edited", "vote", "decided", "started", "ended", "answered"]
    house.telegram.user_sends_text(OWNER, "/pause")
    await house.telegram.wait_text(OWNER, "paused")
    (record,) = (await page(house, key_of(house, "/pause")))["records"]
    assert (record["kind"], record["actor"]) == ("paused", "owner")


async def test_people_read_it_line_by_line(house: Hub) -> None:
    key = await approved(house)
    done = await exported(house, key)
    first, *records, reply, sound = done.out.splitlines()[:9]
    assert first.startswith(f"message {key}: from Olivia on telegram, ")
    assert [line.split()[3] for line in records] == [
        *("asked", "vote", "decided", "started", "ended", "answered")
    ]
    assert reply.startswith("reply in outbox row ")
    assert ": sent, in record " in reply
    assert sound.startswith("The audit log is intact: ")


async def test_messages_that_were_answered_together_lead_to_the_same_records(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "please run: echo first >> out.txt")
    card = await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, "and then")
    house.telegram.user_sends_text(OWNER, RUN)
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_for(lambda: any("line" in one.text for one in house.open_cards(OWNER)))
    await house.pressed(OWNER, house.open_cards(OWNER)[0], 0)
    await house.telegram.wait_for(lambda: sum("Done:" in said for said in house.says(OWNER)) == 2)
    await house.settled_sends()
    keys = [key_of(house, "and then"), key_of(house, RUN)]
    one, other = [await page(house, key) for key in keys]
    assert one["records"] == other["records"]
    assert one["records"][-1]["detail"]["events"] == keys


async def test_a_turn_that_a_message_joins_stays_in_the_chain_of_its_first(house: Hub) -> None:
    more = "please run: echo more >> out.txt"
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, f"/steer {more}")
    await house.telegram.wait_text(OWNER, "Your message is queued")
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_for(lambda: any("echo more" in one.text for one in house.open_cards(OWNER)))
    await house.pressed(OWNER, house.open_cards(OWNER)[-1], 0)
    await house.telegram.wait_text(OWNER, "Done:")
    await house.settled_sends()
    keys = [key_of(house, RUN), key_of(house, more)]
    first, joined = [await page(house, key) for key in keys]
    until_ended = ["asked", "vote", "decided", "started", "ended"]
    assert [record["kind"] for record in first["records"]] == [*until_ended, *until_ended, "answered"]
    assert first["records"][5:] == joined["records"]
    assert [one["detail"]["events"] for one in joined["records"] if one["kind"] != "vote"] == [keys] * 5
    (reply,) = first["replies"]
    assert joined["replies"][-1] == reply
    assert reply["record"] == first["records"][-1]["record"]


async def test_calls_of_a_subtask_stand_in_the_chain_of_its_message(house: Hub) -> None:
    note = ToolCall("memory_write", {"text": "The milk is out."})
    house.model.enqueue(tools(ToolCall("delegate", {"task": "note it"})), tools(note), text("Noted."))
    house.telegram.user_sends_text(OWNER, "have it noted")
    await house.telegram.wait_text(OWNER, "Done:")
    await house.settled_sends()
    key = key_of(house, "have it noted")
    records = (await page(house, key))["records"]
    noted, delegated, answered = records
    assert [record["detail"].get("tool") for record in records] == ["memory_write", "delegate", None]
    assert (noted["detail"]["status"], noted["detail"]["subtask"]) == ("ok", delegated["subject"])
    assert answered["kind"] == "answered"


async def test_routine_runs_are_found_by_their_messages_key(house: Hub) -> None:
    scope = {"use_tools": True, "allowed_tools": ["shell"]}
    action = {"type": "lightweight", "prompt": RUN, **scope}
    made = {"name": "watch", "trigger": {"type": "event", "pattern": "deploy"}, "action": action}
    row = await desk_of(house).create(OLIVIA, made)
    house.telegram.user_sends_text(OWNER, "deploy it")
    (run,) = await ended(house, row)
    await house.telegram.wait_text(OWNER, "Routine “watch”")

    async def closed() -> bool:
        return bool(asked_for(house, "SELECT number FROM audit WHERE subject = ?", run.id))

    await house.until(closed)
    await house.settled_sends()
    key = key_of(house, "deploy it")
    records = (await page(house, key))["records"]
    assert [record["kind"] for record in records] == ["started", "ended", "answered"]
    assert {record["detail"]["trigger"] for record in records} == {f"message:{key}"}
    (outbox_id,) = records[-1]["detail"]["outbox"]
    (message,) = asked_for(house, "SELECT message FROM outbox WHERE id = ?", outbox_id)
    assert "Routine “watch”" in json.dumps(json.loads(message), ensure_ascii=False)


async def test_a_message_without_tools_has_a_reply_and_no_record(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "how are you")
    await house.telegram.wait_text(OWNER, "You said: how are you")
    await house.settled_sends()
    shown = await page(house, key_of(house, "how are you"))
    assert shown["records"] == []
    assert [(reply["state"], reply["record"]) for reply in shown["replies"]] == [("sent", None)]
    unknown = await exported(house, "tg:1:m:2:3")
    assert (unknown.code, unknown.out) == (1, "")
    assert "No event has the key tg:1:m:2:3" in unknown.err


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE audit SET detail = replace(detail, '\"ok\"', '\"no\"') WHERE kind = 'ended'",
        "UPDATE audit SET detail = replace(detail, 'tg:', 'tg:9') WHERE kind = 'started'",
        "UPDATE audit SET actor = 'somebody else' WHERE kind = 'vote'",
        "DELETE FROM audit WHERE kind = 'decided'",
        "DELETE FROM audit WHERE kind = 'account'",
    ],
)
async def test_a_chain_that_was_tampered_with_is_never_shown_as_verified(house: Hub, tampering: str) -> None:
    key = await approved(house)
    await house.stop()
    connection = sqlite3.connect(house.database)
    assert connection.execute(tampering).rowcount == 1
    connection.commit()
    connection.close()
    done = await exported(house, key, "--json")
    assert done.code == 1
    verified = json.loads(done.out)["verified"]
    assert not verified["ok"]
    assert verified["findings"]
    assert "the audit log is not intact" in done.err
