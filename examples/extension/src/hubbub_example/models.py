"""A model provider: its model repeats what it was told last."""

from collections.abc import AsyncIterator, Mapping

from hubbub import ModelAbilities, ModelReply, ModelRequest, Origin, ReplyDelta, Usage, UserSaid


class ParrotModel:
    """Implements hubbub.Model. An option `prefix` begins each reply."""

    def __init__(self, name: str, model: str, options: Mapping[str, str]) -> None:
        self.name = name
        self._model = model or "parrot"
        self.abilities = ModelAbilities(context_tokens=100_000)
        self._prefix = options.get("prefix", "")

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        said = next((one.text for one in reversed(request.conversation) if isinstance(one, UserSaid)), "")
        text = f"{self._prefix}{said}"
        yield ReplyDelta(text)
        yield ModelReply(text, (), Usage(len(request.system), len(text)), Origin("parrot", self._model))
