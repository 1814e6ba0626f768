"""What people are shown of a call: everything that is there, and where it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.safety.plain_sight import hides_something, in_plain_sight, look_alikes
from core.safety.shell import rate_command_line
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from core.tools.prepared import detail_of


@pytest.mark.parametrize(
    "text, shown",
    [
        ("ls \u202etxt.x", "ls [U+202E]txt.x"),
        ("rm\u200b -rf", "rm[U+200B] -rf"),
        ("ls\u200d", "ls[U+200D]"),
        ("echo a\rrm b", "echo a[U+000D]rm b"),
        ("rm\u00a0-rf", "rm[U+00A0]-rf"),
        ("cat a\u2028b\u3164", "cat a[U+2028]b[U+3164]"),
        ("echo \U000e0041", "echo [U+E0041]"),
        ("a\x1b[2Jb", "a[U+001B][2Jb"),
        ("\x80\u00a0", "[U+0080][U+00A0]"),
        ("a\u00a0\u3000é", "a[U+00A0][U+3000]é"),
        ("\u200dé\u200c", "[U+200D]é[U+200C]"),
        (f"ls{' ' * 300}; rm x", "ls [300 blanks] ; rm x"),
        ("ls" + "\n" * 60 + "rm x", "ls\n[59 empty lines]\nrm x"),
        ("ls\n \n\t\n\n  \n  rm x", "ls\n[4 empty lines]\n  rm x"),
    ],
)
def test_what_would_not_be_seen_is_named(text: str, shown: str) -> None:
    assert in_plain_sight(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n\tif x:\n\n\n        return 1",
        "你好\u3000世界",
        "👩\u200d👩\u200d👧 и ❤\ufe0f",
        "می\u200cخواهم",
        "Grüße, Łódź, Αθήνα, москва.txt",
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert in_plain_sight(text) == text
    assert look_alikes(text) == ()


@given(st.text() | st.text(st.sampled_from("aé \n\x80\u00a0\u200c\u200d\ufe0f\u3000\u202e")))
def test_nothing_is_hidden_in_what_is_shown(text: str) -> None:
    assert not hides_something(in_plain_sight(text))


def test_a_command_with_what_cannot_be_seen_is_asked_about_each_time() -> None:
    assert (
        rate_command_line("ls \u202etxt.x").reason
        == "This command contains characters that are not to be seen."
    )
    assert [rate_command_line(line).high for line in ("rm\u200b x", "ls\u00a0-la", "cat a\u2028b")] == [
        True
    ] * 3
    assert [rate_command_line(line).high for line in ("ls Łódź", "echo 你好\u3000世界")] == [False] * 2


@tool(name="pay", requirement=Requirement.ASK, effect=Effect.EFFECT, data=Data.SHARED)
async def pay(_call: CallContext, note: str, amount: int) -> str:
    """Pay."""
    return f"{note} {amount}"


def shown_of(tool: Tool, **arguments: object) -> str:
    return detail_of(tool, arguments)


def test_no_argument_passes_for_another_one() -> None:
    assert shown_of(pay, note="a\namount: 1", amount=1_000) == "note: a\n    amount: 1\namount: 1000"


def test_letters_that_look_like_others_are_named_below() -> None:
    shown = shown_of(pay, note="https://p\u0430ypal.com/ and москва")
    *_, last = shown.split("\n")
    assert last == "[not Latin: p\u0430ypal (U+0430 CYRILLIC SMALL LETTER A)]"


def test_a_card_names_what_would_not_be_seen() -> None:
    assert shown_of(pay, note="ls \u202etxt.x") == "ls [U+202E]txt.x"
