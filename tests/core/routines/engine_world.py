"""The engine on a real store, with a clock that a test moves and a model that a test holds back."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from bot.config.load import load
from bot.config.schema import Config
from bot.jobs.builder import DockerProbe
from bot.routines.service import build_manager, build_routines
from bot.timers import ScheduledTimers
from core.clock import SECOND_US, Clock, Timers
from core.errors import ModelRejected
from core.events import RunKind, TurnListeners
from core.ids import Ids, RandomIds
from core.messages import Address, Message
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta
from core.people.notices import Notices, Recipient
from core.routines.manage import RoutineManager
from core.routines.service import RoutineService
from core.runs.metering import Metering
from core.runs.model_list import ConfiguredModel, ModelList
from core.runs.recovery import RunRecovery, RunsOfKind
from core.runs.registry import RunRegistry
from core.safety.leaks import LeakDetector
from core.store.lease import LeaseTerms
from core.store.port import Store
from core.store.routine_rows import RoutineRow, RoutineRunRow, StartedRun
from core.store.sqlite.store import open_store
from core.store.unattended_port import RoutineRuns
from core.tool import ProcessInfo
from core.tools.pipeline import CallPipeline
from core.transcript import Origin, UserSaid
from core.usage import Usage
from core.users import Principal, Role
from tests.clock import JumpingClock
from tests.databases import lay_database
from tests.patience import PATIENCE_S

OLIVIA = Principal("owner", Role.OWNER, "Olivia")
LIMIT_S = 5 * PATIENCE_S
DAY_US = 24 * 3600 * SECOND_US
"""A lease that outlasts what a test does with the clock is renewed by nobody."""
SETTINGS = """
[hub]
data_dir = "data"
[[models]]
name = "main"
provider = "demo"
[routines]
max_concurrent = {most}
"""


@dataclass
class HeldModel:
    """Answers each question, with silence unless told otherwise, once it is let through. `asked`: the
    prompts, in order; `refuses`: every question fails."""

    name: str = "held"
    answer: str = "ROUTINE_OK"
    asked: list[str] = field(default_factory=list[str])
    asking: int = 0
    refuses: bool = False
    abilities: ModelAbilities = field(default_factory=ModelAbilities)
    _gate: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self) -> None:
        """From now on everything is answered at once."""
        self._gate.set()

    def hold(self) -> None:
        """From now on nothing is answered."""
        self._gate.clear()

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model.reply."""
        said = next(one.text for one in request.conversation if isinstance(one, UserSaid))
        self.asked.append(said.partition("\n")[0])
        self.asking += 1
        try:
            await self._gate.wait()
        finally:
            self.asking -= 1
        if self.refuses:
            raise ModelRejected("not today")
        yield ModelReply(self.answer, (), Usage(1, 1), Origin(self.name, self.name))


class CountingRuns:
    """The real facet of runs; notes how many there are each time after some were begun. `running` counts
    them."""

    def __init__(self, runs: RoutineRuns, running: Callable[[], int]) -> None:
        self._runs = runs
        self._running = running
        self.begun = 0
        self.most_running = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def begin_runs(self, **limits: Any) -> Sequence[StartedRun]:
        """See RoutineRuns."""
        started = await self._runs.begin_runs(**limits)
        self.most_running = max(self.most_running, self._running())
        self.begun += 1
        return started


class CountingStore:
    """The real store with counted runs."""

    def __init__(self, store: Store, running: Callable[[], int]) -> None:
        self._store = store
        self.runs = CountingRuns(store.runs, running)
        self.running = running

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def service_of(
    config: Config, store: Store, model: Model, told: "Told", clock: Clock, timers: Timers, ids: Ids
) -> RoutineService:
    """Routines as the hub has them; those that use tools or threads of their own have no place here."""

    async def open_thread(channel: str, at: Address, title: str, nonce: str) -> Address | None:
        raise AssertionError(f"no thread is opened: {channel}, {at}, {title}, {nonce}")

    notices, no_tools = cast("Notices", told), cast("CallPipeline", None)
    models = ModelList(
        [ConfiguredModel(model.name, "test", 100_000, (model,))], clock, Metering(store.usage, clock, ids)
    )
    return build_routines(
        config,
        store,
        models,
        RunRegistry(TurnListeners(), told.owner, store.journal.keep_models),
        no_tools,
        DockerProbe(enabled=False, environment={}),
        lambda: notices,
        open_thread,
        clock,
        timers,
        ids,
        LeakDetector(),
    )


@dataclass
class Told:
    """Notices that were handed over."""

    texts: list[str] = field(default_factory=list[str])
    owners: list[str] = field(default_factory=list[str])

    async def owner(self, text: str, once: str = "") -> None:
        """See core.runs.registry.TellOwner."""
        del once
        self.owners.append(text)

    async def send(self, key: str, to: Recipient, message: Message) -> bool:
        """See core.people.notices.Notices.send."""
        del key, to
        self.texts.append(str(message.blocks[0]))
        return True


@dataclass
class Works:
    """Everything there is; `start` and `crash` as often as a test likes."""

    config: Config
    store: CountingStore
    clock: JumpingClock = field(default_factory=JumpingClock)
    model: HeldModel = field(default_factory=HeldModel)
    told: Told = field(default_factory=Told)
    ids: RandomIds = field(default_factory=RandomIds)
    timers: ScheduledTimers = field(init=False)
    recovery: RunRecovery = field(init=False)
    _service: RoutineService | None = None
    _tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def service(self) -> RoutineService:
        """Return what carries routines out."""
        assert self._service is not None
        return self._service

    @property
    def desk(self) -> RoutineManager:
        """Return what the owner does."""
        return build_manager(self.config, cast("Store", self.store), self.service, self.clock, self.ids)

    async def start(self, *, carries_out: bool = True) -> None:
        """As a starting hub does it: whoever had runs in hand is gone. `carries_out`: it has routines."""
        store = cast("Store", self.store)
        await store.leases.take_lease(LeaseTerms("host", DAY_US, alone=True))
        self.timers = timers = ScheduledTimers(self.clock)
        self._service = service_of(self.config, store, self.model, self.told, self.clock, timers, self.ids)
        await self._service.prepare()
        kinds: dict[RunKind, RunsOfKind] = {RunKind.ROUTINE: self._service} if carries_out else {}
        self.recovery = RunRecovery(store.recovery, kinds, _none_waits, _none_left, self.clock)
        recovered = await self.recovery.recover()
        if not carries_out:
            return
        self._tasks = (
            asyncio.create_task(self.recovery.start_suspects(recovered), name="suspects"),
            asyncio.create_task(self._service.run(), name="routines"),
            asyncio.create_task(timers.run(), name="timers"),
        )

    async def stop(self) -> None:
        """In good order."""
        unfinished = self.service.unfinished()
        await self.crash()
        await self.store.recovery.release_runs(unfinished)

    async def crash(self) -> None:
        """Nobody is left, and nothing was tidied up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def make(self, name: str, **other: Any) -> RoutineRow:
        """A routine that asks its own name; every minute unless told otherwise."""
        page: dict[str, Any] = {
            "name": name,
            "trigger": {"type": "cron", "schedule": "* * * * *"},
            "action": {"type": "lightweight", "prompt": name},
            "guardrails": {"cooldown_s": 0},
        }
        return await self.desk.create(OLIVIA, page | other)

    async def runs(self, row: RoutineRow) -> list[RoutineRunRow]:
        """The newest first."""
        return list(await self.store.run_views.routine_runs(row.id, 10_000))

    async def looked(self) -> None:
        """Until the engine, woken, has looked at what is due."""
        before = self.store.runs.begun
        self.service.fired(["whoever"])
        await self.until(lambda: self.store.runs.begun > before)

    async def passes(self, seconds: float) -> None:
        """Time goes by, and what came round in it is over."""
        self.clock.advance(seconds)
        await self.settled()

    async def settled(self) -> None:
        """Until nothing is due, waits to start, or runs.

        What is due begins to run, and what ran has news that are due: so what is due is read before and
        after what runs, or something could slip from the one to the other unseen.
        """
        async with asyncio.timeout(LIMIT_S):
            while True:
                await self.looked()
                if await self._something_due() or self.store.running():
                    continue
                if not await self._something_due():
                    return

    async def _something_due(self) -> bool:
        due, now = await self.store.run_views.next_due(), self.clock.now()
        return any(at is not None and at <= now for at in (due.slot_at, due.run_at, due.notice_at))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Until that is so."""
        async with asyncio.timeout(LIMIT_S):
            while not holds():  # noqa: ASYNC110 - a real store's threads tell nobody
                await asyncio.sleep(0.001)


async def _none_waits(thread_id: str) -> None:
    raise AssertionError(f"no conversation is started: {thread_id}")


async def _none_left(process: ProcessInfo, call_id: str) -> bool:
    raise AssertionError(f"no call has a process: {process}, {call_id}")


@contextlib.asynccontextmanager
async def open_works(directory: Path, *, most: int = 10) -> AsyncIterator[Works]:
    """An engine at work on a new database. The model answers at once until it is held."""
    (directory / "hubbub.toml").write_text(SETTINGS.format(most=most))
    config = load(directory / "hubbub.toml", environ={}).config
    clock, ids = JumpingClock(), RandomIds()
    path = lay_database(directory / "hub.db")
    store = await open_store(path, clock, ids)
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def running() -> int:
        return reader.execute("SELECT count(*) FROM routine_runs WHERE state = 'running'").fetchone()[0]

    works = Works(config, CountingStore(store, running), clock, ids=ids)
    await store.people.ensure_user(OLIVIA.user_id, OLIVIA.role, OLIVIA.name)
    works.model.open()
    try:
        await works.start()
        yield works
    finally:
        await works.crash()
        reader.close()
        await store.close()
