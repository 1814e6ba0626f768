"""The content and the keys of audit records: each is sealed when it is written, and chained
afterwards.

Each hub numbers the records it writes under its lease: it is their writer. A record's seal is an
HMAC over its writer, its number and all its content. Its link is an HMAC over the link before it
and its seal, under another key. So a record can be neither changed nor forged without the keys,
nor left out or moved without breaking the chain after it. A head names the newest link by its
position, `41:1f2e3d4c5b6a7988:9f…`. Kept elsewhere, it shows whether the end of the chain was cut
off. Records that a writer has written and that are not chained yet are counted, under a seal as well.

The keys are derived from the vault's, one way (HKDF-Expand with SHA-256, RFC 5869 §2.3: the
vault's keys are uniform already, §3.3), each for one purpose. After the vault's key was
changed, older records need the older key. It is stored among the secrets, sealed with the new
one, under a name that begins with RETIRED.
"""

import hashlib
import hmac
import json
import secrets
from enum import StrEnum
from typing import Any, Protocol

KEY_BYTES = 32
RETIRED = ".audit-key."
"""A name prefix no person can use: the vault's own names begin with a letter or digit."""

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class AuditKind(StrEnum):
    """The kind of a recorded action. A record's `actor` is the person who did it, None the hub itself."""

    ASKED = "asked"
    EDITED = "edited"
    VOTE = "vote"
    DECIDED = "decided"
    GRANTED = "granted"
    GRANT_REVOKED = "grant_revoked"
    STARTED = "started"
    ENDED = "ended"
    ANSWERED = "answered"
    TOOL_SETTING = "tool_setting"
    APPROVALS = "approvals"
    POLICY = "policy"
    ROLE = "role"
    ACCOUNT = "account"
    PAIRED = "paired"
    PAIRING_REJECTED = "pairing_rejected"
    LINKED = "linked"
    ACCOUNT_REVOKED = "account_revoked"
    PAUSED = "paused"
    RESUMED = "resumed"
    SECRET_SET = "secret_set"  # noqa: S105 - the name of an event
    SECRET_DELETED = "secret_deleted"  # noqa: S105 - the name of an event
    SECRET_USED = "secret_used"  # noqa: S105 - the name of an event
    LOGIN = "login"
    LOGOUT = "logout"
    TOKEN_MADE = "token_made"  # noqa: S105 - the name of an event
    TOKENS_REVOKED = "tokens_revoked"
    INVITED = "invited"
    PRUNED = "pruned"
    THREAD_DELETED = "thread_deleted"
    EXTENSION = "extension"
    SETTINGS = "settings"
    DOWNLOADED = "downloaded"


class ChainKey:
    """One set of keys. `id` names it and reveals nothing about it."""

    __slots__ = ("hiding", "id", "linking", "sealing")

    def __init__(self, id_: str, sealing: bytes, linking: bytes, hiding: bytes) -> None:
        self.id = id_
        self.sealing = sealing
        self.linking = linking
        self.hiding = hiding

    @classmethod
    def of(cls, master: bytes) -> "ChainKey":
        """Derive all keys from a master key (see `master_of`)."""
        return cls(
            expanded(master, b"name of the key")[:8].hex(),
            expanded(master, b"seals"),
            expanded(master, b"links"),
            expanded(master, b"hashes"),
        )

    def seal(self, writer: int, number: int, *said: Any) -> bytes:
        """Return the seal over a record's writer, number, time, kind, actor, subject, thread and detail, in
        this order. Records of writer 0 are sealed as all were before there were several writers."""
        place = (writer, number) if writer else (number,)
        return hmac.digest(self.sealing, _encode((*place, *said)).encode(), hashlib.sha256)

    def count(self, writer: int, number: int) -> bytes:
        """Return the seal over the number of a writer's last record."""
        return hmac.digest(self.sealing, f"count|{writer}|{number}".encode(), hashlib.sha256)

    def link(self, before: str, seal: bytes) -> str:
        """Return the link of a record with this seal after the link `before` (empty: it is the first)."""
        return f"{self.id}:{hmac.digest(self.linking, before.encode() + b'|' + seal, 'sha256').hex()}"

    def checkpoint(self, last_id: int, link: str, numbers: str) -> bytes:
        """Return the seal over the start of a chain whose older part was dropped. `numbers`: the last
        number of each writer dropped, as stored; "" for records dropped before there were several writers."""
        said = f"checkpoint|{last_id}|{link}{numbers and '|'}{numbers}"
        return hmac.digest(self.linking, said.encode(), hashlib.sha256)

    def hidden(self, text: str) -> str:
        """Return a keyed hash of a text that may be secret, as 64 hexadecimal digits that reveal nothing
        without the key."""
        return hmac.digest(self.hiding, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()


class ChainKeys(Protocol):
    """The source of the keys. Called in the store's writer thread."""

    def newest(self) -> ChainKey:
        """Return the current key, created if there is none yet. Raises OSError, ValueError."""
        ...


class PassingKeys:
    """Keys that end with the process, for an audit that need not be verified later."""

    def __init__(self) -> None:
        self._key = ChainKey.of(secrets.token_bytes(KEY_BYTES))

    def newest(self) -> ChainKey:
        return self._key


def master_of(vault_key: bytes) -> bytes:
    """Return the master key of the audit's keys. The vault's key cannot be derived from it."""
    return expanded(vault_key, b"hubbub audit 1")


def expanded(key: bytes, purpose: bytes) -> bytes:
    """Return one block of HKDF-Expand."""
    return hmac.digest(key, purpose + b"\x01", hashlib.sha256)


def head_of(position: int, link: str) -> str:
    """Return the head of a chain whose newest record this is."""
    return f"{position}:{link}"


def numbers_dropped(last_id: int, numbers: str) -> dict[int, int]:
    """Return the last number of each writer that was dropped, from a checkpoint as stored."""
    return {int(writer): number for writer, number in json.loads(numbers or f'{{"0": {last_id}}}').items()}


def detail_text(detail: dict[str, Any]) -> str:
    """Return the details outside the columns as stored: JSON in ASCII, keys in order."""
    return _encode(detail)
