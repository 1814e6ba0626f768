"""Records of the audit as they are kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One record as it is kept. `link`: None until it is chained; `detail`: JSON."""

    id: int
    at: int
    kind: str
    actor: str | None
    subject: str
    thread_id: str | None
    detail: str
    key_id: str
    seal: bytes
    link: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last record that was dropped: the chain goes on from its link."""

    last_id: int
    link: str
    at: int
    key_id: str
    seal: bytes


@dataclass(frozen=True, slots=True)
class InboundRow:
    """What is kept of an inbound event, which no record seals. `outbox`: the rows sent in reply, cards left
    out."""

    key: str
    channel: str
    sender: str | None
    received_at: int
    outcome: str
    thread_id: str | None
    turn_id: str | None
    outbox: tuple[int, ...]
