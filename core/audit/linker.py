"""A linker that chains audit records while the hub runs, and notes the chain's heads outside the
database.

Records are stored before they are chained, each with its seal. If the hub is killed in between,
linking continues at the end of the chain. The head is noted after its links are committed: the
file may lack the last moments of a hub that was killed, but is never ahead of the chain.
"""

import asyncio
import hmac
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.audit_chain import ChainKey, head_of
from core.clock import SECOND_US, Clock
from core.errors import StoreUnavailable
from core.store.feed import Changes
from core.store.port import Audit
from core.store.rows import AuditRow, Checkpoint

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
            if self._noted is None:
                await asyncio.to_thread(self._begin)
            more, head = True, None
            while more:
                head, more = await self._store.link_audit(AT_ONCE)
            if head is not None and head != self._noted:
                await asyncio.to_thread(self._note, head)
                self._noted = head

    def _begin(self) -> None:
        if self._heads.newest() is None:
            self._heads.append(START, self._clock.now())

    def _note(self, head: str) -> None:
        newest = self._heads.newest() if self._noted is None else None
        if newest is not None and newest.number > int(head.partition(":")[0]):
            logger.error(
                "audit.chain_shortened advice=the end of the chain is missing, or an older database was"
                " restored; run `hubbub audit verify`"
            )
        if newest is None or str(newest) != head:
            self._heads.append(head, self._clock.now())

    async def prune(self) -> None:
        """Drop records that are older than they are kept. Raises StoreUnavailable."""
        if not self._keep_us:
            return
        before = self._clock.now() - self._keep_us
        async with self._turn:
            while await self._store.prune_audit(before, AT_ONCE):
                await self._store.link_audit(AT_ONCE)  # dropping records is recorded too


# Verification of the audit: every record, its seal and its place, and the heads kept elsewhere.
#
# Findings are reported by record, in words: changed, missing, moved, not by the hub, cut off. The
# chain is followed on from the link stored in the database, so one finding does not hide the next.

SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with a record (None: with the whole audit)."""

    record: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of verification.

    `records`: how many there are, `waiting` of them not chained yet.
    `first`: the oldest one's number.
    `head`: the current head of the chain.
    `findings`: the problems found; empty if the audit is intact.
    `more`: the number of further findings that are left out."""

    records: int
    waiting: int
    first: int | None
    head: str | None
    findings: tuple[Finding, ...]
    more: int


@dataclass(slots=True)
class _Found:
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, record: int | None, problem: str) -> None:
        self.findings.append(Finding(record, problem))


def verify(
    checkpoint: Checkpoint | None,
    rows: Iterable[AuditRow],
    keys: Mapping[str, ChainKey],
    noted: Sequence[Head],
    *,
    noted_in: str,
    given: Head | None = None,
    arguments: Callable[[AuditRow], str | None] = lambda _row: None,
) -> Verified:
    """Verify the whole audit.

    `noted`: heads of the file called `noted_in`.
    `given`: a head that was kept elsewhere.
    `arguments`: returns the arguments of a record's call as the conversation has them now (None:
    not there)."""
    found = _Found()
    chain = _Chain(keys, found, arguments, {head.number for head in (*noted, *([given] if given else ()))})
    chain.begin(checkpoint)
    for row in rows:
        chain.take(row)
    _compare(chain, noted, f"the head noted in {noted_in}", found)
    if given is not None:
        _compare(chain, [given], "the head given", found)
        if given.number < chain.base:
            found.add(given.number, "the head given is older than the oldest stored record")
    if chain.last_linked is not None and not noted:
        found.add(None, f"{noted_in} is missing or empty, although the chain has records")
    told = found.findings[:SHOWN_FINDINGS]
    return Verified(
        chain.records,
        chain.waiting,
        chain.first,
        chain.last_linked,
        tuple(told),
        len(found.findings) - len(told),
    )


class _Chain:
    """A follower of the records, in order."""

    def __init__(
        self,
        keys: Mapping[str, ChainKey],
        found: _Found,
        arguments: Callable[[AuditRow], str | None],
        wanted: set[int],
    ) -> None:
        self._keys = keys
        self._found = found
        self._arguments = arguments
        self._wanted = wanted
        self._link = ""
        self._gap = False
        self.links: dict[int, str | None] = {}
        self.base = self.number = 0
        self.records = self.waiting = 0
        self.first: int | None = None
        self.last_linked: str | None = None

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """Start the chain after the dropped records."""
        if checkpoint is None:
            return
        key = self._keys.get(checkpoint.key_id)
        if key is None:
            self._found.add(None, _no_key("the checkpoint", checkpoint.key_id))
        elif not hmac.compare_digest(key.checkpoint(checkpoint.last_id, checkpoint.link), checkpoint.seal):
            self._found.add(None, f"the checkpoint at record {checkpoint.last_id} is not the hub's")
        self.base = self.number = checkpoint.last_id
        self._link = checkpoint.link
        self.last_linked = head_of(checkpoint.last_id, checkpoint.link)
        self.links[checkpoint.last_id] = checkpoint.link

    def take(self, row: AuditRow) -> None:
        """Check the next record."""
        if row.id > self.number + 1:
            last = "" if row.id == self.number + 2 else f" (up to {row.id - 1})"
            self._found.add(self.number + 1, f"the record is missing{last}: deleted")
            self._gap = True
        if row.id <= self.base:
            self._found.add(row.id, "the record is older than the start of the chain: inserted")
            return
        self.records += 1
        self.first = row.id if self.first is None else self.first
        self._check_seal(row)
        self._check_link(row)
        if row.id in self._wanted:
            self.links[row.id] = row.link
        self.number = row.id

    def _check_seal(self, row: AuditRow) -> None:
        key = self._keys.get(row.key_id)
        if key is None:
            self._found.add(row.id, _no_key("the record", row.key_id))
            return
        seal = key.seal(row.id, row.at, row.kind, row.actor, row.subject, row.thread_id, row.detail)
        if not hmac.compare_digest(seal, row.seal):
            self._found.add(row.id, f"{_named(row)} was changed, moved here, or not written by the hub")
            return
        recorded: str | None = json.loads(row.detail).get("arguments")
        arguments = self._arguments(row) if recorded is not None else None
        if arguments is not None and key.hidden(arguments) != recorded:
            self._found.add(
                row.id, f"{_named(row)}: the arguments in the conversation are not those recorded here"
            )

    def _check_link(self, row: AuditRow) -> None:
        if row.link is None:
            self.waiting += 1
            self._gap = True  # later records cannot be compared with it
            return
        if self.waiting:
            self._found.add(
                row.id - 1, "the record lost its link to the chain, while later records have theirs"
            )
            self.waiting = 0
        key = self._keys.get(row.link.partition(":")[0])
        if key is None:
            self._found.add(row.id, _no_key("the link", row.link.partition(":")[0]))
        elif not self._gap and not hmac.compare_digest(key.link(self._link, row.seal), row.link):
            self._found.add(
                row.id,
                f"{_named(row)} does not follow record {self.number}: the chain was rewritten from here",
            )
        self._gap = False
        self._link = row.link
        self.last_linked = head_of(row.id, row.link)


def _compare(chain: _Chain, heads: Sequence[Head], what: str, found: _Found) -> None:
    newest = max((head.number for head in heads), default=0)
    for head in heads:
        if head.number < max(chain.base, 1):
            continue
        noted = f"{what}{f' at {head.noted_at}' if head.noted_at else ''}"
        if head.number > chain.number:
            if head.number == newest:
                missing = f"records {chain.number + 1} to {head.number} are missing"
                found.add(
                    head.number,
                    f"{missing}: the end was cut off ({noted}), or an older database was restored",
                )
                return
            continue
        link = chain.links.get(head.number)
        if link is None or not hmac.compare_digest(link, head.link):
            found.add(head.number, f"the record is not the one of {noted}: the chain was rewritten")


def _named(row: AuditRow) -> str:
    return f'record {row.id} ("{row.kind}" of {row.subject})'


def _no_key(what: str, key_id: str) -> str:
    return f"{what} was made with a missing key ({key_id}): restore vault.key or HUBBUB_VAULT_KEY"


def as_lines(verified: Verified) -> Iterator[str]:
    """Return the findings, one per line."""
    for finding in verified.findings:
        yield finding.problem if finding.record is None else f"{finding.record}: {finding.problem}"
    if verified.more:
        yield f"… and {verified.more} more"
