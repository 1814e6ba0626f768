"""Input while a turn is active: it waits, and is in exactly one turn, in platform order."""

from dataclasses import replace

import pytest

from core.errors import StaleTurn
from core.messages import InboundEvent
from core.store.accept import AcceptView, Verdict
from core.store.effects import QueueInput, StopThread
from core.store.rows import TurnStart
from core.transcript import ResultStatus, ToolResult, UserSaid
from core.users import Principal
from tests.contracts.store.bench import ADA, BEN, Bench, Rules, admit
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


async def test_in_one_by_one_mode_every_input_is_a_turn(database: Database) -> None:
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


# Input that joins the running turn.


def steering(world: Bench, thread_id: str, by: Principal = ADA, wait_us: int = 0) -> Rules:
    def verdict(event: InboundEvent, view: AcceptView) -> Verdict:
        del event, view
        queue = QueueInput(thread_id, world.ids.row_id(), adopt=True, wait_us=wait_us, steers=True)
        return Verdict("waiting", (queue,))

    return Rules(admit(by), verdict)


async def steer(world: Bench, start: TurnStart, text: str, by: Principal = ADA, **where: str | int) -> None:
    event = world.message(text, by=by, **where)  # type: ignore[arg-type]
    accepted = await world.store.inbound.accept_event(
        event, steering(world, start.thread.id, by), send_now=False
    )
    assert (accepted.outcome, accepted.steers, accepted.started) == ("waiting", True, None)


async def test_only_input_that_may_join_a_turn_does_and_the_rest_waits(world: Bench) -> None:
    start = await world.turn(order=1)
    await world.say("queued", order=2)
    await steer(world, start, "second", order=4)
    await steer(world, start, "first", order=3)
    await steer(world, start, "of another", BEN, order=5)
    await steer(world, start, "from elsewhere", address="topic 2", order=6)
    joined = await world.store.turns.join_waiting(start.turn_id)
    assert joined == (UserSaid("first"), UserSaid("second"))
    assert await world.store.turns.join_waiting(start.turn_id) == ()
    assert (await world.said(start))[1:] == list(joined)
    explained = [one.outcome for one in await world.store.explanations.explain_recent(6)]
    assert sorted(explained) == ["turn 1"] * 3 + ["waiting"] * 3
    following = await world.finish(start)
    assert following is not None
    assert [entry.said for entry in following.inputs] == [UserSaid("queued")]


async def test_the_budget_of_a_turn_is_counted_from_the_input_that_joined(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None)
    await world.store.turns.finish_calls(start.turn_id, [ToolResult(call_id, ResultStatus.OK, "")])
    world.clock.advance(60)
    assert ((await world.reload(start)).rounds, (await world.reload(start)).tools_run) == (1, 1)
    await steer(world, start, "more")
    await world.store.turns.join_waiting(start.turn_id)
    again = await world.reload(start)
    assert (again.rounds, again.tools_run, again.spent_us) == (0, 0, 0)


async def test_in_one_by_one_mode_one_input_joins_at_a_time(database: Database) -> None:
    world = await database.open("one_by_one")
    start = await world.turn()
    for text in ("one", "two"):
        await steer(world, start, text)
    join = world.store.turns.join_waiting
    taken = [await join(start.turn_id) for _ in range(3)]
    assert taken == [(UserSaid("one"),), (UserSaid("two"),), ()]


async def test_an_album_joins_whole_and_holds_back_what_follows_it(world: Bench) -> None:
    start = await world.turn()
    for number, rules in enumerate((steering, steering)):
        part = replace(world.message(f"part {number}"), album="album")
        await world.store.inbound.accept_event(
            part, rules(world, start.thread.id, wait_us=1000 * (number + 1)), send_now=False
        )
    await steer(world, start, "after it")
    assert await world.store.turns.join_waiting(start.turn_id) == ()
    world.clock.advance(1)
    joined = await world.store.turns.join_waiting(start.turn_id)
    assert joined == (UserSaid("part 0\npart 1"), UserSaid("after it"))


async def test_nothing_joins_a_turn_that_was_stopped(world: Bench) -> None:
    start = await world.turn()
    await world.rule(StopThread("Stopped."))
    await steer(world, start, "too late")
    with pytest.raises(StaleTurn):
        await world.store.turns.join_waiting(start.turn_id)
    following = await world.finish(start, None)
    assert following is not None
    assert [entry.said for entry in following.inputs] == [UserSaid("too late")]
