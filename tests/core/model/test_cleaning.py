"""Replies without reasoning and tool syntax, whole and in pieces, and the calls recovered from them."""

import gc
import itertools
import json
import sys
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.cleaning import Cleaner, cleaned
from core.model.recovered_calls import call_id
from core.model.visible_text import is_silent

UNCHANGED = None
TEXTS: Sequence[tuple[str, str | None]] = [
    ("<think>plan a</think>Blue.", "Blue."),
    ('<THINKING mode="x">z</thinking >Done', "Done"),
    ("< thought >q</ thought >  Yes", "Yes"),
    ("</think>Tail text", "Tail text"),
    ("A</think>B", "AB"),
    ("<think>a<think>b</think>c", "c"),
    ("<think>no end <final>Result 7</final>", "Result 7"),
    ("Hi <inner_monologue>m <final>there</final> gone", "Hi there"),
    ("<final>A</final> noise <final>B</final>", "AB"),
    ("Use `<think>` here", UNCHANGED),
    ("```\n<think>x</think>\n```", UNCHANGED),
    ("~~~xml\n<think>x</think>\n~~~\n<think>y</think>z", "~~~xml\n<think>x</think>\n~~~\nz"),
    ("<|think|>p<|/think|>Q", "Q"),
    ("<|reasoning|>p", ""),
    ("thinking about <thinker> names", UNCHANGED),
    ('Sum\n<tool_call>{"name":"s"}', "Sum"),
    ("Sum <tool_call>x</tool_call> end", "Sum  end"),
    ('<tool_call id="1">x</tool_call>Z', "Z"),
    ("Ok\n<TOOL_CALL>{}</TOOL_CALL>", "Ok"),
    ("A <function_call>f</function_call> B <tool_call>g", "A  B"),
    ("<|tool_calls|>[]<|/tool_calls|>R", "R"),
    ("See `<tool_call>` tag", UNCHANGED),
    ("```xml\n<tool_call>x</tool_call>\n```", UNCHANGED),
    ("Pre\n```tool_call\n{bad\n```\nPost", "Pre\nPost"),
    ("Go\n```tool_callX\n1\n```", UNCHANGED),
    ("```function_call\n{}", ""),
    ('Now [Called tool `http` with arguments: {"a":[1]}]', "Now"),
    ("[Called tool `x` oops", UNCHANGED),
    ("Done.\nTool result from a__b: 5", "Done."),
    ("Tool result from http: 5", UNCHANGED),
    ('Look\nto=srv.find json\n{"q":1}\nend', "Look\n\nend"),
    ('Text to=srv.find json {"q":1}', UNCHANGED),
    ('to=srv.find {"q":1}', UNCHANGED),
    ("<final></final>", ""),
    ("数<think>理</think>字", "数字"),
    ("<|/think|>x", "x"),
    ('Hi <suggestions>["A","B"]</suggestions>', "Hi"),
    ("Hi <suggestions>oops</suggestions> yo", "Hi  yo"),
    (
        '<suggestions>["A"]</suggestions> x <suggestions>["B"]</suggestions>',
        '<suggestions>["A"]</suggestions> x',
    ),
    # and what no table says
    ("<think>use `</think>` here</think>Y", "Y"),
    ("<think>\n```\n</think>\n```\nmore</think>Y", "Y"),
    ("<think>```py\nx\n</think>\nAnswer:\n```py\ncode\n```", "Answer:\n```py\ncode\n```"),
    ("<think>it`s\n</think>\nYes, `<think>` too", "Yes, `<think>` too"),
    ("a ` b <think>x</think> c", "a ` b  c"),
    ("a ` b\n\n<think>x</think>c ` d", "a ` b\n\nc ` d"),
    ("Text before. <final>Answer</final>", "Answer"),
    ("Answer <think/> more", "Answer  more"),
    ("if a < final price then b > c", UNCHANGED),
    ("> <think>quoted</think>", UNCHANGED),
    ("A\n<think>x</think>\n\nB\n\n\n\nC", "A\n\nB\n\nC"),
    ("```\na\n\n\n\nb\n```\n\n\n\nc", "```\na\n\n\n\nb\n```\n\nc"),
    ("A\nPrevious tool event: http was invoked.\nB", "A\nB"),
    ("A\nPrevious tool result from http: 5\nB", "A\nB"),
    ("[Tool `http` returned: ok]\nB", "B"),
    ('<tool_call>{"name":"say","arguments":{"text":"</tool_call>"}}</tool_call>B', "B"),
    ('[Called tool `a`] and [Called tool `b` with arguments: {"q":"]"}] [1]', "and  [1]"),
    ('<think>a"</think>" b</think>c', "c"),
    ("Hi <thin", UNCHANGED),
    ("Hi <tool_call na", "Hi"),
    ("NO_REPLY.", UNCHANGED),
]
"""Each text with its cleaned form. The first 39 are agent-loop.md §1.9, with its defects mended."""

OFFERED = ("list", "find")
CALLS: Sequence[tuple[str, list[list[Any]]]] = [
    ("<tool_call>list</tool_call>", [["list", {}]]),
    ("do <tool_call>list</tool_call>", []),
    ("<tool_call>list</tool_call> done", []),
    ("> <tool_call>list</tool_call>", []),
    ('<tool_calls>[{"name":"find"}]</tool_calls>', []),
    ("<|function_call|>list<|/function_call|>", [["list", {}]]),
    ('x [Called tool `find` with arguments: {"q":[1]}]', [["find", {"q": [1]}]]),
    ('```tool_calls\n{"name":"find","arguments":{}}\n```', [["find", {}]]),
    ("```tool_call\nlist\n```", []),
    ('to=find weirdjson {"q":3}', [["find", {"q": 3}]]),
    # and what no table says
    ('[Called tool `find` with arguments: {"q":1}] [Called tool `list`]', [["find", {"q": 1}], ["list", {}]]),
    (
        '<tool_call>{"name":"find","arguments":{"q":1}}</tool_call>\nto=find json {"q": 1}',
        [["find", {"q": 1}]],
    ),
    ("<tool_call>list</tool_call>\n<tool_call>list</tool_call>", [["list", {}], ["list", {}]]),
    ('<think>x</think><tool_call>{"name":"list"}</tool_call>', [["list", {}]]),
    ("`<tool_call>list</tool_call>`", []),
    ("```\n<tool_call>list</tool_call>\n```", []),
    ("```\n[Called tool `list`]\n```", []),
    ("> [Called tool `list`]", []),
    ('````\n```tool_call\n{"name":"list"}\n```\n````', []),
    ("```\nto=find json {}\n```", []),
    ("<tool_call>list", []),
    ("<tool_call>shell</tool_call>", []),
    ("<think><tool_call>list</tool_call></think>", []),
]


@dataclass(frozen=True, slots=True)
class Read:
    """All that is read out of a reply."""

    text: str
    calls: list[list[Any]]
    suggestions: tuple[str, ...]


def read(pieces: Sequence[str], offered: Sequence[str] = OFFERED) -> tuple[str, Read]:
    """The text as it was shown while it came, since it was started over, and all that was read."""
    cleaner, shown, had_begun = Cleaner(), "", False
    for piece in [*pieces, None]:
        new = cleaner.finish() if piece is None else cleaner.feed(piece)
        shown = new if cleaner.starts_over and not had_begun else shown + new
        had_begun = cleaner.starts_over
    calls = [[call.tool, json.loads(call.arguments)] for call in cleaner.calls(offered)]
    told = Read(cleaner.text(), calls, cleaner.suggestions())
    return shown, told


def in_pieces(text: str, ends: Sequence[int]) -> list[str]:
    cuts = [0, *sorted({end % (len(text) + 1) for end in ends}), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


def same_in_pieces(text: str, pieces: Sequence[str]) -> None:
    whole, (shown, told) = read([text])[1], read(pieces)
    assert told == whole, pieces
    assert shown == ("" if is_silent(whole.text) else whole.text), pieces


@pytest.mark.parametrize("text, expected", TEXTS)
def test_text_is_cleaned(text: str, expected: str | None) -> None:
    assert cleaned(text) == (text if expected is UNCHANGED else expected)


@pytest.mark.parametrize("text, calls", CALLS)
def test_calls_are_recovered_where_nothing_else_is_said(text: str, calls: list[list[Any]]) -> None:
    assert read([text])[1].calls == calls
    assert read([text], offered=())[1].calls == []


EVERY_TEXT = [text for text, _ in [*TEXTS, *CALLS]]


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_each_text_is_cleaned_the_same_when_it_is_split_at_any_two_places(text: str) -> None:
    for first in range(len(text) + 1):
        same_in_pieces(text, [text[:first], text[first:]])
    same_in_pieces(text, list(text))


PARTS = [
    "<think>", "</think>", "<thinking a=1>", "<|think|>", "<|/think|>", "<final>", "</final>", "<tool_call>",
    "</tool_call>", "<|tool_call|>", "<|/tool_call|>", "<tool_call ", "<tool_calls>", "</tool_calls>", "`",
    "``", "```", "```tool_call", "~~~", "\n", "\n\n", " ", "a", "list", '{"name":"list"}',
    "[Called tool `", "`]", " with arguments: ", '{"q":1}]', "]", "to=find json ", '{"q":3}', "to=",
    "Tool result from a__b: 5", "Previous tool event: x was invoked.", "[Tool `x` returned: y]", "> ",
    "<suggestions>", '["A"]', "</suggestions>", "NO_REPLY", ".", "<", "<th", "in", "k>", '"', "\\", '{"',
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join), st.lists(st.integers(0, 400), max_size=40))
def test_any_text_is_cleaned_the_same_in_any_pieces(text: str, ends: list[int]) -> None:
    same_in_pieces(text, in_pieces(text, ends))


@given(st.sampled_from(EVERY_TEXT), st.sampled_from(EVERY_TEXT), st.lists(st.integers(0, 400), max_size=20))
def test_any_two_texts_of_the_table_are_cleaned_the_same_in_pieces(
    one: str, other: str, ends: list[int]
) -> None:
    same_in_pieces(f"{one}\n{other}", in_pieces(f"{one}\n{other}", ends))


@given(st.text(st.sampled_from("ab \n`~#*-.é")))
def test_text_without_markup_is_only_tidied(text: str) -> None:
    kept = cleaned(text)
    assert kept.split() == text.split()


def test_plain_text_is_shown_at_once() -> None:
    cleaner = Cleaner()
    pieces = ["Well", ", the", " sky", " is [blue](x)", " and `so", "`", " on", ".\n", "More", " text"]
    shown = [cleaner.feed(piece) for piece in pieces]
    assert shown == ["Well", ", the", " sky", " is [blue](x)", " and `so", "`", " on", ".", "\nMore", " text"]


def test_plain_text_is_shown_at_once_after_reasoning() -> None:
    cleaner = Cleaner()
    pieces = ["<think>b</think>Well", ", the", " sky", " is [blue](x)", " and `so", "`", " on", ".\n", "More"]
    shown = [cleaner.feed(piece) for piece in pieces]
    assert shown == ["Well", ", the", " sky", " is [blue](x)", " and", "", " `so` on", ".", "\nMore"]


def test_a_split_tag_is_never_shown() -> None:
    cleaner = Cleaner()
    shown = [cleaner.feed(one) for one in "A <think>b</think> c"]
    assert "".join(shown) == "A  c"
    assert "<" not in "".join(shown)


def test_ids_are_nine_letters_and_digits_and_the_same_every_time() -> None:
    ids = [call_id(index) for index in range(128)]
    assert ids == [call_id(index) for index in range(128)]
    assert len(set(ids)) == 128
    assert all(len(one) == 9 and one.isascii() and one.isalnum() for one in ids)


def test_suggestions_are_three_short_texts() -> None:
    listed = ["", "x" * 81, "é" * 41, "One", 2, "Two", "Three", "Four"]
    told = read([f"Hi <suggestions>{json.dumps(listed)}</suggestions>"])[1]
    assert told == Read("Hi", [], ("One", "Two", "Three"))
    in_code = '```\n<suggestions>["A"]</suggestions>\n```'
    assert read([in_code])[1] == Read(in_code, [], ())
    assert read(['Hi <suggestions>["A", "B'])[1] == Read("Hi", [], ())


@pytest.mark.parametrize("text", ["NO_REPLY", " NO_REPLY\n", "NO_REPLY.", "NO_REPLY !?."])
def test_the_token_for_silence_is_not_shown(text: str) -> None:
    shown, told = read(list(text))
    assert shown == ""
    assert is_silent(told.text)


@pytest.mark.parametrize("text", ["no_reply", "NO_REPLY now", "NO_REPLY.....", "NO_", "I say NO_REPLY"])
def test_other_words_are_not_silence(text: str) -> None:
    assert read(list(text))[0] == text
    assert not is_silent(text)


# --- hostile texts ---------------------------------------------------------------------------------------

MEGABYTE = 1_000_000
TAGS = [
    "<think>", "</think>", "<think>a</think>", "<|think|>", "<|/think|>", "<final>", "</final>",
    "<tool_call>", "</tool_call>", "<tool_call>x</tool_call>", '<tool_call>{\\"</tool_call>',
    "<tool_call a=", "<think a=", "<suggestions>", "<think><final>", "<think>`</think>",
]  # fmt: skip
SIGNS = [
    "<think>\n```a\n</think>", "`", "`a", "` `` ``` ", "```\n", "~~~\n", "```tool_call\n",
    "[Called tool `", "[Called tool `a` ", '[Called tool `a` with arguments: {"',
    "[Called tool `a` with arguments: {[]\n", "to=find json {\n", 'to=f json {"a":1}\n',
    "[Tool `a` returned: ", "Tool result from a__b: x\n", "<", "< ", "[", "\n", " \n", "> ", "NO_REPLY",
    '{"', "word ", "\u201c<tool_call>list</tool_call>\n", '"<think>"',
]  # fmt: skip
COUNTED_TO = 3_000_000
COUNTED_IN_S = 0.08
"""What counting so far takes of a processor's time that nothing else disturbs."""


def slowness() -> float:
    """How many times longer this machine takes just now, at least 1."""
    begun_s = time.thread_time()
    for _ in range(COUNTED_TO):
        pass
    return max(1.0, (time.thread_time() - begun_s) / COUNTED_IN_S)


def cost_s(text: str, piece_chars: int) -> float:
    """CPU time of this thread alone, without the garbage of others."""
    gc.disable()
    try:
        begun_s = time.thread_time()
        cleaner = Cleaner()
        for at in range(0, len(text), piece_chars):
            cleaner.feed(text[at : at + piece_chars])
        cleaner.finish()
        cleaner.calls(OFFERED)
        return time.thread_time() - begun_s
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("unit", TAGS)
def test_a_megabyte_of_tags_takes_at_most_half_a_second(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit))
    costs_s = [cost_s(text, MEGABYTE) / slowness() for _ in range(3)]
    assert min(costs_s) <= 0.5, costs_s


@pytest.mark.slow
@pytest.mark.parametrize("unit", [*TAGS, *SIGNS])
@pytest.mark.parametrize("piece_chars", [MEGABYTE, 7])
def test_twice_the_text_takes_at_most_two_and_a_half_times_the_work(unit: str, piece_chars: int) -> None:
    once = unit * (20_000 // len(unit))
    growths: list[float] = []
    for _ in range(20):
        growths.append(cost_s(once * 2, piece_chars) / max(cost_s(once, piece_chars), 1e-6))
        if growths[-1] <= 2.5:
            return
    raise AssertionError(growths)


def steps(text: str) -> int:
    """How many functions are called to clean a text, which no other load on the machine changes."""
    count = 0

    def called(frame: object, event: str, argument: object) -> None:
        nonlocal count
        del frame, argument
        count += event in {"call", "c_call"}

    sys.setprofile(called)
    try:
        read([text])
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", [*TAGS, *SIGNS])
def test_twice_the_text_takes_twice_the_steps(unit: str) -> None:
    once = unit * (1_000 // len(unit))
    assert steps(once * 2) <= 2.2 * steps(once) + 50


def test_a_whole_block_of_reasoning_is_one_step_of_the_parser() -> None:
    block = "<think>a</think>"
    assert steps(block * 200) - steps(block * 100) <= 100 * 18


def test_thinking_is_not_kept_in_memory() -> None:
    cleaner = Cleaner()
    cleaner.feed("<think>")
    tracemalloc.start()
    try:
        for _ in range(3_000):
            cleaner.feed("word `code` and\n<b>more</b> words. " * 4)
        assert tracemalloc.get_traced_memory()[1] < 100_000, "of 420 kB"
    finally:
        tracemalloc.stop()
    assert cleaner.feed("</think>Blue sky") == "Blue sky"


# --- cases of another person -----------------------------------------------------------------------------

CASES: Sequence[dict[str, Any]] = json.loads(Path(__file__).with_name("cleaning_cases.json").read_text())
"""Written from the facts alone. `out` is null where the text is not judged."""


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_independently_written_cases_are_read_as_expected(case: dict[str, Any]) -> None:
    told = read([case["in"]], case["offered"] or ())[1]
    assert told.calls == case["calls"], case["why"]
    if case["out"] is not None:
        assert told.text == case["out"], case["why"]
    same_in_pieces(case["in"], list(case["in"]))


@given(st.sampled_from(CASES), st.lists(st.integers(0, 10_000), max_size=20))
def test_each_of_those_cases_is_cleaned_the_same_in_any_pieces(case: dict[str, Any], ends: list[int]) -> None:
    same_in_pieces(case["in"], in_pieces(case["in"], ends))
