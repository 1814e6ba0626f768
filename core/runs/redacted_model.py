"""Model replies without credentials, streamed to listeners or delivered whole."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import partial

from core.errors import ModelReplyInvalid
from core.events import TextDelta
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta, closing
from core.off_loop import off_loop
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector, RedactedStream
from core.transcript import UserSaid


async def stream_reply(
    model: Model, request: ModelRequest, leaks: LeakDetector, tell: Callable[[TextDelta], None]
) -> ModelReply:
    """Pass on the model's text as it arrives, and return the reply. Credentials are redacted in both.

    Raises the model's errors, and ModelReplyInvalid if the stream ends without a reply.
    """
    stream = RedactedStream(leaks)

    def pass_on(text: str, told_before: int) -> None:
        if text:
            tell(TextDelta(told_before, text))

    async with closing(model.reply(request)) as pieces:
        async for piece in pieces:
            told_before = stream.told_chars
            if isinstance(piece, ModelReply):
                pass_on(await off_loop(stream.look_chars(), stream.rest), told_before)
                text = piece.text
                return replace(piece, text=await off_loop(len(text), partial(leaks.redacted, text)))
            chars = stream.look_chars(piece.text)
            pass_on(await off_loop(chars, partial(stream.add, piece.text)), told_before)
    raise ModelReplyInvalid("the model adapter returned no reply")


# A model whose replies are not shown while they are written. Each is delivered whole, without
# credentials, and after hooks have changed it. Credentials are also removed from its input, because
# files and trigger data may contain some.


class RedactingModel:
    """A Model that wraps another one, for runs without a person."""

    def __init__(self, model: Model, leaks: LeakDetector, hook: ReplyHook | None = None) -> None:
        self._model = model
        self._leaks = leaks
        self._hook = hook

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model: no deltas."""
        chars = len(request.system) + sum(len(one.text) for one in _said(request))
        clean = await off_loop(chars, lambda: self._without_credentials(request))
        async with closing(self._model.reply(clean)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    yield replace(piece, text=await self._clean(piece.text))
                    return
        raise ModelReplyInvalid("the model adapter returned no reply")

    def _without_credentials(self, request: ModelRequest) -> ModelRequest:
        said = tuple(
            replace(one, text=self._leaks.redacted(one.text)) if isinstance(one, UserSaid) else one
            for one in request.conversation
        )
        return replace(request, system=self._leaks.redacted(request.system), conversation=said)

    async def _clean(self, text: str) -> str:
        text = await off_loop(len(text), partial(self._leaks.redacted, text))
        if self._hook is None or not text.strip():
            return text
        return await self._hook.transformed(text, None, None)


def _said(request: ModelRequest) -> Iterator[UserSaid]:
    return (one for one in request.conversation if isinstance(one, UserSaid))
