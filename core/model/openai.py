"""Models with the OpenAI-compatible chat completions API: OpenAI and the many compatible providers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import httpx

from core.clock import Clock
from core.lazy import dataclass
from core.model.base import ImagePart, ModelAbilities, ModelRequest, ToolSpec, has_room_to_think, reply_limit
from core.model.conversation import (
    IMAGE_MARK,
    ConversationTexts,
    Heard,
    Replied,
    ToolTexts,
    replayable,
    result_text,
    steps,
    to_json,
    wire_arguments,
    wire_call_id,
    wire_tool_name,
    with_image_data,
)
from core.model.openai_reply import PROVIDER, ReplyAssembler
from core.model.provider import ProviderModel
from core.model.provider_data import as_array, as_text
from core.model.provider_http import ProviderError
from core.transcript import Origin, Said, ToolCalled
from core.users import Thinking

# A conversation as messages, as strict providers accept them.

Json = dict[str, Any]
Kept = Callable[[Origin | None], Mapping[str, Any]]
"""A function that returns the data to replay with a reply (see ReplyAssembler): empty unless the same
model at the same provider wrote it."""


def conversation_messages(
    conversation: Sequence[Said],
    kept: Kept = lambda _: {},
    images: Sequence[ImagePart] = (),
    *,
    calls: bool = True,
) -> list[Json]:
    """Return the messages of a conversation, in order.

    Every call has exactly one tool message, directly after the message that requested it, as providers
    require. Adjacent messages of one role are merged, because some models' templates require alternating
    turns. `calls=False`: calls and their outcomes are told as text, for models without tools.
    """
    messages: list[Json] = []
    for step in steps(conversation, images):
        if isinstance(step, Heard):
            _say(messages, "user", step.text)
            if step.images:
                text = {"type": "text", "text": messages[-1]["content"]}
                messages[-1]["content"] = [text, *map(_image, step.images)]
        elif calls or not step.calls:
            _reply(messages, step, kept)
        else:
            told = [f"[I called the tool {call.tool} with {call.arguments}]" for call, _ in step.calls]
            _say(messages, "assistant", "\n".join(filter(None, [step.text, *told])))
            results = [f"[Result of {call.tool}]\n{result_text(result)}" for call, result in step.calls]
            _say(messages, "user", "\n\n".join(results))
    return messages


def _say(messages: list[Json], role: str, text: str) -> None:
    last = messages[-1] if messages else None
    if last is None or last["role"] != role or "tool_calls" in last:
        messages.append({"role": role, "content": text})
    elif isinstance(last["content"], str):
        last["content"] = f"{last['content']}\n\n{text}"
    else:  # parts, of which some are images
        last["content"] = [*last["content"], {"type": "text", "text": text}]


def _reply(messages: list[Json], step: Replied, kept: Kept) -> None:
    if step.text:
        _say(messages, "assistant", step.text)
    if not step.calls:
        return
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    message = messages[-1]
    message["tool_calls"] = [_call(call) for call, _ in step.calls]
    left = kept(step.origin)
    if reasoning := as_text(left.get("reasoning_content")):
        message["reasoning_content"] = reasoning
    for wire_call, extra in zip(message["tool_calls"], as_array(left.get("extra_content")), strict=False):
        if extra:
            wire_call["extra_content"] = extra
    for call, result in step.calls:
        text = result_text(result)
        messages.append({"role": "tool", "tool_call_id": wire_call_id(call.call_id), "content": text})


def _image(image: ImagePart) -> Json:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{IMAGE_MARK}"}}


def _call(call: ToolCalled) -> Json:
    function = {"name": wire_tool_name(call.tool), "arguments": wire_arguments(call.arguments)}
    return {"id": wire_call_id(call.call_id), "type": "function", "function": function}


# The parts of OpenAI-compatible chat completion requests, as strict providers accept them (API
# reference, Chat). Providers differ in the parts they accept; see Dialect.

_NO_STREAM = (
    "to stream this model",
    "not support stream",
    "streaming is not supported",
    "streaming not supported",
)
_NO_TOOLS = (
    "not support tool",
    "not support function",
    "support tool use",
    "tools is not supported",
    "tools are not supported",
    "'tools' is not supported",
    "tool use is not supported",
    "tool calling is not supported",
    "function calling is not",
    "requires --enable-auto-tool-choice",
    "tools param requires",
)
_NO_IMAGES = (
    "variant `image_url`",
    "image input",
    "multimodal model",
    "not support image",
    "image content is not supported",
    "images are not supported",
    "not support vision",
)
"""Parts of refusals in lower case: of OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, DeepSeek and Google."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The optional parts of the API that a provider accepts, learned from its errors."""

    stream: bool = True
    include_usage: bool = True
    output_limit: Literal["max_tokens", "max_completion_tokens", ""] = "max_tokens"
    temperature: bool = True
    reasoning: bool = True
    tools: bool = True
    images: bool = True
    replay: bool = True
    user_after_tool: bool = True
    roomy: bool = True

    @property
    def limits_output(self) -> bool:
        return bool(self.output_limit)

    def after(self, error: ProviderError, request: ModelRequest) -> "Dialect | None":
        """Return the dialect without the part that this error rejects, or None if the error is about
        something else."""
        if error.status in (400, 422):
            found = self._without_a_parameter(error)
            if found is not None:
                return found
            if self.roomy and has_room_to_think(request) and error.wants_shorter():
                return replace(self, roomy=False)
        # Some servers report a part they lack as not found, or as an error of their own.
        if error.status not in (400, 403, 404, 422, 500, 501):
            return None
        if self.stream and (error.param == "stream" or error.says(*_NO_STREAM)):
            return replace(self, stream=False)
        if self.tools and request.tools and error.says(*_NO_TOOLS):
            return replace(self, tools=False)
        if self.images and request.images and error.says(*_NO_IMAGES):
            return replace(self, images=False)
        return None

    def _without_a_parameter(self, error: ProviderError) -> "Dialect | None":
        if self.include_usage and error.names("stream_options", "include_usage"):
            return replace(self, include_usage=False)
        if self.output_limit == "max_tokens" and error.names("max_completion_tokens"):
            return replace(self, output_limit="max_completion_tokens")
        if self.output_limit and error.refuses(self.output_limit):
            return replace(self, output_limit="")
        if self.temperature and error.refuses("temperature"):
            return replace(self, temperature=False)
        if self.reasoning and error.refuses("reasoning_effort"):
            return replace(self, reasoning=False)
        if self.replay and error.names("reasoning_content", "extra_content"):
            return replace(self, replay=False)
        if self.user_after_tool and "after role 'tool'" in error.message:
            return replace(self, user_after_tool=False)
        return None

    def learned(self) -> tuple[str, ...]:
        """Return the lessons learned, each in a few words."""
        lessons = {
            "does not stream": not self.stream,
            "gives no usage in streams": not self.include_usage,
            "takes max_completion_tokens": self.output_limit == "max_completion_tokens",
            "takes no output limit": not self.output_limit,
            "takes no temperature": not self.temperature,
            "takes no reasoning effort": not self.reasoning,
            "has no more room for thinking": not self.roomy,
            "takes no tools": not self.tools,
            "takes no images": not self.images,
            "takes no reasoning back": not self.replay,
            "wants an answer after each tool result": not self.user_after_tool,
        }
        return tuple(lesson for lesson, holds in lessons.items() if holds)


def options(request: ModelRequest, dialect: Dialect, *, model: str) -> Json:
    """Return the JSON object of a request, without its messages and tools."""
    body: Json = {"model": model}
    if dialect.output_limit:
        body[dialect.output_limit] = reply_limit(request, roomy=dialect.roomy)
    if request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    thinking = request.thinking or Thinking.OFF
    if thinking is not Thinking.OFF and dialect.reasoning:
        body["reasoning_effort"] = thinking.value
    if dialect.stream:
        body["stream"] = True
        if dialect.include_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def tool_object(tool: ToolSpec) -> Json:
    """Return a tool in the API's format."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def answered(messages: Sequence[Json]) -> list[Json]:
    """Return the messages with a placeholder after tool results that got no answer, as Mistral requires."""
    bridged: list[Json] = []
    for message in messages:
        if message["role"] == "user" and bridged and bridged[-1]["role"] == "tool":
            bridged.append({"role": "assistant", "content": "(no answer was given)"})
        bridged.append(message)
    return bridged


# The body of a request, and the model.


class RequestTexts:
    """A writer of requests to one model at one host."""

    def __init__(self, *, model: str, host: str) -> None:
        self._model = model
        self._host = host
        self._tools = ToolTexts(tool_object)
        self._conversations = ConversationTexts()

    def encoded(self, request: ModelRequest, dialect: Dialect) -> bytes:
        """Return the body of `POST {base_url}/chat/completions` as UTF-8.

        Lone surrogates, which no provider accepts, become question marks."""
        writer = MessageWriter(self._model, self._host, dialect)
        messages = self._conversations.of(request.conversation, writer, request.images)
        said = with_image_data(messages.encode("utf-8", "replace"), request.images)
        begun = to_json(options(request, dialect, model=self._model))[:-1].encode("utf-8", "replace")
        system = _system_message(request.system) if request.system else b""
        comma = b"," if system and said else b""
        parts = (begun, b',"messages":[', system, comma, said, b"]")
        if not request.tools or not dialect.tools:
            return b"".join((*parts, b"}"))
        return b"".join((*parts, b',"tools":', self._tools.of(request.tools), b"}"))


@lru_cache(64)  # the longest text of most requests, and the same in each of a conversation
def _system_message(text: str) -> bytes:
    return to_json({"role": "system", "content": text}).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """A Writer for one model."""

    model: str
    host: str
    dialect: Dialect

    def written(self, piece: Sequence[Said], images: Sequence[ImagePart] = ()) -> str:
        messages = conversation_messages(
            piece,
            lambda origin: (
                replayable(origin, provider=PROVIDER, model=self.model, host=self.host)
                if self.dialect.replay
                else {}
            ),
            images,
            calls=self.dialect.tools,
        )
        if not self.dialect.user_after_tool:
            messages = answered(messages)
        return to_json(messages)[1:-1]


class OpenAIModel(ProviderModel[Dialect]):
    """A model at a provider with OpenAI's API."""

    PATH = "/chat/completions"

    def __init__(
        self,
        *,
        name: str,
        model: str,
        base_url: str,
        api_key: str,
        client: httpx.AsyncClient,
        clock: Clock,
        stream: bool = True,
        abilities: ModelAbilities | None = None,
        thinking: Thinking = Thinking.OFF,
    ) -> None:
        """Take a `base_url` that includes `/v1`."""
        super().__init__(
            Dialect(stream=stream),
            name=name,
            model=model,
            base_url=base_url,
            api_key=api_key,
            client=client,
            clock=clock,
            abilities=abilities,
            thinking=thinking,
        )
        self._texts = RequestTexts(model=model, host=self._url.host)

    def _key_headers(self, api_key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def _encoded(self, request: ModelRequest, dialect: Dialect) -> bytes:
        return self._texts.encoded(request, dialect)

    def _assembler(self) -> ReplyAssembler:
        return ReplyAssembler(name=self._name, model=self._model, host=self._url.host, api_key=self._api_key)
