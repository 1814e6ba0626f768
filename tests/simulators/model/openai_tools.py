"""The rules OpenAI applies to `tools`, `tool_choice` and `parallel_tool_calls`.

Limits: at most 128 tools; a name matches `^[a-zA-Z0-9_-]{1,64}$` (API reference, Chat, `tools[].function`);
a description of at most 1024 characters; parameters are a JSON Schema of type object, whose arrays have
`items` and whose objects have `properties`; with `strict`, every object also has
`additionalProperties: false` and lists all its properties as required (guide "Structured Outputs",
supported schemas).
"""

import json
import re
from typing import Any

from tests.simulators.model import openai_errors as errors
from tests.simulators.model.wire import ApiError

TOOLS_LIMIT = 128
NAME_LIMIT_CHARS = 64
DESCRIPTION_LIMIT_CHARS = 1024
NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
SCHEMA_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_NAME = re.compile(NAME_PATTERN)


def check_tools(request: dict[str, Any]) -> tuple[str, ...]:
    """The names of the tools on offer. Raises ApiError."""
    tools = request.get("tools")
    if tools is None:
        for param in ("tool_choice", "parallel_tool_calls"):
            if request.get(param) is not None:
                raise errors.refusal(
                    f"Invalid value for '{param}': '{param}' is only allowed when 'tools' are specified.",
                    param,
                )
        return ()
    if not isinstance(tools, list):
        raise errors.wrong_type("tools", "an array of objects", tools)
    if not tools:
        raise errors.empty_array("tools")
    if len(tools) > TOOLS_LIMIT:
        raise errors.long_array("tools", TOOLS_LIMIT, len(tools))
    names = tuple(_check_tool(tool, f"tools[{i}]") for i, tool in enumerate(tools))
    _check_choice(request.get("tool_choice"), names)
    return names


def check_function_name(name: Any, param: str) -> str:
    if name is None:
        raise errors.missing(param)
    if not isinstance(name, str):
        raise errors.wrong_type(param, "a string", name)
    if not name:
        raise errors.empty_string(param)
    if len(name) > NAME_LIMIT_CHARS:
        raise errors.long_string(param, NAME_LIMIT_CHARS, len(name))
    if not _NAME.fullmatch(name):
        raise errors.wrong_pattern(param, NAME_PATTERN)
    return name


def _check_tool(tool: Any, param: str) -> str:
    if not isinstance(tool, dict):
        raise errors.wrong_type(param, "an object", tool)
    if "type" not in tool:
        raise errors.missing(f"{param}.type")
    if tool["type"] == "custom":
        return check_function_name((tool.get("custom") or {}).get("name"), f"{param}.custom.name")
    if tool["type"] != "function":
        raise errors.not_one_of(f"{param}.type", tool["type"], ("function", "custom"))
    function = tool.get("function")
    if function is None:
        raise errors.missing(f"{param}.function")
    if not isinstance(function, dict):
        raise errors.wrong_type(f"{param}.function", "an object", function)
    for key in function:
        if key not in ("name", "description", "parameters", "strict"):
            raise errors.unknown(f"{param}.function.{key}")
    name = check_function_name(function.get("name"), f"{param}.function.name")
    _check_description(function.get("description"), f"{param}.function.description")
    if function.get("parameters") is not None:
        _check_parameters(
            name, function["parameters"], f"{param}.function.parameters", bool(function.get("strict"))
        )
    return name


def _check_description(description: Any, param: str) -> None:
    if description is None:
        return
    if not isinstance(description, str):
        raise errors.wrong_type(param, "a string", description)
    if len(description) > DESCRIPTION_LIMIT_CHARS:
        raise errors.long_string(param, DESCRIPTION_LIMIT_CHARS, len(description))


def _check_parameters(name: str, schema: Any, param: str, strict: bool) -> None:
    if not isinstance(schema, dict):
        raise errors.wrong_type(param, "an object", schema)
    kind = schema.get("type")
    if kind != "object":
        raise _schema_error(
            name, f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.", param
        )
    _SchemaCheck(name, param, strict).walk(schema, ())


def _schema_error(name: str, what: str, param: str) -> ApiError:
    return errors.refusal(
        f"Invalid schema for function '{name}': {what}", param, "invalid_function_parameters"
    )


class _SchemaCheck:
    """Walks one function's parameters; raises ApiError at the first part the API would not take."""

    def __init__(self, name: str, param: str, strict: bool) -> None:
        self.name = name
        self.param = param
        self.strict = strict

    def walk(self, schema: Any, path: tuple[str, ...]) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise self._error(f"{json.dumps(schema)} is not of type 'object', 'boolean'.")
        kinds = schema.get("type")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind is not None and kind not in SCHEMA_TYPES:
                raise self._error(f"'{kind}' is not valid under any of the given schemas.")
        if kinds is None and self.strict and not {"$ref", "anyOf", "enum", "const"} & schema.keys():
            raise self._at(path, "schema must have a 'type' key.")
        if kinds == "array" and "items" not in schema:
            raise self._at(path, "array schema missing items.")
        if kinds == "object":
            self._check_object(schema, path)
        self._descend(schema, path)

    def _check_object(self, schema: dict[str, Any], path: tuple[str, ...]) -> None:
        properties = schema.get("properties")
        if properties is None and "additionalProperties" not in schema:
            raise self._at(path, "object schema missing properties.")
        if properties is not None and not isinstance(properties, dict):
            raise self._error(f"{json.dumps(properties)} is not of type 'object'.")
        required = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
            raise self._error(f"{json.dumps(required)} is not of type 'array'.")
        if not self.strict:
            return
        if schema.get("additionalProperties") is not False:
            raise self._at(path, "'additionalProperties' is required to be supplied and to be false.")
        if left_out := [key for key in properties or {} if key not in required]:
            raise self._at(
                path,
                "'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{left_out[0]}'.",
            )

    def _descend(self, schema: dict[str, Any], path: tuple[str, ...]) -> None:
        for key in ("properties", "$defs", "definitions"):
            children = schema.get(key)
            if isinstance(children, dict):
                for child, part in children.items():
                    self.walk(part, (*path, key, child))
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                self.walk(schema[key], (*path, key))
        for key in ("anyOf", "oneOf", "allOf"):
            for i, part in enumerate(schema.get(key) or ()):
                self.walk(part, (*path, key, str(i)))

    def _at(self, path: tuple[str, ...], what: str) -> ApiError:
        return self._error(f"In context={path!r}, {what}")

    def _error(self, what: str) -> ApiError:
        return _schema_error(self.name, what, self.param)


def _check_choice(choice: Any, names: tuple[str, ...]) -> None:
    if choice is None:
        return
    if isinstance(choice, str):
        if choice not in ("none", "auto", "required"):
            raise errors.not_one_of("tool_choice", choice, ("none", "auto", "required"))
        return
    if not isinstance(choice, dict):
        raise errors.wrong_type("tool_choice", "one of a tool choice value or an object", choice)
    if choice.get("type") == "allowed_tools":
        return
    if choice.get("type") not in ("function", "custom"):
        raise errors.not_one_of(
            "tool_choice.type", choice.get("type"), ("function", "allowed_tools", "custom")
        )
    name = (choice.get(choice["type"]) or {}).get("name")
    if name is None:
        raise errors.missing(f"tool_choice.{choice['type']}.name")
    if name not in names:
        raise errors.refusal(
            f"Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' "
            "parameter.",
            "tool_choice",
        )
