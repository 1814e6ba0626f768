"""Reads a `POST /v1/chat/completions` request as OpenAI does, refusing what it refuses.

Source of fields and ranges: API reference, Chat, "Create chat completion". The wording of refusals:
`openai_errors`. Tokens are counted by the provider's tokenizer: 4 for each message plus those of its text and
calls, plus those of the tools as compact JSON.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from tests.simulators.model import openai_errors as errors
from tests.simulators.model.caches import PrefixCache
from tests.simulators.model.openai_messages import Conversation
from tests.simulators.model.openai_tools import check_tools
from tests.simulators.model.wire import Prompt, Provider, said_by_user

FIELDS = frozenset(
    {
        "messages",
        "model",
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    }
)

RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "frequency_penalty": (-2.0, 2.0),
    "presence_penalty": (-2.0, 2.0),
    "top_logprobs": (0, 20),
    "n": (1, 128),
    "max_tokens": (1, math.inf),
    "max_completion_tokens": (1, math.inf),
}
"""Lowest and highest accepted value; integers take integers only."""

STOP_LIMIT = 4
METADATA_LIMIT = 16
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class RequestReader:
    """Checks requests against a provider's limits. Remembers the last tools, which rarely change."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._known: tuple[Any, ...] | None = None
        self._known_result: tuple[tuple[str, ...], int] = ((), 0)
        self._cache = PrefixCache()

    def authenticate(self, headers: Mapping[str, str]) -> None:
        """Raises ApiError unless the request carries the provider's API key as a bearer token."""
        scheme, _, key = headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise errors.missing_key()
        if key != self._provider.api_key:
            raise errors.wrong_key(key)

    def read(self, raw: bytes) -> Prompt:
        request = _parse(raw)
        self._check_model(request)
        _check_numbers(request)
        _check_options(request)
        if "messages" not in request:
            raise errors.missing("messages")
        conversation = Conversation(self._provider.tokenizer)
        conversation.read(request["messages"])
        tool_names, tool_tokens = self._check_tools(request)
        max_output = request.get("max_completion_tokens") or request.get("max_tokens")
        self._check_size(conversation.tokens, tool_tokens, max_output, request)
        cached = self._cache.read(json.dumps([request.get("tools"), request["messages"]]))
        return Prompt(
            model=request["model"],
            stream=bool(request.get("stream")),
            user_text=said_by_user(conversation.user_texts),
            tool_results=tuple(conversation.tool_results),
            tool_names=tool_names,
            prompt_tokens=conversation.tokens + tool_tokens,
            max_output_tokens=max_output,
            include_usage=bool((request.get("stream_options") or {}).get("include_usage")),
            cached_tokens=min(cached, conversation.tokens + tool_tokens),
        )

    def _check_model(self, request: dict[str, Any]) -> None:
        model = request.get("model")
        if model is None or model == "":
            raise errors.refusal("you must provide a model parameter")
        if not isinstance(model, str):
            raise errors.wrong_type("model", "a string", model)
        if model not in self._provider.models:
            raise errors.unknown_model(model)

    def _check_tools(self, request: dict[str, Any]) -> tuple[tuple[str, ...], int]:
        tokenizer = self._provider.tokenizer
        asked = (
            request.get("tools"),
            request.get("tool_choice"),
            request.get("parallel_tool_calls"),
            tokenizer,
        )
        if asked != self._known:
            names = check_tools(request)
            tokens = tokenizer(json.dumps(asked[0], separators=(",", ":"))) if asked[0] else 0
            self._known, self._known_result = asked, (names, tokens)
        return self._known_result

    def _check_size(
        self, message_tokens: int, tool_tokens: int, max_output: int | None, request: dict[str, Any]
    ) -> None:
        limit, output_limit = self._provider.context_tokens, self._provider.max_output_tokens
        if max_output is not None and max_output > output_limit:
            param = "max_completion_tokens" if request.get("max_completion_tokens") else "max_tokens"
            raise errors.refusal(
                f"{param} is too large: {max_output}. This model supports at most {output_limit} completion "
                f"tokens, whereas you provided {max_output}.",
                param,
                "invalid_value",
            )
        total = message_tokens + tool_tokens
        if total > limit:
            split, parts = "", "messages"
            if tool_tokens:
                split = f" ({message_tokens} in the messages, {tool_tokens} in the functions)"
                parts = "messages or functions"
            raise errors.refusal(
                f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
                f"{total} tokens{split}. Please reduce the length of the {parts}.",
                "messages",
                "context_length_exceeded",
            )
        if max_output is not None and total + max_output > limit:
            raise errors.refusal(
                f"This model's maximum context length is {limit} tokens. However, you requested "
                f"{total + max_output} tokens ({total} in the messages, {max_output} in the completion). "
                "Please reduce the length of the messages or completion.",
                "messages",
                "context_length_exceeded",
            )


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        request = json.loads(raw)
    except ValueError:
        raise errors.not_json() from None
    if not isinstance(request, dict):
        raise errors.not_json()
    if unknown := request.keys() - FIELDS:
        raise errors.refusal(f"Unrecognized request argument supplied: {min(unknown)}")
    return request


def _check_numbers(request: dict[str, Any]) -> None:
    for param, (low, high) in RANGES.items():
        value = request.get(param)
        if value is None:
            continue
        whole = isinstance(low, int)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise errors.wrong_type(param, "an integer" if whole else "a decimal", value)
        if value < low:
            raise errors.out_of_range(param, value, low, above=False)
        if value > high:
            raise errors.out_of_range(param, value, high, above=True)
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        raise errors.refusal(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_parameter_combination",
        )


def _check_options(request: dict[str, Any]) -> None:
    for param in ("stream", "parallel_tool_calls", "logprobs", "store"):
        if not isinstance(request.get(param), bool | None):
            raise errors.wrong_type(param, "a boolean", request[param])
    _check_stream_options(request)
    stop = request.get("stop")
    if isinstance(stop, list) and len(stop) > STOP_LIMIT:
        raise errors.long_array("stop", STOP_LIMIT, len(stop))
    if not isinstance(stop, str | list | None):
        raise errors.wrong_type("stop", "one of a string or array of strings", stop)
    metadata = request.get("metadata") or {}
    if len(metadata) > METADATA_LIMIT:
        raise errors.refusal(
            f"Invalid 'metadata': too many properties. Expected an object with at most {METADATA_LIMIT} "
            f"properties, but got an object with {len(metadata)} properties instead.",
            "metadata",
            "object_above_max_properties",
        )
    effort = request.get("reasoning_effort")
    if effort is not None and effort not in EFFORTS:
        raise errors.not_one_of("reasoning_effort", effort, EFFORTS)


def _check_stream_options(request: dict[str, Any]) -> None:
    options = request.get("stream_options")
    if options is None:
        return
    if not request.get("stream"):
        raise errors.refusal(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options"
        )
    if not isinstance(options, dict):
        raise errors.wrong_type("stream_options", "an object", options)
    for key, value in options.items():
        if key not in ("include_usage", "include_obfuscation"):
            raise errors.unknown(f"stream_options.{key}")
        if not isinstance(value, bool):
            raise errors.wrong_type(f"stream_options.{key}", "a boolean", value)
