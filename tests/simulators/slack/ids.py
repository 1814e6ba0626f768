"""Ids and timestamps in the platform's shapes, the same in every run."""

import hashlib
import itertools
import uuid

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Ids:
    """Ids that never repeat within one simulator: ``U0…``, ``C0…``, ``Ev0…`` and so on."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def object(self, prefix: str) -> str:
        """An object's id: the prefix and nine letters or digits."""
        number = next(self._numbers)
        digest = int.from_bytes(hashlib.sha256(f"{prefix}{number}".encode()).digest()[:5], "big")
        tail = ""
        for _ in range(4):
            digest, rest = divmod(digest, len(_ALPHABET))
            tail += _ALPHABET[rest]
        return f"{prefix}0{number:04d}{tail}"

    def short(self) -> str:
        """An id for a block or an action whose author gave none."""
        return hashlib.sha256(f"short{next(self._numbers)}".encode()).hexdigest()[:5]

    def secret(self) -> str:
        """Something nobody guesses, for URLs and tickets."""
        return hashlib.sha256(f"secret{next(self._numbers)}".encode()).hexdigest()[:24]

    def uuid(self) -> str:
        """An id for an envelope or a message of a client."""
        return str(uuid.UUID(bytes=hashlib.sha256(f"uuid{next(self._numbers)}".encode()).digest()[:16]))


class Timestamps:
    """Message timestamps: seconds with six digits, each later than the one before."""

    def __init__(self) -> None:
        self._last_us = 0

    def next(self, now_s: float) -> str:
        """The timestamp of something that happens now."""
        self._last_us = max(int(now_s * 1_000_000), self._last_us + 1)
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"


def ts_key(ts: str) -> tuple[int, int]:
    """Return what timestamps are ordered by; ``""`` and whole seconds count too."""
    seconds, _, fraction = ts.partition(".")
    return int(seconds or 0), int((fraction + "000000")[:6])
