"""The estimate of tokens, against gpt-tokenizer's o200k, and its correction by a provider's counts."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.base import TokenRatio, entry_tokens, said_tokens, text_tokens
from core.transcript import Entry, ToolCalled, UserSaid

CORPORA = Path("tests/payloads/tokens")
COUNTS: dict[str, int] = json.loads((CORPORA / "counts.json").read_text())
LONG_CHARS = 1_000_000


@pytest.mark.parametrize("corpus", sorted(COUNTS))
def test_an_estimate_is_within_bounds_of_o200k(corpus: str) -> None:
    text = (CORPORA / f"{corpus}.txt").read_text()
    assert 0.95 <= text_tokens(text) / COUNTS[corpus] <= 1.35


@given(st.text(max_size=300), st.text(max_size=300))
def test_parts_take_about_as_much_as_their_whole(one: str, other: str) -> None:
    parts, whole = text_tokens(one) + text_tokens(other), text_tokens(one + other)
    assert whole >= 1
    assert abs(parts - whole) <= 12


@pytest.mark.parametrize("text", ["a", "aB", "x1", "\u4e2d", "\ud83d", "🎉", "é", "\n ", "{}"])
def test_the_estimate_is_linear(text: str) -> None:
    """Measured against a generous bound: what grows with the square takes minutes."""
    began = time.process_time()
    tokens = text_tokens(text * (LONG_CHARS // len(text)))
    assert time.process_time() - began < 1.0
    assert LONG_CHARS // 50 < tokens < 2.5 * LONG_CHARS


def test_an_entry_is_counted_once_with_its_arguments() -> None:
    called = ToolCalled("c", "shell", '{"command": "ls -la /srv/data"}')
    entry = Entry(1, "t", 0, called)
    assert entry.tokens == 0
    assert entry_tokens(entry) == entry.tokens == said_tokens(called) > said_tokens(UserSaid("")) - 32
    assert entry == Entry(1, "t", 0, called), "the count is not part of its value"


def test_the_ratio_rises_at_once_and_falls_slowly() -> None:
    ratio = TokenRatio()
    ratio.counted(100, 900)
    assert ratio.value == 1.0, "a short request says little"
    ratio.counted(1000, 800)
    assert ratio.value == 0.8, "the first count is taken as it is"
    ratio.counted(1000, 1500)
    assert ratio.value == 1.5
    ratio.counted(1000, 1000)
    assert 1.4 < ratio.value < 1.5
    ratio.counted(1000, 1_000_000)
    assert ratio.value == 8.0, "no count makes the window useless"
    for _ in range(100):
        ratio.counted(1000, 1100)
    assert ratio.value == pytest.approx(1.1, abs=0.01)


def test_an_overflow_teaches_that_the_window_was_full() -> None:
    ratio = TokenRatio()
    ratio.overflowed(8_000, 12_000)
    assert ratio.value == pytest.approx(1.575)
    ratio.overflowed(12_000, 12_000)
    assert ratio.value == pytest.approx(1.575), "it never learns that texts are shorter"
    ratio.overflowed(100, 12_000)
    assert ratio.value == pytest.approx(3.15), "a wrong window is not taken for the text's fault"
