"""The implementations the suite runs on, and a world around each."""

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from core.store.port import Store
from core.store.sqlite.store import open_store
from tests.contracts.store.bench import Bench, CountingIds, StoppedClock
from tests.databases import lay_database

Queue = Literal["merge", "one_by_one"]


@dataclass
class Database:
    """One database that can be left and opened again."""

    open_store: Callable[..., Awaitable[Store]]
    clock: StoppedClock = field(default_factory=StoppedClock)
    ids: CountingIds = field(default_factory=CountingIds)
    opened: list[Store] = field(default_factory=list)

    async def open(self, queue: Queue = "merge", *, holds_inputs: bool = False, **policy: Any) -> Bench:
        """A world on this database; whoever had it open before has left it. `policy`: more of Policy."""
        await self.close()
        store = await self.open_store(self.clock, self.ids, queue, holds_inputs, **policy)
        self.opened.append(store)
        return Bench(store, self.clock, self.ids)

    async def close(self) -> None:
        while self.opened:
            await self.opened.pop().close()


def in_memory() -> Path | None:
    """Return where files cost no disk, if there is such a place: what is promised of disks is tested
    elsewhere."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


@pytest.fixture
def fast_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory()) as path:
        yield Path(path)


@pytest.fixture(params=["sqlite"])
async def database(request: pytest.FixtureRequest, fast_directory: Path) -> AsyncIterator[Database]:
    async def sqlite(
        clock: StoppedClock, ids: CountingIds, queue: Queue, holds: bool, **policy: Any
    ) -> Store:
        path = lay_database(fast_directory / "hub.db")
        return await open_store(path, clock, ids, queue=queue, holds_inputs=holds, **policy)

    made = Database({"sqlite": sqlite}[request.param])
    yield made
    await made.close()


@pytest.fixture
async def world(database: Database) -> Bench:
    return await database.open()
