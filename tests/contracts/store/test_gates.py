"""Asking people: a prompt waits in the store and gets exactly one outcome (P6)."""

import asyncio
from dataclasses import replace

import pytest

from core.errors import StaleTurn
from core.gates import Gate, GateKind, GateState, Grant, GrantScope, Option, Vote
from core.messages import MessageRef, plain
from core.ports import Posted, SendState
from core.store.accept import AcceptView, Verdict
from core.store.effects import CastVote, CloseGate, RecordGrant
from core.store.rows import CallState, TurnState
from core.transcript import AssistantSaid
from core.users import Role
from tests.contracts.store.bench import ADA, BEN, CHANNEL, SECOND, Bench, Rules, admit
from tests.contracts.store.calls import go
from tests.contracts.store.cards import SETTLED, closing, expired, expired_card


async def test_a_turn_that_asks_waits_and_its_gate_is_seen(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = world.gate(start, call_id)
    rows = await world.store.turns.ask_person(gate, [world.card(gate)])

    assert [(row.state, row.address, row.message) for row in rows] == [
        (SendState.QUEUED, "to room", plain(gate.title))
    ]
    thread = await world.store.threads.thread(start.thread.id)
    assert thread is not None
    assert (thread.active_turn_id, thread.active_turn_state) == (start.turn_id, TurnState.WAITING)
    (view,) = await world.store.gates.open_gates()
    assert (view.gate, view.votes, view.thread) == (gate, (), thread)
    seen = await world.look()
    assert seen.open_gates == (view,)
    assert seen.running_since is None
    call = await world.call_row(start, call_id)
    assert (call.state, call.gate_id, call.binding) == (CallState.WAITING, gate.id, gate.binding)


async def test_a_gate_is_found_by_its_id_from_anywhere(world: Bench) -> None:
    start = await world.turn(scope="first")
    gate = await world.ask(start, *await world.call(start))
    view = await world.look(gate_id=gate.id)  # in the conversation "room"
    assert view.gate is not None
    assert view.gate.gate == gate
    assert view.open_gates == ()
    assert (await world.look(gate_id="0000000000")).gate is None


async def test_a_press_belongs_to_the_thread_of_its_gate(world: Bench) -> None:
    start = await world.turn(scope="first")
    gate = await world.ask(start, *await world.call(start))
    rules = world.ruling(gate_id=gate.id)
    accepted = await world.store.inbound.accept_event(world.press(gate, 0), rules, send_now=False)
    assert accepted.thread_id == start.thread.id
    assert rules.view.thread is not None
    assert rules.view.thread.id == start.thread.id
    assert [view.gate for view in rules.view.open_gates] == [gate]


async def test_a_card_is_seen_only_in_the_conversation_where_it_was_shown(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = world.gate(start, call_id)
    cards = [world.card(gate), world.card(gate, to="to Ada alone")]
    here, elsewhere = await world.store.turns.ask_person(gate, cards)
    assert (await world.look()).cards == ()
    for row in (here, elsewhere):
        await world.store.outbox.claim_outbox(row.id)
        for part in ("1", "2"):
            posted = Posted(MessageRef(f"{row.address}/{part}"), f"000000010{part}")
            await world.store.outbox.record_part_sent(row.id, posted, last=part == "2")
    (card,) = (await world.look()).cards
    assert (card.gate_id, card.refs, card.order_key) == (
        gate.id,
        ("to room/1", "to room/2"),
        "0000000102",
    )


@pytest.mark.parametrize(
    "option,state",
    [
        (Option.APPROVE, CallState.APPROVED),
        (Option.ALWAYS, CallState.APPROVED),
        (Option.DENY, CallState.DENIED),
    ],
)
async def test_an_answer_settles_the_call_and_lets_the_turn_continue(
    world: Bench, option: Option, state: CallState
) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    accepted = await world.rule(closing(gate, option))

    resumed = accepted.started
    assert resumed is not None
    assert (resumed.turn_id, resumed.resumed, resumed.attempt) == (start.turn_id, True, 1)
    assert resumed.thread.active_turn_state is TurnState.RUNNING
    call = await world.call_row(start, call_id)
    assert (call.state, call.answer, call.answered_by) == (state, option, "Ada")
    assert call.binding == gate.binding
    view = (await world.look(gate_id=gate.id)).gate
    assert view is not None
    assert (view.gate.state, view.gate.outcome) == (GateState.CLOSED, option)
    assert view.gate.outcome_text == f"{option.value} by Ada"
    assert view.votes == (Vote("ada", "Ada", option, world.clock.now(), Role.OWNER),)
    assert not await world.store.gates.open_gates()
    if state is CallState.APPROVED:
        assert await world.store.turns.mark_running(start.turn_id, call_id, go) is None
    else:
        with pytest.raises(StaleTurn):
            await world.store.turns.mark_running(start.turn_id, call_id, go)


async def test_a_vote_counts_for_its_own_gate(world: Bench) -> None:
    start = await world.turn()
    other, gate = (world.gate(start, call_id) for call_id in await world.call(start, "shell", "http"))
    await world.store.turns.ask_person(other, [world.card(other), world.card(gate)], beside=[gate])
    await world.rule(CastVote(gate.id, Option.APPROVE), by=BEN)
    votes = {
        view.gate.id: [vote.user_id for vote in view.votes] for view in await world.store.gates.open_gates()
    }
    assert votes == {other.id: [], gate.id: ["ben"]}


async def test_every_copy_of_a_card_is_changed_in_its_place(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = world.gate(start, call_id)
    drafts = [world.card(gate), world.card(gate, to="to Ada alone"), world.card(gate, to="gone")]
    cards = await world.store.turns.ask_person(gate, drafts)
    await world.store.outbox.fail_outbox(cards[2].id, "blocked by the person")
    accepted = await world.rule(closing(gate, Option.DENY))
    assert [(row.edit_of, row.address, row.message, row.state) for row in accepted.outbox] == [
        (cards[0].id, "to room", SETTLED, SendState.QUEUED),
        (cards[1].id, "to Ada alone", SETTLED, SendState.QUEUED),
    ]
    unsettled = await world.store.outbox.pending_outbox("chat")
    assert [row.id for row in unsettled] == sorted(row.id for row in (*cards[:2], *accepted.outbox))


async def test_an_unknown_card_is_learned_when_it_is_pressed(world: Bench) -> None:
    start = await world.turn()
    calls = await world.call(start, "shell", "http")
    other, gate = (world.gate(start, call_id) for call_id in calls)
    others = replace(world.card(other), message=plain("the other card"))
    _, card = await world.store.turns.ask_person(other, [others, world.card(gate)], beside=[gate])
    await world.store.outbox.claim_outbox(card.id)
    await world.store.outbox.record_part_sent(card.id, Posted(MessageRef("known"), "1"), last=True)
    for name in ("known", "stray", "stray"):
        press = replace(world.press(gate, 0), ref=MessageRef(name))
        rules = world.ruling(gate_id=gate.id)
        assert (await world.store.inbound.accept_event(press, rules, send_now=False)).outbox == ()

    settled = await world.rule(closing(gate, Option.DENY))
    targets = [row.edit_of for row in settled.outbox if row.edit_of is not None]
    assert [await world.store.outbox.sent_refs(target) for target in targets] == [("known",), ("stray",)]

    late = replace(world.press(gate, 0), ref=MessageRef("another"))
    accepted = await world.store.inbound.accept_event(late, world.ruling(gate_id=gate.id), send_now=False)
    (change,) = accepted.outbox
    assert change.message == replace(plain(gate.title), outcome="deny by Ada")
    assert change.edit_of is not None
    assert await world.store.outbox.sent_refs(change.edit_of) == ("another",)


async def test_a_settled_gate_is_not_settled_again(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    await world.rule(closing(gate, Option.APPROVE))
    again = await world.rule(closing(gate, Option.DENY), by=BEN)
    assert (again.started, again.outbox) == (None, ())
    assert (await world.call_row(start, call_id)).answer is Option.APPROVE
    view = (await world.look(gate_id=gate.id)).gate
    assert view is not None
    assert [vote.user_id for vote in view.votes] == ["ada"]


async def test_of_two_simultaneous_answers_one_counts_and_the_other_sees_it(world: Bench) -> None:
    for _ in range(20):
        start = await world.turn(scope=world.ids.row_id())
        (call_id,) = await world.call(start)
        gate = await world.ask(start, call_id)

        def verdict(option: Option, view: AcceptView) -> Verdict:
            assert view.gate is not None
            if view.gate.gate.state is GateState.CLOSED:
                return Verdict("refused", answer=view.gate.gate.outcome_text)
            close = CloseGate(view.gate.gate.id, option, f"it was {option.value}", SETTLED)
            return Verdict("answer", (close,), answer=close.outcome_text)

        answers = [
            world.store.inbound.accept_event(
                world.press(gate, index, by=person),
                Rules(admit(person), lambda _event, view, option=option: verdict(option, view), gate.id),
                send_now=False,
            )
            for index, (person, option) in enumerate([(ADA, Option.APPROVE), (BEN, Option.DENY)])
        ]
        first, second = await asyncio.gather(*answers)
        assert sorted([first.outcome, second.outcome]) == ["answer", "refused"]
        assert first.answer == second.answer
        assert (first.started is None) != (second.started is None)


async def test_votes_are_one_for_each_person(world: Bench) -> None:
    start = await world.turn()
    gate = await world.ask(start, *await world.call(start))
    for person, option in ((ADA, Option.APPROVE), (BEN, Option.APPROVE), (BEN, Option.DENY)):
        accepted = await world.rule(CastVote(gate.id, option), by=person)
        assert accepted.started is None
        world.clock.advance(1)
    (view,) = await world.store.gates.open_gates()
    assert [(vote.user_id, vote.name, vote.answer) for vote in view.votes] == [
        ("ada", "Ada", Option.APPROVE),
        ("ben", "Ben", Option.DENY),
    ]


async def test_a_turn_continues_only_when_its_last_gate_is_settled(world: Bench) -> None:
    """Whatever others wait for."""
    start, others = await world.turn(), await world.turn(by=BEN, scope="theirs")
    await world.ask(others, *await world.call(others))
    calls = await world.call(start, "shell", "http")
    gates: list[Gate] = []
    for call_id in calls:
        await world.store.turns.mark_running(start.turn_id, call_id, go)
    for call_id in calls:
        gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (Option.HAPPENED, Option.RETRY))
        await world.store.recovery.mark_unknown(call_id, gate, [world.card(gate)])
        gates.append(gate)
    assert (await world.rule(closing(gates[0], Option.HAPPENED))).started is None
    assert (await world.rule(closing(gates[1], Option.RETRY))).started is not None


@pytest.mark.parametrize("option", [Option.HAPPENED, Option.SKIP, Option.RETRY])
async def test_a_call_of_unknown_outcome_is_run_again_only_if_a_person_says_so(
    world: Bench, option: Option
) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (option,))
    rows = await world.store.recovery.mark_unknown(call_id, gate, [world.card(gate)])
    assert [row.message for row in rows] == [plain(gate.title)]
    with pytest.raises(StaleTurn):
        await world.store.recovery.mark_unknown(call_id, world.gate(start, call_id), [])
    await world.rule(closing(gate, option))
    call = await world.call_row(start, call_id)
    assert (call.state, call.answer, call.answered_by) == (CallState.UNKNOWN, option, "Ada")
    if option is Option.RETRY:
        assert await world.store.turns.mark_running(start.turn_id, call_id, go) is None
    else:
        with pytest.raises(StaleTurn):
            await world.store.turns.mark_running(start.turn_id, call_id, go)


async def test_a_call_interrupted_twice_is_asked_about_twice(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    for _ in range(2):
        await world.store.turns.mark_running(start.turn_id, call_id, go)
        gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (Option.RETRY,))
        await world.store.recovery.mark_unknown(call_id, gate, [world.card(gate)])
        with pytest.raises(StaleTurn):
            await world.store.turns.mark_running(start.turn_id, call_id, go)
        await world.rule(closing(gate, Option.RETRY))
    assert (await world.call_row(start, call_id)).state is CallState.UNKNOWN


async def test_continuing_starts_a_new_budget(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    world.clock.advance(100)
    gate = await world.ask(start, kind=GateKind.CONTINUE, options=(Option.CONTINUE, Option.STOP))
    accepted = await world.rule(closing(gate, Option.CONTINUE))
    assert accepted.started is not None
    loaded = await world.store.turns.load_turn(accepted.started)
    assert (loaded.rounds, loaded.tools_run, loaded.spent_us) == (0, 0, 0)
    assert loaded.continued is Option.CONTINUE
    await world.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid("words"), [])
    await world.call(start)
    assert (await world.reload(start)).rounds == 1


async def test_stopping_at_a_budget_is_stored_and_leaves_the_budget_as_it_is(world: Bench) -> None:
    start = await world.turn()
    await world.call(start)
    gate = await world.ask(start, kind=GateKind.CONTINUE, options=(Option.CONTINUE, Option.STOP))
    accepted = await world.rule(closing(gate, Option.STOP))
    assert accepted.started is not None
    loaded = await world.store.turns.load_turn(accepted.started)
    assert (loaded.rounds, loaded.continued) == (1, Option.STOP)


async def test_an_approval_does_not_raise_the_budget(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    accepted = await world.rule(closing(gate, Option.APPROVE))
    assert accepted.started is not None
    assert (await world.store.turns.load_turn(accepted.started)).rounds == 1


# --- expiry ---------------------------------------------------------------------------------------------


async def test_an_expired_approval_is_denied_without_a_person(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = world.gate(start, call_id, expires_in_s=60)
    (card,) = await world.store.turns.ask_person(gate, [world.card(gate)])
    early = await world.store.gates.expire_gates(world.clock.now() + 59 * SECOND, expired, expired_card)
    assert (early.started, early.outbox) == ((), ())

    world.clock.advance(60)
    late = await world.store.gates.expire_gates(world.clock.now(), expired, expired_card)
    assert [started.turn_id for started in late.started] == [start.turn_id]
    assert [(row.edit_of, row.message) for row in late.outbox] == [(card.id, plain("expired: Run shell?"))]
    call = await world.call_row(start, call_id)
    assert (call.state, call.answered_by) == (CallState.DENIED, None)
    again = await world.store.gates.expire_gates(world.clock.now(), expired, expired_card)
    assert (again.started, again.outbox) == ((), ())
    assert (await world.rule(closing(gate, Option.APPROVE))).started is None


async def test_an_expired_question_about_an_outcome_leaves_it_unknown(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (Option.RETRY,), expires_in_s=1)
    await world.store.recovery.mark_unknown(call_id, gate, [])
    late = await world.store.gates.expire_gates(world.clock.now() + SECOND, expired, expired_card)
    assert len(late.started) == 1
    call = await world.call_row(start, call_id)
    assert (call.state, call.answer) == (CallState.UNKNOWN, None)


async def test_an_expired_continue_gate_means_no(world: Bench) -> None:
    start = await world.turn()
    await world.ask(start, kind=GateKind.CONTINUE, options=(Option.CONTINUE, Option.STOP), expires_in_s=1)
    (resumed,) = (
        await world.store.gates.expire_gates(world.clock.now() + SECOND, expired, expired_card)
    ).started
    assert (await world.store.turns.load_turn(resumed)).continued is Option.STOP


# --- grants ---------------------------------------------------------------------------------------------


async def test_grants_are_listed_until_they_expire_or_are_revoked(world: Bench) -> None:
    await world.turn()
    now = world.clock.now()
    whole = Grant("g1", "ada", "shell", None, GrantScope.USER, None, "ada", now)
    brief = Grant("g2", "ada", "shell", "ls *", GrantScope.USER, None, "ada", now, now + 10 * SECOND)
    await world.rule(RecordGrant(whole), RecordGrant(brief))
    assert await world.store.consents.grants("ada") == [whole, brief]
    assert not await world.store.consents.grants("ben")
    world.clock.advance(10)
    assert await world.store.consents.grants("ada") == [whole]
    assert await world.store.consents.revoke_grant("g1")
    assert not await world.store.consents.revoke_grant("g1")
    assert not await world.store.consents.grants("ada")


async def test_granting_the_same_again_leaves_one_grant_to_revoke(world: Bench) -> None:
    await world.turn()
    first = Grant("g1", "ada", "shell", None, GrantScope.USER, None, "ada", world.clock.now())
    second = Grant("g2", "ada", "shell", None, GrantScope.USER, None, "ada", world.clock.now())
    await world.rule(RecordGrant(first))
    await world.rule(RecordGrant(second))
    assert await world.store.consents.grants("ada") == [second]


async def test_a_new_turn_is_loaded_with_the_grants_that_hold_in_its_thread(world: Bench) -> None:
    start = await world.turn(scope="first")
    now = world.clock.now()
    here = Grant("g1", "ada", "http", None, GrantScope.THREAD, start.thread.id, "ada", now)
    everywhere = Grant("g2", "ada", "shell", None, GrantScope.USER, None, "ada", now)
    over = Grant("g3", "ada", "time", None, GrantScope.USER, None, "ada", now - 2, now)
    await world.rule(*map(RecordGrant, (here, everywhere, over)))
    assert (await world.store.consents.standing("ada", start.thread.id)).grants == (here, everywhere)
    assert (await world.store.consents.standing("ben", start.thread.id)).grants == ()
    other = await world.turn(scope="second")
    assert (await world.store.consents.standing("ada", other.thread.id)).grants == (everywhere,)


async def test_a_card_whose_delivery_is_ambiguous_is_found_by_a_press(world: Bench) -> None:
    """That one alone: not of another gate, nor of the same one elsewhere, on another channel, or shown."""
    start = await world.turn()
    calls = await world.call(start, "shell", "http")
    other, gate = (world.gate(start, call_id) for call_id in calls)
    drafts = [world.card(other), *(world.card(gate, to=to) for to in ("elsewhere", "to room", "to room"))]
    drafts.insert(2, replace(world.card(gate), channel="another"))
    cards = await world.store.turns.ask_person(other, drafts, beside=[gate])
    for card in cards:
        await world.store.outbox.claim_outbox(card.id)
        await world.store.outbox.mark_ambiguous(card.id, "no answer")
    shown, card = cards[-2:]
    await world.store.outbox.record_part_sent(shown.id, Posted(MessageRef("shown"), "1"), last=True)
    press = replace(world.press(gate, 0), ref=MessageRef("found"))
    await world.store.inbound.accept_event(press, world.ruling(gate_id=gate.id), send_now=False)
    left = [
        *await world.store.outbox.pending_outbox(CHANNEL),
        *await world.store.outbox.pending_outbox("another"),
    ]
    assert [row.id for row in left] == [cards[0].id, cards[1].id, cards[2].id]
    found = await world.store.outbox.claim_outbox(card.id)
    assert (found.state, found.refs, found.repeats) == (SendState.SENT, ("found",), 0)


async def test_a_card_pressed_before_its_sending_was_confirmed_is_known_at_the_next_start(
    world: Bench,
) -> None:
    """That one alone, as above."""
    start = await world.turn()
    calls = await world.call(start, "shell", "http")
    other, gate = (world.gate(start, call_id) for call_id in calls)
    drafts = [
        world.card(other),
        world.card(gate, to="elsewhere"),
        replace(world.card(gate), channel="another"),
    ]
    cards = await world.store.turns.ask_person(other, [*drafts, world.card(gate)], beside=[gate])
    for card in cards:
        await world.store.outbox.claim_outbox(card.id)
    press = replace(world.press(gate, 0), ref=MessageRef("found"))
    await world.store.inbound.accept_event(press, world.ruling(gate_id=gate.id), send_now=False)
    await world.store.recovery.recover()
    assert [await world.store.outbox.sent_refs(card.id) for card in cards] == [(), (), (), ("found",)]
