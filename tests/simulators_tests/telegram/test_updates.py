"""Long polling as https://core.telegram.org/bots/api#getupdates describes it."""

import asyncio

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramConflictError

from tests.simulators.telegram import TelegramSimulator
from tests.simulators_tests.telegram.conftest import ANN, client_of


async def test_updates_come_again_until_a_higher_offset_confirms_them(
    bot: Bot, sim: TelegramSimulator
) -> None:
    sim.user_sends_text(ANN, "one")
    sim.user_sends_text(ANN, "two")
    first = await bot.get_updates()
    again = await bot.get_updates()
    assert [u.message.text for u in first if u.message] == ["one", "two"]
    assert [u.update_id for u in again] == [u.update_id for u in first]
    rest = await bot.get_updates(offset=first[0].update_id + 1)
    assert [u.update_id for u in rest] == [first[1].update_id]
    one, two = sim.updates()
    assert [one.confirmed_by, two.confirmed_by] == [3, None]
    assert [len(one.deliveries), len(two.deliveries)] == [2, 3]
    assert await bot.get_updates(offset=first[1].update_id + 1) == []
    assert sim.all_confirmed()


async def test_a_negative_offset_keeps_the_newest_and_forgets_the_others(
    bot: Bot, sim: TelegramSimulator
) -> None:
    for text in ("one", "two", "three"):
        sim.user_sends_text(ANN, text)
    newest = await bot.get_updates(offset=-1)
    assert [u.message.text for u in newest if u.message] == ["three"]
    assert [u.message.text for u in await bot.get_updates() if u.message] == ["three"]


async def test_limit_bounds_one_answer(bot: Bot, sim: TelegramSimulator) -> None:
    for number in range(5):
        sim.user_sends_text(ANN, str(number))
    assert len(await bot.get_updates(limit=2)) == 2


async def test_an_open_poll_answers_as_soon_as_something_happens(bot: Bot, sim: TelegramSimulator) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await sim.wait_polling()
    sim.user_sends_text(ANN, "hello")
    async with asyncio.timeout(25):
        updates = await poll
    assert [u.message.text for u in updates if u.message] == ["hello"]
    assert not sim.is_polling()


async def test_a_poll_without_updates_ends_empty_after_its_timeout(bot: Bot, sim: TelegramSimulator) -> None:
    assert await bot.get_updates(timeout=1) == []
    (record,) = sim.requests("getUpdates")
    assert record.outcome == "answered"


async def test_of_two_overlapping_polls_the_older_gets_the_conflict(bot: Bot, sim: TelegramSimulator) -> None:
    second = client_of(sim)
    older = asyncio.create_task(bot.get_updates(timeout=30))
    await sim.wait_polling()
    newer = asyncio.create_task(second.get_updates(timeout=30))
    with pytest.raises(TelegramConflictError, match="terminated by other getUpdates request; make sure that"):
        await older
    await sim.wait_polling()
    sim.user_sends_text(ANN, "for the newer")
    assert len(await newer) == 1
    await second.session.close()


async def test_a_client_that_goes_away_leaves_its_updates_for_the_next(
    bot: Bot, sim: TelegramSimulator
) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await sim.wait_polling()
    poll.cancel()
    await sim.wait_requests("getUpdates", outcome="gone")
    assert not sim.is_polling()
    sim.user_sends_text(ANN, "kept")
    assert len(await bot.get_updates()) == 1


async def test_only_allowed_kinds_are_queued_and_an_empty_list_restores_the_default(
    bot: Bot, sim: TelegramSimulator
) -> None:
    await bot.get_updates(allowed_updates=["callback_query"])
    sim.user_sends_text(ANN, "unwanted")
    assert await bot.get_updates() == []
    await bot.get_updates(allowed_updates=[])
    sim.user_sends_text(ANN, "wanted")
    assert len(await bot.get_updates()) == 1


async def test_an_update_can_come_again_under_its_old_id_or_a_new_one(
    bot: Bot, sim: TelegramSimulator
) -> None:
    sim.user_sends_text(ANN, "once")
    (update,) = await bot.get_updates()
    sim.redeliver(update.update_id, times=2)
    repeated = await bot.get_updates(offset=update.update_id + 1)
    assert [u.update_id for u in repeated] == [update.update_id] * 2
    assert await bot.get_updates(offset=update.update_id + 1) == []
    sim.redeliver(update.update_id, new_ids=True)
    (renewed,) = await bot.get_updates(offset=update.update_id + 1)
    assert renewed.update_id == update.update_id + 1
    assert renewed.message
    assert update.message
    assert renewed.message.message_id == update.message.message_id


async def test_updates_expire_as_on_the_platform() -> None:
    now = [1_000_000.0]
    async with TelegramSimulator(clock=lambda: now[0]) as sim:
        sim.add_bot("5:AA")
        sim.add_user(ANN)
        message = sim.user_sends_text(ANN, "hello")
        sim.user_presses_button(ANN, _button_message(sim, message.chat.id), data="x")
        queue = sim.queues[5]
        now[0] += 149
        assert len(queue.read(0, 100, sim.log.open("getUpdates", {}, now[0], bot_id=5))) == 2
        now[0] += 2
        assert [u.kind for u in queue.read(0, 100, sim.log.open("getUpdates", {}, now[0], bot_id=5))] == [
            "message"
        ]
        now[0] += 86_400
        assert queue.read(0, 100, sim.log.open("getUpdates", {}, now[0], bot_id=5)) == []
        assert {u.discarded for u in sim.updates()} == {"expired"}


def _button_message(sim: TelegramSimulator, chat_id: int) -> int:
    bot = sim.bot()
    message = sim.world.add_message(sim.chat(chat_id), bot.user, sim.now(), {"text": "choose"}, request=1)
    return message.id
