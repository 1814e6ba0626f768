"""Any Markdown of a model becomes Discord's own Markdown that shows the same."""

import re
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from channels.discord.outbound import render_blocks, render_plain
from channels.text.blocks import showable
from core.messages import Markdown
from tests.channels.reading import IGNORED, AnyLink, Seen, Style, assert_same, seen_in_tokens
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
from tests.simulators.discord import markdown

LEAST_UNITS = 64
FEW = (LEAST_UNITS, 150)

NAMES = {"bold": "bold", "italic": "italic", "strike": "strikethrough", "code": "code", "quote": "blockquote"}
TITLES = {"heading1", "heading2", "heading3"}
ADORNMENTS = {"bold", "italic", "strikethrough"}
NEVER = {"underline", "spoiler", "subtext", "list", "mention"}
"""What a model cannot write here: no token of CommonMark stands for it."""


def looks(styles: Iterable[Style], limit_units: int) -> frozenset[str]:
    """In Discord styles add up, but code stands alone, and so does a link's address; one that leaves hardly
    any room for its text is none."""
    urls = [style.url for style in styles if isinstance(style, AnyLink) and style.url]
    shown = {style for style in styles if isinstance(style, str)}
    if language := next((style for style in shown if style.startswith("pre:")), None):
        is_word = re.fullmatch(r"pre:[A-Za-z0-9_+.#-]{1,32}", language)
        return frozenset({language if is_word else "pre:"})
    is_link = urls and re.fullmatch(r"https?://[^\s<>]+", urls[0], re.IGNORECASE)
    if is_link and len(urls[0].encode("utf-16-le")) // 2 <= limit_units - 32:
        return frozenset((shown | {f"link:{urls[0]}"}) - {"code"})
    return frozenset(shown - ADORNMENTS if "code" in shown else shown)


def seen_in(contents: Iterable[str]) -> Iterator[Seen]:
    for content in contents:
        for place, run in enumerate(markdown.read(content)):
            assert not run.styles & NEVER, f"{run} in {content!r}"
            shown = {NAMES[style] for style in run.styles if style in NAMES}
            shown |= {"bold"} if run.styles & TITLES else set()
            if "code" in run.styles:
                shown -= ADORNMENTS
            if "fence" in run.styles:
                shown = {f"pre:{run.language or ''}"}
            shown |= {f"link:{run.link}"} if run.link else set()
            bare = run.link is not None and IGNORED.sub("", run.text) in IGNORED.sub("", run.link)
            for char in IGNORED.sub("", run.text):
                yield Seen(char, frozenset(shown), bare_address=bare, begins=place == 0)


def assert_acceptable(content: str, limit_units: int) -> None:
    """Discord takes it, and it notifies nobody."""
    assert 0 < len(content.encode("utf-16-le")) // 2 <= limit_units
    assert content.replace("\0", "").strip()
    assert markdown.mentions(content) == []


def check(source: str, limit_units: int) -> None:
    contents = render_blocks((Markdown(source),), limit_units)
    for content in contents:
        assert_acceptable(content, limit_units)
    expected = seen_in_tokens(PARSER.parse(whole(source)), lambda styles: looks(styles, limit_units))
    assert_same(expected, list(seen_in(contents)))


def test_any_markdown_is_shown_whole_and_safe() -> None:
    check_documents(check, 2000, FEW, 15, the_same=True)


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
def test_much_more_markdown_is_shown_whole_and_safe(profile: Profile, proof_record: ProofRecord) -> None:
    count = profile.pick(test=80, ci=200, proof=1000)
    shares = check_documents(check, 2000, FEW, count, Phase.shrink)
    proof_record("markdown", documents=count, held_percent=percent(shares))
    # A few hundred documents of one seed are much alike: they say little about shares.
    assert not rare(shares, profile.pick(test=LEAST_SHARE, ci=0, proof=LEAST_SHARE))


@pytest.mark.parametrize("limit_units", [2000, LEAST_UNITS])
def test_every_example_of_the_specification_is_shown_whole_and_safe(
    limit_units: int, proof_record: ProofRecord
) -> None:
    for example in EXAMPLES:
        check(example, limit_units)
    proof_record("markdown", specification_examples=len(EXAMPLES), limit_units=limit_units)


@given(JUMBLE)
def test_any_jumble_of_marks_is_shown_whole_and_safe(source: str) -> None:
    check(source, 2000)
    check(source, LEAST_UNITS)


@given(st.text(max_size=300), st.integers(LEAST_UNITS, 150))
def test_plain_text_is_shown_as_it_is(text: str, limit_units: int) -> None:
    contents = render_plain(text, limit_units)
    written = "".join(char for char in showable(text) if not IGNORED.match(char))
    assert "".join(seen.char for seen in seen_in(contents)) == written


@pytest.mark.parametrize(
    "text",
    ["@everyone", "@here", "<@100000000000000007>", "<@&5>", "<#7>", "</new:5>", "<t:0:R>", "-# x"],
)
def test_no_text_is_read_as_markup(text: str) -> None:
    for said in (text, f"a {text}", f"> {text}", f"**{text}**", f"# {text}", f"- {text}"):
        (content,) = render_blocks((Markdown(said),))
        assert markdown.mentions(content) == []
        assert text in markdown.visible_text(content).replace("\u2060", "")


def test_an_address_longer_than_a_message_costs_only_the_link() -> None:
    for chars in (1_968, 1_969, 2_500):
        url = f"https://example.com/{'a' * (chars - 20)}"
        contents = render_blocks((Markdown(f"see **[the ~~log~~ *there*]({url})**, please"),))
        for content in contents:
            assert_acceptable(content, 2000)
        seen = list(seen_in(contents))
        assert "".join(one.char for one in seen) == "seethelogthere,please"
        assert any("link" in style for one in seen for style in one.styles) == (chars <= 1_968)


def test_a_language_that_discord_reads_as_code_is_left_out() -> None:
    (content,) = render_blocks((Markdown("```text/x-log\nhello\n```"),))
    assert list(markdown.fences(content)) == [(None, "hello")]


def test_code_of_six_thousand_characters_continues_as_code_in_its_language() -> None:
    lines = "\n".join(f"line_{number} = {number}" for number in range(400))
    contents = render_blocks((Markdown(f"Here:\n\n```python\n{lines}\n```"),))
    assert len(contents) > 2
    fences = [fence for content in contents for fence in markdown.fences(content)]
    assert {language for language, _ in fences} == {"python"}
    assert "\n".join(code for _, code in fences) == lines
