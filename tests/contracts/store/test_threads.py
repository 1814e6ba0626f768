"""Queries of consoles and commands."""

from core.transcript import AssistantSaid, UserSaid
from tests.contracts.store.bench import Bench


async def test_the_newest_entries_of_a_thread_come_in_order(world: Bench) -> None:
    start = await world.turn("one")
    await world.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid("two"), [])
    await world.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid("three"), [])
    thread_id = start.thread.id
    entries = await world.store.threads.entries(thread_id, 10)
    assert [entry.said for entry in entries] == [
        UserSaid("one"),
        AssistantSaid("two"),
        AssistantSaid("three"),
    ]
    assert [entry.seq for entry in entries] == sorted(entry.seq for entry in entries)
    assert [entry.said for entry in await world.store.threads.entries(thread_id, 2)] == [
        AssistantSaid("two"),
        AssistantSaid("three"),
    ]
    assert await world.store.threads.entries("no such thread", 10) == []


async def test_waiting_input_is_listed_until_a_turn_takes_it(world: Bench) -> None:
    start = await world.turn("one")
    thread_id = start.thread.id
    assert await world.store.feed.waiting_in(thread_id, 10) == ()
    await world.say("two")
    await world.say("three")
    waiting = await world.store.feed.waiting_in(thread_id, 10)
    assert [(said.text, said.name) for said in waiting] == [("two", "Ada"), ("three", "Ada")]
    assert [said.text for said in await world.store.feed.waiting_in(thread_id, 1)] == ["two"]
    assert await world.store.feed.waiting_in("no such thread", 10) == ()
    await world.finish(start)
    assert await world.store.feed.waiting_in(thread_id, 10) == ()
