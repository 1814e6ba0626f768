"""An inbound event: seen once, judged on the state of the moment, applied whole or not at all."""

import pytest

from core.messages import InboundEvent, Sender, Unreadable, plain
from core.ports import SendState
from core.store.accept import AcceptView, Admission, TurnedAway, Verdict
from core.store.effects import QueueInput, RebindThread, Say
from core.store.rows import TurnState
from core.transcript import AssistantSaid, UserSaid
from core.users import Identity, Principal, Role
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench, Rules, admit


def refuse_to_judge(event: InboundEvent, identity: Identity | None) -> Admission:
    raise AssertionError("a repeated event must not be judged again")


async def test_the_first_message_makes_the_person_the_thread_and_a_running_turn(world: Bench) -> None:
    rules = world.queueing()
    accepted = await world.store.inbound.accept_event(world.message("hello"), rules, send_now=False)

    assert rules.identities == [None]
    assert rules.view.thread is None
    assert (accepted.outcome, accepted.duplicate) == ("turn 1", False)
    start = accepted.started
    assert start is not None
    assert (start.number, start.attempt, start.resumed) == (1, 1, False)
    assert start.principal == ADA
    assert start.thread.active_turn_state is TurnState.RUNNING
    assert await world.store.people.user("ada") == ADA
    assert await world.store.threads.thread(start.thread.id) == start.thread
    assert await world.said(start) == [UserSaid("hello")]


async def test_the_second_message_finds_person_and_thread_again(world: Bench) -> None:
    start = await world.turn()
    view = await world.look()
    assert view.thread is not None
    assert view.thread.id == start.thread.id
    assert view.running_since == world.clock.now()

    rules = world.queueing()
    await world.store.inbound.accept_event(world.message(), rules, send_now=False)
    assert rules.identities == [Identity(CHANNEL, "ada", ADA, "config")]


async def test_in_a_group_the_transcript_says_who_speaks(world: Bench) -> None:
    start = await world.turn("hi", direct=False)
    assert await world.said(start) == [UserSaid("hi", sender="Ada")]


async def test_a_repeated_event_changes_nothing_and_has_the_recorded_outcome(world: Bench) -> None:
    event = world.message(key="chat:m:room:7")
    first = await world.store.inbound.accept_event(event, world.queueing(), send_now=False)
    for _ in range(2):
        again = await world.store.inbound.accept_event(
            event, Rules(refuse_to_judge, lambda _event, _view: Verdict("never")), send_now=False
        )
        assert again.duplicate
        assert (again.outcome, again.thread_id) == ("turn 1", first.thread_id)
        assert again.started is None
        assert again.outbox == ()


async def test_a_repeated_press_is_answered_with_the_same_word(world: Bench) -> None:
    start = await world.turn()
    gate = await world.ask(start, *await world.call(start))
    press = world.press(gate, 0)
    rules = Rules(admit(ADA), lambda _event, _view: Verdict("answer", answer="Approved by Ada"), gate.id)
    await world.store.inbound.accept_event(press, rules, send_now=False)
    again = await world.store.inbound.accept_event(press, rules, send_now=False)
    assert (again.duplicate, again.answer) == (True, "Approved by Ada")


async def test_an_unreadable_event_is_recorded_once(world: Bench) -> None:
    event = Unreadable("chat:m:broken", CHANNEL, "no text field \ud800", world.clock.now())
    rules = world.queueing()
    accepted = await world.store.inbound.accept_event(event, rules, send_now=False)
    assert (accepted.outcome, accepted.duplicate) == ("failed: unreadable", False)
    assert rules.identities == []
    assert (await world.store.inbound.accept_event(event, rules, send_now=False)).duplicate
    explained = await world.store.explanations.explain("chat:m:broken")
    assert explained is not None
    assert explained.outcome == "failed: unreadable"


async def test_a_refused_person_is_answered_once_and_every_event_is_explained(world: Bench) -> None:
    refusal = TurnedAway("refused: no access", plain("You are not paired."), word="not here")
    rules = Rules(lambda _event, _identity: refusal, lambda _event, _view: Verdict("never"))
    first = await world.store.inbound.accept_event(world.message(), rules, send_now=False)
    second_event = world.message()
    second = await world.store.inbound.accept_event(second_event, rules, send_now=False)

    assert [row.message for row in first.outbox] == [plain("You are not paired.")]
    assert second.outbox == ()
    assert (second.outcome, second.answer) == ("refused: no access", "not here")
    assert await world.store.people.user("ada") is None
    explained = await world.store.explanations.explain(second_event.key)
    assert explained is not None
    assert (explained.outcome, explained.sender) == ("refused: no access", "Ada")


async def test_another_refusal_of_the_same_person_is_answered_again(world: Bench) -> None:
    def refusing(outcome: str) -> Rules:
        refusal = TurnedAway(outcome, plain(outcome))
        return Rules(lambda _event, _identity: refusal, lambda _event, _view: Verdict("never"))

    await world.store.inbound.accept_event(world.message(), refusing("refused: no access"), send_now=False)
    other = await world.store.inbound.accept_event(
        world.message(), refusing("refused: too fast"), send_now=False
    )
    assert len(other.outbox) == 1


async def test_noise_is_not_stored(world: Bench) -> None:
    refusal = TurnedAway("ignored: groups are off", plain("never said"), noise=True)
    rules = Rules(lambda _event, _identity: refusal, lambda _event, _view: Verdict("never"))
    event = world.message()
    for _ in range(3):
        accepted = await world.store.inbound.accept_event(event, rules, send_now=False)
        assert (accepted.outcome, accepted.duplicate) == ("ignored: groups are off", False)
        assert accepted.outbox == ()
    assert await world.store.explanations.explain(event.key) is None
    assert not await world.store.explanations.explain_recent(10)


async def test_an_identity_follows_the_judge_to_another_person_and_role(world: Bench) -> None:
    await world.turn(by=BEN)
    promoted = Principal("ben", Role.OWNER, "Benjamin")
    await world.store.inbound.accept_event(world.message(by=BEN), world.ruling(by=promoted), send_now=False)
    assert await world.store.people.user("ben") == promoted

    await world.store.inbound.accept_event(world.message(by=BEN), world.ruling(by=ADA), send_now=False)
    rules = world.ruling(by=ADA)
    await world.store.inbound.accept_event(world.message(by=BEN), rules, send_now=False)
    assert rules.identities == [Identity(CHANNEL, "ben", ADA, "config")]


async def test_unnamed_empty_and_named_conversations_are_three_threads(world: Bench) -> None:
    starts = [await world.turn(scope=scope) for scope in (None, "", "-", "=")]
    assert len({start.thread.id for start in starts}) == 4
    again = await world.say(scope=None)
    assert again.thread_id == starts[0].thread.id


async def test_people_in_one_conversation_have_threads_of_their_own(world: Bench) -> None:
    assert (await world.turn(by=ADA)).thread.id != (await world.turn(by=BEN)).thread.id


async def test_a_failure_while_judging_stores_nothing(world: Bench) -> None:
    def fail(event: InboundEvent, view: AcceptView) -> Verdict:
        raise LookupError("a defect in the rules")

    event = world.message()
    with pytest.raises(LookupError, match="a defect in the rules"):
        await world.store.inbound.accept_event(event, Rules(admit(ADA), fail), send_now=False)
    assert await world.store.people.user("ada") is None
    accepted = await world.store.inbound.accept_event(event, world.queueing(), send_now=False)
    assert (accepted.duplicate, accepted.outcome) == (False, "turn 1")


async def test_a_later_failure_rolls_back_earlier_effects(world: Bench) -> None:
    start = await world.turn()
    broken = (Say(plain("half a sentence")), QueueInput("not used", start.turn_id))
    await world.finish(start)
    with pytest.raises(Exception, match=r"(?i)unique"):  # the turn id exists already
        await world.rule(*broken)
    assert not await world.store.outbox.pending_outbox(CHANNEL)


async def test_invalid_unicode_is_stored_with_replacement_characters(world: Bench) -> None:
    broken = Principal("ada", Role.OWNER, "A\ud800da")
    event = world.message("half a \udc00 pair")
    event = type(event)(
        event.key,
        event.order_key,
        event.channel,
        event.address,
        event.scope,
        Sender("ada", "A\ud800da"),
        event.text,
        event.sent_at,
        direct=False,
    )
    accepted = await world.store.inbound.accept_event(event, world.queueing(broken), send_now=False)
    assert accepted.started is not None
    assert await world.said(accepted.started) == [UserSaid("half a \ufffd pair", sender="A\ufffdda")]


# --- other threads --------------------------------------------------------------------------------------


async def test_a_new_thread_takes_the_key_and_the_old_turn_continues(world: Bench) -> None:
    start = await world.turn()
    await world.say("still waiting")
    accepted = await world.rule(RebindThread("fresh"))
    assert accepted.thread_id == "fresh"
    moved = await world.turn("in the new one")
    assert moved.thread.id == "fresh"
    assert await world.said(moved) == [UserSaid("in the new one")]

    following = await world.finish(start, "old answer")
    assert following is not None
    assert await world.said(following) == [
        UserSaid("hello"),
        AssistantSaid("old answer"),
        UserSaid("still waiting"),
    ]


async def test_input_after_new_in_one_verdict_goes_to_the_new_thread(world: Bench) -> None:
    await world.turn()
    accepted = await world.rule(RebindThread("fresh"), QueueInput("unused", world.ids.row_id()))
    assert accepted.started is not None
    assert accepted.started.thread.id == "fresh"


async def test_a_thread_is_known_by_its_id_but_only_to_its_owner(world: Bench) -> None:
    start = await world.turn(scope="first")
    thread_id = start.thread.id
    mapped = world.ruling()
    await world.store.inbound.accept_event(world.message(scope=thread_id), mapped, send_now=False)
    candidate = mapped.view.candidate
    assert candidate is not None
    assert (candidate.thread_id, candidate.own, candidate.taken, candidate.mapped) == (
        thread_id,
        True,
        True,
        True,
    )

    await world.store.inbound.accept_event(
        world.message(scope="first"), world.ruling(RebindThread("other")), send_now=False
    )
    plain_id = thread_id.replace("-", "").upper()
    own = world.ruling()
    await world.store.inbound.accept_event(world.message(scope=plain_id), own, send_now=False)
    assert own.view.candidate is not None
    assert (own.view.candidate.thread_id, own.view.candidate.own, own.view.candidate.mapped) == (
        thread_id,
        True,
        False,
    )

    strange = world.ruling(by=BEN)
    await world.store.inbound.accept_event(world.message(scope=thread_id, by=BEN), strange, send_now=False)
    assert strange.view.candidate is not None
    assert (strange.view.candidate.own, strange.view.candidate.taken) == (False, True)


async def test_a_conversation_named_by_no_id_has_no_candidate(world: Bench) -> None:
    rules = world.ruling()
    await world.store.inbound.accept_event(world.message(scope="room 12"), rules, send_now=False)
    assert rules.view.candidate is None


async def test_the_new_key_leads_to_the_adopted_thread(world: Bench) -> None:
    start = await world.turn(scope="first")
    await world.finish(start, "the answer")
    adopting = world.ruling(QueueInput(start.thread.id, world.ids.row_id(), adopt=True))
    event = world.message("go on", scope="second", address="to second")
    accepted = await world.store.inbound.accept_event(event, adopting, send_now=False)
    assert accepted.started is not None
    assert accepted.started.thread.id == start.thread.id
    assert accepted.started.thread.address == "to second"
    assert await world.said(accepted.started) == [
        UserSaid("hello"),
        AssistantSaid("the answer"),
        UserSaid("go on"),
    ]


# --- saying something -----------------------------------------------------------------------------------


async def test_replies_go_to_the_conversation_of_the_event(world: Bench) -> None:
    accepted = await world.rule(Say(plain("one")), Say(plain("two")))
    assert [(row.message, row.address, row.state) for row in accepted.outbox] == [
        (plain("one"), "to room", SendState.QUEUED),
        (plain("two"), "to room", SendState.QUEUED),
    ]
    assert list(await world.store.outbox.pending_outbox(CHANNEL)) == list(accepted.outbox)


async def test_only_the_first_waiting_message_of_an_address_is_sent_at_once(world: Bench) -> None:
    accepted = await world.rule(Say(plain("one")), Say(plain("two")), send_now=True)
    assert [(row.state, row.attempts) for row in accepted.outbox] == [
        (SendState.SENDING, 1),
        (SendState.QUEUED, 0),
    ]
    later = await world.rule(Say(plain("three")), send_now=True)
    assert [row.state for row in later.outbox] == [SendState.QUEUED]


async def test_why_reports_the_effects_of_an_event(world: Bench) -> None:
    event = world.message("hello")
    accepted = await world.store.inbound.accept_event(event, world.queueing(), send_now=False)
    assert accepted.started is not None
    await world.finish(accepted.started, "done", world.draft("done"), state=TurnState.DONE)
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert (explained.outcome, explained.turn_state, explained.sender) == ("turn 1", "done", "Ada")
    assert (explained.thread_id, explained.turn_id) == (accepted.thread_id, accepted.started.turn_id)
    assert [(one.state, one.parts, one.repeats) for one in explained.deliveries] == [("queued", 0, 0)]

    status = await world.rule(Say(plain("status")))
    newest = await world.store.explanations.explain_recent(1)
    assert [one.outcome for one in newest] == ["command"]
    assert [one.outbox_id for one in newest[0].deliveries] == [status.outbox[0].id]
    assert await world.store.explanations.explain("chat:m:never") is None


async def test_the_newest_message_of_each_address_is_known(world: Bench) -> None:
    """From there a channel asks its platform for what it missed."""
    began = world.clock.now()
    messages = [world.message("first"), world.message("second", address="other"), world.message("third")]
    for message in messages:
        await world.store.inbound.accept_event(message, world.queueing(), send_now=False)
    seen = {one.address: one.order_key for one in await world.store.threads.last_seen(CHANNEL, began)}
    assert seen == {message.address: message.order_key for message in messages[1:]}
    assert not await world.store.threads.last_seen("elsewhere", began)
    assert not await world.store.threads.last_seen(CHANNEL, world.clock.now() + 1)
