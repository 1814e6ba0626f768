"""Models with the OpenAI-compatible chat completions API: OpenAI and the many compatible providers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

from core.clock import Clock
from core.model.base import ImagePart, ModelAbilities, ModelRequest, Thinking
from core.model.openai_messages import Dialect, answered, conversation_messages, options, tool_object
from core.model.openai_reply import PROVIDER, ReplyAssembler
from core.model.provider import ProviderModel
from core.model.request_texts import ConversationTexts, ToolTexts, replayable, to_json, with_image_data
from core.transcript import Said


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
        system = to_json({"role": "system", "content": request.system}) if request.system else ""
        comma = "," if system and messages else ""
        begun = to_json(options(request, dialect, model=self._model))[:-1]
        body = f'{begun},"messages":[{system}{comma}{messages}]'.encode("utf-8", "replace")
        body = with_image_data(body, request.images)
        if not request.tools or not dialect.tools:
            return body + b"}"
        return b"".join((body, b',"tools":', self._tools.of(request.tools), b"}"))


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
