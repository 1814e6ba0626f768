"""`ask_user`: what it takes, and that every question it makes can be shown and answered."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.telegram.outbound import render
from core.approvals import Preset
from core.consent.cards import open_card, settled_card
from core.consent.rules import Policy
from core.errors import ToolDenied
from core.gates import ConsentSettings, Gate, GateKind, Replies, VoteRule
from core.store.rows import CallRow, CallState
from core.tool import Data, Effect, Question, Requirement
from core.tools.builtin.basics import LABEL_LIMIT_CHARS, MAX_CHOICES, ask_user_tool
from core.tools.pipeline import NeedsPerson, Prepared, PutsQuestion, Refused
from core.transcript import ResultStatus
from core.users import Principal, Role
from tests.core.tools.support import OWNER, run
from tests.core.tools.test_pipeline import THREAD, pipeline

GUEST = Principal("gus", Role.GUEST, "Gus")


def asked(arguments: dict[str, Any], principal: Principal = OWNER, policy: Policy | None = None) -> Prepared:
    """Return what the pipeline makes of a call."""
    call = CallRow("c", "n", 1, "ask_user", json.dumps(arguments), CallState.INTENT, Effect.NONE)
    return pipeline(ask_user_tool(), policy=policy).prepare(call, principal, THREAD, ConsentSettings())


@pytest.mark.parametrize(
    "arguments, replies",
    [
        ({"choices": ["a", "b"]}, Replies(("a", "b"), free_text=False)),
        ({"choices": ["a"], "free_text": True}, Replies(("a",), free_text=True)),
        ({"choices": '["a", " b\\u0000  c "]'}, Replies(("a", "b c"), free_text=False)),
        ({"choices": [], "free_text": False}, Replies((), free_text=True)),
        ({"choices": None}, Replies((), free_text=True)),
        ({}, Replies((), free_text=True)),
    ],
)
@pytest.mark.parametrize("principal", [OWNER, GUEST])
def test_ask_user_opens_the_question(
    arguments: dict[str, Any], replies: Replies, principal: Principal
) -> None:
    prepared = asked({"question": " Which?\n", **arguments}, principal)
    assert isinstance(prepared, PutsQuestion)
    assert prepared.question == Question("Which?", replies)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({}, "question: required"),
        ({"question": ""}, "question: "),
        ({"question": " \u200b\n"}, "question: must contain visible text"),
        ({"question": "x" * 1001}, "question: "),
        ({"question": "?", "choices": ["a", "\u200b"]}, "choices: each must contain text"),
        ({"question": "?", "choices": ["Yes", " yes "]}, "choices: two of them are the same"),
        ({"question": "?", "choices": ["x" * 61]}, "choices.0: "),
        ({"question": "?", "choices": [str(n) for n in range(11)]}, "choices: "),
    ],
)
def test_unanswerable_questions_are_an_error_of_the_model(arguments: dict[str, Any], said: str) -> None:
    prepared = asked(arguments)
    assert isinstance(prepared, Refused)
    assert prepared.result.status is ResultStatus.ERROR
    assert said in prepared.result.text


def test_asking_needs_no_approval_unless_everything_does() -> None:
    tool = ask_user_tool()
    assert (tool.requirement, tool.effect, tool.data) == (Requirement.NEVER, Effect.NONE, Data.NONE)
    assert isinstance(asked({"question": "?"}, policy=Policy(Preset.MANUAL)), NeedsPerson)


async def test_ask_user_fails_without_a_person() -> None:
    with pytest.raises(ToolDenied, match="no person"):
        await run(ask_user_tool(), {"question": "?"})


words = st.text(max_size=70) | st.text(st.characters(categories=["L", "M", "Z", "C"]), max_size=70)


@given(words, st.lists(words, max_size=11), st.booleans())
@example("@everyone /stop", ["@name", "/approve", "\u202eabc", "\ud800"], True)
def test_every_question_it_makes_can_be_shown(question: str, choices: list[str], free_text: bool) -> None:
    made = asked({"question": question, "choices": choices, "free_text": free_text})
    if not isinstance(made, PutsQuestion):
        assert isinstance(made, Refused)
        return
    replies = made.question.replies
    assert replies.labels or replies.free_text
    assert len(replies.labels) == len(choices) <= MAX_CHOICES
    assert all(0 < len(label.strip()) <= LABEL_LIMIT_CHARS for label in replies.labels)
    gate = Gate(
        "0123456789", GateKind.QUESTION, "t", "n", "c", "ann", made.question.text, "", replies,
        VoteRule(approvers=("ann",)), "", 0, 1,
    )  # fmt: skip
    (shown,) = render(open_card(gate))
    assert str(shown["text"]).strip()
    assert len(render(settled_card(gate, "x" * 500))) == 1
    buttons = [button for row in _rows(shown) for button in row]
    assert [button["callback_data"] for button in buttons] == [
        f"p:0123456789:{index}" for index in range(len(replies.labels))
    ]


@pytest.mark.parametrize(
    "labels, rows",
    [
        (["red", "blue", "green", "black"], [3, 1]),
        (["It happened", "Run it again", "Skip"], [3]),
        (["rather a longer one", "b"], [1, 1]),
        (["so that two fit", "the other"], [2]),
        (["x" * 60], [1]),
    ],
)
def test_long_choices_get_rows_of_their_own(labels: list[str], rows: list[int]) -> None:
    gate = Gate(
        "p", GateKind.QUESTION, "t", "n", "c", "ann", "?", "", Replies(tuple(labels), free_text=False),
        VoteRule(), "", 0, 1,
    )  # fmt: skip
    (shown,) = render(open_card(gate))
    assert [len(row) for row in _rows(shown)] == rows


def _rows(payload: Any) -> list[list[dict[str, str]]]:
    return payload.get("reply_markup", {}).get("inline_keyboard", [])
