"""Nothing that is done in a conversation costs more because it is long: the database's own work, in steps."""

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.events import ModelTrace
from core.messages import MessageRef
from core.people.access import Access, ChannelAccess
from core.ports import Posted
from core.store.lease import Lease
from core.store.rows import NewCall
from core.store.sql.store import SqlStore
from core.store.sqlite.connection import ReaderThread, SqliteTransaction
from core.store.sqlite.offline import Listings
from core.store.sqlite.store import SqliteEngine, Writer
from core.store.units import Policy
from core.tool import Effect
from core.transcript import AssistantSaid, ResultStatus, ToolResult
from tests.contracts.store.bench import CHANNEL, Bench, CountingIds, StoppedClock
from tests.contracts.store.conftest import fast_directory  # noqa: F401 - a fixture
from tests.core.inbound.front import OWNER, OWNER_ACCOUNT, Front
from tests.databases import lay_database

EVERY_STEPS = 50
"""The steps of a statement's program after which SQLite tells of them."""
COMPACTED_EVERY = 20
SHORT, LONG = 45, 405
"""Turns; both are as long after a compaction."""


@dataclass
class LongThread:
    """A conversation of the hub's own units. `steps`: of the database's programs since they were counted."""

    front: Front
    world: Bench
    steps: list[int] = field(default_factory=list[int])
    turns: int = 0

    @classmethod
    async def open(cls, path: Path) -> "LongThread":
        clock, ids, steps = StoppedClock(), CountingIds(), list[int]()

        def count() -> int:
            steps.append(EVERY_STEPS)
            return 0

        def begin(connection: sqlite3.Connection) -> SqliteTransaction:
            connection.set_progress_handler(count, EVERY_STEPS)
            return SqliteTransaction(connection, clock, ids, Policy())

        writer, listings = Writer(path, begin), Listings(path, clock)
        await writer.open()
        await listings.open()
        store = SqlStore(SqliteEngine(writer, ReaderThread(path, begin), listings, Lease()))
        await store.people.ensure_user(OWNER.user_id, OWNER.role, OWNER.name)
        access = Access(OWNER, frozenset({(CHANNEL, OWNER_ACCOUNT)}), {CHANNEL: ChannelAccess()}, 0)
        return cls(Front(store, clock, ids, access), Bench(store, clock, ids), steps)

    async def message(self) -> None:
        """A message is read, loaded as after a restart, answered with a tool's help, and sent."""
        store, world = self.world.store, self.world
        self.turns += 1
        world.clock.advance(30)
        start = (await self.front.says(OWNER_ACCOUNT, f"question {self.turns}")).started
        assert start is not None
        if self.turns % COMPACTED_EVERY == 0:
            await store.turns.record_summary(start.turn_id, "summary", start.first_seq - 1)
        await store.turns.load_turn(start)
        call = NewCall(world.ids.row_id(), "shell", "{}", Effect.NONE, 1)
        await store.turns.record_reply_and_intents(
            start.turn_id, AssistantSaid("let me see"), [call], models=ModelTrace("main")
        )
        await store.turns.mark_running(start.turn_id, call.call_id, lambda _call, _who, _grants: None)
        await store.turns.finish_calls(start.turn_id, [ToolResult(call.call_id, ResultStatus.OK, "done")])
        await store.turns.join_waiting(start.turn_id)
        await world.finish(start, f"answer {self.turns}", world.draft())
        for row in await store.outbox.pending_outbox(CHANNEL):
            await store.outbox.claim_outbox(row.id)
            await store.outbox.record_part_sent(row.id, Posted(MessageRef("1"), "1"), last=True)

    async def grow(self, turns: int) -> None:
        while self.turns < turns:
            await self.message()
        while await self.world.store.threads.index_said(100):
            pass

    async def costs(self) -> dict[str, int]:
        """Return the steps of everything that happens in a conversation."""

        def says(text: str) -> Callable[[], Awaitable[object]]:
            return lambda: self.front.says(OWNER_ACCOUNT, text)

        scenes: list[tuple[str, Callable[[], Awaitable[object]]]] = [
            ("a message", self.message),
            ("making it searchable", lambda: self.world.store.threads.index_said(100)),
            *(
                (text, says(text))
                for text in ("/status", "/undo", "/redo", "/resume", "/undo 20", "/threads")
            ),
            ("a start of the hub", self.world.store.recovery.recover),
        ]
        found: dict[str, int] = {}
        for name, scene in scenes:
            self.steps.clear()
            await scene()
            found[name] = sum(self.steps)
        await self.front.says(OWNER_ACCOUNT, "/clear")
        for name, scene in (("a message after /clear", self.message), ("/undo after /clear", says("/undo"))):
            self.steps.clear()
            await scene()
            found[name] = sum(self.steps)
        return found


async def test_nothing_costs_more_because_a_conversation_is_long(fast_directory: Path) -> None:  # noqa: F811
    costs: list[dict[str, int]] = []
    for turns in (SHORT, LONG):
        thread = await LongThread.open(lay_database(fast_directory / f"{turns}.db"))
        await thread.grow(turns)
        costs.append(await thread.costs())
        await thread.world.store.close()
    short, long = costs
    more = {name: (short[name], long[name]) for name in short if long[name] > 1.1 * short[name] + 200}
    assert not more, "steps in a short and in a long conversation"
