"""The store's read side for the console and API: implements core.store.feed.Feeds and
core.store.port.Keys."""

from collections.abc import Sequence

from core.messages import Message
from core.store.feed import FeedItem, GateGlance, GatesWanted, PersonSaid, ThreadGlance, ThreadsWanted
from core.store.port import KeyKind
from core.store.rows import Explanation, ThreadRow
from core.store.sqlite import feed, people
from core.store.sqlite.connection import ReaderThread
from core.store.sqlite.queries import SqliteReader
from core.store.sqlite.writer import Writer
from core.users import Principal


class FeedQueries:
    """Read access for the console. A thread's feed is read as one whole, in the reader thread; lists
    use aiosqlite."""

    def __init__(self, writer: Writer, reader: ReaderThread, queries: SqliteReader) -> None:
        self._writer = writer
        self._reader = reader
        self._queries = queries

    # --- the console -----------------------------------------------------------------------------------

    async def feed_after(self, thread_id: str, after: int, limit: int) -> Sequence[FeedItem]:
        return await self._reader.run(lambda tx: feed.after(tx, thread_id, after, limit))

    async def feed_before(self, thread_id: str, before: int | None, limit: int) -> Sequence[FeedItem]:
        return await self._reader.run(lambda tx: feed.before(tx, thread_id, before, limit))

    async def waiting_in(self, thread_id: str, limit: int) -> Sequence[PersonSaid]:
        return await self._reader.run(lambda tx: feed.waiting(tx, thread_id, limit))

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        return await self._queries.pages.thread_glance(thread_id)

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]:
        return await self._queries.pages.thread_glances(wanted)

    async def gate_glance(self, gate_id: str) -> GateGlance | None:
        return await self._queries.pages.gate_glance(gate_id)

    async def gate_glances(self, wanted: GatesWanted) -> Sequence[GateGlance]:
        return await self._queries.pages.gate_glances(wanted)

    async def open_gates_of(self, thread_id: str) -> Sequence[GateGlance]:
        return await self._queries.pages.open_gates_of(thread_id)

    async def said_to(self, event_key: str) -> Sequence[Message]:
        return await self._queries.said_to(event_key)

    async def explain_matching(self, text: str, limit: int) -> Sequence[Explanation]:
        return await self._queries.explanations.matching(text, limit)

    async def active_thread(self, user_id: str) -> ThreadRow | None:
        return await self._queries.active_thread(user_id)

    # --- API keys --------------------------------------------------------------------------------------

    async def keep_key(self, hash_: str, kind: KeyKind, user_id: str, expires_at: int | None) -> None:
        await self._writer.run(lambda tx: people.keep(tx, hash_, kind, user_id, expires_at))

    async def key_holder(self, hash_: str, kind: KeyKind) -> Principal | None:
        return await self._reader.run(lambda tx: people.holder(tx, hash_, kind))

    async def drop_key(self, hash_: str) -> None:
        await self._writer.run(lambda tx: people.drop(tx, hash_))

    async def drop_keys_of(self, user_id: str, kind: KeyKind) -> int:
        return await self._writer.run(lambda tx: people.drop_of(tx, user_id, kind))
