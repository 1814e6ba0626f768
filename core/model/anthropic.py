"""Models with Anthropic's Messages API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

from core.clock import Clock
from core.model.anthropic_messages import (
    Dialect,
    conversation_messages,
    ends_with_a_reply,
    options,
    thinking_is_kept,
    tool_object,
)
from core.model.anthropic_reply import PROVIDER, ReplyAssembler
from core.model.base import ImagePart, ModelAbilities, ModelRequest, Thinking, ThinkingStyle
from core.model.provider import ProviderModel
from core.model.request_texts import ConversationTexts, ToolTexts, replayable, to_json
from core.transcript import Origin, Said

VERSION = "2023-06-01"
"""The version of the API that all its servers know."""
CONTINUE = {"role": "user", "content": [{"type": "text", "text": "Continue."}]}


def key_headers(api_key: str) -> Mapping[str, str]:
    """Return the headers that every request carries."""
    return {"anthropic-version": VERSION} | ({"x-api-key": api_key} if api_key else {})


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
        end = f',"messages":[{messages}]}}'.encode("utf-8", "replace")
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
    """A model at Anthropic, or at a server with its API. Its `base_url` does not include `/v1`."""

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
        """See ProviderModel."""
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
