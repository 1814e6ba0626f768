"""Which texts answer a question: only the asked person's, once they had been shown it, and only one's."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from core.gates import Answer, Chose, Gate, GateKind, Replies, VoteRule, Wrote
from core.inbound.judge import reply_in_words
from core.messages import Address, Attachment, MessageRef, plain
from core.ports import Posted
from core.store.accept import Accepted
from core.store.rows import CallRow, Draft, NewCall, TurnStart
from core.tool import Effect
from core.transcript import AssistantSaid
from tests.core.inbound.front import CHANNEL, OWNER, OWNER_ACCOUNT, Front

CARD = MessageRef("card")
CARD_AT = 500
"""The card's place in its conversation; what is written by itself comes before."""
ANY_WORDS = Replies(("red", "dark green"), free_text=True)
CHOICES = Replies(("red", "dark green"), free_text=False)


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path, owners=(OWNER_ACCOUNT, "second"))
    yield opened
    await opened.store.close()


class Asked:
    """A question to the owner, shown in their conversation."""

    def __init__(self, front: Front, start: TurnStart, call_id: str) -> None:
        self.front = front
        self.start = start
        self.call_id = call_id

    @classmethod
    async def open(cls, front: Front, replies: Replies, *, shown: bool = True) -> "Asked":
        start = (await front.says(OWNER_ACCOUNT)).started
        assert start is not None
        asked = cls(front, start, "call-1")
        call = NewCall("call-1", "ask_user", "{}", Effect.NONE)
        await front.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid(""), [call])
        await asked.puts(replies, shown=shown)
        return asked

    async def puts(self, replies: Replies, *, shown: bool = True) -> None:
        gate = question(replies, self.start)
        draft = Draft(CHANNEL, Address(OWNER_ACCOUNT), plain("Which?"), "nonce", gate_id=gate.id)
        (card,) = await self.front.store.turns.ask_person(gate, [draft])
        if shown:
            await self.front.store.outbox.claim_outbox(card.id)
            await self.front.store.outbox.record_part_sent(card.id, Posted(CARD, f"{CARD_AT:09}"), last=True)

    async def answer(self) -> Answer | None:
        """Return what the question was answered with."""
        resumed = replace(self.start, resumed=True)
        (call,) = (await self.front.store.turns.load_turn(resumed)).calls
        assert isinstance(call, CallRow)
        return call.answer


def question(replies: Replies, start: TurnStart) -> Gate:
    return Gate(
        id="0123456789",
        kind=GateKind.QUESTION,
        thread_id=start.thread.id,
        turn_id=start.turn_id,
        call_id="call-1",
        requester_id=OWNER.user_id,
        title="Which?",
        detail="",
        offer=replies,
        rule=VoteRule(approvers=(OWNER.user_id,)),
        binding="",
        created_at=start.thread.created_at,
        expires_at=2**60,
    )


def queued(accepted: Accepted) -> bool:
    return accepted.outcome == "waiting"


async def test_a_text_after_the_card_is_the_answer(front: Front) -> None:
    asked = await Asked.open(front, ANY_WORDS)
    accepted = await asked.front.says(OWNER_ACCOUNT, "blue", order=CARD_AT + 1)
    assert accepted.outcome == "answer: 0123456789"
    assert accepted.started is not None
    assert await asked.answer() == Wrote("blue")
    assert queued(await asked.front.says(OWNER_ACCOUNT, "green", order=CARD_AT + 2))


@pytest.mark.parametrize("text", ["blue", "red", "yes"])
async def test_a_text_from_before_the_card_is_not_an_answer_however_late_it_arrives(
    front: Front, text: str
) -> None:
    asked = await Asked.open(front, ANY_WORDS)
    assert queued(await asked.front.says(OWNER_ACCOUNT, text, order=CARD_AT - 1))
    assert await asked.answer() is None


async def test_a_reply_to_the_card_is_the_answer(front: Front) -> None:
    asked = await Asked.open(front, ANY_WORDS)
    await asked.front.says(OWNER_ACCOUNT, "red", order=1, reply_to=CARD)
    assert await asked.answer() == Chose(0, "red")


async def test_nothing_answers_a_card_that_was_not_shown_yet(front: Front) -> None:
    asked = await Asked.open(front, ANY_WORDS, shown=False)
    assert queued(await asked.front.says(OWNER_ACCOUNT, "blue", order=CARD_AT + 1))


async def test_a_question_without_free_text_takes_no_text(front: Front) -> None:
    asked = await Asked.open(front, CHOICES)
    assert queued(await asked.front.says(OWNER_ACCOUNT, "red", order=CARD_AT + 1))
    assert await asked.answer() is None
    assert (await asked.front.presses(OWNER_ACCOUNT, "0123456789", 1)).started is not None
    assert await asked.answer() == Chose(1, "dark green")


@pytest.mark.parametrize("choice", [2, 999])
async def test_a_press_outside_the_choices_is_refused(front: Front, choice: int) -> None:
    asked = await Asked.open(front, CHOICES)
    assert (await asked.front.presses(OWNER_ACCOUNT, "0123456789", choice)).outcome.startswith("refused")
    assert await asked.answer() is None


async def test_with_two_open_gates_no_text_answers(front: Front) -> None:
    asked = await Asked.open(front, ANY_WORDS)
    other = replace(question(ANY_WORDS, asked.start), id="9876543210", call_id="call-2")
    await _second_prompt(asked, other)
    assert queued(await asked.front.says(OWNER_ACCOUNT, "blue", order=CARD_AT + 9))


async def _second_prompt(asked: Asked, other: Gate) -> None:
    """As after a crash with a call of unknown outcome beside the question."""
    store = asked.front.store
    await asked.front.presses(OWNER_ACCOUNT, "0123456789", 0)
    call = NewCall("call-2", "shell", "{}", Effect.EFFECT)
    third = NewCall("call-3", "shell", "{}", Effect.EFFECT)
    await store.turns.record_reply_and_intents(asked.start.turn_id, AssistantSaid(""), [call, third])
    for one in (call, third):
        await store.turns.mark_running(asked.start.turn_id, one.call_id, lambda _call, _who, _grants: None)
    for number, one in enumerate((call, third)):
        gate = replace(other, id=f"987654321{number}", call_id=one.call_id)
        draft = Draft(CHANNEL, Address(OWNER_ACCOUNT), plain("Which?"), "nonce", gate_id=gate.id)
        (card,) = await store.recovery.mark_unknown(one.call_id, gate, [draft])
        await store.outbox.claim_outbox(card.id)
        await store.outbox.record_part_sent(card.id, Posted(CARD, f"{CARD_AT:09}"), last=True)


async def test_a_text_with_a_file_is_not_an_answer(front: Front) -> None:
    asked = await Asked.open(front, ANY_WORDS)
    file = Attachment("h", "a.txt", "text/plain", 3)
    assert queued(await asked.front.says(OWNER_ACCOUNT, "red", order=CARD_AT + 1, attachments=(file,)))


async def test_another_account_of_the_asked_person_may_press(front: Front) -> None:
    asked = await Asked.open(front, CHOICES)
    assert (await asked.front.presses("second", "0123456789", 0)).started is not None


labels = st.lists(
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), max_size=5, unique_by=str.casefold
)


@given(labels, st.text(min_size=1), st.data())
def test_a_text_means_a_choice_only_if_it_is_worded_like_one(
    own: list[str], text: str, data: st.DataObject
) -> None:
    gate = _gate(tuple(own))
    if own:
        index = data.draw(st.integers(0, len(own) - 1))
        assert reply_in_words(gate, f" {own[index]}\n") == Chose(index, own[index])
    said = reply_in_words(gate, text)
    assert gate.takes(said)
    alike = [label for label in own if label.casefold() == text.strip().casefold()]
    assert said == (Chose(own.index(alike[0]), alike[0]) if alike else Wrote(text.strip()))


def _gate(own: tuple[str, ...]) -> Gate:
    return Gate(
        "p", GateKind.QUESTION, "t", "n", "c", "ann", "?", "", Replies(own, free_text=True),
        VoteRule(approvers=("ann",)), "", 0, 1,
    )  # fmt: skip
