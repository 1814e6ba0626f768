"""Many callers at once: each unit whole, in some order, and none in another's way."""

import asyncio

import pytest

from core.messages import InboundEvent
from core.store.accept import AcceptView, Verdict
from core.store.rows import TurnStart
from core.transcript import UserSaid
from core.users import Principal, Role
from tests.contracts.store.bench import ADA, Bench, Rules, admit


async def test_one_event_delivered_sixty_four_times_at_once_is_accepted_once(world: Bench) -> None:
    event = world.message()
    taken = await asyncio.gather(
        *(world.store.inbound.accept_event(event, world.queueing(), send_now=False) for _ in range(64))
    )
    assert [accepted.duplicate for accepted in taken].count(False) == 1
    assert len([accepted for accepted in taken if accepted.started is not None]) == 1
    assert {accepted.outcome for accepted in taken} == {"turn 1"}


async def test_conversations_start_side_by_side(world: Bench) -> None:
    people = [Principal(f"p{number}", Role.MEMBER, f"P{number}") for number in range(64)]
    accepted = await asyncio.gather(*(world.say(by=person, scope=person.user_id) for person in people))
    assert len({one.thread_id for one in accepted}) == 64
    assert all(one.started is not None for one in accepted)


async def test_messages_of_one_conversation_make_one_turn_and_the_rest_wait_in_order(world: Bench) -> None:
    accepted = await asyncio.gather(*(world.say(f"{number}", order=number) for number in range(30)))
    starts = [one.started for one in accepted if one.started is not None]
    assert len(starts) == 1
    start: TurnStart | None = starts[0]
    texts: list[str] = []
    while start is not None:
        texts = [said.text for said in await world.said(start) if isinstance(said, UserSaid)]
        start = await world.finish(start, None)
    _first, *rest = texts
    assert rest == sorted(rest, key=int)
    assert sorted(texts, key=int) == [str(number) for number in range(30)]


async def test_a_failed_unit_affects_no_other(world: Bench) -> None:
    def fail(event: InboundEvent, view: AcceptView) -> Verdict:
        raise LookupError("only this one")

    def rules(number: int) -> Rules:
        return Rules(admit(ADA), fail) if number % 3 == 0 else world.queueing()

    events = [world.message(scope=f"room {number}") for number in range(60)]
    results = await asyncio.gather(
        *(
            world.store.inbound.accept_event(event, rules(number), send_now=False)
            for number, event in enumerate(events)
        ),
        return_exceptions=True,
    )
    failed = [number for number, result in enumerate(results) if isinstance(result, BaseException)]
    assert failed == list(range(0, 60, 3))
    assert all(isinstance(results[number], LookupError) for number in failed)
    for number, event in enumerate(events):
        explained = await world.store.explanations.explain(event.key)
        assert (explained is None) == (number in failed)


async def test_a_cancelled_caller_does_not_undo_its_unit(world: Bench) -> None:
    event = world.message()
    caller = asyncio.create_task(world.store.inbound.accept_event(event, world.queueing(), send_now=False))
    await asyncio.sleep(0)  # the unit is handed in
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    again = await world.store.inbound.accept_event(event, world.queueing(), send_now=False)
    assert (again.duplicate, again.outcome) == (True, "turn 1")


async def test_closing_finishes_submitted_units(world: Bench) -> None:
    callers = [asyncio.create_task(world.say(scope=f"room {number}")) for number in range(50)]
    await asyncio.sleep(0)
    await world.store.close()
    accepted = await asyncio.gather(*callers)
    assert all(one.started is not None for one in accepted)
