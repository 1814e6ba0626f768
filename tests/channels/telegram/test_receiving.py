"""Receiving from a Telegram on the wire: what is confirmed, what is asked for again, what state it shows."""

import asyncio
from typing import Any

import pytest

from channels.manager import Phase
from channels.telegram.addresses import Timeouts
from core.errors import InboxUnavailable
from core.messages import Choice, ChoiceAnswer, InboundMessage, Message, Plain, Unreadable
from core.ports import Acceptance, SendState
from tests.channels.memory import MemoryInbox
from tests.harness.channel_bench import COMMANDS, TOKEN, ChannelBench, open_channel, simulated_telegram
from tests.simulators.telegram import TelegramSimulator

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


def polled_offsets(sim: TelegramSimulator) -> list[int]:
    return [int(request.params.get("offset", 0)) for request in sim.requests("getUpdates")]


async def test_a_message_is_confirmed_only_after_it_was_accepted() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        house.inbox.close_chat("7")
        sim.user_sends_text(7, "hello")
        await house.inbox.until(lambda: house.inbox.offered)
        assert not sim.all_confirmed()
        polls = len(sim.requests("getUpdates"))
        house.inbox.open_chat("7")
        await sim.wait_confirmed()
        assert house.inbox.texts == ["hello"]
        update_id = sim.updates()[0].update_id
        assert polled_offsets(sim)[polls] == update_id + 1


async def test_messages_of_a_chat_come_in_order_and_a_held_one_delays_no_other_chat() -> None:
    async with simulated_telegram() as sim:
        for i in range(3):
            sim.user_sends_text(7, f"ann {i}")
            sim.user_sends_text(8, f"ben {i}")
        inbox = MemoryInbox()
        inbox.close_chat("7")
        async with open_channel(sim, inbox=inbox):
            await inbox.until(lambda: "ben 2" in inbox.texts)
            assert inbox.texts == ["ben 0", "ben 1", "ben 2"]
            assert not sim.all_confirmed()
            inbox.open_chat("7")
            await sim.wait_confirmed()
            assert inbox.texts[3:] == ["ann 0", "ann 1", "ann 2"]


async def test_updates_the_inbox_refuses_are_polled_again() -> None:
    async with simulated_telegram() as sim:
        inbox = MemoryInbox()
        inbox.failure = lambda event: (
            InboxUnavailable("disk full") if getattr(event, "text", "") == "second" else None
        )
        for text in ("first", "second", "third"):
            sim.user_sends_text(7, text)
        sim.user_sends_text(8, "other chat")
        async with open_channel(sim, inbox=inbox) as house:
            await house.reaches(Phase.BACKING_OFF)
            assert house.reason() == "disk full"
            assert inbox.texts == ["first", "other chat"]
            await sim.wait_requests("getUpdates", count=3)
            assert set(polled_offsets(sim)[1:]) == {sim.updates()[0].update_id + 1}
            inbox.failure = lambda _: None
            await sim.wait_confirmed()
            assert inbox.texts == ["first", "other chat", "second", "third"]
            assert len(inbox.offered) > len(inbox.events)


async def test_an_event_that_breaks_the_hub_does_not_block_later_ones() -> None:
    async with simulated_telegram() as sim:
        inbox = MemoryInbox()
        inbox.failure = lambda event: ZeroDivisionError() if getattr(event, "text", "") == "poison" else None
        sim.user_sends_text(7, "poison")
        sim.user_sends_text(7, "after")
        async with open_channel(sim, inbox=inbox):
            await sim.wait_confirmed()
            assert inbox.texts == ["after"]
            assert isinstance(next(iter(inbox.events.values())), Unreadable)


DAMAGED: list[dict[str, Any]] = [
    {"message": {"message_id": "not a number", "chat": {"id": 7, "type": "private"}, "date": 1, "text": "x"}},
    {"message": None, "callback_query": {"id": 5}},
    {"message": []},
    {"unheard_of": {"a": 1}},
    {},
]


async def test_damaged_updates_are_recorded_and_never_stop_the_polling() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        for damaged in DAMAGED:
            sim.inject_update(damaged)
        sim.user_sends_text(7, "still here")
        await sim.wait_confirmed()
        assert house.inbox.texts == ["still here"]
        assert sum(isinstance(event, Unreadable) for event in house.inbox.events.values()) == 3
        assert house.phase() is Phase.RUNNING


async def test_an_update_without_an_id_is_recorded_and_waited_out() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        sim.inject_update({"update_id": "none", "message": {}})
        await house.reaches(Phase.BACKING_OFF)
        assert house.reason() == "Telegram delivered updates without an ID"
        assert len(house.inbox.events) == 1
        sim.user_sends_text(7, "behind it")
        await sim.wait_confirmed()
        assert house.inbox.texts == ["behind it"]
        await house.reaches(Phase.RUNNING)


async def test_a_redelivered_update_is_the_same_event() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        sim.user_sends_text(7, "hello")
        await sim.wait_confirmed()
        sim.redeliver(times=2)
        sim.user_sends_text(7, "next")
        await sim.wait_confirmed()
        sim.redeliver(new_ids=True)
        await sim.wait_confirmed()
        assert house.inbox.texts == ["hello", "next"]
        assert len(house.inbox.offered) >= 4


async def test_nothing_said_while_the_hub_was_down_is_lost() -> None:
    async with simulated_telegram() as sim:
        inbox = MemoryInbox()
        async with open_channel(sim, inbox=inbox):
            sim.user_sends_text(7, "before")
            await inbox.until(lambda: inbox.texts)
        sim.user_sends_text(7, "meanwhile")
        async with open_channel(sim, inbox=inbox):
            await sim.wait_confirmed()
        assert inbox.texts == ["before", "meanwhile"]


async def ask(house: ChannelBench, user_id: int = 7) -> int:
    """Show a card with two choices; returns its message id."""
    house.sim.user_sends_text(user_id, "go")
    await house.inbox.until(lambda: "go" in house.inbox.texts)
    house.outbox.enqueue(
        str(user_id), Message((Plain("Run it?"),), (Choice("Approve"), Choice("Deny")), "7Q2M9ZK4XA")
    )
    return (await house.sim.wait_text(user_id, "Run it?")).id


async def test_a_press_is_accepted_then_answered() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        house.inbox.answers["7Q2M9ZK4XA"] = Acceptance("refused: answer", "Ann has decided already. " * 20)
        card = await ask(house)
        query = sim.user_presses_button(7, card, 1)
        await sim.wait_callback_answer(query.id)
        press = house.inbox.events[f"tg:123456:cb:{query.id}"]
        assert isinstance(press, ChoiceAnswer)
        assert (press.gate_id, press.choice, press.sender.name) == ("7Q2M9ZK4XA", 1, "Ann")
        (answer,) = query.answers
        assert answer["text"] == ("Ann has decided already. " * 20)[:200]
        assert answer["show_alert"] is True


async def test_a_press_that_is_too_old_to_answer_still_counts() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        card = await ask(house)
        sim.fail(
            "error", method="answerCallbackQuery", status=400, count=1,
            description="Bad Request: query is too old and response timeout expired or query ID is invalid",
        )  # fmt: skip
        query = sim.user_presses_button(7, card, 0)
        await sim.wait_requests("answerCallbackQuery")
        await sim.wait_confirmed()
        assert f"tg:123456:cb:{query.id}" in house.inbox.events
        assert house.phase() is Phase.RUNNING


async def test_answers_that_failed_take_no_place_of_later_ones() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        card = await ask(house)
        sim.fail(
            "error", method="answerCallbackQuery", status=400, description="Bad Request: query is too old"
        )
        for number in range(1, 65):
            sim.user_presses_button(7, card, 0)
            await sim.wait_requests("answerCallbackQuery", number)
        sim.clear_faults()
        await sim.wait_confirmed()
        query = sim.user_presses_button(7, card, 0)
        await sim.wait_callback_answer(query.id)


async def test_a_slow_answer_to_a_press_holds_up_no_message() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        card = await ask(house)
        sim.fail("hold", method="answerCallbackQuery")
        sim.user_presses_button(7, card, 0)
        await sim.wait_held()
        sim.user_sends_text(7, "meanwhile")
        await house.inbox.until(lambda: "meanwhile" in house.inbox.texts)


async def test_a_button_of_another_program_stops_spinning() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        card = await ask(house)
        query = sim.user_presses_button(7, card, data="vote_up")
        await sim.wait_callback_answer(query.id)
        assert isinstance(house.inbox.events[f"tg:123456:cb:{query.id}"], Unreadable)


# ---------------------------------------------------------------- trouble with the platform


async def test_a_wrong_token_is_final_and_said_without_the_token() -> None:
    async with simulated_telegram() as sim, open_channel(sim, token="999:wrong") as house:
        await house.reaches(Phase.FAILED)
        assert house.reason() == "Telegram rejected the token"


async def test_another_process_polling_is_named_and_waited_for() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await sim.wait_polling()
        fault = sim.fail(
            "error", method="getUpdates", status=409,
            description="Conflict: terminated by other getUpdates request; make sure that only one bot"
            " instance is running",
        )  # fmt: skip
        sim.user_sends_text(7, "hello")
        await house.reaches(Phase.BACKING_OFF)
        assert "another process is polling with this token" in (house.reason() or "")
        sim.clear_faults(fault.id)
        await house.reaches(Phase.RUNNING)
        await sim.wait_confirmed()
        assert house.inbox.texts == ["hello"]


async def test_a_real_second_poller_is_noticed() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as first:
        await sim.wait_polling()
        async with open_channel(sim) as second:
            await first.reaches(Phase.BACKING_OFF)
            assert "another process is polling with this token" in (first.reason() or "")
            await second.reaches(Phase.RUNNING)
        await first.reaches(Phase.RUNNING)
        sim.user_sends_text(7, "hello")
        await sim.wait_confirmed()


async def test_a_leftover_webhook_gives_way_to_polling() -> None:
    async with simulated_telegram() as sim:
        sim.user_sends_text(7, "hello")
        sim.fail("error", method="getUpdates", count=1, status=409, description=(
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the"
            " webhook first"
        ))  # fmt: skip
        async with open_channel(sim) as house:
            await sim.wait_confirmed()
            assert house.inbox.texts == ["hello"]
            (deleted,) = sim.requests("deleteWebhook")
            assert "drop_pending_updates" not in deleted.params


async def test_a_platform_that_is_away_has_a_state_and_loses_nothing() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await sim.wait_polling()
        await sim.go_down()
        await house.reaches(Phase.BACKING_OFF)
        assert "could not reach" in (house.reason() or "")
        assert TOKEN not in (house.reason() or "")
        house.outbox.enqueue("7", "waiting")
        await house.outbox.until(lambda: (1, "retry") in house.outbox.history)
        sim.user_sends_text(7, "hello")
        await sim.come_up()
        await house.reaches(Phase.RUNNING)
        await sim.wait_confirmed()
        assert house.inbox.texts == ["hello"]
        await house.outbox.settled()
        assert [message.text for message in sim.bot_messages(7)] == ["waiting"]
        assert house.outbox.row(1).repeats == 0


@pytest.mark.parametrize("fault", [
    {"kind": "server_error", "status": 502, "html": True},
    {"kind": "server_error", "status": 500},
    {"kind": "garbage"},
    {"kind": "drop"},
])  # fmt: skip
async def test_one_lost_poll_is_resumed_at_once(fault: dict[str, Any]) -> None:
    async with simulated_telegram() as sim:
        sim.user_sends_text(7, "hello")
        sim.fail(method="getUpdates", count=1, **fault)
        async with open_channel(sim) as house:
            await sim.wait_confirmed()
            assert house.inbox.texts == ["hello"]
            assert house.phase() is Phase.RUNNING
            assert len(sim.requests("getMe")) == 1


async def test_a_poll_that_is_lost_hours_after_another_is_resumed_too() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        for said in ("hello", "again"):
            sim.fail("drop", method="getUpdates", count=1)
            sim.user_sends_text(7, said)
            await house.inbox.until(lambda said=said: said in house.inbox.texts)
        assert house.phase() is Phase.RUNNING
        assert len(sim.requests("getMe")) == 1


async def test_polls_that_keep_failing_are_a_state() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        sim.fail("server_error", method="getUpdates")
        sim.user_sends_text(7, "hello")
        await house.reaches(Phase.BACKING_OFF)
        assert house.reason() == "Bad Gateway"
        sim.clear_faults()
        await sim.wait_confirmed()
        assert house.inbox.texts == ["hello"]


async def test_a_connection_that_went_silent_is_given_up() -> None:
    timeouts = Timeouts(poll_s=30, poll_read_s=0.3)
    async with simulated_telegram() as sim:
        sim.fail("silent", method="getUpdates", count=1)
        async with open_channel(sim, timeouts=timeouts) as house:
            await sim.wait_requests("getUpdates", outcome="silent")
            sim.user_sends_text(7, "hello")
            await house.inbox.until(lambda: house.inbox.texts == ["hello"])
    assert Timeouts().poll_s < Timeouts().poll_read_s <= 60


async def test_a_rate_limited_poll_waits_as_long_as_asked() -> None:
    async with simulated_telegram() as sim:
        sim.fail("rate_limit", method="getUpdates", count=1, retry_after_s=30)
        sim.user_sends_text(7, "hello")
        async with open_channel(sim) as house:
            await house.reaches(Phase.BACKING_OFF)
            state = house.manager.states()["tg"]
            assert state.reason == "rate limited, retry in 30 s"
            assert state.until is not None
            assert round((state.until - state.since) / 1_000_000) == 30
            await sim.wait_confirmed()
            assert house.inbox.texts == ["hello"]


# ---------------------------------------------------------------- the menu, groups, files


async def test_the_menu_is_set_once_and_again_only_if_changed() -> None:
    async with simulated_telegram() as sim:
        async with open_channel(sim):
            (request,) = await sim.wait_requests("setMyCommands")
        async with open_channel(sim):
            await sim.wait_requests("getMyCommands", count=2)
            await sim.wait_polling()
        assert sim.requests("setMyCommands") == [request]
        (menu,) = sim.commands().values()
        assert {command["command"]: command["description"] for command in menu} == COMMANDS


async def test_a_menu_that_cannot_be_set_stops_nothing() -> None:
    async with simulated_telegram() as sim:
        sim.fail("server_error", method="setMyCommands")
        sim.user_sends_text(7, "hello")
        async with open_channel(sim) as house:
            await sim.wait_requests("setMyCommands")
            await sim.wait_confirmed()
            assert house.inbox.texts == ["hello"]


async def test_a_message_in_several_parts_arrives_complete() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await ask(house)
        text = " ".join(f"👍word{i}" for i in range(1500))
        row = house.outbox.enqueue("7", text)
        await house.outbox.reaches(row.id, SendState.SENT)
        parts = [message.text for message in sim.bot_messages(7)][1:]
        assert len(parts) >= 3
        assert " ".join(parts) == text
        assert all(len(part.encode("utf-16-le")) // 2 <= 4096 for part in parts)


async def test_stopping_in_the_middle_of_everything_is_quick() -> None:
    async with simulated_telegram() as sim:
        async with open_channel(sim) as house:
            await ask(house)
            sim.fail("hold", method="sendMessage")
            house.inbox.close_chat("8")
            house.outbox.enqueue("7", "never answered")
            sim.user_sends_text(8, "never accepted")
            await sim.wait_held()
            await house.inbox.until(lambda: any(":8:" in key for key in house.inbox.offered))
            began = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - began < 15, "less than any of its requests may take"
        assert not sim.all_confirmed()
        assert isinstance(next(iter(house.inbox.events.values())), InboundMessage)
