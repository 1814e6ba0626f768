"""Past its time a gate takes no answer of any kind, in any way, also before it is closed for that."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from core.consent import card_texts
from core.consent.cards import expired_text, settled_card
from core.gates import GateKind, GateState, Offer, Option, Options, Replies
from core.messages import Address, plain
from core.ports import Posted
from core.store.accept import Accepted
from core.store.rows import Draft, NewCall
from core.tool import Effect
from core.transcript import AssistantSaid
from tests.core.inbound.front import CHANNEL, OWNER_ACCOUNT, Front
from tests.core.inbound.test_answers import CARD, CARD_AT, question

PROMPT = "0123456789"
LIFE_US = 60_000_000
REPLIES = Replies(("red", "blue"), free_text=True)
OFFERS: dict[GateKind, Offer] = {
    GateKind.APPROVAL: Options((Option.APPROVE, Option.DENY, Option.ALWAYS)),
    GateKind.QUESTION: REPLIES,
    GateKind.UNKNOWN_OUTCOME: Options((Option.HAPPENED, Option.RETRY, Option.SKIP)),
    GateKind.CONTINUE: Options((Option.CONTINUE, Option.STOP)),
    GateKind.BUDGET: Options((Option.CONTINUE, Option.STOP)),
}
Way = Callable[[Front], Awaitable[Accepted]]


def types(text: str, *, reply: bool = False) -> Way:
    return lambda front: front.says(OWNER_ACCOUNT, text, order=CARD_AT + 1, reply_to=CARD if reply else None)


def presses(choice: int, form: str | None = None) -> Way:
    return lambda front: front.presses(OWNER_ACCOUNT, PROMPT, choice, form)


TYPED = {
    "yes": types("yes"),
    "no": types("no"),
    "always": types("always"),
    "yes as a reply": types("yes", reply=True),
    "/approve": types("/approve"),
    "/approve ID": types(f"/approve {PROMPT}"),
    "/approve ID always": types(f"/approve {PROMPT} always"),
    "/approve ID session": types(f"/approve {PROMPT} session"),
    "/deny ID": types(f"/deny {PROMPT}"),
}
CASES: list[tuple[GateKind, str, Way]] = [
    *((GateKind.APPROVAL, name, way) for name, way in TYPED.items()),
    *((kind, f"button {n}", presses(n)) for kind in OFFERS for n in range(2)),
    (GateKind.UNKNOWN_OUTCOME, "button 2", presses(2)),
    (GateKind.APPROVAL, "form", presses(0, '{"line": "ls"}')),
    (GateKind.QUESTION, "form", presses(2, "green")),
    (GateKind.QUESTION, "words", types("green")),
    (GateKind.QUESTION, "words as a reply", types("green", reply=True)),
]


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path)
    yield opened
    await opened.store.close()


async def asked(front: Front, kind: GateKind) -> None:
    """A gate of that kind whose card is shown, and which lives a minute."""
    start = (await front.says(OWNER_ACCOUNT)).started
    assert start is not None
    call = NewCall("call-1", "shell", "{}", Effect.EFFECT)
    await front.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid(""), [call])
    gate = replace(
        question(REPLIES, start),
        kind=kind,
        offer=OFFERS[kind],
        tool="shell",
        expires_at=front.clock.now() + LIFE_US,
    )
    draft = Draft(CHANNEL, Address(OWNER_ACCOUNT), plain("Which?"), "nonce", gate_id=gate.id)
    (card,) = await front.store.turns.ask_person(gate, [draft])
    await front.store.outbox.claim_outbox(card.id)
    await front.store.outbox.record_part_sent(card.id, Posted(CARD, f"{CARD_AT:09}"), last=True)


async def state(front: Front) -> GateState:
    found = await front.store.feed.gate_glance(PROMPT)
    assert found is not None
    return found.gate.state


async def swept(front: Front) -> None:
    await front.store.gates.expire_gates(
        front.clock.now(), expired_text, lambda one: settled_card(one, expired_text(one))
    )


@pytest.mark.parametrize("kind,way", [pytest.param(k, w, id=f"{k}-{name}") for k, name, w in CASES])
async def test_no_answer_is_accepted_after_the_deadline(front: Front, kind: GateKind, way: Way) -> None:
    await asked(front, kind)
    front.clock.at += LIFE_US
    accepted = await way(front)
    said = [accepted.answer or "", *front.heard(OWNER_ACCOUNT)]
    assert accepted.outcome == f"refused: answer to {PROMPT}"
    assert card_texts.TOO_LATE in said
    assert accepted.started is None
    assert await state(front) is GateState.OPEN
    assert (await front.store.consents.standing("owner", "")).grants == ()


@pytest.mark.parametrize("kind", OFFERS)
async def test_an_answer_before_the_deadline_is_accepted(front: Front, kind: GateKind) -> None:
    await asked(front, kind)
    front.clock.at += LIFE_US - 1
    assert (await presses(0)(front)).outcome == f"answer: {PROMPT}"


async def test_an_expired_gate_stays_closed_when_the_clock_goes_back(front: Front) -> None:
    """And what was not closed yet takes answers again: by the hub's clock its time is not over."""
    await asked(front, GateKind.APPROVAL)
    front.clock.at += LIFE_US
    assert (await presses(0)(front)).answer == card_texts.TOO_LATE
    await swept(front)
    front.clock.at -= LIFE_US
    accepted = await presses(0)(front)
    assert accepted.outcome == f"refused: answer to {PROMPT}"
    assert accepted.answer != card_texts.TOO_LATE
    assert await state(front) is GateState.CLOSED
