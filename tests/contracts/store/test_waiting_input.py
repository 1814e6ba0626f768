"""Input while a turn is active: it waits, and is in exactly one turn, in platform order."""

from core.store.effects import QueueInput
from core.store.rows import TurnStart
from core.transcript import UserSaid
from core.users import Principal
from tests.contracts.store.bench import ADA, BEN, Bench
from tests.contracts.store.conftest import Database


async def test_input_waits_while_a_turn_is_active_and_is_counted(world: Bench) -> None:
    start = await world.turn()
    waiting = await world.say("second")
    assert (waiting.outcome, waiting.started, waiting.thread_id) == ("waiting", None, start.thread.id)
    assert (await world.look()).waiting == 1


async def test_waiting_inputs_of_one_person_become_one_turn_in_platform_order(world: Bench) -> None:
    start = await world.turn(order=1)
    for order in (4, 2, 3):
        await world.say(f"number {order}", order=order)
    following = await world.finish(start, None)
    assert following is not None
    assert following.number == 2
    assert await world.said(following) == [
        UserSaid("hello"),
        UserSaid("number 2"),
        UserSaid("number 3"),
        UserSaid("number 4"),
    ]
    assert (following.first_seq, following.last_seq) == (2, 4)
    assert (await world.look()).waiting == 0


async def test_at_most_ten_inputs_are_merged_and_each_is_in_exactly_one_turn(world: Bench) -> None:
    start: TurnStart | None = await world.turn()
    events = [world.message(f"more {number}") for number in range(23)]
    for event in events:
        await world.store.inbound.accept_event(event, world.queueing(), send_now=False)
    sizes: list[int] = []
    while start is not None:
        sizes.append(start.last_seq - start.first_seq + 1)
        start = await world.finish(start, None)
    assert sizes == [1, 10, 10, 3]
    outcomes = [await world.store.explanations.explain(event.key) for event in events]
    turns = [explained.outcome for explained in outcomes if explained is not None]
    assert turns == ["turn 2"] * 10 + ["turn 3"] * 10 + ["turn 4"] * 3


async def test_messages_of_different_people_are_never_merged(world: Bench) -> None:
    start = await world.turn("Ada first")
    thread_id = start.thread.id
    joining = world.ruling(QueueInput(thread_id, "unused", adopt=True), by=BEN)  # a thread they share
    await world.say("Ada again")
    await world.store.inbound.accept_event(world.message("Ben", by=BEN), joining, send_now=False)
    await world.say("Ben again", by=BEN)
    await world.say("Ada last")
    principals: list[Principal] = []
    last, following = start, await world.finish(start, None)
    while following is not None:
        principals.append(following.principal)
        last, following = following, await world.finish(following, None)
    assert principals == [ADA, BEN, ADA]
    assert [said.text for said in await world.said(last) if isinstance(said, UserSaid)] == [
        "Ada first",
        "Ada again",
        "Ben",
        "Ben again",
        "Ada last",
    ]


async def test_one_by_one_every_input_is_a_turn(database: Database) -> None:
    world = await database.open("one_by_one")
    start: TurnStart | None = await world.turn()
    await world.say("second")
    await world.say("third")
    numbers: list[int] = []
    while start is not None:
        numbers.append(start.last_seq - start.first_seq + 1)
        start = await world.finish(start, None)
    assert numbers == [1, 1, 1]


async def test_a_turn_answers_where_its_last_input_came_from(world: Bench) -> None:
    start = await world.turn(address="topic 1")
    await world.say("more", address="topic 2")
    assert start.thread.address == "topic 1"
    following = await world.finish(start)
    assert following is not None
    assert following.thread.address == "topic 2"
