"""A call was changed while it waited: what was pressed or written about it before is no answer to what it is
now."""

from dataclasses import replace

import pytest

from core.consent import card_texts
from core.consent.presses import Decisions
from core.gates import Gate, GateKind, GateState, Option, Options, Vote, VoteRule
from core.inbound.judge import decided_by_word
from core.inbound.submission import BareAnswer
from core.messages import EDIT, Address, ChoiceAnswer, InboundMessage, MessageRef, Plain, Sender, plain
from core.store.accept import AcceptView, ShownCard, Verdict
from core.store.effects import CastVote, CloseGate, EditCall, EditedCall, EditRefused, Say
from core.store.rows import GateView, ThreadRow
from core.users import Principal, Role
from tests.contracts.store.bench import CountingIds

LEA = Principal("lea", Role.MEMBER, "Lea")
SENDER = Sender("account", "Lea")
HERE, CARD = Address("here"), MessageRef("card")
CHANGED_AT = 100
APPROVE, DENY = 0, 1
WAITS = Gate(
    id="0123456789",
    kind=GateKind.APPROVAL,
    thread_id="thread",
    turn_id="turn",
    call_id="call",
    requester_id="ben",
    title="Run `ls`?",
    detail="command: ls",
    offer=Options((Option.APPROVE, Option.DENY)),
    rule=VoteRule(("ada", "lea"), quorum=2),
    binding="hash",
    created_at=1,
    expires_at=1_000,
)
CHANGED = replace(
    WAITS, detail="command: ls -l", binding="another hash", first_choice=2, changed_at=CHANGED_AT
)
THREAD = ThreadRow("thread", "ben", "chat", "=here", HERE, "", 1, 1)


def seen(gate: Gate, votes: tuple[Vote, ...] = ()) -> AcceptView:
    """As it is judged when Lea writes in the conversation that it is about."""
    on = GateView(gate, votes, THREAD)
    return AcceptView(LEA, THREAD, None, 0, None, (on,), on, (ShownCard(gate.id, (CARD,), "1"),), 0)


def pressed(gate: Gate, position: int) -> tuple[object, ...]:
    event = ChoiceAnswer("key", "chat", HERE, SENDER, gate.id, position, sent_at=CHANGED_AT + 50)
    verdict = Decisions(CountingIds(), CHANGED_AT + 50, None).press(event, seen(gate))
    return verdict.answer, *map(type, verdict.effects)


def handed_in(
    gate: Gate, edit: EditedCall, *, votes: tuple[Vote, ...] = (), choice: int = APPROVE
) -> Verdict:
    """Lea hands in a form that makes this of the call."""
    event = ChoiceAnswer("key", "chat", HERE, SENDER, gate.id, choice, sent_at=CHANGED_AT + 50, form="{}")
    view = seen(gate, votes)
    return Decisions(CountingIds(), CHANGED_AT + 50, edit).press(event, view)


def written(text: str, sent_at: int) -> InboundMessage:
    return InboundMessage("key", "2", "chat", HERE, "scope", SENDER, text, sent_at)


def test_a_button_from_before_the_edit_is_not_an_answer() -> None:
    for position in (APPROVE, DENY):
        assert pressed(CHANGED, position) == (card_texts.CHANGED_MEANWHILE,)
    assert pressed(WAITS, APPROVE) == (card_texts.vote_counted(1), CastVote)


def test_a_button_that_is_shown_now_is_an_answer() -> None:
    assert pressed(CHANGED, 2 + APPROVE) == (card_texts.vote_counted(1), CastVote)
    assert pressed(CHANGED, 2 + DENY)[1:] == (CloseGate,)


def test_once_it_is_settled_any_of_its_buttons_tells_the_outcome() -> None:
    over = replace(CHANGED, state=GateState.CLOSED, outcome=Option.APPROVE, outcome_text="Approved by Ada")
    for position in (APPROVE, 2 + APPROVE):
        assert pressed(over, position) == (card_texts.already_settled("Approved by Ada"),)
    typed = Decisions(CountingIds(), CHANGED_AT + 50, None).named(seen(over), Option.APPROVE, CHANGED_AT)
    assert typed.effects == (Say(plain(card_texts.already_settled("Approved by Ada"))),)


@pytest.mark.parametrize("option", [Option.APPROVE, Option.ALWAYS])
def test_a_typed_approval_does_not_cover_later_edits(option: Option) -> None:
    before, after = written("yes", CHANGED_AT), written("yes", CHANGED_AT + 1)
    assert decided_by_word(before, BareAnswer("yes", option, command=False), seen(CHANGED)) is None
    assert decided_by_word(after, BareAnswer("yes", option, command=False), seen(CHANGED)) is not None
    assert decided_by_word(before, BareAnswer("yes", option, command=False), seen(WAITS)) is not None


def test_an_approval_by_id_does_not_cover_later_edits() -> None:
    decisions = Decisions(CountingIds(), CHANGED_AT + 50, None)
    early = decisions.named(seen(CHANGED), Option.APPROVE, CHANGED_AT)
    assert early.outcome == f"refused: answer to {CHANGED.id}"
    later = decisions.named(seen(CHANGED), Option.APPROVE, CHANGED_AT + 1)
    assert CastVote(CHANGED.id, Option.APPROVE) in later.effects


def test_a_denial_needs_no_review_of_the_edit() -> None:
    decisions = Decisions(CountingIds(), CHANGED_AT + 50, None)
    refused = decisions.named(seen(CHANGED), Option.DENY, 1)
    assert any(isinstance(one, CloseGate) for one in refused.effects)
    word = BareAnswer("no", Option.DENY, command=False)
    assert decided_by_word(written("no", 1), word, seen(CHANGED)) is not None


SAME = EditedCall(replace(WAITS, first_choice=2), WAITS.binding, '{"command": "ls"}')
OTHER = EditedCall(CHANGED, WAITS.binding, '{"command": "ls -l"}')
ADA_AGREED = Vote("ada", "Ada", Option.APPROVE, 50)


def test_a_form_that_changes_nothing_approves_like_the_button() -> None:
    """It counts beside the answers there were, and the buttons that are shown stay what they are."""
    assert handed_in(WAITS, SAME).effects == (CastVote(WAITS.id, Option.APPROVE),)
    second = handed_in(WAITS, SAME, votes=(ADA_AGREED,))
    (close,) = second.effects
    assert isinstance(close, CloseGate)
    assert (close.gate_id, close.outcome_text) == (WAITS.id, "Approved by Lea")


def test_a_form_with_changes_voids_earlier_votes() -> None:
    verdict = handed_in(WAITS, OTHER, votes=(ADA_AGREED,))
    assert [type(one) for one in verdict.effects] == [EditCall, CastVote]


@pytest.mark.parametrize("choice", [APPROVE, EDIT], ids=["of-that-call", "of-no-call"])
def test_a_form_from_before_the_edit_is_not_accepted(choice: int) -> None:
    """Nor does it count as agreed to."""
    edit = EditedCall(replace(WAITS, first_choice=4), CHANGED.binding, '{"command": "ls"}')
    verdict = handed_in(CHANGED, edit, choice=choice)
    assert (verdict.answer, verdict.effects) == (card_texts.FORM_OUTDATED, ())
    now = handed_in(CHANGED, edit, choice=2 + APPROVE)
    assert [type(one) for one in now.effects] == [EditCall, CastVote]


def test_a_reply_to_the_call_before_its_edit_is_answered_with_the_current_call() -> None:
    edit = EditRefused(card_texts.REPLY_OUTDATED, outdated=True)
    decisions, view = Decisions(CountingIds(), CHANGED_AT + 50, edit), seen(CHANGED)
    verdict = decisions.replied(view.open_gates[0], view)
    assert verdict is not None
    (said,) = verdict.effects
    assert isinstance(said, Say)
    assert said.message.blocks[0] == Plain(card_texts.REPLY_OUTDATED)
    assert (said.message.gate_id, said.message.first_choice) == (CHANGED.id, CHANGED.first_choice)
    stranger = replace(view, principal=Principal("eve", Role.MEMBER, "Eve"))
    refused = decisions.replied(view.open_gates[0], stranger)
    assert refused is not None
    assert all(
        isinstance(one, Say) and one.message == plain(card_texts.NOT_ALLOWED_HERE) for one in refused.effects
    )


def test_an_unchanged_form_adds_no_second_vote() -> None:
    lea_agreed = replace(ADA_AGREED, user_id="lea", name="Lea")
    verdict = handed_in(WAITS, SAME, votes=(lea_agreed,))
    assert (verdict.answer, verdict.effects) == (card_texts.ALREADY_VOTED, ())


def test_an_always_settles_no_other_card_that_its_giver_may_not_decide() -> None:
    """The first was put to Lea because nobody had decided; the second was not yet. The last is for somebody
    else, who is granted nothing."""
    always = Options((Option.APPROVE, Option.DENY, Option.ALWAYS))
    own = replace(WAITS, offer=always, tool="shell", pattern="ls", rule=VoteRule(("ada", "lea")))
    others = [
        replace(own, id=f"other{lea}", call_id=f"call{lea}", rule=VoteRule(("ada", *("lea",) * lea)))
        for lea in (0, 1)
    ]
    others.append(replace(others[1], id="other2", call_id="call2", requester_id="zoe"))
    view = seen(own)
    view = replace(view, open_gates=tuple(GateView(gate, (), THREAD) for gate in (own, *others)))
    event = ChoiceAnswer("key", "chat", HERE, SENDER, own.id, 2, sent_at=2)
    verdict = Decisions(CountingIds(), 2, None).press(event, view)
    closed = [effect.gate_id for effect in verdict.effects if isinstance(effect, CloseGate)]
    assert closed == [own.id, "other1"]
