"""Trying a model again while trying again can help and nobody has seen anything yet."""

import logging
import random
from collections.abc import AsyncIterator, Callable

from core.clock import Clock
from core.errors import ModelReplyInvalid, ModelUnavailable
from core.model.base import Model, ModelReply, ModelRequest, ReplyDelta
from core.model.streams import closing

RETRIES = 3
FIRST_WAIT_S = 1.0
JITTER = 0.25
LONGEST_WAIT_S = 60.0
"""A provider that asks for more is not waited for: the error surfaces, with its wish, and another may try."""

log = logging.getLogger(__name__)


class RetryingModel:
    """Repeats a call that failed in passing: unavailable, or a reply that broke off.

    Waits 1, 2, 4 s (each ± 25 %), or as long as the provider asked for if that is longer. Only until the
    first delta: after it the error surfaces, since only the caller knows whether a person has read the
    beginning and whether it can be replaced.
    """

    def __init__(
        self,
        model: Model,
        clock: Clock,
        *,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._model = model
        self._clock = clock
        self._uniform = uniform

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model.reply."""
        attempt = 0
        while True:
            shown, reply = False, None
            try:
                async with closing(self._model.reply(request)) as stream:
                    async for piece in stream:
                        if isinstance(piece, ModelReply):
                            reply = piece
                        else:
                            shown = True
                            yield piece
            except (ModelUnavailable, ModelReplyInvalid) as error:
                wait_s = self._wait_s(error, attempt)
                if shown or attempt >= RETRIES or wait_s > LONGEST_WAIT_S:
                    raise
                attempt += 1
                log.info("retry %d of %d in %.1f s: %s", attempt, RETRIES, wait_s, error)
            else:
                if reply is not None:
                    yield reply
                return
            await self._clock.sleep(wait_s)

    def _wait_s(self, error: ModelUnavailable | ModelReplyInvalid, attempt: int) -> float:
        wished_s = error.retry_after_s if isinstance(error, ModelUnavailable) else None
        return max(FIRST_WAIT_S * 2**attempt * self._uniform(1 - JITTER, 1 + JITTER), wished_s or 0.0)
