"""A model's reply as it comes, told to whoever looks on, without credentials."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from core.errors import ModelReplyInvalid
from core.events import TextDelta
from core.model.base import Model, ModelReply, ModelRequest
from core.model.streams import closing
from core.off_loop import off_loop
from core.safety.leaks import LeakDetector, RedactedStream


async def told_reply(
    model: Model, request: ModelRequest, leaks: LeakDetector, tell: Callable[[TextDelta], None]
) -> ModelReply:
    """The reply, whose text is what was told: a credential that the model wrote is in neither.

    Raises what the model raises, and ModelReplyInvalid if it ends without a reply.
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
    raise ModelReplyInvalid("the model adapter ended without a reply")
