"""Verification of the audit: every record, its seal and its place, and the heads kept elsewhere.

Findings are reported by record, in words: changed, missing, moved, not by the hub, cut off. The chain is
followed on from the link stored in the database, so one finding does not hide the next.
"""

import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from core.audit.linker import Head
from core.audit_chain import ChainKey, head_of, numbers_dropped
from core.lazy import dataclass
from core.store.rows import AuditRow, Checkpoint, WriterCount

SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem. `record`: the position in the chain of the record that has it (None: it has none, or it is
    a problem of the whole audit)."""

    record: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of verification.

    `records`: how many there are, `waiting` of them not chained yet.
    `first`: the oldest one's position.
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
    counts: Sequence[WriterCount],
    keys: Mapping[str, ChainKey],
    noted: Sequence[Head],
    *,
    noted_in: str,
    given: Head | None = None,
    arguments: Callable[[AuditRow], str | None] = lambda _row: None,
) -> Verified:
    """Verify the whole audit.

    `rows`: the chained records in order, then the others, each writer's in order.
    `counts`: how many records each writer has written.
    `noted`: heads of the file called `noted_in`.
    `given`: a head that was kept elsewhere.
    `arguments`: returns the arguments of a record's call as the conversation has them now (None:
    not there)."""
    found = _Found()
    heads = {head.number for head in (*noted, *([given] if given else ()))}
    chain = _Chain(keys, found, arguments, heads)
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
    chain.end(counts, max(heads, default=0))
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
    """A follower of the records, in order: of their positions and links, and of each writer's numbers."""

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
        self._numbers: dict[int, int] = {}
        self._knows_dropped = True
        self._missed = 0
        """Missing records that were reported by their positions, and not yet met as missing numbers."""
        self.links: dict[int, str | None] = {}
        self.base = self.number = 0
        self.records = self.waiting = 0
        self.first: int | None = None
        self.last_linked: str | None = None

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """Start the chain after the dropped records."""
        if checkpoint is None:
            return
        last_id, link, numbers = checkpoint.last_id, checkpoint.link, checkpoint.numbers
        key = self._keys.get(checkpoint.key_id)
        self._knows_dropped = False
        if key is None:
            self._found.add(None, _no_key("the checkpoint", checkpoint.key_id))
        elif not hmac.compare_digest(key.checkpoint(last_id, link, numbers), checkpoint.seal):
            self._found.add(None, f"the checkpoint at record {last_id} is not the hub's")
        else:
            self._numbers, self._knows_dropped = numbers_dropped(last_id, numbers), True
        self.base = self.number = last_id
        self._link = link
        self.last_linked = head_of(last_id, link)
        self.links[last_id] = link

    def take(self, row: AuditRow) -> None:
        """Check the next record."""
        if row.position is None:
            self.waiting += 1
        elif row.position <= self.base:
            self._found.add(row.position, "the record is older than the start of the chain: inserted")
            return
        else:
            self._check_position(row.position)
        self.records += 1
        self._check_number(row)
        self._check_seal(row)
        if row.position is not None:
            self._check_link(row, row.position, row.link or "")

    def _check_position(self, position: int) -> None:
        if position > self.number + 1:
            last = "" if position == self.number + 2 else f" (up to {position - 1})"
            self._found.add(self.number + 1, f"the record is missing{last}: deleted")
            self._missed += position - self.number - 1
            self._gap = True
        self.first = position if self.first is None else self.first

    def _check_number(self, row: AuditRow) -> None:
        before = self._last_of(row.writer, row.number - 1)
        if row.number <= before:
            self._found.add(row.position, f"{_named(row)} is out of its writer's order: moved or inserted")
            return
        self._miss(row.writer, before, row.number - 1)
        self._numbers[row.writer] = row.number

    def _last_of(self, writer: int, unknown: int) -> int:
        return self._numbers.get(writer, 0 if self._knows_dropped else unknown)

    def _miss(self, writer: int, before: int, last: int) -> None:
        """Report the gaps in a writer's records, unless it was missed in the chain."""
        missing = max(0, last - before)
        explained = min(missing, self._missed)
        self._missed -= explained
        if missing > explained:
            which = f"record {writer}/{before + 1}"
            which = f"{which} is" if missing == 1 else f"{which} and others, up to {writer}/{last}, are"
            self._found.add(None, f"{which} missing: deleted")

    def _check_seal(self, row: AuditRow) -> None:
        key = self._keys.get(row.key_id)
        if key is None:
            self._found.add(row.position, _no_key("the record", row.key_id))
            return
        said = (row.at, row.kind, row.actor, row.subject, row.thread_id, row.detail)
        if not hmac.compare_digest(key.seal(row.writer, row.number, *said), row.seal):
            self._found.add(row.position, f"{_named(row)} was changed, moved here, or not written by the hub")
            return
        recorded: str | None = json.loads(row.detail).get("arguments")
        arguments = self._arguments(row) if recorded is not None else None
        if arguments is not None and key.hidden(arguments) != recorded:
            self._found.add(
                row.position,
                f"{_named(row)}: the arguments in the conversation are not those recorded here",
            )

    def _check_link(self, row: AuditRow, position: int, link: str) -> None:
        key = self._keys.get(link.partition(":")[0])
        if key is None:
            self._found.add(position, _no_key("the link", link.partition(":")[0]))
        elif not self._gap and not hmac.compare_digest(key.link(self._link, row.seal), link):
            self._found.add(
                position,
                f"{_named(row)} does not follow record {self.number}: the chain was rewritten from here",
            )
        self._gap = False
        self._link = link
        self.number = position
        self.last_linked = head_of(position, link)
        if position in self._wanted:
            self.links[position] = link

    def end(self, counts: Sequence[WriterCount], newest: int) -> None:
        """Check that each writer's last record is there. `newest`: the position of the newest head."""
        self._missed += max(0, newest - self.number)
        counted = {count.writer: count for count in counts}
        sealed = any(count.key_id for count in counts)
        for writer in sorted({*self._numbers, *counted}):
            count = counted.get(writer)
            if count is None:
                self._found.add(None, f"the count of writer {writer}'s records is missing: deleted")
            elif self._is_sound(count, sealed=sealed):
                last = self._last_of(writer, count.number)
                if last > count.number:
                    wrote = f"writer {writer} wrote {count.number} records, not {last}"
                    self._found.add(None, f"{wrote}: inserted")
                self._miss(writer, last, count.number)

    def _is_sound(self, count: WriterCount, *, sealed: bool) -> bool:
        """Return whether the count is the hub's, and report it if not. The first lease that is taken after an
        upgrade seals what the upgrade counted, before anything else is sealed."""
        what = f"the count of writer {count.writer}'s records"
        if not count.key_id and not sealed:
            return True
        key = self._keys.get(count.key_id)
        if key is None:
            self._found.add(None, _no_key(what, count.key_id))
            return False
        if not hmac.compare_digest(key.count(count.writer, count.number), count.seal):
            self._found.add(None, f"{what} is not the hub's")
            return False
        return True


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
    return f'record {row.name} ("{row.kind}" of {row.subject})'


def _no_key(what: str, key_id: str) -> str:
    return f"{what} was made with a missing key ({key_id}): restore vault.key or HUBBUB_VAULT_KEY"


def as_lines(verified: Verified) -> Iterator[str]:
    """Return the findings, one per line."""
    for finding in verified.findings:
        yield finding.problem if finding.record is None else f"{finding.record}: {finding.problem}"
    if verified.more:
        yield f"… and {verified.more} more"
