"""Hub texts on Telegram: facts written out by hand."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.telegram.entities import TelegramEntity, TelegramText
from channels.telegram.outbound import render_blocks, render_markdown, render_plain
from core import messages

WJ = "\u2060"


def rendered(markdown: str) -> TelegramText:
    [message] = render_markdown(markdown)
    return message


def marked(message: TelegramText) -> list[tuple[str, str]]:
    """Each entity's type and the text it covers, cut out of the UTF-16 code units."""
    units = message.text.encode("utf-16-le")
    return [
        (e.type, units[e.offset * 2 : (e.offset + e.length) * 2].decode("utf-16-le"))
        for e in message.entities
    ]


# ---------------------------------------------------------------- layout


def test_a_complete_answer_is_rendered() -> None:
    message = rendered(
        "# Plan\n\nThree *steps*:\n\n1. Check **both** hosts\n   - `alpha`\n   - 部署 👍\n2. Wait\n\n"
        "> Said before\n\n| 名称 | Qty |\n|:--|--:|\n| 盘 | 12 |\n\n---\n\n```python\nprint('hi')\n```"
    )
    assert message.text == (
        "Plan\n\nThree steps:\n\n1. Check both hosts\n    • alpha\n    • 部署 👍\n2. Wait\n\n"
        "Said before\n\n名称 | Qty\n-----+----\n盘   |  12\n\n———\n\nprint('hi')"
    )
    assert marked(message) == [
        ("bold", "Plan"),
        ("italic", "steps"),
        ("bold", "both"),
        ("code", "alpha"),
        ("blockquote", "Said before"),
        ("pre", "名称 | Qty\n-----+----\n盘   |  12"),
        ("pre", "print('hi')"),
    ]
    assert message.entities[-1].language == "python"


def test_nested_lists_are_indented_and_loose_ones_spaced() -> None:
    assert (
        rendered("- a\n  - b\n    1. c\n       d\n- e").text
        == "• a\n    • b\n        1. c\n            d\n• e"
    )
    assert rendered("3. a\n\n   b\n\n4. c").text == "3. a\n\n    b\n\n4. c"
    assert rendered("- ```\n  code\n  ```\n- > quote").text == "•\ncode\n•\nquote"
    assert rendered("-\n- a").text == "•\n• a"


def test_quotes_do_not_nest_on_telegram() -> None:
    message = rendered("> a\n>\n> > b\n> > `c`")
    assert message.text == "a\n\nb\nc"
    assert marked(message) == [("blockquote", "a\n\nb\nc"), ("code", "c")]


def test_links_in_a_table_are_listed_below_it() -> None:
    message = rendered(
        "| site | n |\n|---|---|\n| [docs](https://a.b) | 1 |\n| [**wiki**](https://c.d) | 2 |"
    )
    assert message.text == "site | n\n-----+--\ndocs | 1\nwiki | 2\ndocs · wiki"
    assert [(e.type, e.url) for e in message.entities] == [
        ("pre", None),
        ("text_link", "https://a.b"),
        ("text_link", "https://c.d"),
    ]


def test_tabs_in_code_are_widened() -> None:
    assert rendered("```make\nall:\n\techo\n```").text == "all:\n    echo"


# ---------------------------------------------------------------- entities


def test_offsets_count_utf_16_code_units() -> None:
    assert rendered("👍🏽 **中文** 👩‍👩‍👧‍👦 *x*") == TelegramText(
        "👍🏽 中文 👩‍👩‍👧‍👦 x",
        (TelegramEntity("bold", 5, 2), TelegramEntity("italic", 20, 1)),
    )


def test_styles_are_interrupted_by_code() -> None:
    assert marked(rendered("**a `b` *c `d`* e**")) == [
        ("bold", "a "),
        ("code", "b"),
        ("bold", " c "),
        ("italic", "c "),
        ("code", "d"),
        ("bold", " e"),
    ]
    assert marked(rendered("# `all` code")) == [("code", "all"), ("bold", " code")]


def test_a_link_around_code_stays_a_link() -> None:
    assert marked(rendered("[`a` **b**](https://c.d)")) == [("text_link", "a b"), ("bold", "b")]


def test_a_style_nested_in_itself_is_one_entity() -> None:
    assert marked(rendered("# a **b** c")) == [("bold", "a b c")]


@pytest.mark.parametrize(
    "url, opens",
    [
        ("https://en.wikipedia.org/wiki/Foo_(bar)", True),
        ("http://example.com:8080/a?b=c&d=e#f", True),
        ("HTTPS://EXAMPLE.COM", True),
        ("https://xn--r8jz45g.jp/%E9%81%93", True),
        ("http://10.0.0.1/x", True),
        ("http://localhost:8080/x", False),
        ("https://example.com:0/", False),
        ("https://example.com:99999/", False),
        ("https://user@example.com/", False),
        ("https:///path", False),
        ("https://exam%20ple.com", False),
        ("mailto:a@example.com", False),
        ("tg://user?id=42", False),
        ("tg:user?id=42", False),
        ("TG://resolve?domain=admin", False),
        ("ton://transfer/x", False),
        ("javascript:alert(1)", False),
        ("https://example.com/" + "a" * 2100, False),
    ],
)
def test_web_addresses_become_links(url: str, opens: bool) -> None:
    links = [entity for entity in rendered(f"[here](<{url}>)").entities if entity.type == "text_link"]
    assert len(links) == opens


# ---------------------------------------------------------------- mentions


@pytest.mark.parametrize(
    "source, text",
    [
        ("@admin", f"@{WJ}admin"),
        ("ask @admin, (@bob) and 中@carol", f"ask @{WJ}admin, (@{WJ}bob) and 中@{WJ}carol"),
        ("@中1 @été", f"@{WJ}中1 @{WJ}été"),
        ("@**admin**", f"@{WJ}admin"),
        ("@`admin`", f"@{WJ}admin"),
        ("`@`admin", f"@{WJ}admin"),
        ("&#64;admin", f"@{WJ}admin"),
        ("@@admin", f"@@{WJ}admin"),
        ("[@admin](https://a.b)", f"@{WJ}admin"),
        ("# @admin", f"@{WJ}admin"),
        ("<@U123>", f"<@{WJ}U123>"),
        ("x@example.com and @ alone", "x@example.com and @ alone"),
        ("`@admin`", "@admin"),
        ("```\n@decorator\n@other\n```", "@decorator\n@other"),
    ],
)
def test_rendered_text_mentions_no_one(source: str, text: str) -> None:
    assert rendered(source).text == text


def test_entities_move_with_the_text_after_a_disarmed_mention() -> None:
    assert marked(rendered("@a1 **b @c2** *@d3*")) == [("bold", f"b @{WJ}c2"), ("italic", f"@{WJ}d3")]
    assert marked(rendered("@**admin**")) == [("bold", "admin")]


def test_a_cut_makes_no_mention() -> None:
    """The second message begins with what was no mention while a word stood before it."""
    _, second = render_markdown("a" * 4096 + "@admin")
    assert second.text == f"@{WJ}admin"


def test_a_mention_takes_its_room() -> None:
    assert [len(message.text) for message in render_markdown("@ab " * 1500)] == [4094, 3404]


def test_an_address_with_an_at_sign_still_opens() -> None:
    url = "https://medium.com/@user/post"
    message = rendered(f"see {url}.")
    assert message.text == f"see https://medium.com/@{WJ}user/post."
    assert message.entities == (TelegramEntity("text_link", 4, 30, url=url),)
    inside = rendered(f"**see {url}** and [x {url}](https://a.b) and `{url}`")
    assert [e.url for e in inside.entities if e.url] == [url, "https://a.b"]


# ---------------------------------------------------------------- cutting


def test_a_long_block_of_code_is_opened_again_with_its_language() -> None:
    lines = [f"line_{number} = {number}" for number in range(500)]
    code = "\n".join(lines)
    assert 6000 < len(code) < 8000
    parts = render_markdown(f"before\n\n```python\n{code}\n```\n\nafter")
    assert len(parts) == 2
    assert parts[0].text.startswith("before\n\nline_0 = 0\nline_1 = 1\n")
    assert parts[1].text.endswith("line_499 = 499\n\nafter")
    pieces = [text for part in parts for kind, text in marked(part) if kind == "pre"]
    assert "\n".join(pieces) == code
    assert [e.language for part in parts for e in part.entities] == ["python", "python"]


def test_emoji_are_counted_as_telegram_counts_them() -> None:
    assert [message.text for message in render_markdown("😀" * 3000)] == ["😀" * 2048, "😀" * 952]
    assert [message.text for message in render_markdown("👩‍👩‍👧‍👦" * 5, 30)] == [
        "👩‍👩‍👧‍👦" * 2,
        "👩‍👩‍👧‍👦" * 2,
        "👩‍👩‍👧‍👦",
    ]


def test_no_message_has_more_entities_than_telegram_shows() -> None:
    parts = render_markdown(" ".join(f"*w{number}*" for number in range(250)))
    assert [len(part.entities) for part in parts] == [100, 100, 50]
    assert " ".join(part.text for part in parts) == " ".join(f"w{number}" for number in range(250))


def test_no_message_has_more_addresses_than_telegram_takes() -> None:
    parts = render_markdown("\n".join(f"[l{number}](https://a.b/{'x' * 1900})" for number in range(8)))
    assert [len(part.entities) for part in parts] == [4, 4]


def test_space_at_a_messages_beginning_is_not_sent() -> None:
    """Telegram would trim it."""
    parts = render_markdown("- a\n  - bb\n  - cc\n  - dd", 12)
    assert [part.text for part in parts] == ["• a\n    • bb", "• cc", "• dd"]


# ---------------------------------------------------------------- blank and broken


BLANK = ["", " ", "\n\t\n", "&nbsp;", "\u200b", "\u2800 \ufeff", "\x07", "[a]: b", "```\n```", "> "]


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_show_is_no_message(text: str) -> None:
    assert render_markdown(text) == ()


def test_nothing_plain_to_show_is_no_message() -> None:
    assert render_plain(" \n\u200b\x07") == ()
    assert render_blocks(()) == ()
    assert render_blocks((messages.Plain(" "), messages.Markdown(""))) == ()


def test_broken_characters_are_replaced() -> None:
    assert rendered("a\x00b \ud83d c\ude00 \x1b[0m **d**").text == "a\ufffdb \ufffd c\ufffd [0m d"
    [message] = render_plain("a\x00b \ud83d\x1b")
    assert message.text == "a\ufffdb \ufffd"


def test_a_limit_too_small_for_any_character_is_refused() -> None:
    with pytest.raises(ValueError, match="limit_units=1"):
        render_markdown("**a**", 1)


# ---------------------------------------------------------------- plain text, blocks


def test_plain_text_is_not_read_as_markdown() -> None:
    [message] = render_plain("*a* `b` <c> @admin\n\n\n    # d")
    assert message == TelegramText(f"*a* `b` <c> @{WJ}admin\n\n\n    # d")


def test_a_hub_text_renders_as_consecutive_messages() -> None:
    said = (messages.Plain("*as is*"), messages.Code("rm -rf @home", "bash"), messages.Markdown("**sure?**"))
    [message] = render_blocks(said)
    assert message.text == "*as is*\n\nrm -rf @home\n\nsure?"
    assert message.entities == (
        TelegramEntity("pre", 9, 12, language="bash"),
        TelegramEntity("bold", 23, 5),
    )
    assert render_blocks((messages.Markdown("**a**"),)) == render_markdown("**a**")
    assert render_blocks((messages.Plain("**a**"),)) == render_plain("**a**")


ALMOST_PLAIN = st.text(st.sampled_from("abé中 \n\t1.)-+=#>:!?'\"/%\u3000\xa0"), max_size=40)


@example("a \nb")
@example("a\n b")
@example("a\n\n\nb")
@example("a\n2) b")
@example("a\n=")
@example("\t1 ")
@given(ALMOST_PLAIN)
def test_plain_text_takes_a_short_cut_to_the_same_message(text: str) -> None:
    """Text that skips the parser must read as if it had not: a style further on makes it be parsed.

    Blanks at the end of code are kept where something follows, and trimmed, as Telegram does, where the
    message ends.
    """
    alone = "".join(part.text for part in render_markdown(text))
    [together] = render_markdown(f"{text}\n\n*x*")
    before, gap, _ = together.text.rpartition("\n\n")
    assert before.rstrip() == alone
    assert together.text == f"{before}{gap}x"
