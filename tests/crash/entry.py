"""A hub that can be told to die: the product's own `serve`, its store and model wrapped.

The means to stop lives here, not in the product. Every commit passed is written to a trace file, so that a
judge knows what had been committed when the process died.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bot.app import Seams, serve
from bot.config import load
from bot.logs import configure
from core.model.base import Model, ModelReply, ModelRequest, ReplyDelta
from core.store.base import Store
from core.transcript import UserSaid
from tests.crash.points import COMMITS, AtCommit

POISON = "poison pill"
"""A turn whose newest input says this brings the process down."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a hub process is started with."""

    config: Path
    trace: Path
    log: Path
    die_at: AtCommit | None = None


def die() -> None:
    """As `kill -9` does it: nothing is flushed, closed or told."""
    os.kill(os.getpid(), signal.SIGKILL)


class MortalStore:
    """A store that traces its commits and dies at one of them. Everything else is the real store."""

    def __init__(self, store: Store, trace: Path, die_at: AtCommit | None) -> None:
        self._store = store
        self._trace = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._die_at = die_at
        self._passed: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        unit = getattr(self._store, name)
        if name not in COMMITS:
            return unit

        async def traced(*arguments: Any, **named: Any) -> Any:
            self._passed[name] += 1
            nth = self._passed[name]
            self._pass(AtCommit(name, nth, "before"))
            result = await unit(*arguments, **named)
            self._pass(AtCommit(name, nth, "after"))
            return result

        return traced

    def _pass(self, point: AtCommit) -> None:
        os.write(self._trace, f"{point}\n".encode())
        if point == self._die_at:
            die()


class PoisonedModel:
    """A model at whose hands some inputs kill the process."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model.reply."""
        said = [said.text for said in request.conversation if isinstance(said, UserSaid)]
        if said and POISON in said[-1]:
            die()
        async for piece in self._model.reply(request):
            yield piece


def run(orders: Orders) -> None:
    """Be a hub until killed or interrupted."""
    with orders.log.open("a") as log:
        configure("info", stream=log)
        loaded = load(orders.config)
        seams = Seams(
            store=lambda store: cast("Store", MortalStore(store, orders.trace, orders.die_at)),
            model=PoisonedModel,
        )
        asyncio.run(serve(loaded, seams))
