"""Stored values come back as they were."""

from hypothesis import example, given
from hypothesis import strategies as st

from core.gates import Answer, Chose, Option, Wrote
from core.messages import (
    Address,
    Attachment,
    Block,
    Choice,
    Code,
    File,
    InboundMessage,
    Markdown,
    Message,
    MessageRef,
    Plain,
    Sender,
)
from core.store.codecs import (
    answer_from_text,
    answer_to_text,
    event_extra_to_json,
    message_from_json,
    message_to_json,
    refs_from_json,
    refs_to_json,
    said_from_columns,
    said_to_columns,
    storable,
    strings_from_json,
    strings_to_json,
)
from core.transcript import (
    AssistantSaid,
    Note,
    Origin,
    ResultStatus,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)

text = st.text(st.characters(exclude_categories=["Cs"]))
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)

blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Markdown, text), st.builds(Plain, text), st.builds(Code, text, text)
)
messages = st.builds(
    Message,
    blocks=st.lists(blocks).map(tuple),
    choices=st.lists(st.builds(Choice, text)).map(tuple),
    gate_id=st.none() | text,
    outcome=st.none() | text,
    files=st.lists(st.builds(File, text, text, text)).map(tuple),
)
said: st.SearchStrategy[Said] = st.one_of(
    st.builds(UserSaid, text, text),
    st.builds(AssistantSaid, text, st.none() | st.builds(Origin, text, text, text)),
    st.builds(ToolCalled, words, words, text),
    st.builds(ToolResult, words, st.sampled_from(ResultStatus), text),
    st.builds(Summary, text, st.integers(0)),
    st.builds(Note, text),
)


@given(messages)
def test_messages_are_read_back_as_written(message: Message) -> None:
    assert message_from_json(message_to_json(message)) == message


@given(said)
def test_spilled_results_contain_the_output(one: Said) -> None:
    assert said_from_columns(*said_to_columns(one)) == one


@given(st.lists(text).map(tuple))
def test_lists_are_read_back_as_written(strings: tuple[str, ...]) -> None:
    assert strings_from_json(strings_to_json(strings)) == strings
    refs = tuple(MessageRef(one) for one in strings)
    assert refs_from_json(refs_to_json(refs)) == refs


@given(st.text())
@example("\ud800")
@example("a\udfff\ud83d\ude00b")
def test_stored_text_is_unicode_and_otherwise_unchanged(anything: str) -> None:
    kept = storable(anything)
    kept.encode()
    assert storable(kept) == kept
    if not any("\ud800" <= character <= "\udfff" for character in anything):
        assert kept == anything


def test_lone_surrogates_are_replaced_wherever_text_is_kept() -> None:
    broken = "half \udc00"
    stored = message_from_json(message_to_json(Message((Plain(broken),), (Choice(broken),))))
    assert stored == Message((Plain("half \ufffd"),), (Choice("half \ufffd"),))
    for one in (UserSaid(broken, broken), AssistantSaid(broken), ToolCalled("c", broken, broken)):
        "".join(part for part in said_to_columns(one) if part is not None).encode()


def test_most_messages_carry_only_their_text() -> None:
    event = InboundMessage("k", "1", "chat", Address("a"), None, Sender("1", "A"), "hi", 0)
    assert event_extra_to_json(event) is None
    rich = InboundMessage(
        "k",
        "1",
        "chat",
        Address("a"),
        None,
        Sender("1", "A"),
        "hi",
        0,
        attachments=(Attachment("handle", "plan.pdf", "application/pdf", 12),),
        reply_to=MessageRef("7"),
    )
    assert event_extra_to_json(rich) == (
        '{"reply_to":"7","attachments":[["handle","plan.pdf","application/pdf",12]]}'
    )


answers: st.SearchStrategy[Answer] = st.one_of(
    st.sampled_from(Option), st.builds(Chose, st.integers(0, 9), text), st.builds(Wrote, text)
)


@given(answers)
@example(Wrote("approve"))
@example(Wrote('["chose",0,"x"]'))
def test_an_answer_is_read_back(answer: Answer) -> None:
    assert answer_from_text(answer_to_text(answer)) == answer
