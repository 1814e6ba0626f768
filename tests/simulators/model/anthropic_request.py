"""Reads a `POST /v1/messages` request as Anthropic does, refusing what it refuses.

Fields and ranges: Messages API reference. A tool's name matches `^[a-zA-Z0-9_-]{1,128}$`. Tokens are counted
by `replies.tokens_in`: 4 for each message plus those of its text and calls, plus those of the system prompt,
plus those of the tools as compact JSON.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.simulators.model import anthropic_errors as errors
from tests.simulators.model.anthropic_messages import Conversation, text_of
from tests.simulators.model.caches import MarkCache
from tests.simulators.model.openai_tools import SCHEMA_TYPES
from tests.simulators.model.replies import tokens_in
from tests.simulators.model.wire import ApiError, Prompt, Provider, said_by_user

VERSIONS = ("2023-06-01", "2026-10-21")
"""Docs, "Versions". The first, 2023-01-01, streams in another form and is not played here."""
SAMPLING = ("temperature", "top_k", "top_p")
"""Gone since version 2026-10-21: refused there, even at their defaults."""
BODY_LIMIT_BYTES = 32 * 1024 * 1024
"""Docs, "Errors", request size limits."""
MARKS_LIMIT = 4
NAME_PATTERN = "^[a-zA-Z0-9_-]{1,128}$"
EFFORTS = ("low", "medium", "high", "xhigh", "max")
THINKING_MINIMUM_TOKENS = 1024
"""Docs, "Extended thinking": the smallest budget."""
FIELDS = frozenset(
    {
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "max_tokens",
        "messages",
        "metadata",
        "model",
    }
    | {
        "output_config",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
    }
    | {"tool_choice", "tools", "top_k", "top_p", "user_profile_id", "workspace_id"}
)

_NAME = re.compile(NAME_PATTERN)


class RequestReader:
    """Checks requests against a provider's limits."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._cache = MarkCache()

    def authenticate(self, headers: Mapping[str, str]) -> None:
        """Raises ApiError unless the request carries the provider's API key and a version.

        The key comes in `x-api-key`, which wins, or as a bearer token.
        """
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        key, wrong = headers.get("x-api-key", ""), "invalid x-api-key"
        if not key and scheme.lower() == "bearer":
            key, wrong = token, "Invalid bearer token"
        if not key:
            raise errors.refusal("x-api-key header is required", 401)
        if key != self._provider.api_key:
            raise errors.refusal(wrong, 401)
        version = headers.get("anthropic-version")
        if version is None:
            raise errors.refusal("anthropic-version: header is required")
        if version not in VERSIONS:
            raise errors.refusal(f'anthropic-version: "{version}" is not a valid version')

    def read(self, version: str, raw: bytes) -> Prompt:
        if len(raw) > BODY_LIMIT_BYTES:
            raise errors.refusal(errors.MESSAGES[413], 413)
        request = _parse(version, raw)
        self._check_model(request)
        max_tokens = self._max_tokens(request)
        _check_temperature(request.get("temperature"))
        thinking = _thinking(request, max_tokens)
        names, tool_tokens = _tools(request)
        _check_choice(request.get("tool_choice"), names, bool(thinking))
        if "messages" not in request:
            raise errors.required("messages")
        conversation = Conversation(thinking == "enabled")
        conversation.read(request["messages"])
        tokens = conversation.tokens + tool_tokens + tokens_in(_system(request.get("system")))
        self._check_size(tokens, max_tokens)
        read, written = self._cache.read(*_marked_blocks(request))
        return Prompt(
            model=request["model"],
            stream=bool(request.get("stream")),
            user_text=said_by_user(conversation.user_texts),
            tool_results=tuple(conversation.tool_results),
            tool_names=names,
            prompt_tokens=tokens,
            max_output_tokens=max_tokens,
            thinking=bool(thinking),
            cached_tokens=read,
            cache_write_tokens=written,
        )

    def _check_model(self, request: dict[str, Any]) -> None:
        model = request.get("model")
        if model is None:
            raise errors.required("model")
        if not isinstance(model, str):
            raise errors.wrong_type("model", "string")
        if model not in self._provider.models:
            raise errors.refusal(f"model: {model}", 404)

    def _max_tokens(self, request: dict[str, Any]) -> int:
        value = request.get("max_tokens")
        if value is None:
            raise errors.required("max_tokens")
        if isinstance(value, bool) or not isinstance(value, int):
            raise errors.wrong_type("max_tokens", "integer")
        if value < 1:
            raise errors.refusal("max_tokens: must be greater than or equal to 1")
        limit = self._provider.max_output_tokens
        if value > limit:
            raise errors.refusal(
                f"max_tokens: {value} > {limit}, which is the maximum allowed number of output tokens for "
                f"{request['model']}"
            )
        return value

    def _check_size(self, tokens: int, max_tokens: int) -> None:
        limit = self._provider.context_tokens
        if tokens > limit:
            raise errors.refusal(f"prompt is too long: {tokens} tokens > {limit} maximum")
        if tokens + max_tokens > limit:
            raise errors.refusal(
                f"input length and `max_tokens` exceed context limit: {tokens} + {max_tokens} > {limit}, "
                "decrease input length or `max_tokens` and try again"
            )


def _parse(version: str, raw: bytes) -> dict[str, Any]:
    try:
        request = json.loads(raw)
    except ValueError as error:
        raise errors.refusal(f"The request body is not valid JSON: {error}") from None
    if not isinstance(request, dict):
        raise errors.refusal("Input should be a valid dictionary")
    for key in sorted(request):
        if key not in FIELDS or (key in SAMPLING and version != VERSIONS[0]):
            raise errors.unexpected_field(key)
    if not isinstance(request.get("stream"), bool | None):
        raise errors.wrong_type("stream", "boolean")
    return request


def _check_temperature(temperature: Any) -> None:
    if temperature is None:
        return
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise errors.wrong_type("temperature", "number")
    if not 0 <= temperature <= 1:
        raise errors.refusal("temperature: range: 0..1")


def _thinking(request: dict[str, Any], max_tokens: int) -> str:
    """ "enabled", "adaptive", or nothing."""
    effort = (request.get("output_config") or {}).get("effort")
    if effort not in (None, *EFFORTS):
        raise errors.refusal(f"output_config.effort: Input should be {', '.join(map(repr, EFFORTS))}")
    thinking = request.get("thinking")
    if thinking is None:
        return ""
    if not isinstance(thinking, dict) or thinking.get("type") not in ("enabled", "disabled", "adaptive"):
        raise errors.refusal("thinking.type: Input should be 'enabled', 'disabled' or 'adaptive'")
    if thinking["type"] != "disabled" and request.get("temperature") not in (None, 1):
        raise errors.refusal("`temperature` may only be set to 1 when thinking is enabled.")
    if thinking["type"] != "enabled":
        return thinking["type"] if thinking["type"] == "adaptive" else ""
    budget = thinking.get("budget_tokens")
    if budget is None:
        raise errors.required("thinking.enabled.budget_tokens")
    if not isinstance(budget, int) or budget < THINKING_MINIMUM_TOKENS:
        raise errors.refusal(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to "
            f"{THINKING_MINIMUM_TOKENS}"
        )
    if budget >= max_tokens:
        raise errors.refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return "enabled"


def _tools(request: dict[str, Any]) -> tuple[tuple[str, ...], int]:
    tools = request.get("tools")
    if not tools:
        return (), 0
    if not isinstance(tools, list):
        raise errors.wrong_type("tools", "list")
    names = tuple(_tool(f"tools.{i}", tool) for i, tool in enumerate(tools))
    if len(set(names)) < len(names):
        raise errors.refusal("tools: Tool names must be unique.")
    return names, tokens_in(json.dumps(tools, separators=(",", ":")))


def _tool(where: str, tool: Any) -> str:
    if not isinstance(tool, dict):
        raise errors.wrong_type(where, "dictionary")
    where = f"{where}.custom"
    name = tool.get("name")
    if name is None:
        raise errors.required(f"{where}.name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.refusal(f"{where}.name: String should match pattern '{NAME_PATTERN}'")
    schema = tool.get("input_schema")
    if schema is None:
        raise errors.required(f"{where}.input_schema")
    if not isinstance(schema, dict):
        raise errors.wrong_type(f"{where}.input_schema", "dictionary")
    if "type" not in schema:
        raise errors.required(f"{where}.input_schema.type")
    if schema["type"] != "object":
        raise errors.refusal(f"{where}.input_schema.type: Input should be 'object'")
    _check_schema(f"{where}.input_schema", schema)
    return name


def _check_schema(where: str, schema: Any) -> None:
    """Raises unless every `type` in it names types and every sub-schema is one."""
    if isinstance(schema, bool):
        return
    kinds = schema.get("type", []) if isinstance(schema, dict) else None
    named = kinds if isinstance(kinds, list) else [kinds]
    if not isinstance(schema, dict) or any(kind not in SCHEMA_TYPES for kind in named):
        raise errors.refusal(
            f"{where}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
            "https://docs.claude.com/en/docs/tool-use."
        )
    parts = [*(schema.get("properties") or {}).values(), *(schema.get("anyOf") or [])]
    for part in [*parts, *(schema[key] for key in ("items", "additionalProperties") if key in schema)]:
        _check_schema(where, part)


def _check_choice(choice: Any, names: tuple[str, ...], thinking: bool) -> None:
    if choice is None:
        return
    if not isinstance(choice, dict) or choice.get("type") not in ("auto", "any", "tool", "none"):
        raise errors.refusal(
            "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'"
        )
    if not names:
        raise errors.refusal("tool_choice: `tool_choice` may only be specified while providing `tools`.")
    if choice["type"] == "tool" and choice.get("name") not in names:
        raise errors.refusal(f"Tool '{choice.get('name')}' not found in provided tools")
    if thinking and choice["type"] in ("any", "tool"):
        raise errors.refusal("Thinking may not be enabled when tool_choice forces tool use.")


def _marked_blocks(request: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The prompt's blocks in order, without their marks, and the positions of those that carry one."""
    system, blocks = request.get("system") or [], list(request.get("tools") or [])
    blocks += [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in request["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [{"role": message["role"], **part} for part in parts]
    marks = [place for place, block in enumerate(blocks) if _mark(block.get("cache_control"))]
    if _mark(request.get("cache_control")):
        marks.append(len(blocks) - 1)
    if len(marks) > MARKS_LIMIT:
        raise errors.refusal(
            f"A maximum of {MARKS_LIMIT} blocks with cache_control may be provided. Found {len(marks)}."
        )
    texts = [json.dumps({k: v for k, v in block.items() if k != "cache_control"}) for block in blocks]
    return texts, marks


def _mark(mark: Any) -> bool:
    if mark is not None and (not isinstance(mark, dict) or mark.get("type") != "ephemeral"):
        raise errors.refusal("cache_control.type: Input should be 'ephemeral'")
    return mark is not None


def _system(system: Any) -> str:
    if system is None or isinstance(system, str):
        return system or ""
    if not isinstance(system, list):
        raise errors.wrong_type("system", "list")
    return "\n".join(_system_text(f"system.{i}", block) for i, block in enumerate(system))


def _system_text(where: str, block: Any) -> str:
    if not isinstance(block, dict) or block.get("type") != "text":
        raise errors.refusal(f"{where}: Input should be a text block")
    try:
        return text_of(block, where)
    except ApiError as error:
        message = error.body["error"]["message"].replace("messages:", "system:", 1)
        raise errors.refusal(message) from None
