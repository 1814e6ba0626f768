"""Hub texts as parameters of sendMessage and editMessageText."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.channel import Payload
from channels.telegram.entities import utf16_units
from channels.telegram.outbound import render
from core.messages import Block, Choice, Code, Markdown, Message, Plain, plain

CHOICES = (Choice("Approve"), Choice("Always allow"), Choice("Deny"), Choice("Edit"))


def test_a_sentence_is_one_message_without_link_preview() -> None:
    assert render(plain("see https://example.org")) == (
        {"text": "see https://example.org", "link_preview_options": {"is_disabled": True}},
    )


def test_formats_are_entities_counted_in_utf16_units() -> None:
    (payload,) = render(Message((Markdown("👍 **bold**"), Code("x = 1", "python"))))
    assert payload["text"] == "👍 bold\n\nx = 1"
    assert payload["entities"] == [
        {"type": "bold", "offset": 3, "length": 4},
        {"type": "pre", "offset": 9, "length": 5, "language": "python"},
    ]


def test_nothing_visible_is_no_message() -> None:
    assert render(plain(" \n ")) == ()


def test_choices_are_buttons_in_rows_under_the_last_part() -> None:
    first, last = render(Message((Plain("x" * 5000),), CHOICES, "7Q2M9ZK4XA"))
    assert "reply_markup" not in first
    assert last["reply_markup"] == {
        "inline_keyboard": [
            [
                {"text": "Approve", "callback_data": "p:7Q2M9ZK4XA:0"},
                {"text": "Always allow", "callback_data": "p:7Q2M9ZK4XA:1"},
                {"text": "Deny", "callback_data": "p:7Q2M9ZK4XA:2"},
            ],
            [{"text": "Edit", "callback_data": "p:7Q2M9ZK4XA:3"}],
        ]
    }


def test_an_outcome_is_the_last_line_and_takes_the_buttons_away() -> None:
    (payload,) = render(Message((Plain("Run it?"),), CHOICES, "7Q2M9ZK4XA", outcome="Approved by Ann"))
    assert payload["text"] == "Run it?\n\nApproved by Ann"
    assert "reply_markup" not in payload


def test_callback_data_over_telegrams_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="callback data of 65 bytes"):
        render(Message((Plain("?"),), CHOICES[:1], "P" * 61))
    with pytest.raises(ValueError, match="need a gate"):
        render(Message((Plain("?"),), CHOICES))


def blocks() -> st.SearchStrategy[Block]:
    text = st.text(max_size=40) | st.sampled_from(["wort ", "👩‍👩‍👧", "@name ", "`x`\n"]).flatmap(
        lambda piece: st.integers(1, 3000).map(lambda times: piece * times)
    )
    return st.one_of(st.builds(Plain, text), st.builds(Markdown, text), st.builds(Code, text))


@example((Plain("x" * 4096),), "Approved by Ann")
@example((Plain("x" * 3796),), "y" * 400)
@given(
    said=st.lists(blocks(), min_size=1, max_size=3).map(tuple),
    outcome=st.text(max_size=30) | st.text(min_size=200, max_size=500),
)
def test_a_settled_card_differs_from_the_open_one_in_its_last_part_alone(
    said: tuple[Block, ...], outcome: str
) -> None:
    card = Message(said, CHOICES[:2], "7Q2M9ZK4XA")
    shown, settled = render(card), render(replace(card, choices=(), outcome=outcome))
    if shown:
        assert len(settled) == len(shown)
        assert settled[:-1] == shown[:-1]
        assert str(settled[-1]["text"]).startswith(str(shown[-1]["text"]))
    for payload in (*shown, *settled):
        _takeable(payload)


def _takeable(payload: Payload) -> None:
    text = payload["text"]
    assert isinstance(text, str)
    assert 1 <= utf16_units(text) <= 4096
    text.encode("utf-8")
