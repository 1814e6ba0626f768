"""A linker that chains audit records while the hub runs, and notes the chain's heads outside the
database.

Records are stored before they are chained, each with its seal. If the hub is killed in between,
linking continues at the end of the chain. Of several hubs one chains the records of all; each notes
the heads. A head is noted after its links are committed: the file may lack the last moments of a hub
that was killed, but is never ahead of the chain.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.clock import SECOND_US, Clock
from core.errors import StoreUnavailable
from core.lazy import dataclass
from core.store.feed import Changes
from core.store.port import Audit

# The audit's heads outside the database: a file that only grows, so that a truncated chain shows.
#
# One line for each time the chain grew: the time and the head then (see `core.audit_chain`). After
# a line cut off by a crash, the next one starts on a new line and is complete.

HEADS_NAME = "audit.heads"
START = "0:start:"
"""The head of an empty chain. It is noted before the first link: a file without any head was emptied."""


@dataclass(frozen=True, slots=True)
class Head:
    """The length of a chain at some time, and its last link. `noted_at`: as written, "" if unknown."""

    number: int
    link: str
    noted_at: str = ""

    @classmethod
    def parse(cls, text: str, noted_at: str = "") -> "Head":
        """Parse a head such as `41:1f2e…:9f…`. Raises ValueError."""
        number, colon, link = text.strip().partition(":")
        if not colon or not number.isascii() or not number.isdigit() or ":" not in link:
            raise ValueError(f"{text!r} is not a head; a head looks like 41:1f2e3d4c5b6a7988:9f…")
        return cls(int(number), link, noted_at)

    def __str__(self) -> str:
        return f"{self.number}:{self.link}"


class HeadFile:
    """The file of heads of one data directory. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, head: str, now: int) -> None:
        """Append a head. It is on disk when this returns. `now`: microseconds UTC."""
        at = datetime.fromtimestamp(now // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        made = not self.path.exists()
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            line = f"{at} {head}\n"
            os.write(fd, (f"\n{line}" if torn else line).encode())
            os.fsync(fd)
        finally:
            os.close(fd)
        if made:
            _sync(self.path.parent)

    def heads(self) -> Sequence[Head]:
        """Return all noted heads, oldest first, or none if there is no file. Lines that are not a head
        (cut off by a crash) are left out."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ()
        found: list[Head] = []
        for line in lines:
            at, _, head = line.partition(" ")
            try:
                found.append(Head.parse(head, at))
            except ValueError:
                continue
        return found

    def newest(self) -> Head | None:
        """Return the last noted head."""
        heads = self.heads()
        return heads[-1] if heads else None


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


logger = logging.getLogger(__name__)

LINGER_S = 1.0
"""The time records wait for others, so that a busy hub chains many at once."""
RETRY_S = 10.0
AT_ONCE = 500
"""Maximum number of records chained, or dropped, in one transaction, so that a turn waits no
longer for it than for another turn."""
LINK_EVERY_S = 10.0
"""How soon the records of other hubs are chained, at the latest: their commits do not wake this one."""
PRUNE_EVERY_S = 24 * 3600
DAY_US = PRUNE_EVERY_S * SECOND_US


class AuditLinker:
    """Implements core.store.feed.ChangeListener. `keep_days`: records older than that are dropped by `prune`
    (0: none). `policy`: what the operator laid down, as it is to be recorded."""

    def __init__(
        self,
        store: Audit,
        heads: HeadFile,
        clock: Clock,
        policy: Callable[[], dict[str, Any]],
        *,
        keep_days: int = 0,
        linger_s: float = LINGER_S,
    ) -> None:
        self._store = store
        self._heads = heads
        self._clock = clock
        self._policy = policy
        self._keep_us = keep_days * DAY_US
        self._linger_s = linger_s
        self._wanted = asyncio.Event()
        self._policy_changed = True
        self._noted: str | None = None
        self._turn = asyncio.Lock()
        """Held by whoever links or drops records: the chain grows at one end at a time."""

    def changed(self, changes: Changes) -> None:
        """Handle a commit: its records wait to be chained."""
        if changes.audit:
            self._wanted.set()

    def policy_changed(self) -> None:
        """Record that the admin policy changed. Called in the event loop."""
        self._policy_changed = True
        self._wanted.set()

    async def look(self) -> None:
        """Have the records chained that were not announced."""
        self._wanted.set()

    async def run(self) -> None:
        """Chain new records until cancelled, then the remaining ones."""
        self._wanted.set()  # records left by an earlier hub, or by a command run in parallel
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                await self._clock.sleep(self._linger_s)
                if not await self._tried():
                    await self._clock.sleep(RETRY_S)
                    self._wanted.set()
        finally:
            await asyncio.shield(self._tried())

    async def _tried(self) -> bool:
        try:
            await self.catch_up()
        except (StoreUnavailable, OSError) as error:
            logger.warning("audit.chain_delayed error=%s", error)
            return False
        return True

    async def catch_up(self) -> None:
        """Chain all records, and note the head. Raises StoreUnavailable, OSError."""
        if self._policy_changed:
            await self._store.record_policy(self._policy())
            self._policy_changed = False
        async with self._turn:
            # Read before the chain: another hub that notes its heads here may be ahead of what is read then.
            newest = await asyncio.to_thread(self._begin) if self._noted is None else None
            more, head = True, None
            while more:
                head, more = await self._store.link_audit(AT_ONCE)
            if head is not None and head != self._noted:
                await asyncio.to_thread(self._note, head, newest)
                self._noted = head

    def _begin(self) -> Head:
        newest = self._heads.newest()
        if newest is None:
            self._heads.append(START, self._clock.now())
        return newest or Head.parse(START)

    def _note(self, head: str, newest: Head | None) -> None:
        if newest is not None and newest.number > Head.parse(head).number:
            logger.error(
                "audit.chain_shortened advice=the end of the chain is missing, or an older database was"
                " restored; run `hubbub audit verify`"
            )
        if str(newest) != head:
            self._heads.append(head, self._clock.now())

    async def prune(self) -> None:
        """Drop records that are older than they are kept. Raises StoreUnavailable."""
        if not self._keep_us:
            return
        before = self._clock.now() - self._keep_us
        async with self._turn:
            while await self._store.prune_audit(before, AT_ONCE):
                await self._store.link_audit(AT_ONCE)  # dropping records is recorded too
