"""Whatever Markdown a model writes, Telegram takes it, and shows what the Markdown says."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from channels.telegram.rendering import render, render_plain
from tests.channels.markdown_grammar import CONSTRUCTS, PARSER, constructs, documents
from tests.channels.reading import (
    assert_acceptable,
    assert_same,
    seen_in_messages,
    seen_in_tokens,
)
from tests.plugins.profile import Profile

SPEC = json.loads((Path(__file__).parents[1] / "payloads" / "commonmark-spec.json").read_text("utf-8"))
LEAST_SHARE = 0.05


def check(source: str, limit_units: int) -> None:
    messages = render(source, limit_units)
    for message in messages:
        assert_acceptable(message, limit_units)
    assert_same(seen_in_tokens(PARSER.parse(source)), seen_in_messages(messages))


def test_any_markdown_is_shown_whole_and_safe(profile: Profile) -> None:
    """Over the run every construct of the grammar is in at least one document of twenty."""
    held: Counter[str] = Counter()
    cases = 0

    @settings(max_examples=profile.pick(test=100, ci=1000, proof=5000))
    @given(documents, st.integers(20, 60))
    def run(source: str, few_units: int) -> None:
        nonlocal cases
        cases += 1
        for construct in constructs(source):
            event(construct)
            held[construct] += 1
        check(source, 4096)
        check(source, few_units)

    run()
    rare = {name: held[name] for name in CONSTRUCTS if held[name] < LEAST_SHARE * cases}
    assert not rare, f"of {cases} documents"


@pytest.mark.parametrize("limit_units", [4096, 40, 20])
def test_every_example_of_the_specification_is_shown_whole_and_safe(limit_units: int) -> None:
    assert len(SPEC["examples"]) == 652
    for example in SPEC["examples"]:
        check(example["markdown"], limit_units)


@given(
    st.text(
        st.sampled_from("ab12 \n\t*_`~[]()<>!#-+=|\\&;:@/.中é\u0301👍\u200d\r\x00\ud83d\ude00"), max_size=60
    )
)
def test_any_jumble_of_marks_is_shown_whole_and_safe(source: str) -> None:
    check(source, 4096)
    check(source, 20)


@given(st.text(max_size=300), st.integers(2, 40))
def test_plain_text_is_shown_as_it_is(text: str, limit_units: int) -> None:
    messages = render_plain(text, limit_units)
    for message in messages:
        assert_acceptable(message, limit_units)
        assert message.entities == ()
