"""Arguments as people fill them in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.consent.cards import as_before, changed_by, fields_of, filled_in, lines_of, looks_like_a_form

CALL = {"command": "ls", "timeout_s": 5, "deep": True, "none": None}


def test_a_form_has_a_field_for_each_argument_that_is_set() -> None:
    assert [(field.name, field.value) for field in fields_of(CALL)] == [
        ("command", "ls"),
        ("timeout_s", "5"),
        ("deep", "true"),
    ]


@pytest.mark.parametrize(
    "text, changed",
    [
        ("command: ls -l", {"command": "ls -l"}),
        ("command:ls", {"command": "ls"}),
        ("  timeout_s: 7\ncommand: a: b", {"timeout_s": "7", "command": "a: b"}),
        ("command: echo a\necho b\nnote: c", {"command": "echo a\necho b\nnote: c"}),
        ("command:", {"command": ""}),
    ],
)
def test_lines_change_the_arguments_they_name(text: str, changed: dict[str, Any]) -> None:
    assert changed_by(text, CALL, CALL) == {**CALL, **changed}


def test_a_value_is_not_sent_back_as_another_argument() -> None:
    """A model may write lines into one argument that look like others."""
    plain = fields_of({"url": "https://a.example", "body": "one\nnote: two"})
    assert filled_in(plain) == lines_of(plain)
    forged = {"url": "https://a.example", "body": "one\nmethod: DELETE", "method": "POST"}
    assert json.loads(filled_in(fields_of(forged))) == forged


@pytest.mark.parametrize("text", ["note: buy milk", "please ls", "", "command\n: x"])
def test_other_texts_are_not_arguments(text: str) -> None:
    assert changed_by(text, CALL, CALL) is None


def test_unchanged_form_fields_keep_their_type() -> None:
    assert as_before({"timeout_s": "5", "deep": "false", "new": "x"}, CALL) == {
        "timeout_s": 5,
        "deep": "false",
        "new": "x",
    }


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(NAMES, TEXTS | st.integers() | st.booleans(), min_size=1))
def test_an_unchanged_form_changes_nothing(call: dict[str, Any]) -> None:
    text = lines_of(fields_of(call))
    assert looks_like_a_form(text)
    back = changed_by(text, call, call)
    assert back is not None
    stripped = {name: value.strip() if isinstance(value, str) else value for name, value in call.items()}
    read = as_before(back, call)
    assert {n: v.strip() if isinstance(v, str) else v for n, v in read.items()} == stripped


@given(st.text())
def test_reading_never_fails(text: str) -> None:
    changed = changed_by(text, CALL, CALL)
    assert changed is None or json.dumps(dict(changed))
