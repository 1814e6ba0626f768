"""Schemas of others: what does not fit is named without its value, and no schema holds the hub up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SchemaRefused
from core.tools.mcp.catalog import judge_of
from tests.simulators.mcp.raw import doubling

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "item": {"type": "string", "enum": ["tea", "milk"]},
        "count": {"type": "integer", "minimum": 1},
        "code": {"type": "string", "pattern": "^(a+)+$"},
        "labels": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}},
    },
    "required": ["item"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value,problem",
    [
        ({"item": "tea", "count": 2}, None),
        ({}, "arguments: item required but missing"),
        ({"item": "gold-4711"}, 'item: should be one of ["tea", "milk"]'),
        ({"item": "tea", "count": "gold-4711"}, 'count: should be "integer"'),
        ({"item": "tea", "count": 0}, "count: does not fit minimum 1"),
        ({"item": "tea", "sugar": "gold-4711"}, "sugar: unknown argument"),
        ({"item": "tea", "code": "aaa"}, None),
        ({"item": "tea", "code": "a" * 40 + "gold-4711"}, 'code: does not fit pattern "^(a+)+$"'),
        ({"item": "tea", "labels": {"x-a": 1}}, 'labels.x-a: should be "string"'),
        ({"item": "tea", "labels": {"y": 1}}, None),
    ],
)
def test_schema_errors_name_the_field_without_its_value(value: Any, problem: str | None) -> None:
    assert judge_of(ORDER, at_once=True)(value) == problem


@pytest.mark.parametrize(
    "schema,why",
    [
        ({"type": "objekt"}, "is not a JSON schema"),
        ({"properties": 5}, "is not a JSON schema"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1/a"}}}, "refers to 'http://127.0.0.1/a'"),
        ({"$dynamicRef": "other.json"}, "refers to 'other.json'"),
        ({"description": "x" * 20_000}, "bytes; the limit is 16384"),
    ],
)
def test_an_invalid_schema_is_refused_before_use(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(SchemaRefused, match=why):
        judge_of(schema, at_once=True)


def test_nesting_is_bounded() -> None:
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"not": deep}
    with pytest.raises(SchemaRefused, match="deep"):
        judge_of(deep, at_once=True)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "schema",
    [
        doubling(30),
        {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
    ],
)
def test_a_schema_with_missing_or_endless_references_is_given_up(schema: dict[str, Any]) -> None:
    judge = judge_of(schema, at_once=True)
    with pytest.raises(SchemaRefused):
        judge(nested(30))


def test_a_schema_is_judged_when_it_is_first_used() -> None:
    judge = judge_of({"type": "objekt"}, at_once=False)
    with pytest.raises(SchemaRefused):
        judge({})


TEXTS = st.sampled_from(["", "#", "a", "object", "(?=a)", "#/a"])
KEYS = st.sampled_from(["type", "properties", "$ref", "allOf", "items", "pattern", "a", "$defs", "if", "$id"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, JSON), JSON)
def test_every_schema_gets_a_verdict(schema: dict[str, Any], value: Any) -> None:
    try:
        said = judge_of(schema, at_once=True)(value)
    except SchemaRefused as refused:
        said = str(refused)
    assert said is None or said
