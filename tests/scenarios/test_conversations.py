"""Talking: order, concurrency, repetition, stopping."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from bot.app import Seams
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.simulators.model import Hold, text


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def test_a_message_is_answered(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    assert house.says(OWNER) == ["You said: hello"]


async def test_the_same_update_three_times_is_part_of_one_turn(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "once")
    await house.telegram.wait_text(OWNER, "You said: once")
    house.telegram.redeliver(times=1)
    house.telegram.redeliver(times=1, new_ids=True)
    house.telegram.user_sends_text(OWNER, "twice")
    await house.telegram.wait_text(OWNER, "You said: twice")
    await house.telegram.wait_confirmed()
    assert house.says(OWNER) == ["You said: once", "You said: twice"]
    assert house.model.log.taken == 2


async def test_thirty_messages_during_a_turn_are_each_answered_once_and_in_order(house: Hub) -> None:
    house.model.fault(Hold(at="before_headers"))
    house.telegram.user_sends_text(OWNER, "first")
    await house.model.wait_requests(state="held")
    texts = [f"number {n}." for n in range(1, 31)]
    for said in texts:
        house.telegram.user_sends_text(OWNER, said)
    await house.telegram.wait_confirmed()
    house.model.clear_faults()
    house.model.release()
    await house.telegram.wait_text(OWNER, texts[-1], timeout_s=LIMIT_S)
    answered = "\n".join(house.says(OWNER))
    places = [answered.index(said) for said in texts]
    assert places == sorted(places)
    assert all(answered.count(said) == 1 for said in texts)
    assert house.model.log.taken == 1 + 3  # ten waiting messages of one person are one turn


async def test_fifty_chats_run_side_by_side_and_a_slow_one_delays_no_one(house: Hub) -> None:
    house.model.rule("slow one", text("at last"), fault=Hold(at="before_headers"))
    house.telegram.user_sends_text(OWNER, "slow one")
    await house.model.wait_requests(state="held")
    people = range(100, 150)
    for person in people:
        house.telegram.add_user(person)
        house.telegram.user_sends_text(person, f"I am {person}")
    for person in people:
        await house.telegram.wait_text(person, f"You said: I am {person}")
    assert house.says(OWNER) == []
    house.model.release()
    await house.telegram.wait_text(OWNER, "at last")


async def test_all_chats_are_in_the_model_at_the_same_time(house: Hub) -> None:
    house.model.rule("together", text("yes"), fault=Hold(at="before_headers"))
    for person in range(100, 150):
        house.telegram.add_user(person)
        house.telegram.user_sends_text(person, "together")
    await house.model.wait_requests(count=50, state="held", timeout_s=LIMIT_S)
    house.model.release()
    for person in range(100, 150):
        await house.telegram.wait_text(person, "yes", timeout_s=LIMIT_S)


class CancellingItself:
    """A model whose first reply ends in a cancellation of its own, as by a defect of a client library."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._once = True

    @property
    def name(self) -> str:
        """See Model."""
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        """The model's own abilities."""
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model."""
        if self._once:
            self._once = False
            raise asyncio.CancelledError
        async for piece in self._model.reply(request):
            yield piece


async def test_a_stray_cancellation_fails_the_turn_but_not_the_thread(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path, start=False) as house:
        await house.serve(Seams(clock=house.clock, model=CancellingItself))
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        house.telegram.user_sends_text(OWNER, "one")
        await house.telegram.wait_text(OWNER, "Something went wrong")
        house.telegram.user_sends_text(OWNER, "two")
        await house.telegram.wait_text(OWNER, "You said:")


async def test_stop_answers_while_the_turn_still_runs(house: Hub) -> None:
    house.model.fault(Hold(at="before_headers"), times=None)
    house.telegram.user_sends_text(OWNER, "think hard")
    await house.model.wait_requests(state="held")
    house.telegram.user_sends_text(OWNER, "and this waits")
    await house.telegram.wait_confirmed()
    house.telegram.user_sends_text(OWNER, "/status")
    await house.telegram.wait_text(OWNER, "1 message queued")
    house.telegram.user_sends_text(OWNER, "/stop")
    await house.telegram.wait_text(OWNER, "Stopped. 1 queued message discarded.")
    await house.model.wait_requests(state="client_gone")
    house.model.clear_faults()
    house.telegram.user_sends_text(OWNER, "again")
    await house.telegram.wait_text(OWNER, "again")
    assert len(house.says(OWNER)) == 3
    asked = [str(message["content"]) for message in house.model.log[-1].body["messages"]]
    assert any("stopped this" in content for content in asked), "the model must know it was stopped"


async def test_new_starts_over_and_the_old_conversation_stays_out_of_it(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "my cat is called Miau")
    await house.telegram.wait_text(OWNER, "You said: my cat")
    house.telegram.user_sends_text(OWNER, "/new")
    await house.telegram.wait_text(OWNER, "Started a new conversation")
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    asked = house.model.log[-1].body["messages"]
    assert not any("Miau" in str(message["content"]) for message in asked)
    threads = await house.app.store.threads.threads(10)
    assert [thread.title for thread in threads] == ["hello", "my cat is called Miau"]


async def test_history_is_there_after_a_restart(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "my cat is called Miau")
    await house.telegram.wait_text(OWNER, "You said: my cat")
    await house.stop()
    await house.start()
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    asked = house.model.log[-1].body["messages"]
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]
    assert asked[1]["content"].startswith("my cat is called Miau\n\n[Note from the hub")


async def test_commands_say_what_they_do(house: Hub) -> None:
    for command, answer in [
        ("/start", "/help for the commands"),
        ("/help", "/approve"),
        ("/status", "Nothing is running here."),
        ("/stop", "Nothing is running here."),
        ("/approve 0000000000", "no request with that ID"),
        ("/approve", "Nothing is waiting"),
        ("/frobnicate", "Unknown command: /frobnicate"),
        ("/approve xyz", "Type /approve followed by the 10-character ID"),
        ("/deny telegram K3F9A7MZ", "Type /deny followed by the 10-character ID"),
        ("/redo one", "/redo takes no arguments"),
        ("/stop it", "Nothing is running here."),
    ]:
        before = len(house.says(OWNER))
        house.telegram.user_sends_text(OWNER, command)
        messages = await house.telegram.wait_bot_messages(OWNER, before + 1)
        assert answer in messages[-1].text, command
    assert house.model.log.taken == 0


async def test_a_long_answer_is_split_within_the_platforms_limit(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "write 9000 characters")
    messages = await house.telegram.wait_bot_messages(OWNER, 3)
    assert len(messages) == 3
    assert all(len(message.text.encode("utf-16-le")) // 2 <= 4096 for message in messages)
    shown = "".join("".join(message.text for message in messages).split())
    reply = house.model.log[-1].reply
    assert reply is not None
    assert shown == "".join(str(reply.text).split())


async def test_text_while_a_call_waits_is_queued_with_one_notice(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "please run: echo done")
    card = await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, "by the way")
    await house.telegram.wait_text(OWNER, "Your message is queued")
    house.telegram.user_sends_text(OWNER, "another thing")
    await house.telegram.wait_confirmed()
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "another thing")
    notices = [said for said in house.says(OWNER) if said.startswith("Your message is queued")]
    assert len(notices) == 1


async def test_concurrent_messages_of_one_person_never_run_two_turns_at_once(house: Hub) -> None:
    house.model.rule("one at a time", text("fine"), fault=Hold(at="before_headers"))
    for _ in range(5):
        house.telegram.user_sends_text(OWNER, "one at a time")
    await house.telegram.wait_confirmed()
    await house.model.wait_requests(state="held")
    assert len(house.model.log.select(state="held")) == 1
    house.model.release()
    await house.model.wait_requests(count=2)
    house.model.release()
    async with asyncio.timeout(LIMIT_S):
        await house.telegram.wait_bot_messages(OWNER, 2)
