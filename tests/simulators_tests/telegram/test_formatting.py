"""Entities and markup: https://core.telegram.org/bots/api#formatting-options."""

from typing import Any

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest
from aiogram.types import MessageEntity
from aiogram.utils.formatting import Text
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.entities import normalize
from tests.simulators.telegram.errors import ApiError
from tests.simulators.telegram.formatting import parse_formatted
from tests.simulators.telegram.utf16 import utf16_length, utf16_slice
from tests.simulators_tests.telegram.conftest import ANN

Entity = dict[str, Any]

PLAIN = "🏟 plain bold and italic a*b x = 1 link"
ENTITIES = [
    MessageEntity(type="bold", offset=9, length=15),
    MessageEntity(type="italic", offset=14, length=10),
    MessageEntity(type="code", offset=25, length=3),
    MessageEntity(type="pre", offset=29, length=5, language="python"),
    MessageEntity(type="text_link", offset=35, length=4, url="https://example.com/x"),
]
HTML = (
    "🏟 plain <b>bold <i>and italic</i></b> <code>a*b</code> "
    '<pre><code class="language-python">x = 1</code></pre> <a href="https://example.com/x">link</a>'
)
MARKDOWN = "🏟 plain *bold _and italic_* `a*b` ```python\nx \\= 1``` [link](https://example.com/x)"


def visible(text: str, entities: list[Entity]) -> list[tuple[str, str]]:
    """Each entity's type and the text it covers."""
    return [(e["type"], utf16_slice(text, e["offset"], e["length"])) for e in entities]


@pytest.mark.parametrize("mode", ["entities", "HTML", "MarkdownV2"])
async def test_all_ways_to_format_give_the_same_message(bot: Bot, met: TelegramSimulator, mode: str) -> None:
    if mode == "entities":
        sent = await bot.send_message(ANN, PLAIN, entities=ENTITIES)
    elif mode == "HTML":
        sent = await bot.send_message(ANN, HTML, parse_mode="HTML")
    else:
        sent = await bot.send_message(ANN, MARKDOWN, parse_mode="MarkdownV2")
    assert sent.text == PLAIN
    assert [e.model_dump() for e in sent.entities or []] == [e.model_dump() for e in ENTITIES]


@pytest.mark.parametrize(
    "text,mode,reason",
    [
        ("a.b", "MarkdownV2", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("*bold", "MarkdownV2", "Can't find end of Bold entity at byte offset 0"),
        ("🏟 `code", "MarkdownV2", "Can't find end of Code entity at byte offset 5"),
        ("[a](http://x", "MarkdownV2", "Can't find end of a URL at byte offset 4"),
        ("_old", "Markdown", "Can't find end of the entity starting at byte offset 0"),
        ("<b>x", "HTML", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b>x</i>", "HTML", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("a < b", "HTML", 'Unsupported start tag "" at byte offset 2'),
        ("<br>", "HTML", 'Unsupported start tag "br" at byte offset 0'),
        ("x <b", "HTML", "Unclosed start tag at byte offset 2"),
        ("x</b>", "HTML", "Unexpected end tag at byte offset 1"),
        ("<span>x</span>", "HTML", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
    ],
)
async def test_broken_markup_is_refused_in_the_platforms_words(
    bot: Bot, met: TelegramSimulator, text: str, mode: str, reason: str
) -> None:
    with pytest.raises(TelegramBadRequest) as refusal:
        await bot.send_message(ANN, text, parse_mode=mode)
    assert refusal.value.message == f"Bad Request: can't parse entities: {reason}"


async def test_an_unknown_parse_mode_is_refused(bot: Bot, met: TelegramSimulator) -> None:
    with pytest.raises(TelegramBadRequest, match="unsupported parse_mode"):
        await bot.send_message(ANN, "x", parse_mode="BBCode")


@pytest.mark.parametrize(
    "entity,reason",
    [
        ({"offset": 2, "length": 2}, "entity begins after the end of the text at UTF-16 offset 2"),
        (
            {"offset": 0, "length": 3},
            "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 3",
        ),
        ({"offset": 1, "length": 1}, "entity begins in a middle of a UTF-16 symbol at byte offset 4"),
        (
            {"offset": 0, "length": 1},
            "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4",
        ),
        ({"offset": -1, "length": 1}, "receive an entity with incorrect offset -1"),
        ({"offset": 0, "length": -1}, "receive an entity with incorrect length -1"),
        ({"offset": 0, "length": 2, "type": "huge"}, "can't parse MessageEntity: Unsupported type specified"),
    ],
)
async def test_entities_outside_the_text_are_refused(
    bot: Bot, met: TelegramSimulator, entity: Entity, reason: str
) -> None:
    given_entity = MessageEntity(
        type=entity.get("type", "bold"), offset=entity["offset"], length=entity["length"]
    )
    with pytest.raises(TelegramBadRequest) as refusal:
        await bot.send_message(ANN, "🏟", entities=[given_entity])
    assert refusal.value.message == f"Bad Request: {reason}"


async def test_a_bots_own_text_can_mention_people_too(bot: Bot, met: TelegramSimulator) -> None:
    """The platform finds mentions, links and commands by itself, except in code."""
    code = [MessageEntity(type="code", offset=5, length=4)]
    sent = await bot.send_message(ANN, "@ann @bob https://example.com", entities=code)
    assert sent.text is not None
    assert [(e.type, e.extract_from(sent.text)) for e in sent.entities or []] == [
        ("mention", "@ann"),
        ("code", "@bob"),
        ("url", "https://example.com"),
    ]


def test_text_is_cleaned_and_entities_follow() -> None:
    text, entities = normalize(
        " \n a\x00\tb\r\nc\u202e d  ",
        [{"type": "bold", "offset": 3, "length": 4}, {"type": "code", "offset": 8, "length": 5}],
    )
    assert text == "a  b\nc d"
    assert visible(text, entities) == [("bold", "a  b"), ("code", "c d")]


def test_overlaps_are_resolved_into_nesting() -> None:
    text, entities = normalize(
        "0123456789",
        [
            {"type": "bold", "offset": 0, "length": 6},
            {"type": "code", "offset": 4, "length": 4},
            {"type": "pre", "offset": 6, "length": 4},
            {"type": "italic", "offset": 8, "length": 2},
        ],
    )
    assert visible(text, entities) == [("bold", "0123"), ("code", "4567"), ("bold", "45"), ("italic", "89")]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("mail a@example.com, not @a", [("email", "a@example.com")]),
        ("user@name @x_1 x@y /go/there /go@hub_bot!", [("mention", "@x_1"), ("bot_command", "/go@hub_bot")]),
        ("#1 #one a#b $USD $usd", [("hashtag", "#one"), ("cashtag", "$USD")]),
        ("see example.com/a?b=c. ok", [("url", "example.com/a?b=c")]),
        ("@ann\u200b @\u200bann", [("mention", "@ann")]),
    ],
)
def test_the_platform_detects_entities(text: str, expected: list[tuple[str, str]]) -> None:
    clean, entities = normalize(text, [])
    assert visible(clean, entities) == expected


def test_quotations_and_nested_code_are_read() -> None:
    text, entities = parse_formatted(">a\n>b||\nc", "MarkdownV2")
    assert (text, visible(text, entities)) == ("a\nb\nc", [("expandable_blockquote", "a\nb")])
    html = '<blockquote expandable>q <b>w</b></blockquote><pre><code class="language-py">x&lt;1</code></pre>'
    text, entities = parse_formatted(html, "HTML")
    assert text == "q wx<1"
    assert visible(text, entities) == [("expandable_blockquote", "q w"), ("bold", "w"), ("pre", "x<1")]
    assert entities[2]["language"] == "py"


TEXTS = st.text(alphabet=st.sampled_from("ab \n\t\r🏟é@/#.x\u200b\u202e_"), max_size=30)
SPANS = st.lists(
    st.builds(
        lambda kind, offset, length: {"type": kind, "offset": offset, "length": length},
        st.sampled_from(["bold", "italic", "code", "pre", "blockquote", "spoiler"]),
        st.integers(0, 30),
        st.integers(1, 30),
    ),
    max_size=6,
)


@given(TEXTS, SPANS)
def test_stored_entities_are_always_valid(text: str, spans: list[Entity]) -> None:
    """Every text is refused, or stored with entities that nest, inside the text, on whole characters."""
    try:
        stored, entities = normalize(text, spans)
    except ApiError:
        return
    assert stored == stored.strip(" \n")
    assert not set("\r\t\u202e") & set(stored)
    for entity in entities:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        assert 0 <= start < end <= utf16_length(stored)
        assert "\ufffd" not in utf16_slice(stored, start, end - start)
        for other in entities:
            left, right = other["offset"], other["offset"] + other["length"]
            assert (
                end <= left
                or right <= start
                or left <= start <= end <= right
                or start <= left <= right <= end
            )


@given(TEXTS)
def test_escaped_text_survives_every_markup(text: str) -> None:
    plain = normalize(text, [])[0]
    for rendered, mode in ((Text(text).as_html(), "HTML"), (Text(text).as_markdown(), "MarkdownV2")):
        parsed, entities = parse_formatted(rendered, mode)
        assert entities == []
        assert normalize(parsed, [])[0] == plain
