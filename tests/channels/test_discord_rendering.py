"""Whatever Markdown a model writes, Discord is given Markdown of its own kind that shows the same."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from channels.blocks import showable
from channels.discord.rendering import render, render_plain
from core.messages import Markdown
from tests.channels.markdown_grammar import PARSER, documents
from tests.channels.reading import IGNORED, AnyLink, Seen, Style, assert_same, seen_in_tokens
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.discord import markdown

SPEC = json.loads((Path(__file__).parents[1] / "payloads" / "commonmark-spec.json").read_text("utf-8"))
LEAST_UNITS = 64

NAMES = {"bold": "bold", "italic": "italic", "strike": "strikethrough", "code": "code", "quote": "blockquote"}
TITLES = {"heading1", "heading2", "heading3"}
ADORNMENTS = {"bold", "italic", "strikethrough"}
NEVER = {"underline", "spoiler", "subtext", "list", "mention"}
"""What a model cannot write here: no token of CommonMark stands for it."""


def looks(styles: Iterable[Style]) -> frozenset[str]:
    """In Discord styles add up, but code stands alone, and so does a link's address."""
    urls = [style.url for style in styles if isinstance(style, AnyLink) and style.url]
    shown = {style for style in styles if isinstance(style, str)}
    if language := next((style for style in shown if style.startswith("pre:")), None):
        is_word = re.fullmatch(r"pre:[A-Za-z0-9_+.#-]{1,32}", language)
        return frozenset({language if is_word else "pre:"})
    if urls and re.fullmatch(r"https?://[^\s<>]+", urls[0], re.IGNORECASE):
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
            bare = run.link is not None and IGNORED.sub("", run.text) in run.link
            for char in IGNORED.sub("", run.text):
                yield Seen(char, frozenset(shown), bare_address=bare, begins=place == 0)


def assert_acceptable(content: str, limit_units: int) -> None:
    """Discord takes it, and it notifies nobody."""
    assert 0 < len(content.encode("utf-16-le")) // 2 <= limit_units
    assert content.replace("\0", "").strip()
    assert markdown.mentions(content) == []


def check(source: str, limit_units: int) -> None:
    source = source.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    contents = render((Markdown(source),), limit_units)
    for content in contents:
        assert_acceptable(content, limit_units)
    assert_same(seen_in_tokens(PARSER.parse(source), looks), list(seen_in(contents)))


def check_documents(count: int, *phases: Phase) -> None:
    @settings(max_examples=count, phases=(Phase.reuse, Phase.generate, *phases))
    @given(documents, st.integers(LEAST_UNITS, 150))
    def run(source: str, few_units: int) -> None:
        check(source, 2000)
        check(source, few_units)

    run()


def test_any_markdown_is_shown_whole_and_safe() -> None:
    check_documents(15)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_much_more_markdown_is_shown_whole_and_safe(profile: Profile, proof_record: ProofRecord) -> None:
    count = profile.pick(test=80, ci=200, proof=1500)
    check_documents(count, Phase.shrink)
    proof_record("markdown_discord", documents=count)


@pytest.mark.parametrize("limit_units", [2000, LEAST_UNITS])
def test_every_example_of_the_specification_is_shown_whole_and_safe(limit_units: int) -> None:
    for example in SPEC["examples"]:
        check(example["markdown"], limit_units)


@given(
    st.text(
        st.sampled_from("ab12 \n\t*_`~[]()<>!#-+=|\\&;:@/.中é\u0301👍\u200d\r\x00\ud83d\ude00"), max_size=60
    )
)
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
def test_no_text_means_more_than_itself(text: str) -> None:
    for said in (text, f"a {text}", f"> {text}", f"**{text}**", f"# {text}", f"- {text}"):
        (content,) = render((Markdown(said),))
        assert markdown.mentions(content) == []
        assert text in markdown.visible_text(content).replace("\u2060", "")


def test_code_of_six_thousand_characters_goes_on_as_code_in_its_language() -> None:
    lines = "\n".join(f"line_{number} = {number}" for number in range(400))
    contents = render((Markdown(f"Here:\n\n```python\n{lines}\n```"),))
    assert len(contents) > 2
    fences = [fence for content in contents for fence in markdown.fences(content)]
    assert {language for language, _ in fences} == {"python"}
    assert "\n".join(code for _, code in fences) == lines
