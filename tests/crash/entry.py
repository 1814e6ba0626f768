"""A hub that can be told to die: the product's own `serve`, its store and model wrapped.

The means to stop lives here, not in the product. Every commit passed is written to a trace file, and whom
it was about to a ledger, so that a judge knows what had been committed when the process died.
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bot.app import Seams, serve
from bot.cli.serve import quicker_loop, run_to_the_end
from bot.config.load import load
from bot.ops.logs import configure
from bot.recordings.recorder import recording
from channels.telegram.addresses import Timeouts
from core.clock import Clock, SystemClock
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta
from core.store.lease import LEASE_S
from core.store.port import Store
from core.store.units import Facet
from core.transcript import UserSaid
from tests.clock import HastyClock
from tests.crash.ledger import entry_of
from tests.crash.points import ANY, COMMITS, AtCommit, Side, parse_commit_point

SPEED = "speed"
RELEASED = "released"
"""The file beside the configuration that lets a suspended hub leave its point."""
COMMIT_S = 0.05
"""The time that another thread of a suspended hub gets to end its commit."""
IMPATIENT = Timeouts(taken_within_s=0.5, probe_pace_s=0.02)
"""A request of a dead hub arrives at once or never, unless a test holds it back."""
POISON = "poison pill"
"""A turn whose newest input says this brings the process down."""


@dataclass(frozen=True, slots=True)
class Orders:
    """The arguments of a hub process. At `freeze_at` whoever commits waits for ever, and nothing else; at
    `stop_at` the whole process is suspended.

    `lease_s`: it is one of several on its database, with leases that last so long. `record`: the directory of
    its recording.
    """

    config: Path
    trace: Path
    log: Path
    die_at: AtCommit | None = None
    freeze_at: AtCommit | None = None
    stop_at: AtCommit | None = None
    lease_s: float | None = None
    record: Path | None = None

    def to_json(self) -> dict[str, str | None]:
        """As `run_ordered` takes it."""
        names = ("config", "trace", "log", "die_at", "freeze_at", "stop_at", "lease_s", "record")
        given = {name: getattr(self, name) for name in names}
        return {name: None if one is None else str(one) for name, one in given.items()}

    @property
    def ledger(self) -> Path:
        """Beside the trace."""
        return self.trace.with_name(f"{self.trace.name}.ledger")


def die() -> None:
    """As `kill -9` does it: nothing is flushed, closed or told."""
    os.kill(os.getpid(), signal.SIGKILL)


class MortalStore:
    """A store that traces its commits and dies at one of them. Everything else is the real store."""

    def __init__(self, store: Store, orders: Orders) -> None:
        self._store = store
        self._orders = orders
        self._trace = _append_to(orders.trace)
        self._ledger = _append_to(orders.ledger)
        self._passed: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return MortalFacet(self, found) if isinstance(found, Facet) else found

    def traced(self, name: str, unit: Any) -> Any:
        """The unit, as one that may be the last."""

        async def traced(*arguments: Any, **named: Any) -> Any:
            self._passed.update((name, ANY))
            here = (self._passed[name], self._passed[ANY])
            self._note(entry_of(name, "before", arguments, None))
            await self._pass(name, here, "before")
            result = await unit(*arguments, **named)
            self._note(entry_of(name, "after", arguments, result))
            await self._pass(name, here, "after")
            return result

        return traced

    async def _pass(self, name: str, nth: tuple[int, int], side: Side) -> None:
        points = AtCommit(name, nth[0], side), AtCommit(ANY, nth[1], side)
        os.write(self._trace, f"{points[0]}\n".encode())
        if self._orders.die_at in points:
            die()
        if self._orders.stop_at in points:
            # Not within a commit: it would keep the database from everybody.
            await self._store.leases.renew_lease()
            released = self._orders.config.with_name(RELEASED)
            while not released.exists():  # continued only so that another thread ends its commit
                os.kill(os.getpid(), signal.SIGSTOP)
                time.sleep(COMMIT_S)
        if self._orders.freeze_at in points:
            await asyncio.Event().wait()

    def _note(self, entry: str | None) -> None:
        if entry is not None:
            os.write(self._ledger, f"{entry}\n".encode())


def _append_to(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _clock(speed: Path) -> Clock:
    """The hub's seconds are shorter where a test says so in a file beside the configuration."""
    return HastyClock(float(speed.read_text())) if speed.exists() else SystemClock()


class MortalFacet:
    """One facet of such a store."""

    def __init__(self, store: MortalStore, facet: Facet) -> None:
        self._store = store
        self._facet = facet

    def __getattr__(self, name: str) -> Any:
        unit = getattr(self._facet, name)
        return self._store.traced(name, unit) if name in COMMITS else unit


class PoisonedModel:
    """A model at whose hands some inputs kill the process."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        """The model's own abilities."""
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model.reply."""
        said = [said.text for said in request.conversation if isinstance(said, UserSaid)]
        if said and POISON in said[-1]:
            die()
        async for piece in self._model.reply(request):
            yield piece


def run_ordered(asked: dict[str, str | None]) -> None:
    """Be the hub of those orders."""
    config, trace, log = (Path(asked[name] or "") for name in ("config", "trace", "log"))
    die_at, freeze_at, stop_at = (_point(asked[name]) for name in ("die_at", "freeze_at", "stop_at"))
    lease_s = None if asked["lease_s"] is None else float(asked["lease_s"])
    record = Path(asked["record"]) if asked["record"] else None
    run(Orders(config, trace, log, die_at, freeze_at, stop_at, lease_s, record))


def _point(text: str | None) -> AtCommit | None:
    return None if text is None else parse_commit_point(text)


def run(orders: Orders) -> None:
    """Be a hub until killed or interrupted."""
    with orders.log.open("a") as log:
        configure("info", stream=log)
        loaded = load(orders.config)
        seams = Seams(
            clock=_clock(orders.config.with_name(SPEED)),
            store=lambda store: cast("Store", MortalStore(store, orders)),
            model=PoisonedModel,
            telegram=IMPATIENT,
            alone=orders.lease_s is None,
            lease_s=orders.lease_s or LEASE_S,
        )
        with recording(orders.record, seams) as seams:
            run_to_the_end(serve(loaded, seams), quicker_loop())
