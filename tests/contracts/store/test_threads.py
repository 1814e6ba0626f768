"""Queries of consoles and commands."""

from dataclasses import replace

import pytest

from core.errors import IllegalChange
from core.gates import Option
from core.messages import THREAD_FILE, Choice, File, Message, MessageRef, Plain, plain
from core.ports import Posted
from core.store.conversations import MenuKind
from core.store.effects import DeleteThread, OpenMenu, Say, UndoTurns
from core.store.rows import Draft
from core.store.sql.store import SqlStore
from core.transcript import AssistantSaid, UserSaid
from tests.contracts.store.bench import ADA, CHANNEL, Bench
from tests.contracts.store.cards import closing


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


async def told(world: Bench) -> str:
    """All that the database has in words, without the index of words."""
    assert isinstance(world.store, SqlStore)
    ask = world.store.facet_engine.ask
    names = await ask(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%!_terms%' ESCAPE '!'"
    )
    return "\n".join([str(await ask(f"SELECT * FROM {name}")) for (name,) in names])


async def refuses(world: Bench, thread_id: str) -> None:
    with pytest.raises(IllegalChange):
        await world.store.threads.delete_thread(thread_id, ADA.user_id)


async def test_nothing_that_was_said_outlives_a_deleted_thread(world: Bench) -> None:
    first = await world.turn("needle one")
    thread_id = first.thread.id
    (call_id,) = await world.call(first)
    gate = await world.ask(first, call_id)
    await refuses(world, thread_id)
    on = (await world.rule(closing(gate, Option.DENY))).started
    assert on is not None
    await world.store.turns.record_summary(on.turn_id, "needle in short", None)
    answer = Draft(CHANNEL, first.thread.address, plain("a needle"), "nonce")
    await world.finish(on, "a needle", answer)
    await world.finish(await world.turn("needle two"), "no needle")
    await world.rule(UndoTurns(1), Say(plain("undid a needle")))
    listed = Message((Plain("needles"),), (Choice("needle"),), world.ids.gate_id())
    await world.rule(OpenMenu(MenuKind.CHECKPOINTS, (first.turn_id,), listed))
    other = await world.turn("elsewhere", scope="elsewhere")
    await world.finish(other)
    await world.store.threads.index_said(10)
    running = await world.turn("one more needle")
    await refuses(world, thread_id)
    await world.say("and a needle that waits")
    following = await world.finish(running)
    assert following is not None
    await world.finish(following)
    shown = next(
        row for row in await world.store.outbox.pending_outbox(CHANNEL) if row.message == plain("a needle")
    )
    await world.store.outbox.claim_outbox(shown.id)
    await refuses(world, thread_id)
    assert (await told(world)).count("needle") > 8
    await world.store.outbox.record_part_sent(shown.id, Posted(MessageRef("7"), "7"), last=True)
    event = world.message("/delete now")
    assert (
        await world.store.inbound.accept_event(event, world.ruling(DeleteThread()), send_now=False)
    ).thread_id is None
    assert "needle" not in await told(world)
    assert await world.store.outbox.pending_outbox(CHANNEL) == ()
    assert (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).duplicate
    anew = await world.turn("anew")
    assert anew.thread.id != thread_id
    assert await world.store.threads.thread(other.thread.id) is not None


async def test_a_thread_is_not_deleted_before_its_export_is_sent(world: Bench) -> None:
    start = await world.turn()
    await world.finish(start)
    file = File(f"{THREAD_FILE}{start.thread.id}", "conversation.md", "text/markdown")
    await world.rule(Say(replace(plain("All of it"), files=(file,))))
    await refuses(world, start.thread.id)
    (row,) = await world.store.outbox.pending_outbox(CHANNEL)
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.fail_outbox(row.id, "it is too large")
    await world.store.threads.delete_thread(start.thread.id, ADA.user_id)
