"""The part of a conversation that a model call is shown, for any conversation and any room."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.runs.compaction import Strategy, strategy_for
from core.runs.context import (
    DROPPED_NOTE,
    NO_LIMIT,
    RESULT_HEAD_CHARS,
    RESULT_TAIL_CHARS,
    SHORTENED_EVERY_TURNS,
    VERBATIM_TURNS,
    Room,
    build_window,
    is_due,
    total_tokens,
)
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    ResultStatus,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)

LONG_RESULT = "x1 " * 2_000


def talk(turns: int, result: str = "", summary: str = "") -> list[Entry]:
    entries: list[Entry] = []

    def say(turn: int, said: Said) -> None:
        entries.append(Entry(len(entries) + 1, f"turn-{turn}", 0, said))

    if summary:
        say(0, Summary(summary, 0))
    for turn in range(1, turns + 1):
        say(turn, UserSaid(f"question {turn}"))
        if result:
            say(turn, ToolCalled(f"call-{turn}", "time", "{}"))
            say(turn, ToolResult(f"call-{turn}", ResultStatus.OK, result))
        say(turn, AssistantSaid(f"answer {turn}"))
    return entries


def texts_of(said: list[Said]) -> list[str]:
    return [one.text for one in said if isinstance(one, UserSaid)]


@given(
    st.integers(1, 40),
    st.integers(-2_000, 40_000),
    st.sampled_from(["", "short", LONG_RESULT]),
    st.sampled_from(["", "What was said."]),
)
def test_a_window_is_whole_turns_with_every_result_and_the_summary(
    turns: int, limit: int, result: str, summary: str
) -> None:
    room = Room(limit, int(limit * 0.8))
    window = build_window(talk(turns, result, summary), room, "UTC")
    asked = texts_of(window.said)
    assert asked == [f"question {n}" for n in range(turns - len(asked) + 1, turns + 1)], (
        "the newest, in order"
    )
    assert asked, "the newest turn is always there"
    called = [one.call_id for one in window.said if isinstance(one, ToolCalled)]
    assert called == [one.call_id for one in window.said if isinstance(one, ToolResult)]
    assert any(isinstance(one, Summary) for one in window.said) == bool(summary)
    assert (Note(DROPPED_NOTE) in window.said) == (len(asked) < turns)
    assert window.tokens <= max(limit, 0) or len(asked) == 1


def test_results_of_older_turns_are_shortened_before_anything_is_left_out() -> None:
    entries = talk(30, LONG_RESULT)
    whole = build_window(entries, NO_LIMIT, "UTC")
    limit = total_tokens(entries) - 1
    window = build_window(entries, Room(limit, limit), "UTC")
    assert len(texts_of(window.said)) == 30
    results = [len(one.text) for one in window.said if isinstance(one, ToolResult)]
    assert set(results[-VERBATIM_TURNS:]) == {len(LONG_RESULT)}, "the newest stand as they are"
    assert max(results[:20]) < RESULT_HEAD_CHARS + RESULT_TAIL_CHARS + 100
    assert window.tokens < whole.tokens // 2
    again = build_window(entries, Room(limit, limit), "UTC")
    assert all(one is other for one, other in zip(window.said, again.said, strict=True)), "counted once"
    scarce = build_window(entries, Room(limit, window.whole_tokens - 1), "UTC")
    assert len(texts_of(scarce.said)) == 30
    results = [len(one.text) for one in scarce.said if isinstance(one, ToolResult)]
    assert results[-1] == len(LONG_RESULT), "the running turn's stand as they are"
    assert max(results[:-SHORTENED_EVERY_TURNS]) < RESULT_HEAD_CHARS + RESULT_TAIL_CHARS + 100


def test_a_conversation_that_stays_too_long_is_compacted_less_and_less_often() -> None:
    entries = talk(60)
    sizes = [total_tokens(entries[: 2 * turns]) for turns in range(61)]
    room = Room(sizes[50], sizes[20])
    due = [turns for turns in range(21, 61) if is_due(entries[: 2 * turns], room)]
    assert due == [21, 22, 24, 28, 36, *range(51, 61)], "always where something would be left out"


def test_requests_begin_as_the_one_before_while_results_are_shortened() -> None:
    """Otherwise a provider's cache would be of no use from then on."""
    entries, limit = talk(60, LONG_RESULT), 10**6
    windows = [build_window(entries[: 4 * turns], Room(limit, 10), "UTC").said for turns in range(20, 60)]
    kept = sum(later[: len(earlier)] == earlier for earlier, later in pairwise(windows))
    assert kept >= 30, "all but one of five"


@pytest.mark.parametrize("turns", [200])
def test_a_window_of_a_long_conversation_costs_little_once_it_was_counted(turns: int) -> None:
    entries = talk(turns, "short")
    build_window(entries, NO_LIMIT, "UTC")
    began = time.process_time()
    for _ in range(20):
        build_window(entries, NO_LIMIT, "UTC")
    assert time.process_time() - began < 0.2, "10 ms for 800 lines is five times what it takes"


@pytest.mark.parametrize(
    "tokens, archived, strategy",
    [
        (800, True, Strategy.MOVE_TO_WORKSPACE),
        (899, True, Strategy.MOVE_TO_WORKSPACE),
        (900, True, Strategy.SUMMARIZE),
        (800, False, Strategy.SUMMARIZE),
    ],
)
def test_the_fill_of_the_window_decides_how_a_conversation_is_shortened(
    tokens: int, strategy: Strategy, *, archived: bool
) -> None:
    assert strategy_for(tokens, Room(1_000, 800), archived=archived) is strategy
