"""Any Markdown of a model becomes Slack's rich text that shows what the Markdown says."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from slack_sdk.models.blocks import RichTextBlock

from channels.slack import outbound
from channels.slack.outbound import SlackText, render_blocks, render_plain
from channels.text.blocks import showable
from core.messages import Choice, Markdown, Message, Plain
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

FEW = (20, 60)


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
    _assert_begins_alike(message)


def _assert_begins_alike(message: SlackText) -> None:
    """Clients that show no blocks show how the message begins."""
    fallback = message.text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    shown = "".join(seen.char for seen in seen_in((message,)))
    assert shown.startswith(IGNORED.sub("", fallback))


def check(source: str, limit_chars: int) -> None:
    messages = render_blocks((Markdown(source),), limit_chars)
    for message in messages:
        assert_acceptable(message, limit_chars)
    assert_same(seen_in_tokens(PARSER.parse(whole(source)), looks), list(seen_in(messages)))


def test_any_markdown_is_shown_whole_and_safe() -> None:
    check_documents(check, 3000, FEW, 15, the_same=True)


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
def test_much_more_markdown_is_shown_whole_and_safe(profile: Profile, proof_record: ProofRecord) -> None:
    count = profile.pick(test=80, ci=200, proof=1500)
    shares = check_documents(check, 3000, FEW, count, Phase.shrink)
    proof_record("markdown", documents=count, held_percent=percent(shares))
    # A few hundred documents of one seed are much alike: they say little about shares.
    assert not rare(shares, profile.pick(test=LEAST_SHARE, ci=0, proof=LEAST_SHARE))


@pytest.mark.parametrize("limit_chars", [3000, 20])
def test_every_example_of_the_specification_is_shown_whole_and_safe(
    limit_chars: int, proof_record: ProofRecord
) -> None:
    for example in EXAMPLES:
        check(example, limit_chars)
    proof_record("markdown", specification_examples=len(EXAMPLES), limit_chars=limit_chars)


@given(JUMBLE)
def test_any_jumble_of_marks_is_shown_whole_and_safe(source: str) -> None:
    check(source, 3000)
    check(source, 20)


@given(st.text(max_size=300), st.integers(2, 40))
def test_plain_text_is_shown_as_it_is(text: str, limit_chars: int) -> None:
    messages = render_plain(text, limit_chars)
    written = "".join(char for char in showable(text) if not IGNORED.match(char))
    assert "".join(seen.char for seen in seen_in(messages)) == written


@pytest.mark.parametrize(
    "text",
    [
        "<!channel>",
        "<!here|here>",
        "<@U0OLIVIA>",
        "<#C77>",
        "<!subteam^S1>",
        "<https://a.b|c>",
        "@here",
        "&lt;",
    ],
)
def test_no_text_is_read_as_markup(text: str) -> None:
    for said in (text, f"a {text}", f"> {text}", f"# {text}", f"- {text}"):
        for message in (*render_blocks((Plain(said),)), *render_blocks((Plain("x"), Plain(said)))):
            assert_acceptable(message, 3000)
            shown = [piece for element in message.elements for piece in element["elements"]]  # type: ignore[union-attr]
            assert {piece["type"] for piece in shown} == {"text"}
            assert text in "".join(str(piece["text"]) for piece in shown)


@pytest.mark.parametrize("outcome", ["<!channel> approved", "<@U0OLIVIA>", "&lt; & <"])
def test_an_outcome_is_shown_as_it_is(outcome: str) -> None:
    (part,) = outbound.render(Message((Plain("May I?"),), gate_id="k3f9a7mzq2", outcome=outcome))
    *_, shown = part["blocks"]  # type: ignore[misc]
    assert shown["elements"] == [{"type": "plain_text", "text": outcome, "emoji": False}]
    assert "<" not in str(part["text"])


def test_code_of_six_thousand_characters_continues_as_code_in_its_language() -> None:
    lines = "\n".join(f"line_{number} = {number}" for number in range(400))
    messages = render_blocks((Markdown(f"Here:\n\n```python\n{lines}\n```"),))
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


def test_escaped_text_still_fits_an_edit() -> None:
    """chat.update refuses more than 4,000 characters of text, however few they were before."""
    card = Message((Plain("&" * 3000),), gate_id="k3f9a7mzq2", outcome="<" * 400)
    for part in outbound.render(card):
        assert len(str(part["text"])) <= 4000


def test_the_buttons_of_an_edited_call_continue_the_numbering() -> None:
    """A press on one that was shown before the change is then known as such."""
    choices = (Choice("Approve"), Choice("Deny"))
    (part,) = outbound.render(
        Message((Plain("May I?"),), gate_id="k3f9a7mzq2", choices=choices, first_choice=2)
    )
    assert re.findall(r"p:k3f9a7mzq2:\d", json.dumps(part)) == ["p:k3f9a7mzq2:2", "p:k3f9a7mzq2:3"]
