"""Models with Anthropic's Messages API: requests as it takes them, and the parts on which models differ."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import httpx

from core.clock import Clock
from core.lazy import dataclass
from core.model.anthropic_reply import PROVIDER, ReplyAssembler, thinking_blocks
from core.model.base import (
    THINKING_TOKENS,
    ImagePart,
    ModelAbilities,
    ModelRequest,
    ThinkingStyle,
    ToolSpec,
    has_room_to_think,
    reply_limit,
)
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
from core.model.provider import ProviderModel
from core.model.provider_http import ProviderError
from core.transcript import (
    AssistantSaid,
    Note,
    Origin,
    ResultStatus,
    Said,
    ToolCalled,
    ToolResult,
    UserSaid,
)
from core.users import Thinking

VERSION = "2023-06-01"
"""The version of the API that all its servers know."""
CONTINUE = {"role": "user", "content": [{"type": "text", "text": "Continue."}]}


def key_headers(api_key: str) -> Mapping[str, str]:
    """Return the headers that every request carries."""
    return {"anthropic-version": VERSION} | ({"x-api-key": api_key} if api_key else {})


# A conversation as messages.

Json = dict[str, Any]
Kept = Callable[[Origin | None], Mapping[str, Any]]
"""A function that returns the data to replay with a reply (see ReplyAssembler): empty unless the same
model at the same provider wrote it."""

CACHED = {"type": "ephemeral"}
LEAST_BUDGET_TOKENS = 1024
LEFT_OUT = "[The beginning of the conversation was left out.]"


def conversation_messages(
    conversation: Sequence[Said], kept: Kept = lambda _: {}, images: Sequence[ImagePart] = ()
) -> list[Json]:
    """Return the messages of a conversation, in order, as lists of blocks.

    Roles alternate, the first is a person's, and the results of calls directly follow them.
    """
    messages: list[Json] = []
    for step in steps(conversation, images):
        if isinstance(step, Heard):
            _add(messages, "user", [_text(step.text), *map(_image, step.images)])
            continue
        blocks = _reply_blocks(step, kept)
        if blocks and not messages:
            _add(messages, "user", [_text(LEFT_OUT)])
        if blocks:
            _add(messages, "assistant", blocks)
        if step.calls:
            _add(messages, "user", [_result(call, result) for call, result in step.calls])
    return messages


def ends_with_a_reply(conversation: Sequence[Said]) -> bool:
    """Return whether the model spoke last, so that the API would take the request for an unfinished reply."""
    if not conversation or isinstance(conversation[-1], UserSaid | Note):
        return False
    for step in reversed(steps(conversation)):
        if isinstance(step, Heard) or step.calls:
            return False
        if step.text.strip():
            return True
    return False


def thinking_is_kept(conversation: Sequence[Said], kept: Kept) -> bool:
    """Return whether the calls that the conversation ends with still begin with their thinking.

    Models with a thinking budget refuse to think on calls whose thinking is missing, such as those of
    another model."""
    place = len(conversation) - 1
    while place >= 0 and isinstance(conversation[place], ToolCalled | ToolResult | Note):
        place -= 1
    if all(isinstance(said, Note) for said in conversation[place + 1 :]):
        return True
    said = conversation[place] if place >= 0 else None
    if not isinstance(said, AssistantSaid) or isinstance(conversation[place - 1], AssistantSaid):
        return False
    return any(not block.calls and not block.text for block in thinking_blocks(kept(said.origin)))


def _add(messages: list[Json], role: str, blocks: list[Json]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _reply_blocks(step: Replied, kept: Kept) -> list[Json]:
    """Return the blocks of a reply: thinking stands where the model had it."""
    text = [_text(step.text)] if step.text.strip() else []
    if not step.calls:
        return text
    thoughts = thinking_blocks(kept(step.origin))
    blocks = [thought.block for thought in thoughts if not thought.calls and not thought.text]
    blocks += text
    for number, (call, _) in enumerate(step.calls):
        blocks += [
            thought.block
            for thought in thoughts
            if thought.calls == number and (thought.calls or thought.text)
        ]
        blocks.append(_call(call))
    return blocks


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(image: ImagePart) -> Json:
    source = {"type": "base64", "media_type": image.media_type, "data": IMAGE_MARK}
    return {"type": "image", "source": source}


def _call(call: ToolCalled) -> Json:
    arguments = json.loads(wire_arguments(call.arguments))
    return {
        "type": "tool_use",
        "id": wire_call_id(call.call_id),
        "name": wire_tool_name(call.tool),
        "input": arguments,
    }


def _result(call: ToolCalled, result: ToolResult | None) -> Json:
    block: Json = {
        "type": "tool_result",
        "tool_use_id": wire_call_id(call.call_id),
        "content": result_text(result),
    }
    if result is None or result.status is not ResultStatus.OK:
        block["is_error"] = True
    return block


# The parts of requests on which models and servers differ (API reference, Messages).


@dataclass(frozen=True, slots=True)
class Dialect:
    """The optional parts of the API that a provider accepts, learned from its errors.

    `cache`: the marks for its cache, on the whole request, on the system prompt alone, or none."""

    stream: bool = True
    thinking: ThinkingStyle = ThinkingStyle.NONE
    cache: Literal["request", "system", ""] = "request"
    temperature: bool = True
    images: bool = True
    replay: bool = True
    roomy: bool = True
    lesson: str = ""
    """The lesson about thinking."""

    @property
    def limits_output(self) -> bool:
        return True

    def after(self, error: ProviderError, request: ModelRequest) -> "Dialect | None":
        """Return the dialect without the part that this error rejects, or None if the error is about
        something else."""
        if error.status not in (400, 422):
            return None
        if self.cache and error.names("cache_control"):
            return replace(self, cache="system" if self.cache == "request" else "")
        if self.temperature and error.refuses("temperature"):
            return replace(self, temperature=False)
        if self.replay and error.says("`signature`", "invalid signature"):
            return replace(self, replay=False)
        if self.thinking is not ThinkingStyle.NONE and error.says("thinking", "output_config", "effort"):
            return self._thinking_after(error)
        if self.roomy and has_room_to_think(request) and error.wants_shorter():
            return replace(self, roomy=False)
        if self.stream and error.says("streaming is not supported", "not support stream"):
            return replace(self, stream=False)
        if self.images and request.images and error.says("image input", "not support image"):
            return replace(self, images=False)
        return None

    def _thinking_after(self, error: ProviderError) -> "Dialect | None":
        if self.thinking is ThinkingStyle.BUDGET and error.says("thinking.type.adaptive"):
            return replace(self, thinking=ThinkingStyle.ADAPTIVE, lesson="thinks adaptively")
        if self.thinking is ThinkingStyle.ADAPTIVE and error.says("adaptive thinking is not supported"):
            return replace(self, thinking=ThinkingStyle.BUDGET, lesson="thinks within a budget")
        if any(map(error.refuses, ("thinking", "output_config", "effort"))):
            return replace(self, thinking=ThinkingStyle.NONE, lesson="takes no thinking")
        return None

    def learned(self) -> tuple[str, ...]:
        """Return the lessons learned, each in a few words."""
        lessons = {
            "does not stream": not self.stream,
            self.lesson: bool(self.lesson),
            "has no more room for thinking": not self.roomy,
            "takes no cache mark on the whole request": self.cache == "system",
            "takes no cache marks": not self.cache,
            "takes no temperature": not self.temperature,
            "takes no images": not self.images,
            "takes no thinking back": not self.replay,
        }
        return tuple(lesson for lesson, holds in lessons.items() if holds)


def options(request: ModelRequest, dialect: Dialect, thinking: Thinking, *, model: str) -> Json:
    """Return the JSON object of a request, without its tools and messages."""
    most = reply_limit(request, roomy=dialect.roomy)
    body: Json = {"model": model, "max_tokens": most}
    if thinking is not Thinking.OFF:
        body |= _thinking(dialect.thinking, thinking, most)
    elif request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    if dialect.stream:
        body["stream"] = True
    if dialect.cache == "request":
        body["cache_control"] = CACHED
    if request.system.strip():
        system = _text(request.system)
        body["system"] = [system | {"cache_control": CACHED}] if dialect.cache else [system]
    return body


def _thinking(style: ThinkingStyle, thinking: Thinking, max_tokens: int) -> Json:
    match style:
        case ThinkingStyle.ADAPTIVE | ThinkingStyle.EFFORT:
            return {"thinking": {"type": "adaptive"}, "output_config": {"effort": thinking.value}}
        case ThinkingStyle.BUDGET:
            # The answer keeps at least half of the room.
            budget = max(LEAST_BUDGET_TOKENS, min(THINKING_TOKENS[thinking], max_tokens // 2))
            if budget >= max_tokens:
                return {}
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}
        case ThinkingStyle.NONE:
            return {}


def tool_object(tool: ToolSpec) -> Json:
    """Return a tool in the API's format."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


# Requests, and the model.


class RequestTexts:
    """A writer of requests to one model at one host."""

    def __init__(self, *, model: str, host: str) -> None:
        self._model = model
        self._host = host
        self._tools = ToolTexts(tool_object)
        self._conversations = ConversationTexts()

    def encoded(self, request: ModelRequest, dialect: Dialect) -> bytes:
        """Return the body of `POST {base_url}/v1/messages` as UTF-8.

        What changes least comes first, so that requests share as much of their beginning as possible."""
        writer = MessageWriter(self._model, self._host, dialect)
        thinking = request.thinking or Thinking.OFF
        budgeted = dialect.thinking is ThinkingStyle.BUDGET
        if budgeted and not thinking_is_kept(request.conversation, writer.kept):
            thinking = Thinking.OFF
        messages = self._conversations.of(request.conversation, writer, request.images)
        if not messages or ends_with_a_reply(request.conversation):
            messages = ",".join(filter(None, [messages, to_json(CONTINUE)]))
        begun = to_json(options(request, dialect, thinking, model=self._model))[:-1]
        end = with_image_data(f',"messages":[{messages}]}}'.encode("utf-8", "replace"), request.images)
        tools = (b',"tools":', self._tools.of(request.tools)) if request.tools else ()
        return b"".join((begun.encode("utf-8", "replace"), *tools, end))


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """A Writer for one model."""

    model: str
    host: str
    dialect: Dialect

    def written(self, piece: Sequence[Said], images: Sequence[ImagePart] = ()) -> str:
        return to_json(conversation_messages(piece, self.kept, images))[1:-1]

    def kept(self, origin: Origin | None) -> Mapping[str, object]:
        """Return the thinking to replay: empty unless this model at this host wrote it."""
        if not self.dialect.replay:
            return {}
        return replayable(origin, provider=PROVIDER, model=self.model, host=self.host)


class AnthropicModel(ProviderModel[Dialect]):
    """A model at Anthropic, or at a server with its API."""

    PATH = "/v1/messages"

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
        """Take a `base_url`, with or without `/v1` at its end."""
        style = abilities.thinking if abilities is not None else ThinkingStyle.NONE
        super().__init__(
            Dialect(stream=stream, thinking=style),
            name=name,
            model=model,
            base_url=base_url.rstrip("/").removesuffix("/v1"),
            api_key=api_key,
            client=client,
            clock=clock,
            abilities=abilities,
            thinking=thinking,
        )
        self._texts = RequestTexts(model=model, host=self._url.host)

    def _key_headers(self, api_key: str) -> Mapping[str, str]:
        return key_headers(api_key)

    def _encoded(self, request: ModelRequest, dialect: Dialect) -> bytes:
        return self._texts.encoded(request, dialect)

    def _assembler(self) -> ReplyAssembler:
        return ReplyAssembler(name=self._name, model=self._model, host=self._url.host, api_key=self._api_key)
