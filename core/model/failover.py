"""Several models as one: the first that can answer does."""

import logging
from collections.abc import AsyncIterator, Sequence

from core.errors import ModelAuthRejected, ModelError, ModelRejected, ModelUnavailable
from core.model.base import Model, ModelReply, ModelRequest, ReplyDelta
from core.model.streams import closing

log = logging.getLogger(__name__)


class FailoverModel:
    """Asks the models in order until one begins to answer.

    The next is asked after ModelUnavailable, ModelAuthRejected and ModelRejected, and only before the first
    delta. ContextOverflow and ModelReplyInvalid surface at once: the caller shortens or asks again.
    """

    def __init__(self, name: str, models: Sequence[Model]) -> None:
        """`models` in order of preference, at least one."""
        if not models:
            raise ValueError("a list of models needs at least one")
        self._name = name
        self._models = tuple(models)

    @property
    def name(self) -> str:
        """The list's name; a reply's origin tells which model answered."""
        return self._name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model.reply. If every model fails: the only one's error, or one that sums all up."""
        failures: list[ModelError] = []
        for number, model in enumerate(self._models, start=1):
            shown, reply = False, None
            try:
                async with closing(model.reply(request)) as stream:
                    async for piece in stream:
                        if isinstance(piece, ModelReply):
                            reply = piece
                        else:
                            shown = True
                            yield piece
            except (ModelUnavailable, ModelAuthRejected, ModelRejected) as error:
                if shown:
                    raise
                log.warning("model %s failed (%d of %d): %s", model.name, number, len(self._models), error)
                failures.append(error)
            else:
                if reply is not None:
                    yield reply
                return
        raise _summed_up(failures)


def _summed_up(failures: Sequence[ModelError]) -> ModelError:
    """Worth another try later if it was for any of them; otherwise of the kind of the first failure."""
    if len(failures) == 1:
        return failures[0]
    what = f"all {len(failures)} models failed: {'; '.join(str(failure) for failure in failures)}"
    transient = [failure for failure in failures if isinstance(failure, ModelUnavailable)]
    if transient:
        waits_s = [failure.retry_after_s for failure in transient if failure.retry_after_s is not None]
        return ModelUnavailable(what, min(waits_s) if len(waits_s) == len(transient) else None)
    return type(failures[0])(what)
