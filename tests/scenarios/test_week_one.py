"""The first week of running a bot on Telegram: what goes wrong has a name and a reason, and loses nothing."""

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.runtime import StartError
from tests.harness.process import HubProcess
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.simulators.model import Hold
from tests.simulators.telegram.world import Chat

BEN = 8


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra='groups = "addressed"') as opened:
        opened.telegram.add_user(BEN, first_name="Ben")
        yield opened


def to_bot(house: Hub, text: str) -> str:
    return f"@{house.telegram.bot().user.username} {text}"


async def delivery_of(house: Hub, chat: int, message_id: int) -> tuple[str, str, str | None]:
    """Once it is over: the turn's outcome, and what became of its answer and why."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            explained = await house.app.store.explanations.explain(f"tg:123456:m:{chat}:{message_id}")
            if explained and explained.deliveries and explained.deliveries[-1].state in ("sent", "failed"):
                last = explained.deliveries[-1]
                return explained.outcome, last.state, last.reason
            await asyncio.sleep(0.02)


async def while_thinking(house: Hub, chat: Chat, topic: int | None = None) -> int:
    """Ask in a group and have the model think; the asking message's id."""
    house.model.fault(Hold())
    asked = house.telegram.user_sends_text(BEN, to_bot(house, "think"), chat_id=chat.id, topic_id=topic)
    await house.model.wait_requests(state="held")
    return asked.id


async def all_is_well(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "all well?")
    await house.telegram.wait_text(OWNER, "You said: all well?")
    await house.telegram.wait_confirmed()
    await house.channel_becomes("running")


async def unreachable(house: Hub) -> dict[str, int]:
    """How many conversations take no messages, by the platform's reason, as `/readyz` says it."""
    _, body = await house.readyz()
    return body["channels"]["telegram"]["unreachable"]


async def test_kicked_from_a_group_fails_visibly_and_alone(
    house: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    chat = house.telegram.create_group("The team", [OWNER, BEN])
    asked = await while_thinking(house, chat)
    house.telegram.bot_is_kicked(chat.id)
    house.model.release()
    outcome, state, reason = await delivery_of(house, chat.id, asked)
    assert (outcome, state, reason) == ("turn 1", "failed", "Forbidden: bot was kicked from the group chat")
    assert len(house.telegram.requests("sendMessage", chat_id=chat.id)) == 1
    assert f"address={chat.id} error={reason}" in caplog.text
    assert await unreachable(house) == {reason: 1}
    await all_is_well(house)
    house.telegram.bot_is_added(chat.id)
    house.telegram.user_sends_text(BEN, to_bot(house, "back"), chat_id=chat.id)
    await house.telegram.wait_text(chat.id, "back")
    await house.telegram.wait_confirmed()
    assert await unreachable(house) == {}


@pytest.mark.parametrize(
    "what, reason", [("closed", "Topic_closed"), ("deleted", "Message thread not found")]
)
async def test_a_deleted_topic_fails_visibly_and_alone(
    house: Hub, caplog: pytest.LogCaptureFixture, what: str, reason: str
) -> None:
    forum = house.telegram.create_supergroup("Forum", [OWNER, BEN], is_forum=True)
    topic = house.telegram.topic_created(forum.id, "plans")
    asked = await while_thinking(house, forum, topic.id)
    if what == "closed":
        house.telegram.topic_closed(forum.id, topic.id)
    else:
        house.telegram.topic_deleted(forum.id, topic.id)
    house.model.release()
    outcome, state, said = await delivery_of(house, forum.id, asked)
    assert (outcome, state, (said or "").casefold()) == ("turn 1", "failed", reason.casefold())
    assert f"address={forum.id}:{topic.id} error=" in caplog.text
    assert list((await unreachable(house)).values()) == [1]
    await all_is_well(house)
    if what == "closed":
        house.telegram.topic_reopened(forum.id, topic.id)
        house.telegram.user_sends_text(BEN, to_bot(house, "open"), chat_id=forum.id, topic_id=topic.id)
        await house.telegram.wait_text(forum.id, "open")


async def test_a_group_that_becomes_a_supergroup_keeps_its_conversation(house: Hub) -> None:
    chat = house.telegram.create_group("The team", [OWNER, BEN])
    house.telegram.user_sends_text(BEN, to_bot(house, "remember me"), chat_id=chat.id)
    await house.telegram.wait_text(chat.id, "remember me")
    await while_thinking(house, chat)
    waiting = house.telegram.user_sends_text(BEN, to_bot(house, "and then this"), chat_id=chat.id)
    await house.telegram.wait_confirmed()
    moved = house.telegram.group_migrates(chat.id)
    await house.telegram.wait_confirmed()
    house.telegram.user_sends_text(BEN, to_bot(house, "here I am"), chat_id=moved.id)
    await house.telegram.wait_confirmed()
    house.model.release()
    await house.telegram.wait_text(moved.id, "here I am")
    told = [str(message["content"]) for message in house.model.log.all()[-1].body["messages"][1:]]
    wanted = ("remember me", "think", "and then this", "here I am")
    found = [next(i for i, text in enumerate(told) if word in text) for word in wanted]
    assert found == sorted(found)
    (thread,) = await house.app.store.threads.threads(10)
    assert (thread.scope, thread.address) == (f"={moved.id}", str(moved.id))
    explained = await house.app.store.explanations.explain(f"tg:123456:mv:{chat.id}:{moved.id}")
    assert explained is not None
    assert explained.outcome == "moved: 1 conversation continues"
    outcome, state, _ = await delivery_of(house, chat.id, waiting.id)
    assert (outcome, state) == ("turn 3", "sent")


async def test_a_flood_of_one_sender_delays_no_one_and_loses_nothing(house: Hub) -> None:
    house.model.fault(Hold())
    for number in range(150):
        house.telegram.user_sends_text(OWNER, f"number {number}.")
    house.telegram.user_sends_text(BEN, "hello")
    await house.telegram.wait_text(BEN, "You said: hello")
    await house.telegram.wait_confirmed()
    house.model.release()
    explained = await house.app.store.explanations.explain_recent(200)
    refused = [one for one in explained if one.outcome == "refused: too many messages queued"]
    assert len(explained) == 151
    assert len(refused) in (49, 50)
    assert sum(
        said.startswith("I am still busy and 100 messages are already queued") for said in house.says(OWNER)
    )
    await house.channel_becomes("running")


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_clock_that_is_wrong_by_minutes_is_named_and_harmless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, minutes: int
) -> None:
    async with open_hub(tmp_path, start=False) as house:
        house.telegram.clock = lambda: time.time() + 60 * minutes
        await house.start()
        reason = await house.channel_becomes("running")
        assert "this machine's clock is " in reason
        assert (
            " s behind Telegram's; correct it" if minutes > 0 else " s ahead of Telegram's; correct it"
        ) in reason
        assert f"channel.phase_changed channel=telegram phase=running reason={reason}" in caplog.text
        house.telegram.user_sends_text(OWNER, "please run: echo x > made")
        card = await house.card(OWNER)
        assert await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Done:")
        await all_is_well(house)


async def test_an_occupied_port_is_reported_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with open_hub(tmp_path, start=False, http=f"port = {port}") as house:
            with pytest.raises(StartError, match=f"can't listen on 127.0.0.1:{port}.*set another"):
                await house.start()
            house.task = None


async def test_a_full_disk_stops_acceptance_and_is_recovered_from(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False) as house, HubProcess(house.directory) as hub:
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        house.telegram.user_sends_text(OWNER, "before")
        await house.telegram.wait_text(OWNER, "You said: before", timeout_s=LIMIT_S)
        await house.telegram.wait_confirmed()
        with nothing_can_be_written_by(hub.process.pid):
            house.telegram.user_sends_text(OWNER, "meanwhile")
            body = await ready_says(hub, 503)
            assert body["store"] == "writes fail: no message is accepted until they succeed"
            await house.telegram.wait_for(
                lambda: "phase=backing_off reason=the database can't be" in hub.err, LIMIT_S
            )
            assert not house.telegram.all_confirmed()
        await house.telegram.wait_text(OWNER, "You said: meanwhile", timeout_s=2 * LIMIT_S)
        await house.telegram.wait_confirmed()
        await ready_says(hub, 200)
        assert house.says(OWNER) == ["You said: before", "You said: meanwhile"]


@contextlib.contextmanager
def nothing_can_be_written_by(pid: int) -> Iterator[None]:
    """Files of the process do not grow any more, as on a full disk."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


async def ready_says(hub: HubProcess, status: int) -> dict[str, object]:
    """Until `/readyz` answers with that status; its body."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found, body = await hub.readyz()
            if found == status:
                return body
            await asyncio.sleep(0.02)
