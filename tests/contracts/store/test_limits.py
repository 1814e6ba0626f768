"""Limits by sender and by time: what counts, and what is said again."""

from core.messages import plain
from core.store.accept import Admitted, TurnedAway, Verdict
from core.store.accounts import CODE_LIFE_US
from core.store.effects import SayAtTimes
from tests.contracts.store.bench import BEN, SECOND, Bench, Rules
from tests.contracts.store.pairing_bench import EVE, LIFE_S, Door, grant, settle


def limited(*, counts: bool = True) -> Rules:
    verdict = Verdict("waiting" if counts else "refused: too many messages", counts=counts)
    return Rules(lambda _event, _who: Admitted(BEN, "paired", limited=True), lambda _event, _view: verdict)


async def recent(world: Bench) -> int:
    """Return what a message that is refused would be judged on."""
    rules = limited(counts=False)
    await world.store.inbound.accept_event(world.message(by=BEN), rules, send_now=False)
    return rules.view.recent


async def test_messages_of_the_last_minute_count_once_each(world: Bench) -> None:
    event = world.message(by=BEN)
    for _ in range(3):
        await world.store.inbound.accept_event(event, limited(), send_now=False)
    assert await recent(world) == 1, "what is delivered again counts once"
    assert await recent(world) == 1, "what was refused does not count"
    world.clock.advance(59)
    await world.store.inbound.accept_event(world.message(by=BEN), limited(), send_now=False)
    assert await recent(world) == 2
    world.clock.advance(1)
    assert await recent(world) == 1
    world.clock.advance(60)
    assert await recent(world) == 0


async def test_presses_and_unlimited_people_do_not_count(world: Bench) -> None:
    start = await world.turn(by=BEN)
    gate = await world.ask(start, *await world.call(start))
    await world.store.inbound.accept_event(world.press(gate, 0, by=BEN), limited(), send_now=False)
    assert await recent(world) == 0


async def test_messages_dated_in_the_future_do_not_count(world: Bench) -> None:
    await world.store.inbound.accept_event(world.message(by=BEN), limited(), send_now=False)
    world.clock.advance(-600)
    assert await recent(world) == 0


async def test_a_repeated_refusal_is_answered_once_per_interval(world: Bench) -> None:
    once_a_minute = SayAtTimes(plain("slower"), "too fast", 60 * SECOND)
    said: list[int] = []
    for _ in range(5):
        said.append(len((await world.rule(once_a_minute, by=BEN)).outbox))
        world.clock.advance(20)
    assert said == [1, 0, 0, 1, 0]
    world.clock.advance(-600)
    assert len((await world.rule(once_a_minute, by=BEN)).outbox) == 1, "a clock put back silences nobody"


async def test_a_refusal_is_repeated_after_its_interval(world: Bench) -> None:
    door = Door(world)

    async def told(again_after_us: int | None) -> bool:
        refusal = TurnedAway("refused: try later", plain("later"), again_after_us=again_after_us)
        return bool((await door.met(lambda _: refusal)).outbox)

    assert [await told(None), await told(None), await told(0), await told(CODE_LIFE_US)] == [
        True,
        False,
        True,
        False,
    ]
    assert (await door.view()).told_at == {"refused: try later": world.clock.now()}
    assert (await door.view(EVE)).told_here == 1
    world.clock.advance(LIFE_S)
    assert (await door.view(EVE)).told_here == 0
    assert await told(CODE_LIFE_US)


async def test_a_removed_guest_is_notified_again(world: Bench) -> None:
    door = Door(world)
    refusal = TurnedAway("refused: no access", plain("no"))
    assert (await door.met(lambda _: refusal)).outbox
    await settle(world, grant(await door.knocks()))
    assert (await door.met(lambda _: refusal)).outbox
