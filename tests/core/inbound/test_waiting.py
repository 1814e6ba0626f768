"""Answers to people who write while something waits that is not answered by their words."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from core.gates import Gate, GateKind, Option, Options
from core.messages import Address, plain
from core.store.accept import Accepted
from core.store.rows import Draft, NewCall
from core.tool import Effect
from core.transcript import AssistantSaid
from tests.contracts.store.bench import text_of
from tests.core.inbound.front import CHANNEL, OWNER_ACCOUNT, Front
from tests.core.inbound.test_answers import CHOICES, question

APPROVAL = (GateKind.APPROVAL, (Option.APPROVE, Option.DENY))
UNKNOWN = (GateKind.UNKNOWN_OUTCOME, (Option.HAPPENED, Option.RETRY, Option.SKIP))
LIMIT = (GateKind.CONTINUE, (Option.CONTINUE, Option.STOP))
IDS = ("0123456789", "1123456789")


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path)
    yield opened
    await opened.store.close()


async def ask(front: Front, kind: GateKind, options: tuple[Option, ...], count: int = 1) -> None:
    """So many calls of one answer wait for the owner, each on a card of its own."""
    start = (await front.says(OWNER_ACCOUNT)).started
    assert start is not None
    calls = [NewCall(f"call-{gate_id}", "shell", "{}", Effect.EFFECT) for gate_id in IDS[:count]]
    await front.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid(""), calls)
    gates: list[Gate] = []
    for call, gate_id in zip(calls, IDS, strict=False):
        one = replace(question(CHOICES, start), id=gate_id, call_id=call.call_id, title="May I?", kind=kind)
        gates.append(replace(one, offer=Options(options)))
    cards = [Draft(CHANNEL, Address(OWNER_ACCOUNT), plain("?"), one.id, gate_id=one.id) for one in gates]
    await front.store.turns.ask_person(gates[0], cards, beside=gates[1:])


def told(accepted: Accepted) -> str:
    (row,) = accepted.outbox
    return text_of(row.message)


@pytest.mark.parametrize("waits,by_words", [(APPROVAL, True), (UNKNOWN, False), (LIMIT, False)])
async def test_the_notice_names_commands_only_where_they_answer(
    front: Front, waits: tuple[GateKind, tuple[Option, ...]], by_words: bool
) -> None:
    await ask(front, *waits)
    notice = told(await front.says(OWNER_ACCOUNT, "are you there?"))
    assert notice.startswith("Your message is queued. I am waiting for a decision on: May I?")
    assert (f"/approve {IDS[0]}" in notice) is by_words
    assert "Use the buttons" in notice


@pytest.mark.parametrize("command", ["/approve", "/deny"])
@pytest.mark.parametrize("waits", [UNKNOWN, LIMIT])
async def test_gates_that_need_a_button_are_not_denied_by_text(
    front: Front, waits: tuple[GateKind, tuple[Option, ...]], command: str
) -> None:
    await ask(front, *waits)
    assert told(await front.says(OWNER_ACCOUNT, command)) == (
        "This request has its own answers. Press one of its buttons."
    )


async def test_with_several_open_gates_a_command_must_name_one(front: Front) -> None:
    await ask(front, *APPROVAL, count=2)
    assert told(await front.says(OWNER_ACCOUNT, "/approve")).startswith("Several requests are open here")


async def test_an_approval_command_without_open_gates_says_so(front: Front) -> None:
    assert told(await front.says(OWNER_ACCOUNT, "/approve")) == "Nothing is waiting for an answer here."
