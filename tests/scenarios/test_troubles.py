"""Trouble around the hub: it says what is wrong, loses nothing, and goes on by itself when it is over."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from typer.testing import CliRunner

from bot.cli.commands import app
from channels.manager import AGAIN
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub, write_config
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Hold, HttpError

OTHER = 8
SPEED = 30
"""A minute of the hub's pauses takes two seconds."""
OUTAGE_S = 60 / SPEED


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, speed=SPEED) as opened:
        opened.telegram.add_user(OTHER, first_name="Otto")
        yield opened


async def why(house: Hub, *words: str) -> list[dict[str, Any]]:
    """Return what `hubbub why --json` tells."""
    arguments = ["why", "--json", "--config", str(house.directory / "hubbub.toml"), *words]
    ended = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)["events"]


async def why_message(house: Hub, person: int, message_id: int) -> dict[str, Any]:
    (explanation,) = await why(house, f"tg:123456:m:{person}:{message_id}")
    return explanation


def bot_speaks(house: Hub, person: int, count: int) -> Any:
    return house.telegram.wait_bot_messages(person, count, timeout_s=LIMIT_S)


# ---------------------------------------------------------------- the platform


async def test_a_wrong_token_is_reported_with_a_reason_and_the_rest_of_the_hub_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_hub(tmp_path, start=False) as house:
        right = f'[channels.right]\nplatform = "telegram"\ntoken = "{TOKEN}"\ndirect = "open"\n'
        right += f'api_base_url = "{house.telegram.url}"'
        write_config(house, token="999:wrong", extra=right)
        await house.start()
        reason = await house.channel_becomes("failed")
        assert reason == "Telegram rejected the token"
        (logged,) = [
            said
            for said in caplog.messages
            if said.startswith("channel.phase_changed channel=telegram phase=failed")
        ]
        assert logged == f"channel.phase_changed channel=telegram phase=failed reason={reason}{AGAIN}"
        assert "hubbub config reload" in logged
        house.telegram.user_sends_text(OWNER, "hello")
        await bot_speaks(house, OWNER, 1)
        status, body = await house.readyz()
        assert (status, body["ready"], body["channels"]["right"]["state"]) == (200, True, "running")


async def test_a_hub_waits_for_a_platform_that_is_down_at_the_start(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED, start=False) as house:
        await house.telegram.go_down()
        await house.start()
        assert "could not reach" in await house.channel_becomes("backing off")
        for said in ("one", "two"):
            house.telegram.user_sends_text(OWNER, said)
        await asyncio.sleep(OUTAGE_S)
        await house.channel_becomes("backing off")
        status, body = await house.readyz()
        assert (status, body["ready"]) == (200, True)
        await house.telegram.come_up()
        await house.telegram.wait_text(OWNER, "two")
        assert house.says(OWNER) == ["You said: one", "You said: two"]


async def test_a_hub_whose_channels_all_start_is_not_ready(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED, start=False) as house:
        house.telegram.fail("hold", method="getMe", when="before", count=1)
        await house.start()
        await house.telegram.wait_requests("getMe")
        status, body = await house.readyz()
        assert (status, body["ready"], body["channels"]["telegram"]["state"]) == (503, False, "starting")
        house.telegram.release()
        await house.channel_becomes("running")
        assert (await house.readyz())[0] == 200


async def test_a_platform_down_during_conversations_loses_and_repeats_nothing(house: Hub) -> None:
    house.model.fault(Hold())
    first = house.telegram.user_sends_text(OWNER, "one")
    await house.model.wait_requests(state="held")
    await house.telegram.go_down()
    house.model.release()
    await house.model.wait_requests(state="answered")
    assert "could not reach" in await house.channel_becomes("backing off")
    for said in ("two", "three"):
        house.telegram.user_sends_text(OWNER, said)
        house.telegram.user_sends_text(OTHER, said)
    await asyncio.sleep(OUTAGE_S)
    assert house.says(OWNER) == []
    await house.telegram.come_up()
    await bot_speaks(house, OWNER, 3)
    await bot_speaks(house, OTHER, 2)
    await house.channel_becomes("running")
    assert house.says(OWNER) == ["You said: one", "You said: two", "You said: three"]
    assert house.says(OTHER) == ["You said: two", "You said: three"]
    (delivery,) = (await why_message(house, OWNER, first.id))["deliveries"]
    assert (delivery["state"], delivery["repeats"]) == ("sent", 0)


async def test_a_rate_limit_of_one_chat_is_waited_out_and_delays_no_one_else(house: Hub) -> None:
    house.telegram.fail("rate_limit", method="sendMessage", chat_id=OWNER, retry_after_s=30)
    for said in ("one", "two", "three"):
        house.telegram.user_sends_text(OWNER, said)
        await house.telegram.wait_confirmed()
    await house.telegram.wait_requests("sendMessage", chat_id=OWNER)
    house.telegram.user_sends_text(OTHER, "hello")
    await bot_speaks(house, OTHER, 1)
    assert house.says(OWNER) == []
    house.telegram.clear_faults()
    await house.telegram.wait_text(OWNER, "three")
    answered = "\n".join(house.says(OWNER))
    assert answered.count("You said:") == len(house.says(OWNER))
    places = [answered.index(said) for said in ("one", "two", "three")]
    assert places == sorted(places)
    asked_again = [request.received_at for request in house.telegram.requests("sendMessage", chat_id=OWNER)]
    assert (asked_again[1] - asked_again[0]) * SPEED >= 30


async def test_a_rate_limit_of_the_whole_bot_loses_nothing_and_keeps_order(house: Hub) -> None:
    people = range(OTHER, OTHER + 5)
    for person in people[1:]:
        house.telegram.add_user(person)
    house.telegram.fail("rate_limit", method="sendMessage", retry_after_s=30)
    for person in people:
        for n in range(3):
            house.telegram.user_sends_text(person, f"{person} says {n}.")
    await house.telegram.wait_requests("sendMessage", count=len(people))
    assert not any(house.says(person) for person in people)
    house.telegram.clear_faults()
    for person in people:
        await house.telegram.wait_text(person, f"{person} says 2.")
        answered = "\n".join(house.says(person))
        places = [answered.index(f"{person} says {n}.") for n in range(3)]
        assert places == sorted(places)
        assert all(answered.count(f"{person} says {n}.") == 1 for n in range(3))


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_minute_of_outage_and_half_a_minute_of_429_lose_nothing_in_real_time(
    tmp_path: Path, proof_record: ProofRecord
) -> None:
    """The same as above by the clock on the wall, where connections have their own limits, too."""
    async with open_hub(tmp_path) as house:
        house.telegram.fail("rate_limit", method="sendMessage", duration_s=30)
        for said in ("one", "two"):
            house.telegram.user_sends_text(OWNER, said)
            await house.telegram.wait_confirmed()
        await house.telegram.wait_text(OWNER, "two", timeout_s=90)
        answered = "\n".join(house.says(OWNER))
        assert (answered.count("one"), answered.count("two")) == (1, 1)
        assert answered.index("one") < answered.index("two")
        limited = len(house.telegram.requests("sendMessage", ok=False))
        assert limited <= 3, "who is told to wait does not ask all the time"
        await house.telegram.go_down()
        await house.channel_becomes("backing off")
        house.telegram.user_sends_text(OWNER, "three")
        await asyncio.sleep(60)
        _, body = await house.readyz()
        assert body["channels"]["telegram"]["state"] == "backing off"
        await house.telegram.come_up()
        began = asyncio.get_running_loop().time()
        await house.telegram.wait_text(OWNER, "three", timeout_s=90)
        back_s = round(asyncio.get_running_loop().time() - began, 1)
        await house.channel_becomes("running")
        assert "\n".join(house.says(OWNER)).count("three") == 1
    proof_record("outages", outage_s=60, answered_again_s=back_s, limited_s=30, refused_requests=limited)


DAMAGED: list[dict[str, Any]] = [
    {"message": {"message_id": "x", "chat": {"id": 7, "type": "private"}, "date": 1, "text": "secret"}},
    {"message": []},
    {"callback_query": {"id": 5}},
    {"message": {"message_id": 2**80, "from": {"id": -1}, "chat": "none"}},
    {"message": {"text": None}, "update_id": "none"},
]


async def test_malformed_updates_are_recorded_and_those_around_them_answered(house: Hub) -> None:
    for n, payload in enumerate(DAMAGED):
        house.telegram.user_sends_text(OWNER, f"number {n}.")
        house.telegram.inject_update(payload)
    house.telegram.user_sends_text(OWNER, "the last.")
    await house.telegram.wait_text(OWNER, "the last.")
    await house.telegram.wait_confirmed()
    answered = "\n".join(house.says(OWNER))
    places = [answered.index(f"number {n}.") for n in range(len(DAMAGED))]
    assert places == sorted(places)
    outcomes = [event["outcome"] for event in await why(house)]
    assert outcomes.count("failed: unreadable") == len(DAMAGED)
    assert len(outcomes) == 2 * len(DAMAGED) + 1
    await house.channel_becomes("running")


async def test_another_process_with_the_same_token_is_named(
    house: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    async with another_process_polls(house):
        assert "another process is polling with this token" in await house.channel_becomes("backing off")
        assert (
            "channel.phase_changed channel=telegram phase=backing_off"
            " reason=another process is polling with this token" in caplog.text
        )
        status, _ = await house.readyz()
        assert status == 200
        house.telegram.user_sends_text(OWNER, "hello")
    await bot_speaks(house, OWNER, 1)
    assert house.says(OWNER) == ["You said: hello"]


@contextlib.asynccontextmanager
async def another_process_polls(house: Hub) -> AsyncIterator[None]:
    """Somebody else asks for updates all the time, and confirms none."""

    async def poll() -> None:
        async with aiohttp.ClientSession(f"{house.telegram.url}/bot{TOKEN}/") as http:
            while True:
                async with http.get("getUpdates?timeout=10") as answer:
                    await answer.read()

    polling = asyncio.create_task(poll())
    try:
        yield
    finally:
        polling.cancel()
        await asyncio.wait([polling])


@pytest.mark.slow
async def test_a_poll_on_a_connection_gone_silent_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A poll lasts 30 s; 45 s without an answer mean that there is nobody at the other end."""
    caplog.set_level("INFO")
    async with open_hub(tmp_path, start=False) as house:
        house.telegram.fail("silent", method="getUpdates", count=1)
        await house.start()
        await house.telegram.wait_requests("getUpdates", outcome="silent")
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
        assert "telegram.poll_failed channel=telegram error=no response from Telegram" in caplog.text
        await house.channel_becomes("running")


async def test_an_answer_refused_for_good_fails_visibly_and_alone(
    house: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    house.model.fault(Hold())
    sent = house.telegram.user_sends_text(OTHER, "hello")
    await house.model.wait_requests(state="held")
    house.telegram.user_blocks_bot(OTHER)
    house.model.release()
    await house.telegram.wait_requests("sendMessage", chat_id=OTHER, ok=False)
    house.telegram.user_sends_text(OWNER, "hello")
    await bot_speaks(house, OWNER, 1)
    explained = await why_message(house, OTHER, sent.id)
    (delivery,) = explained["deliveries"]
    assert (explained["turn_state"], delivery["state"]) == ("done", "failed")
    assert delivery["reason"] == "Forbidden: bot was blocked by the user"
    assert f"address={OTHER} error=Forbidden: bot was blocked by the user" in caplog.text
    _, ready = await house.readyz()
    assert ready["channels"]["telegram"]["unreachable"] == {delivery["reason"]: 1}
    await house.channel_becomes("running")
    assert len(house.telegram.requests("sendMessage", chat_id=OTHER)) == 1
    house.telegram.user_unblocks_bot(OTHER)
    house.telegram.user_sends_text(OTHER, "here again")
    await house.telegram.wait_text(OTHER, "You said: here again")


# ---------------------------------------------------------------- the model


@pytest.mark.parametrize("fault, pause_s", [(HttpError(429, retry_after_s=30), 30), (HttpError(503), 0.75)])
async def test_a_briefly_busy_model_goes_unnoticed(house: Hub, fault: HttpError, pause_s: float) -> None:
    house.model.fault(fault, times=2)
    house.telegram.user_sends_text(OWNER, "hello")
    await bot_speaks(house, OWNER, 1)
    assert house.says(OWNER) == ["You said: hello"]
    first, second, _ = (exchange.received_at for exchange in house.model.log.all())
    assert (second - first) * SPEED >= pause_s


# ---------------------------------------------------------------- the store


@pytest.mark.slow
async def test_a_locked_database_stops_acceptance_and_everything_is_answered_afterwards(
    house: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    with locked(house.directory / "data" / "hub.db"):
        for person in (OWNER, OTHER):
            house.telegram.user_sends_text(person, "meanwhile")
        await house.telegram.wait_requests("getMe", count=2, timeout_s=2 * LIMIT_S)
        body = await ready_says(house, 503)
        assert (body["ready"], body["hub"]) == (False, "open")
        assert body["store"] == "writes fail: no message is accepted until they succeed"
        reason = "the database can't be written: database is locked"
        assert f"channel.phase_changed channel=telegram phase=backing_off reason={reason}" in caplog.messages
        assert [update.confirmed_at for update in house.telegram.updates()] == [None, None]
        assert house.says(OWNER) == house.says(OTHER) == []
    await house.telegram.wait_confirmed()
    await bot_speaks(house, OWNER, 1)
    await bot_speaks(house, OTHER, 1)
    assert house.says(OWNER) == house.says(OTHER) == ["You said: meanwhile"]
    await ready_says(house, 200)


async def ready_says(house: Hub, status: int) -> dict[str, Any]:
    """Until `/readyz` answers with that status; its body."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found, body = await house.readyz()
            if found == status:
                return body
            await asyncio.sleep(0.02)


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another program writes, longer than the hub waits for it."""
    other = sqlite3.connect(database, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()
