"""Telegram takes any Markdown of a model, and shows what the Markdown says."""

import re
from collections.abc import Iterable

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from telegramify_markdown import RenderConfig, convert

from channels.telegram.entities import TelegramText
from channels.telegram.outbound import render_markdown, render_plain
from channels.text.blocks import showable
from tests.channels.reading import (
    IGNORED,
    Seen,
    assert_acceptable,
    assert_same,
    seen_in_messages,
    seen_in_tokens,
)
from tests.channels.text.markdown_grammar import PARSER
from tests.channels.text.markdown_proof import (
    EXAMPLES,
    JUMBLE,
    LEAST_SHARE,
    check_documents,
    percent,
    rare,
    whole,
)
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

FEW_UNITS = (20, 60)
ALONE_NOTHING = re.compile(
    "[\u030a\u0333\u033f\u180e\u200b-\u200f\u2028-\u202e\u2060\u2800\ufeff\ufffc\U000e0000-\U000e007f]"
)
"""A message of nothing else is blank to Telegram and not sent: at a few units a message, each may be one."""


def check(source: str, limit_units: int) -> None:
    messages = render_markdown(source, limit_units)
    for message in messages:
        assert_acceptable(message, limit_units)
    assert_same(seen_in_tokens(PARSER.parse(whole(source))), seen_in_messages(messages))


def test_any_markdown_is_shown_whole_and_safe() -> None:
    """A failure is reported as it was found: to shrink one takes minutes, which the longer run spends. That
    run judges the shares, too: so few documents say nothing about them."""
    check_documents(check, 4096, FEW_UNITS, 40, the_same=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_much_more_markdown_is_shown_whole_and_safe(profile: Profile, proof_record: ProofRecord) -> None:
    documents_checked = profile.pick(test=80, ci=300, proof=2000)
    shares = check_documents(check, 4096, FEW_UNITS, documents_checked, Phase.shrink)
    proof_record("markdown", documents=documents_checked, held_percent=percent(shares))
    # A few hundred documents of one seed are much alike: they say little about shares.
    assert not rare(shares, profile.pick(test=LEAST_SHARE, ci=0, proof=LEAST_SHARE))


@pytest.mark.parametrize("limit_units", [4096, 40, 20])
def test_every_example_of_the_specification_is_shown_whole_and_safe(
    limit_units: int, proof_record: ProofRecord
) -> None:
    assert len(EXAMPLES) == 652
    for example in EXAMPLES:
        check(example, limit_units)
    proof_record("markdown", specification_examples=len(EXAMPLES), limit_units=limit_units)


@given(JUMBLE)
def test_any_jumble_of_marks_is_shown_whole_and_safe(source: str) -> None:
    check(source, 4096)
    check(source, 20)


@given(st.text(max_size=300), st.integers(2, 40))
def test_plain_text_is_shown_as_it_is(text: str, limit_units: int) -> None:
    messages = render_plain(text, limit_units)
    for message in messages:
        assert_acceptable(message, limit_units)
        assert message.entities == ()
    seen = "".join(seen.char for seen in seen_in_messages(messages))
    assert ALONE_NOTHING.sub("", seen) == ALONE_NOTHING.sub("", IGNORED.sub("", showable(text)))


# ---------------------------------------------------------------- a second opinion

ONE_CONSTRUCT_EACH = [
    "{} {}",
    "*{}* {}",
    "**{} *{}***",
    "~~{}~~ {}",
    "`{}` {}",
    "[{} *{}*](https://example.com/Foo_(bar)?a=b&c=d)",
    "![{}](https://example.com/a.png) {}",
    "<https://example.com/a> {} {}",
    "{}\\\n{}  \n{}",
    "### {} *{}*",
    "{} *{}*\n===\n",
    "```python\n{} *{}*\n```",
    "    {} *{}*\n",
    "> {} **{}**\n> {}",
    "> > {}\n\n{}",
    "- {} **{}**\n  - {}\n    `{}`",
    "7. {}\n8. {}\n\n   {}",
    "| {} | *{}* |\n|:--|--:|\n| {} | `{}` |",
    "---",
    "\\*{}\\* &amp; {}",
]
"""What both support, with room for words. Not among them, for telegramify-markdown 1.4.1 differs by intent or
mistake: raw HTML (dropped), code inside other styles (entities overlap), links inside tables (lost)."""

WORDS = st.sampled_from(
    ["alpha", "beta", "中文", "👩‍👩‍👧‍👦", "👍🏽", "e\u0301te\u0301", "שלום", "x1", "naïve"]
)


@st.composite
def comparable(draw: st.DrawFn) -> str:
    """A document of constructs that both renderers support."""
    templates = draw(st.lists(st.sampled_from(ONE_CONSTRUCT_EACH), min_size=1, max_size=6))
    return "\n\n".join(
        template.format(*(draw(WORDS) for _ in range(template.count("{}")))) for template in templates
    )


def second_opinion(source: str) -> TelegramText:
    """The document as telegramify-markdown renders it, with the hub's signs for bullets and rules."""
    config = RenderConfig.isolated()
    config.cite_expandable = False
    signs = config.markdown_symbol
    signs.unordered_list_item, signs.horizontal_rule, signs.image = "•", "———", ""
    signs.heading_level_1 = signs.heading_level_2 = signs.heading_level_3 = ""
    text, entities = convert(source, latex_escape=False, config=config)
    return TelegramText(text, tuple(entities))  # type: ignore[arg-type]


def test_telegramify_markdown_shows_the_same(proof_record: ProofRecord) -> None:
    cases = 0

    @given(comparable())
    def run(source: str) -> None:
        nonlocal cases
        cases += 1
        assert compared(render_markdown(source)) == compared([second_opinion(source)])

    run()
    proof_record("markdown", compared_with_telegramify_markdown=cases)


def compared(messages: Iterable[TelegramText]) -> list[Seen]:
    """But for what differs by intent: they underline high headings, and do not count a table's columns."""
    return [
        Seen(seen.char, seen.styles - {"underline"})
        for seen in seen_in_messages(messages)
        if seen.char not in "-+"
    ]
