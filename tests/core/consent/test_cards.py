"""Cards of calls that are too long for them."""

from dataclasses import replace

import pytest

from core.consent.cards import DETAIL_LIMIT_CHARS, open_card, settled_card
from core.gates import Option, Options
from core.messages import Code, Message, Plain
from tests.contracts.store.bench import text_of
from tests.core.consent.test_changed_calls import WAITS

LONG = f"echo begins {'x' * 50_000}; rm -rf ends"


def codes(card: Message) -> list[str]:
    return [block.text for block in card.blocks if isinstance(block, Code)]


def test_short_arguments_are_shown_whole() -> None:
    whole = "x" * DETAIL_LIMIT_CHARS
    assert codes(open_card(replace(WAITS, detail=whole))) == [whole]


def test_of_long_arguments_the_end_is_shown_and_how_much_is_left_out() -> None:
    for card in (open_card(replace(WAITS, detail=LONG)), settled_card(replace(WAITS, detail=LONG), "Denied")):
        begin, end = codes(card)
        assert begin.startswith("echo begins")
        assert end.endswith("; rm -rf ends")
        (said,) = [
            block.text for block in card.blocks if isinstance(block, Plain) and "not shown" in block.text
        ]
        assert f"{len(LONG) - len(begin) - len(end)} of {len(LONG)} characters" in said
        assert len(text_of(card)) < DETAIL_LIMIT_CHARS + 100


DIGEST = "c971" * 16
ALWAYS = replace(
    WAITS,
    tool="shell",
    detail="cat a",
    offer=Options((Option.APPROVE, Option.DENY, Option.ALWAYS)),
    pattern="cat",
)


@pytest.mark.parametrize(
    "pattern, said",
    [
        ("cat", "shell: cat"),
        ("*", "shell: every call"),
        (None, "shell: every call"),
        ("ls \u202ex", "shell: ls [U+202E]x"),
        ("x" * 500, "shell: exactly this"),
        (f"sh a.sh [a.sh unchanged, {DIGEST}]", "shell: sh a.sh, as long as a.sh stays unchanged"),
        (
            f"cat a\nmake [ unchanged, {DIGEST}] [in b]",
            "shell: cat a; make [in b], as long as no file that it would run appears",
        ),
    ],
)
def test_a_card_with_always_states_the_grant(pattern: str | None, said: str) -> None:
    """A grant reaches further than the call that is shown."""
    assert f"Always allow would cover {said}\n" in f"{text_of(open_card(replace(ALWAYS, pattern=pattern)))}\n"


def test_a_card_without_always_states_no_grant() -> None:
    once = Options((Option.APPROVE, Option.DENY))
    assert "Always allow" not in text_of(open_card(replace(ALWAYS, offer=once)))
    assert "Always allow" not in text_of(settled_card(ALWAYS, "Denied by Lea"))
