"""A typed function becomes a tool: its schema, what its arguments may be, what a model is told else."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from core.errors import InvalidArguments
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from tests.core.tools.support import run


class Point(BaseModel):
    x: int
    title: str = ""


@tool(name="sample", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE, timeout_s=5)
async def sample(
    call: CallContext,
    text: Annotated[str, "what to say"],
    count: Annotated[int, "how often", Field(gt=0, le=10)] = 1,
    loud: bool = False,
    ratio: float = 0.5,
    zone: str | None = None,
    kind: Literal["a", "b"] = "a",
    names: list[str] = [],  # noqa: B006 — never changed: every call gets its own
    point: Point | None = None,
    json: str | list[int] = "",
    title: str = "x",
) -> str:
    """Say something.

    More about it.
    """
    return repr((call.principal.name, text, count, loud, ratio, zone, kind, names, point, json, title))


def read(**arguments: Any) -> dict[str, Any]:
    return dict(sample.validate({"text": "t", **arguments}))


def refusal(**arguments: Any) -> str:
    with pytest.raises(InvalidArguments) as refused:
        sample.validate(arguments)
    return str(refused.value)


def test_a_model_is_given_the_docstring_and_a_schema_of_the_signature() -> None:
    assert sample.description == "Say something.\n\nMore about it."
    assert sample.parameters["type"] == "object"
    assert sample.parameters["required"] == ["text"]
    assert sample.parameters["additionalProperties"] is False
    properties = sample.parameters["properties"]
    assert properties["text"] == {"type": "string", "description": "what to say"}
    assert properties["count"] == {
        "type": "integer",
        "description": "how often",
        "default": 1,
        "exclusiveMinimum": 0,
        "maximum": 10,
    }
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"], "default": "a"}
    assert properties["title"] == {"type": "string", "default": "x"}
    assert "call" not in properties


def test_a_tool_has_its_declarations() -> None:
    assert (sample.name, sample.requirement, sample.effect, sample.data) == (
        "sample",
        Requirement.NEVER,
        Effect.NONE,
        Data.NONE,
    )
    assert sample.timeout_s == 5


def test_undeclared_properties_take_the_careful_default() -> None:
    @tool()
    async def bare(call: CallContext) -> str:
        """Nothing."""
        return ""

    assert (bare.requirement, bare.effect, bare.data) == (Requirement.ASK, Effect.EFFECT, Data.SHARED)
    assert bare.name == "bare"
    assert bare.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


async def test_the_function_gets_typed_values_and_defaults() -> None:
    said = await run(sample, {"text": "hi", "point": {"x": "3"}, "names": ["a"]})
    assert said == repr(("Olivia", "hi", 1, False, 0.5, None, "a", ["a"], Point(x=3), "", "x"))


@pytest.mark.parametrize(
    "given_,name,value",
    [
        ({"count": "5"}, "count", 5),
        ({"count": 5.0}, "count", 5),
        ({"loud": "TRUE"}, "loud", True),
        ({"loud": "false"}, "loud", False),
        ({"ratio": "0.25"}, "ratio", 0.25),
        ({"ratio": 1}, "ratio", 1.0),
        ({"zone": ""}, "zone", None),
        ({"zone": None}, "zone", None),
        ({"count": ""}, "count", 1),
        ({"loud": ""}, "loud", False),
        ({"title": ""}, "title", ""),
        ({"names": '["a", "b"]'}, "names", ["a", "b"]),
        ({"names": "[]"}, "names", []),
        ({"point": '{"x": "3"}'}, "point", {"x": 3, "title": ""}),
        ({"json": "[1, 2]"}, "json", "[1, 2]"),
        ({"json": [1, "2"]}, "json", [1, 2]),
    ],
)
def test_unambiguous_arguments_are_coerced(given_: dict[str, Any], name: str, value: Any) -> None:
    assert read(**given_)[name] == value


@pytest.mark.parametrize(
    "given_,said",
    [
        ({}, "text: required but missing"),
        ({"text": 5}, "text: input should be a valid string"),
        ({"text": ""} | {"colour": "red"}, "colour: unknown argument"),
        ({"text": "t", "count": 0}, "count: input should be greater than 0"),
        ({"text": "t", "count": 11}, "count: input should be less than or equal to 10"),
        ({"text": "t", "count": "many"}, "count: input should be a valid integer"),
        ({"text": "t", "count": 1.5}, "count: input should be a valid integer"),
        ({"text": "t", "ratio": float("nan")}, "ratio: input should be a finite number"),
        ({"text": "t", "kind": "c"}, "kind: input should be 'a' or 'b'"),
        ({"text": "t", "names": "a, b"}, "names: input should be a valid list"),
        ({"text": "t", "names": '{"a": 1}'}, "names: input should be a valid list"),
        ({"text": "t", "point": "[1]"}, "point: should be an object"),
        ({"text": "t", "point": {"x": "far"}}, "point.x: input should be a valid integer"),
        ({"text": "t", "point": '{"x": "far"}'}, "point.x: input should be a valid integer"),
    ],
)
def test_other_arguments_are_refused_naming_the_field(given_: dict[str, Any], said: str) -> None:
    assert said in refusal(**given_)


def test_several_mistakes_are_reported_at_once_and_never_repeat_a_value() -> None:
    said = refusal(count="hunter2", ratio="hunter2", kind="hunter2")
    assert said.count(";") == 3
    assert "hunter2" not in said


def test_a_refusal_stays_short() -> None:
    said = refusal(**{f"unknown{number}": 1 for number in range(50)})
    assert said.endswith("and 46 more")


def test_validated_arguments_are_plain_and_validate_to_themselves() -> None:
    once = read(point={"x": 1}, names=["a"], count="3")
    assert once["point"] == {"x": 1, "title": ""}
    assert sample.validate(once) == once


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(list(sample.parameters["properties"])) | st.text(max_size=8)


@given(st.dictionaries(NAMES, JSON, max_size=6))
async def test_any_arguments_are_either_run_or_refused(arguments: dict[str, Any]) -> None:
    try:
        validated = sample.validate(arguments)
    except InvalidArguments:
        return
    assert validated == sample.validate(validated)
    assert await run(sample, validated)


# --- what is no tool -----------------------------------------------------------------------------------


async def no_docstring(call: CallContext) -> str:
    return ""


async def no_annotation(call: CallContext, text) -> str:
    """Says."""
    return ""


async def spreads(call: CallContext, *texts: str) -> str:
    """Says."""
    return ""


async def fine(call: CallContext, text: str) -> str:
    """Says."""
    return text


def define(function: Any, **options: Any) -> Tool:
    return tool(**options)(function)


@pytest.mark.parametrize(
    "function,options,said",
    [
        (no_docstring, {}, "needs a docstring"),
        (no_annotation, {}, "parameter text needs an annotation"),
        (spreads, {}, "a model cannot fill *texts"),
        (fine, {"name": "two words"}, "a name must have 1 to 64"),
        (fine, {"name": "x" * 65}, "a name must have 1 to 64"),
        (fine, {"sensitive": frozenset({"password"})}, "no parameter named password"),
    ],
)
def test_an_invalid_tool_fails_at_definition(function: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as refused:
        define(function, **options)
    assert said in str(refused.value)


def test_sensitive_arguments_are_kept_with_the_tool() -> None:
    assert define(fine, sensitive=frozenset({"text"})).sensitive == {"text"}


def limited(most: int, default: int) -> Tool:
    @tool()
    async def pick(call: CallContext, number: Annotated[int, Field(le=most)] = default) -> str:
        """Pick a number."""
        return f"{number} of {most}"

    return pick


def test_the_same_lines_with_other_limits_or_defaults_are_another_tool() -> None:
    tools = [limited(3, 1), limited(3, 1), limited(9, 1), limited(3, 2)]
    properties = [each.parameters["properties"]["number"] for each in tools]
    assert [(each["maximum"], each["default"]) for each in properties] == [(3, 1), (3, 1), (9, 1), (3, 2)]
    with pytest.raises(InvalidArguments):
        limited(3, 1).validate({"number": 4})
    assert limited(9, 1).validate({"number": 4}) == {"number": 4}


async def test_each_tool_uses_the_class_made_with_its_own_function() -> None:
    def made() -> Tool:
        class Size(StrEnum):
            SMALL = "small"

        @tool()
        async def buy(call: CallContext, size: Size) -> str:
            """Buy one."""
            return "mine" if isinstance(size, Size) else "another's"

        return buy

    assert [await run(each, {"size": "small"}) for each in (made(), made())] == ["mine", "mine"]


def test_a_schema_is_built_when_it_is_first_read() -> None:
    built: list[str] = []

    class Noted(int):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
            built.append("schema")
            return handler(int)

    @tool()
    async def noted(call: CallContext, number: Noted) -> str:
        """Return the number."""
        return str(number)

    assert not built
    assert noted.validate({"number": 3}) == {"number": 3}
    assert built
