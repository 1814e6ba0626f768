"""Events that wait for hooks, those that went through them, and the sessions that hooks hear of."""

import asyncio
from dataclasses import replace

import pytest

from core.errors import MessageRejected
from core.hooks.chain import Chain, Change, HookEvent, Point, Registered, Reject, Reply
from core.hooks.points import OutboundHooks
from core.messages import plain
from core.safety.leaks import LeakDetector
from core.store.facets import HELD, HeldInput, SessionChange
from core.transcript import UserSaid
from core.users import Principal
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench, text_of
from tests.contracts.store.conftest import Database
from tests.patience import PATIENCE_S

DAY_US = 86_400_000_000


@pytest.fixture
async def world(database: Database) -> Bench:
    """Hooks are asked about messages."""
    return await database.open(holds_inputs=True)


async def held(world: Bench) -> HeldInput:
    (one,) = await world.store.held.held_inputs(10)
    return one


async def test_a_message_waits_until_hooks_release_it(world: Bench) -> None:
    accepted = await world.say("hello")
    assert (accepted.outcome, accepted.started) == ("waiting", None)
    assert accepted.thread_id is not None
    assert await world.store.recovery.start_waiting(accepted.thread_id, "turn-x") is None
    one = await held(world)
    assert (one.text, one.user_id) == ("hello", ADA.user_id)
    assert await world.store.held.release_input(one, "hello there", album_wait_us=0) is not None
    assert await world.store.held.release_input(one, "again", album_wait_us=0) is None
    started = await world.store.recovery.start_waiting(accepted.thread_id, "turn-x")
    assert started is not None
    assert [entry.said for entry in started.inputs] == [UserSaid("hello there")]


async def test_a_later_message_waits_for_the_earlier_one(world: Bench) -> None:
    first = await world.say("one")
    await world.say("two")
    assert first.thread_id is not None
    one, two = await world.store.held.held_inputs(10)
    await world.store.held.release_input(two, "two", album_wait_us=0)
    assert await world.store.recovery.start_waiting(first.thread_id, "turn-x") is None
    await world.store.held.release_input(one, "one", album_wait_us=0)
    assert await world.store.recovery.start_waiting(first.thread_id, "turn-x") is not None


async def test_a_refused_message_is_answered_once_and_its_text_dropped(world: Bench) -> None:
    accepted = await world.say("hello")
    one = await held(world)
    (row,) = await world.store.held.refuse_input(one, "refused: by the hook h", plain("no"))
    assert (row.channel, text_of(row.message)) == (CHANNEL, "no")
    assert await world.store.held.refuse_input(one, "refused: by the hook h", plain("no")) == ()
    assert await world.store.held.held_inputs(10) == ()
    (event,) = await world.store.explanations.explain_recent(1)
    assert (event.outcome, event.text) == ("refused: by the hook h", "[not kept]")
    assert accepted.thread_id is not None
    assert await world.store.recovery.start_waiting(accepted.thread_id, "turn-x") is None


class Judge:
    """A hook that answers once it is `open`. `times`: how often it was called."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.times = 0
        self.open = asyncio.Event()

    async def __call__(self, event: HookEvent) -> Reply:
        self.times += 1
        await self.open.wait()
        return self.reply

    async def called(self, times: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.times < times:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)


@pytest.mark.parametrize(
    "reply, said",
    [(Change("bye"), "bye"), (Reject("no"), None), (None, "hi")],
    ids=["changed", "refused", "kept"],
)
@pytest.mark.parametrize("leaves", [False, True], ids=["both stay", "one leaves"])
async def test_two_who_need_the_same_message_have_it_judged_once(
    database: Database, reply: Reply, said: str | None, leaves: bool
) -> None:
    """Its sender, and the search for another message of the channel."""
    world, judge = await database.open(), Judge(reply)
    hooks = OutboundHooks(Chain([Registered("h", frozenset(Point), judge)], LeakDetector()), world.store.held)
    row = await world.put_out("hi")

    async def released() -> str | None:
        try:
            return text_of(await hooks.released(row))
        except MessageRejected:
            return None

    first, second = asyncio.create_task(released()), asyncio.create_task(released())
    await judge.called(1)
    await world.put_out("another")  # meanwhile the second has read what there is to read
    if leaves:
        first.cancel()
        await judge.called(2)
    judge.open.set()
    assert await second == said
    assert first.cancelled() if leaves else await first == said
    assert judge.times == 1 + leaves


async def test_an_edited_text_is_held_separately(world: Bench) -> None:
    said = world.message("hello")
    await world.store.inbound.accept_event(said, world.queueing(ADA), send_now=False)
    one = await held(world)
    edited = replace(said, key=f"{said.key}:1", text="goodbye", edits=said.key)
    accepted = await world.store.inbound.accept_event(edited, world.queueing(ADA), send_now=False)
    assert accepted.wait_until == HELD
    assert await world.store.held.release_input(one, "hello", album_wait_us=0) is None
    assert (await held(world)).text == "goodbye"


async def test_answers_about_a_held_message_are_kept(world: Bench) -> None:
    await world.say("hello")
    (row,) = await world.store.held.refuse_input(await held(world), "refused: by the hook h", plain("no"))
    assert await world.store.held.outbound_judged(row.id) is None
    await world.store.held.judge_outbound(row.id, plain("never"))
    assert await world.store.held.outbound_judged(row.id) == plain("never")
    assert text_of((await world.store.outbox.claim_outbox(row.id)).message) == "never"


async def test_a_session_begins_and_ends_once(world: Bench) -> None:
    await world.say("hello")
    assert await world.store.held.session_changes(DAY_US) == (SessionChange(ADA.user_id, began=True),)
    assert await world.store.held.session_changes(DAY_US) == ()
    await world.clock.sleep(86_400)
    (over,) = await world.store.held.session_changes(DAY_US)
    assert (over.user_id, over.began) == (ADA.user_id, False)
    assert await world.store.held.session_changes(DAY_US) == ()


async def test_a_session_that_ends_names_the_threads_that_were_active_in_it(database: Database) -> None:
    world = await database.open()

    async def spoken(scope: str, by: Principal = ADA) -> str:
        start = await world.turn(scope=scope, by=by)
        await world.finish(start)
        return start.thread.id

    async def ended() -> list[tuple[str, ...]]:
        changes = await world.store.held.session_changes(DAY_US)
        return [change.thread_ids for change in changes if change.user_id == ADA.user_id and not change.began]

    old = await spoken("old")
    assert await ended() == []
    await world.clock.sleep(86_400)
    assert await ended() == [(old,)]
    first = await spoken("first")
    await world.clock.sleep(5)
    second = await spoken("second")
    await spoken("of ben", BEN)
    await world.clock.sleep(20)
    assert await ended() == [], "it begins, 25 seconds after its first message"
    await world.clock.sleep(80_000)
    third = await spoken("third")
    await world.clock.sleep(80_000)
    assert await ended() == []
    await world.clock.sleep(6_400)
    assert await ended() == [(first, second, third)]


async def test_a_session_does_not_end_while_a_turn_runs_or_waits(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    await world.store.held.session_changes(DAY_US)
    await world.clock.sleep(100_000)
    assert await world.store.held.session_changes(DAY_US) == ()
    await world.finish(start)
    over = SessionChange(ADA.user_id, began=False, thread_ids=(start.thread.id,))
    assert await world.store.held.session_changes(DAY_US) == (over,)


async def test_without_hooks_every_held_message_is_released(world: Bench, database: Database) -> None:
    accepted = await world.say("hello")
    again = await database.open()
    await again.store.recovery.recover()
    assert accepted.thread_id is not None
    assert await again.store.recovery.start_waiting(accepted.thread_id, "turn-x") is not None
