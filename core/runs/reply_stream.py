"""One attempt at a reply: its text as it comes, without reasoning, tool syntax and credentials."""

import codecs
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter

from core.errors import ModelReplyInvalid
from core.events import Output, TextDelta
from core.model.base import ModelReply, ModelRequest, ReplyDelta, closing
from core.model.cleaning import Cleaner, cleaned_reply
from core.off_loop import off_loop
from core.safety.fencing import sanitise
from core.safety.leaks import LeakDetector, RedactedStream

Tell = Callable[[TextDelta], None]
_NAME = attrgetter("name")


class ReplyStream:
    """One attempt's text, told as it comes, without reasoning, tool syntax and credentials.

    `numbers`: the numbers of attempts; a reply whose final answer starts over takes another one."""

    def __init__(self, leaks: LeakDetector, numbers: Iterator[int], tell: Tell | None) -> None:
        self._leaks = leaks
        self._redacted = RedactedStream(leaks)
        self._cleaner = Cleaner()
        self._numbers = numbers
        self._attempt = next(numbers)
        self._started_over = False
        self._tell = tell

    async def whole(
        self, stream: AsyncIterator[ReplyDelta | ModelReply], request: ModelRequest
    ) -> ModelReply:
        """Return the reply. Raises the model's errors, and ModelReplyInvalid if the stream has none."""
        async with closing(stream) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    return await self._ended(piece, request)
                if self._tell is not None:
                    await self._show(self._tell, len(piece.text), partial(self._cleaner.feed, piece.text))
        raise ModelReplyInvalid("the model adapter returned no reply")

    async def _ended(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        cleaner = self._cleaner
        if self._tell is not None:
            await self._show(self._tell, cleaner.fed_chars, cleaner.finish)
            stream = self._redacted
            self._pass_on(self._tell, await off_loop(stream.look_chars(), stream.rest))
        offered = frozenset(map(_NAME, request.tools))

        def cleaned() -> ModelReply:
            whole = cleaned_reply(reply, offered, cleaner if self._tell is not None else None)
            redacted = self._leaks.redacted
            if not whole.calls and not whole.suggestions and redacted(whole.text) == whole.text:
                return whole
            shown = tuple(one for one in whole.suggestions if redacted(one) == one)
            calls = tuple(replace(one, reason=redacted(one.reason)) for one in whole.calls)
            return replace(whole, text=redacted(whole.text), suggestions=shown, calls=calls)

        return await off_loop(len(reply.text), cleaned)

    async def _show(self, tell: Tell, chars: int, read: Callable[[], str]) -> None:
        """Tell people the text that reading `chars` characters releases."""
        text = await off_loop(chars, read)
        if self._cleaner.starts_over and not self._started_over:
            self._started_over = True
            self._redacted, self._attempt = RedactedStream(self._leaks), next(self._numbers)
        if text:
            stream = self._redacted
            self._pass_on(tell, await off_loop(stream.look_chars(text), partial(stream.add, text)))

    def _pass_on(self, tell: Tell, text: str) -> None:
        if text:
            tell(TextDelta(self._redacted.told_chars - len(text), text, self._attempt))


SHOWN_LIMIT_CHARS = 64 * 1024
"""Limit of the output shown of one running call; its result has the end as well."""
MORE = "\n[There is more output; the end is shown with the result.]\n"


class LiveOutput:
    """The output of a running call as people may see it: whole lines, without secrets, up to a limit."""

    def __init__(self, call_id: str, leaks: LeakDetector, show: Callable[[Output], None]) -> None:
        self._call_id = call_id
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._stream = RedactedStream(leaks)
        self._line = ""
        self._taken_chars = self._shown_chars = 0

    def add(self, output: bytes) -> None:
        """Take the next bytes that the program wrote."""
        if self._taken_chars >= SHOWN_LIMIT_CHARS:
            return
        text = self._line + self._decoder.decode(output)
        end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
        # Whole lines: a terminal sequence that is cut in two would hide a secret from the search.
        self._line = text[end:][:SHOWN_LIMIT_CHARS]
        room = SHOWN_LIMIT_CHARS - self._taken_chars
        self._taken_chars += end
        self._pass_on(self._stream.add(sanitise(text[:end][:room])))
        if end > room:
            self._pass_on(MORE)

    def _pass_on(self, text: str) -> None:
        if text:
            self._show(Output(self._call_id, self._shown_chars, text))
            self._shown_chars += len(text)
