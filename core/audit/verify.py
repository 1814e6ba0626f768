"""Is the audit as it was written? Every record, its seal and its place, and the heads kept elsewhere.

What is found is told by record, in words: changed, missing, moved, not by the hub, cut off. The chain is
followed on from what lies in the database, so one finding does not hide the next.
"""

import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.audit.heads import Head
from core.audit_chain import ChainKey, head_of
from core.store.audit_rows import AuditRow, Checkpoint

SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a record (None: with the whole)."""

    record: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The answer. `records`: how many there are, `waiting` of them not chained yet; `first`: the oldest one's
    number; `head`: of the chain as it is; `findings`: nothing is wrong if there are none; `more`: further
    ones that are not told."""

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
    """Look at all of it. `noted`: heads of the file called `noted_in`; `given`: one that was kept elsewhere;
    `arguments`: of the call a record is about, as they are in the conversation now (None: not there)."""
    found = _Found()
    chain = _Chain(keys, found, arguments, {head.number for head in (*noted, *([given] if given else ()))})
    chain.begin(checkpoint)
    for row in rows:
        chain.take(row)
    _compare(chain, noted, f"the head noted in {noted_in}", found)
    if given is not None:
        _compare(chain, [given], "the head given", found)
        if given.number < chain.base:
            found.add(given.number, "the head given is older than the oldest record that is kept")
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
    """Follows the records in order."""

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
        """The chain begins behind what was dropped."""
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
        """The next record."""
        if row.id > self.number + 1:
            last = "" if row.id == self.number + 2 else f" (up to {row.id - 1})"
            self._found.add(self.number + 1, f"the record is missing{last}: deleted")
            self._gap = True
        if row.id <= self.base:
            self._found.add(row.id, "the record is older than where the chain begins: inserted")
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
            self._gap = True  # what comes behind cannot be compared with it
            return
        if self.waiting:
            self._found.add(row.id - 1, "the record has lost its place in the chain, later ones have theirs")
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
        if head.number < chain.base:
            continue
        noted = f"{what}{f' at {head.noted_at}' if head.noted_at else ''}"
        if head.number > chain.number:
            if head.number == newest:
                missing = f"records {chain.number + 1} to {head.number} are missing"
                found.add(
                    head.number, f"{missing}: the end was cut off ({noted}), or an older database put back"
                )
                return
            continue
        link = chain.links.get(head.number)
        if link is None or not hmac.compare_digest(link, head.link):
            found.add(head.number, f"the record is not the one of {noted}: the chain was rewritten")


def _named(row: AuditRow) -> str:
    return f'record {row.id} ("{row.kind}" of {row.subject})'


def _no_key(what: str, key_id: str) -> str:
    return f"{what} was made with a key that is not here ({key_id}): restore vault.key or HUBBUB_VAULT_KEY"


def as_lines(verified: Verified) -> Iterator[str]:
    """The findings, a line each."""
    for finding in verified.findings:
        yield finding.problem if finding.record is None else f"{finding.record}: {finding.problem}"
    if verified.more:
        yield f"… and {verified.more} more"
