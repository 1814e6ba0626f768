"""A binding changes with everything a person saw, and with nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.consent.decide import binding_hash, same_binding

KEY = b"k" * 32
CALL: dict[str, Any] = {
    "tool": "shell",
    "version": 1,
    "arguments": {"command": "ls", "timeout_s": 30},
    "principal": "u1",
    "thread_id": "t1",
    "working_dir": "/w",
    "file_digests": {"/w/a": "00"},
}


def test_the_same_call_gives_the_same_binding_however_its_arguments_are_ordered() -> None:
    turned = {"timeout_s": 30, "command": "ls"}
    assert binding_hash(KEY, **CALL) == binding_hash(KEY, **{**CALL, "arguments": turned})


def test_a_binding_is_a_sha256_in_hexadecimal() -> None:
    assert len(bytes.fromhex(binding_hash(KEY, **CALL))) == 32


@pytest.mark.parametrize(
    "changed",
    [
        {"tool": "http"},
        {"version": 2},
        {"arguments": {"command": "ls -l", "timeout_s": 30}},
        {"arguments": {"command": "ls", "timeout_s": 31}},
        {"arguments": {"command": "ls"}},
        {"arguments": {"command": "ls", "timeout_s": "30"}},
        {"arguments": {"command": "ls", "timeout_s": 30, "x": None}},
        {"principal": "u2"},
        {"thread_id": "t2"},
        {"working_dir": "/v"},
        {"file_digests": {"/w/a": "01"}},
        {"file_digests": {"/w/b": "00"}},
        {"file_digests": {}},
        {"principal": "t1", "thread_id": "u1"},
    ],
)
def test_any_change_of_the_call_changes_its_binding(changed: dict[str, Any]) -> None:
    assert binding_hash(KEY, **CALL) != binding_hash(KEY, **{**CALL, **changed})


def test_another_key_gives_another_binding() -> None:
    assert binding_hash(KEY, **CALL) != binding_hash(b"x" * 32, **CALL)


def test_arguments_outside_json_are_refused() -> None:
    with pytest.raises(ValueError):
        binding_hash(KEY, **{**CALL, "arguments": {"x": float("nan")}})
    with pytest.raises(TypeError):
        binding_hash(KEY, **{**CALL, "arguments": {"x": object()}})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_different_arguments_never_share_a_binding(one: Any, other: Any) -> None:
    first = binding_hash(KEY, **{**CALL, "arguments": {"x": one}})
    second = binding_hash(KEY, **{**CALL, "arguments": {"x": other}})
    assert same_binding(first, second) == (_as_json(one) == _as_json(other))


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def test_only_equal_bindings_are_the_same() -> None:
    assert same_binding("ab", "ab")
    assert not same_binding("ab", "ac")
    assert not same_binding("ab", "é")
