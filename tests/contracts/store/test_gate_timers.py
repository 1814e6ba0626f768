"""Prompts that nobody answers: reminders and escalation, each once, whatever happens in between."""

from dataclasses import replace

from core.gates import Gate, Option, VoteRule
from core.messages import Message, MessageRef, plain
from core.ports import OutboxRow, Posted
from core.store.effects import CastVote
from core.store.feed import GatesWanted, HubSaid
from core.store.rows import TurnStart
from core.users import Role
from tests.contracts.store.bench import ADA, BEN, SECOND, Bench
from tests.contracts.store.cards import closing


def reminder(gate: Gate) -> Message:
    return plain(f"still waiting: {gate.title}")


async def asked(world: Bench, *elsewhere: str, **changes: int) -> tuple[TurnStart, Gate, OutboxRow]:
    """A prompt with a card that is shown, and others that are not yet."""
    start = await world.turn()
    (call_id,) = await world.call(start)
    now = world.clock.now()
    rule = VoteRule(approvers=(ADA.user_id,), escalate_to=(BEN.user_id,))
    times = {name: now + seconds * SECOND for name, seconds in changes.items()}
    gate = replace(world.gate(start, call_id), rule=rule, **times)
    drafts = [world.card(gate), *(world.card(gate, to=to) for to in elsewhere)]
    card, *_ = await world.store.turns.ask_person(gate, drafts)
    await world.store.outbox.claim_outbox(card.id)
    await world.store.outbox.record_part_sent(card.id, Posted(MessageRef("7"), "7"), last=True)
    return start, gate, card


async def test_people_are_reminded_once_below_the_card(world: Bench) -> None:
    """Nowhere else, and each reads in the conversation what was said there."""
    theirs = await world.turn(by=BEN, scope="theirs")
    (their_call,) = await world.call(theirs)
    their_gate = world.gate(theirs, their_call)
    await world.store.turns.ask_person(their_gate, [world.card(their_gate, to="to Ben")])
    start, _, card = await asked(world, "to Ada alone", remind_at=10)
    assert await world.store.gates.remind_gates(world.clock.now() + 9 * SECOND, reminder) == ()
    world.clock.advance(10)
    row, alone = await world.store.gates.remind_gates(world.clock.now(), reminder)
    assert (alone.address, alone.message.reply_to) == ("to Ada alone", None)
    assert (row.channel, row.address, row.message.reply_to) == (card.channel, card.address, "7")
    assert row.message.blocks == plain("still waiting: Run shell?").blocks
    assert await world.store.gates.remind_gates(world.clock.now(), reminder) == ()
    (seen,) = [
        item.shown
        for item in await world.store.feed.feed_after(start.thread.id, 0, 100)
        if isinstance(item.shown, HubSaid)
    ]
    assert seen.message.blocks == row.message.blocks


async def test_settled_gates_send_no_reminder(world: Bench) -> None:
    _, gate, _ = await asked(world, remind_at=10)
    await world.rule(closing(gate, Option.DENY))
    assert await world.store.gates.remind_gates(world.clock.now() + 20 * SECOND, reminder) == ()


async def test_an_escalated_gate_names_more_people_once(world: Bench) -> None:
    start, gate, _ = await asked(world, escalate_at=10)
    await world.store.people.ensure_user(BEN.user_id, BEN.role, BEN.name)
    assert await world.store.gates.gates_to_escalate(world.clock.now()) == ()
    world.clock.advance(10)
    (view,) = await world.store.gates.gates_to_escalate(world.clock.now())
    assert (view.gate.id, view.gate.rule.escalated) == (gate.id, False)

    copy, told = world.draft("copy", gate_id=gate.id), world.draft("told")
    rows = await world.store.gates.escalate_gate(gate.id, [copy], told)
    assert [row.message for row in rows] == [copy.message, told.message]
    (view,) = await world.store.gates.open_gates()
    assert view.gate.rule == VoteRule((ADA.user_id,), escalate_to=(BEN.user_id,), escalated=True)
    assert await world.store.gates.gates_to_escalate(world.clock.now()) == ()
    assert await world.store.gates.escalate_gate(gate.id, [copy], told) == ()
    settled = await world.rule(closing(gate, Option.APPROVE), by=BEN)
    assert len(settled.outbox) == 2  # both cards change
    assert settled.started is not None
    assert settled.started.turn_id == start.turn_id


async def test_an_escalated_gate_is_listed_for_the_new_approver(world: Bench) -> None:
    _, gate, _ = await asked(world, escalate_at=10)
    await world.store.people.ensure_user(BEN.user_id, BEN.role, BEN.name)
    bens = GatesWanted(limit=9, open=True, concerning=BEN.user_id)
    assert not await world.store.feed.gate_glances(bens)
    await world.store.gates.escalate_gate(gate.id, [], world.draft("told"))
    (glance,) = await world.store.feed.gate_glances(bens)
    assert glance.gate.rule.named == (ADA.user_id, BEN.user_id)


async def test_a_settled_gate_is_not_escalated(world: Bench) -> None:
    _, gate, _ = await asked(world, escalate_at=10)
    await world.rule(closing(gate, Option.DENY))
    world.clock.advance(10)
    assert await world.store.gates.gates_to_escalate(world.clock.now()) == ()
    assert await world.store.gates.escalate_gate(gate.id, [], world.draft("told")) == ()


async def test_votes_carry_the_current_role_of_their_person(world: Bench) -> None:
    _, gate, _ = await asked(world)
    await world.store.people.ensure_user(BEN.user_id, Role.MEMBER, BEN.name)
    await world.rule(CastVote(gate.id, Option.APPROVE), by=BEN)
    await world.store.people.ensure_user(BEN.user_id, Role.GUEST, BEN.name)
    (view,) = await world.store.gates.open_gates()
    assert [(vote.user_id, vote.role) for vote in view.votes] == [(BEN.user_id, Role.GUEST)]
