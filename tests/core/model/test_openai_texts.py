"""Requests are the same JSON whether their beginning had been sent before or not."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.base import ImagePart, ModelRequest
from core.model.conversation import ConversationTexts
from core.model.openai import Dialect, MessageWriter, RequestTexts
from core.transcript import (
    AssistantSaid,
    Note,
    OperatorSaid,
    Origin,
    ResultStatus,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)

HOST = "api.example.org"
ORIGINS = [None, Origin("openai", "m-1", json.dumps({"host": HOST, "reasoning_content": "so"}))]
_TEXTS = st.sampled_from(["", "a", 'b "quoted"', "部\n", "c\ud800"])
_CALLS = st.sampled_from(["1", "2", "3", "4"])
SAID: st.SearchStrategy[Said] = st.one_of(
    st.builds(UserSaid, _TEXTS),
    st.builds(AssistantSaid, _TEXTS, st.sampled_from(ORIGINS)),
    st.builds(UserSaid, _TEXTS),
    st.builds(AssistantSaid, _TEXTS, st.sampled_from(ORIGINS)),
    st.builds(ToolCalled, _CALLS, st.just("shell"), st.just("{}")),
    st.builds(ToolResult, _CALLS, st.sampled_from(ResultStatus), _TEXTS),
    st.builds(Summary, _TEXTS, st.just(3)),
    st.builds(Note, _TEXTS),
    st.builds(OperatorSaid, _TEXTS, st.just("Ann")),
)
DIALECTS = st.sampled_from([Dialect(), Dialect(replay=False), Dialect(user_after_tool=False)])


def sent(texts: RequestTexts, said: list[Said], dialect: Dialect) -> Any:
    request = ModelRequest("Be kind.", said)
    return json.loads(texts.encoded(request, dialect))


def whole(said: list[Said], dialect: Dialect) -> Any:
    """The messages written in one piece."""
    return json.loads(f"[{MessageWriter('m-1', HOST, dialect).written(said)}]".encode("utf-8", "replace"))


def fresh() -> RequestTexts:
    return RequestTexts(model="m-1", host=HOST)


def joined(pieces: list[list[Said]]) -> list[Said]:
    return [said for piece in pieces for said in piece]


def called_once(said: list[Said]) -> list[Said]:
    """Without the calls whose id another has already: the hub gives each its own."""
    called: set[str] = set()
    kept: list[Said] = []
    for one in said:
        if isinstance(one, ToolCalled):
            if one.call_id in called:
                continue
            called.add(one.call_id)
        kept.append(one)
    return kept


ANSWERED = st.builds(
    lambda asked, said: [asked, said],
    st.builds(UserSaid, _TEXTS),
    st.builds(AssistantSaid, _TEXTS, st.sampled_from(ORIGINS)),
)
CONVERSATIONS = st.lists(ANSWERED | ANSWERED | SAID.map(lambda said: [said]), max_size=6).map(joined)


@settings(max_examples=max(100, settings().max_examples))
@given(CONVERSATIONS, st.data())
def test_a_growing_conversation_is_trimmed_in_steps(said: list[Said], data: st.DataObject) -> None:
    texts, said = fresh(), called_once(said)
    for _ in range(4):
        dialect = data.draw(DIALECTS)
        assert sent(texts, said, dialect)["messages"][1:] == whole(said, dialect)
        kept = data.draw(st.integers(0, len(said)))
        said = called_once([*said[:kept], *data.draw(CONVERSATIONS)])


def turns(count: int, *, of: str = "") -> list[Said]:
    said: list[Said] = []
    for number in range(count):
        said += [UserSaid(f"question {number}{of}"), AssistantSaid(f"answer {number}{of}")]
    return said


class Counting:
    """Writes as a model's writer would, and notes how much it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def written(self, piece: Sequence[Said], images: Sequence[ImagePart] = ()) -> str:
        assert not images
        self.given.append(len(piece))
        return ",".join(json.dumps(said.text) for said in piece if not isinstance(said, ToolCalled))


def test_earlier_messages_are_not_serialized_again() -> None:
    texts, writer = ConversationTexts(), Counting()
    said = turns(50)
    for following in turns(3, of=" more"):
        said = [*said, following]
        if isinstance(following, UserSaid):
            texts.of(said, writer)
    assert writer.given == [100, 1, 2, 1, 2, 1]


REASONED: list[Said] = [
    UserSaid("go"),
    AssistantSaid("", ORIGINS[1]),
    ToolCalled("1", "shell", "{}"),
    ToolResult("1", ResultStatus.OK, "done"),
    AssistantSaid("It is done."),
]


@pytest.mark.parametrize(
    "first, second, dialect",
    [
        (turns(2), [*turns(1), UserSaid("otherwise"), AssistantSaid("well")], Dialect()),
        (turns(2), [*turns(2), AssistantSaid("One more thing.")], Dialect()),
        (turns(2), [*turns(2), OperatorSaid("Look here.", "Ann")], Dialect()),
        (REASONED, REASONED, Dialect(replay=False)),
        (REASONED[:4], [*REASONED[:4], Note("Say what was done.")], Dialect(user_after_tool=False)),
    ],
    ids=[
        "undone and said otherwise",
        "an answer in two pieces",
        "an operator",
        "no replay",
        "no user behind a tool",
    ],
)
def test_a_stored_beginning_is_used_only_for_the_entries_it_was_written_from(
    first: list[Said], second: list[Said], dialect: Dialect
) -> None:
    texts = fresh()
    same = {repr(said): said for said in first}
    sent(texts, [*first, UserSaid("next")], Dialect())
    following = [*(same.get(repr(said), said) for said in second), UserSaid("after that")]
    assert sent(texts, following, dialect)["messages"][1:] == whole(following, dialect)


def test_a_late_result_changes_the_text_before_it() -> None:
    texts = fresh()
    called: list[Said] = [
        UserSaid("go"),
        ToolCalled("1", "shell", "{}"),
        AssistantSaid("begun"),
        UserSaid("and?"),
    ]
    sent(texts, called, Dialect())
    late: list[Said] = [*called, ToolResult("1", ResultStatus.OK, "done at last")]
    results = [
        message["content"]
        for message in sent(texts, late, Dialect())["messages"]
        if message["role"] == "tool"
    ]
    assert len(results) == 1
    assert "done at last" in results[0]


def test_conversations_not_used_recently_are_dropped() -> None:
    texts, writer = ConversationTexts(limit_chars=100), Counting()
    one, other = [*turns(3), UserSaid("x")], [*turns(3, of=" b"), UserSaid("y")]
    texts.of(one, writer)
    texts.of(other, writer)
    texts.of(one, writer)
    assert writer.given == [6, 1, 6, 1, 6, 1]
