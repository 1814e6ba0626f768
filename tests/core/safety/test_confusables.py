"""Calls as people are shown them: everything that is there, and where it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.consent.cards import detail_of
from core.safety.confusables import MAX_NAMED, hides_something, in_plain_sight, look_alikes
from core.safety.shell.lexer import Line, NotPlain, read_line
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool


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
        ("¡\u00a0¡", "¡[U+00A0]¡"),
        ("ñ\u200dñ\ufe0f", "ñ[U+200D]ñ[U+FE0F]"),
        ("你\u3000\u3000好", "你[U+3000][U+3000]好"),
        ("\u200dé\u200c", "[U+200D]é[U+200C]"),
        (f"ls{' ' * 300}; rm x", "ls [300 spaces] ; rm x"),
        ("rm e\u0301", "rm e[U+0301]"),
        ("a\u0338\u20d2b", "a[U+0338][U+20D2]b"),
        ("ก\u0301", "ก[U+0301]"),
        ("ls \ue000\U000f0000\u0378", "ls [U+E000][U+F0000][U+0378]"),
        ("ls" + "\n" * 60 + "rm x", "ls\n[59 empty lines]\nrm x"),
        ("ls\n \n\t\n\n  \n  rm x", "ls\n[4 empty lines]\n  rm x"),
    ],
)
def test_invisible_characters_are_named(text: str, shown: str) -> None:
    assert in_plain_sight(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n\tif x:\n\n\n        return 1",
        "你好\u3000世界",
        "👩\u200d👩\u200d👧 и ❤\ufe0f",
        "می\u200cخواهم",
        "Grüße, Łódź, Αθήνα, москва.txt",
        "हिन्दी, ภาษาไทย, עִבְרִית, العَرَبِيَّة",
        "你好，世界。使用Python3编写",
        "Tiếng Việt, Çanakkale, Þórður → 5 € ✓",
    ],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert in_plain_sight(text) == text
    assert look_alikes(text) == ()


@given(st.text() | st.text(st.sampled_from("aé \n\x80\u00a0\u200c\u200d\ufe0f\u3000\u202e")))
def test_nothing_is_hidden_in_what_is_shown(text: str) -> None:
    assert not hides_something(in_plain_sight(text))


def test_a_command_with_invisible_characters_is_not_plain() -> None:
    assert read_line("ls \u202etxt.x") == NotPlain("contains invisible characters")
    hidden = ("rm\u200b x", "ls\u00a0-la", "cat a\u2028b")
    assert [isinstance(read_line(line), NotPlain) for line in hidden] == [True] * 3
    assert [isinstance(read_line(line), Line) for line in ("ls Łódź", "echo '你好\u3000世界'")] == [True] * 2


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
    assert last == "[look-alikes: p\u0430ypal (U+0430 CYRILLIC SMALL LETTER A)]"


@pytest.mark.parametrize(
    "text, named",
    [
        ("r\u043c -rf", "r\u043c (U+043C CYRILLIC SMALL LETTER EM)"),
        ("\u0441\u0430\u0442 x", "\u0441\u0430\u0442 (U+0441 CYRILLIC SMALL LETTER ES, U+0430"),
        ("rm \u2013rf", "\u2013 (U+2013 EN DASH)"),
        ("a\u2215b", "\u2215 (U+2215 DIVISION SLASH)"),
        ("a\uff0fb", "\uff0f (U+FF0F FULLWIDTH SOLIDUS)"),
        ("tmp/\u30ce/x", "\u30ce (U+30CE KATAKANA LETTER NO)"),
        ("p\u0251ypal", "p\u0251ypal (U+0251 LATIN SMALL LETTER ALPHA)"),
        ("d\u0131sk", "d\u0131sk (U+0131 LATIN SMALL LETTER DOTLESS I)"),
        ("\U0001d68c\U0001d68a\U0001d69d", "U+1D68C MATHEMATICAL MONOSPACE SMALL C"),
        ("\uff52\uff4d x", "U+FF52 FULLWIDTH LATIN SMALL LETTER R"),
        ("\u13ad\u13be", "U+13AD CHEROKEE LETTER"),
        ("\u2c9e", "U+2C9E COPTIC CAPITAL LETTER"),
        ("x\u0661", "U+0661 ARABIC-INDIC DIGIT ONE"),
        ("ñ\u00acñ", "\u00ac (U+00AC NOT SIGN)"),
        ("a\u2758b", "U+2758 LIGHT VERTICAL BAR"),
    ],
)
def test_every_lookalike_is_named(text: str, named: str) -> None:
    (found,) = look_alikes(text)
    assert named in found


def test_decoys_hide_no_lookalike() -> None:
    decoys = " ".join("\u0430\u043e" + "\u0441" * n for n in range(50))
    found = look_alikes(f"{decoys} p\u0430ypal")
    assert found[0].startswith("p\u0430ypal ")
    assert found[-1] == f"and {51 - MAX_NAMED} more"


PLAIN = re.compile(
    "[\u00a1-\u00a3\u00a5-\u00a7\u00a9\u00ab\u00ae\u00b0-\u00b3\u00b6\u00b7\u00bb-\u017f\u01a0-\u024f\u1e00-\u1eff"
    "\u2022\u2026\u20ac\u2122\u2190-\u21ff\u2600-\u27bf\u2b50\u3005-\u9fff\uac00-\ud7a3\U0001f1e6-\U0001faff]"
)

PICTURE = "[\u00a9\u00ae\u2122\u2190-\u21ff\u2600-\u27bf\u2b50\U0001f1e6-\U0001faff]"
SHAPING = re.compile(
    f"(?<={PICTURE})[\ufe00-\ufe0f]|(?<={PICTURE})\u200d(?={PICTURE})"
    "|(?<=[\u3041-\u9fff\uac00-\ud7a3])[\\W_](?=[\u3041-\u9fff\uac00-\ud7a3])"
)


@given(st.text(alphabet=st.characters(min_codepoint=0x80), min_size=1, max_size=3))
def test_amid_ascii_only_plain_characters_are_left_unnamed(odd: str) -> None:
    """Every Unicode character between ASCII letters is spelled out, named below, or known as plain."""
    text = f"a{odd}b"
    named = in_plain_sight(text) != text or look_alikes(text) != ()
    assert named or all(map(PLAIN.match, SHAPING.sub("", odd)))


def test_a_card_names_invisible_characters() -> None:
    assert shown_of(pay, note="ls \u202etxt.x") == "ls [U+202E]txt.x"
