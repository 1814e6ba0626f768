"""Whatever Markdown a model writes, Slack is given rich text that shows what the Markdown says."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import RichTextBlock

from channels.blocks import showable
from channels.slack import outbound
from channels.slack.rendering import SlackText, render, render_plain
from core.messages import Markdown, Message, Plain
from tests.channels.markdown_grammar import PARSER, documents
from tests.channels.reading import IGNORED, AnyLink, Seen, Style, assert_same, seen_in_tokens
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

SPEC = json.loads((Path(__file__).parents[1] / "payloads" / "commonmark-spec.json").read_text("utf-8"))


def looks(styles: Iterable[Style]) -> frozenset[str]:
    """In Slack styles add up, but for quotations, which hold no preformatted lines."""
    urls = [style.url for style in styles if isinstance(style, AnyLink) and style.url]
    shown = {style for style in styles if isinstance(style, str)}
    if any(style.startswith("pre:") for style in shown):
        shown -= {"blockquote"}
    return frozenset(shown | {f"link:{url}" for url in urls[:1]})


NAMES = {"bold": "bold", "italic": "italic", "strike": "strikethrough", "code": "code"}


def seen_in(messages: Iterable[SlackText]) -> Iterator[Seen]:
    for message in messages:
        for element in message.elements:
            yield from seen_in_element(element)


def seen_in_element(element: Mapping[str, Any]) -> Iterator[Seen]:
    around = {
        "rich_text_section": set(),
        "rich_text_quote": {"blockquote"},
        "rich_text_preformatted": {f"pre:{element.get('language', '')}"},
    }[element["type"]]
    for piece in element["elements"]:
        styles = {NAMES[style] for style, is_on in piece.get("style", {}).items() if is_on}
        link = {f"link:{piece['url']}"} if piece["type"] == "link" else set()
        assert piece["type"] in ("text", "link")
        for char in IGNORED.sub("", piece["text"]):
            yield Seen(char, frozenset(around | styles | link))


def assert_acceptable(message: SlackText, limit_chars: int) -> None:
    """Slack takes it, whole, and its fallback notifies nobody."""
    block = {"type": "rich_text", "elements": list(message.elements)}
    RichTextBlock(**block).validate_json()
    chars = sum(len(piece["text"]) for element in message.elements for piece in element["elements"])  # type: ignore[index]
    assert 0 < chars <= limit_chars
    assert len(message.text) <= 5 * limit_chars
    assert not re.search(r"<[@#!]", message.text), "a mention survived"
    assert "<" not in message.text
    assert not re.search(r"&(?!amp;|lt;|gt;)", message.text)


def check(source: str, limit_chars: int) -> None:
    messages = render((Markdown(source),), limit_chars)
    for message in messages:
        assert_acceptable(message, limit_chars)
    assert_same(seen_in_tokens(PARSER.parse(source), looks), list(seen_in(messages)))


def check_documents(count: int, *phases: Phase) -> None:
    @settings(max_examples=count, phases=(Phase.reuse, Phase.generate, *phases))
    @given(documents, st.integers(20, 60))
    def run(source: str, few_chars: int) -> None:
        check(source, 3000)
        check(source, few_chars)

    run()


def test_any_markdown_is_shown_whole_and_safe() -> None:
    check_documents(15)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_much_more_markdown_is_shown_whole_and_safe(profile: Profile, proof_record: ProofRecord) -> None:
    count = profile.pick(test=80, ci=200, proof=1500)
    check_documents(count, Phase.shrink)
    proof_record("markdown_slack", documents=count)


@pytest.mark.parametrize("limit_chars", [3000, 20])
def test_every_example_of_the_specification_is_shown_whole_and_safe(limit_chars: int) -> None:
    for example in SPEC["examples"]:
        check(example["markdown"], limit_chars)


@given(
    st.text(
        st.sampled_from("ab12 \n\t*_`~[]()<>!#-+=|\\&;:@/.中é\u0301👍\u200d\r\x00\ud83d\ude00"), max_size=60
    )
)
def test_any_jumble_of_marks_is_shown_whole_and_safe(source: str) -> None:
    check(source, 3000)
    check(source, 20)


@given(st.text(max_size=300), st.integers(2, 40))
def test_plain_text_is_shown_as_it_is(text: str, limit_chars: int) -> None:
    messages = render_plain(text, limit_chars)
    written = "".join(char for char in showable(text) if not IGNORED.match(char))
    assert "".join(seen.char for seen in seen_in(messages)) == written


def test_code_of_six_thousand_characters_goes_on_as_code_in_its_language() -> None:
    lines = "\n".join(f"line_{number} = {number}" for number in range(400))
    messages = render((Markdown(f"Here:\n\n```python\n{lines}\n```"),))
    assert len(messages) > 1
    for message in messages:
        last = message.elements[-1]
        assert (last["type"], last["language"]) == ("rich_text_preformatted", "python")
    shown = "\n".join(
        str(piece["text"])
        for message in messages
        for element in message.elements
        if element["type"] == "rich_text_preformatted"
        for piece in element["elements"]  # type: ignore[union-attr]
    )
    assert shown == lines


def test_what_is_escaped_still_fits_a_change() -> None:
    """chat.update refuses more than 4,000 characters of text, however few they were before."""
    card = Message((Plain("&" * 3000),), prompt_id="k3f9a7mzq2", outcome="<" * 400)
    for part in outbound.render(card):
        assert len(str(part["text"])) <= 4000
