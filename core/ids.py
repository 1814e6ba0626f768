"""Ids: UUIDv7 for rows, ten Crockford base32 characters for gates (typed in `/approve ID`), and
short codes that people read on one screen and type on another."""

import random
import re
import secrets
import time
from typing import Protocol

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
GATE_ID_LENGTH = 10
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 symbols; I, O, 0 and 1 are left out because they are easily confused."""
CODE_LENGTH = 8

_SECRET_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?")


class Ids(Protocol):
    """A source of new ids, injected so that tests can predict them."""

    def row_id(self) -> str:
        """Return a UUIDv7 as 36 characters: unique, sorted by creation time."""
        ...

    def call_id(self) -> str:
        """Return a UUIDv7 that cannot be guessed from others: it leaves the hub as the call's idempotency
        key."""
        ...

    def gate_id(self) -> str:
        """Return ten lower-case Crockford base32 characters."""
        ...

    def code(self) -> str:
        """Return `CODE_LENGTH` characters of `CODE_ALPHABET`, for pairing and linking."""
        ...


class RandomIds:
    """A source of ids that cannot be guessed from one another where that matters (calls, gates,
    codes).

    Row ids only have to be unique. Asking the operating system for each of them would cost more
    than everything else about them.
    """

    def __init__(self) -> None:
        self._generator = random.Random(secrets.randbits(256))

    def row_id(self) -> str:
        """Return a UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, 74 random bits."""
        return _uuid7(self._generator.getrandbits(80))

    def call_id(self) -> str:
        """Return a UUIDv7 whose random bits come from the operating system."""
        return _uuid7(secrets.randbits(80))

    def code(self) -> str:
        """Return forty random bits, such as `K3F9A7MZ`."""
        return "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))

    def gate_id(self) -> str:
        """Return fifty random bits, such as `k3f9a7mzq2`."""
        return "".join(secrets.choice(CROCKFORD) for _ in range(GATE_ID_LENGTH))


def _uuid7(bits: int) -> str:
    at_ms = time.time_ns() // 1_000_000
    return "%08x-%04x-7%03x-%04x-%012x" % (  # noqa: UP031 - a fifth faster; every row has one
        at_ms >> 16,
        at_ms & 0xFFFF,
        bits >> 64 & 0xFFF,
        0x8000 | bits >> 48 & 0x3FFF,
        bits & 0xFFFF_FFFF_FFFF,
    )


def normalise_gate_id(typed: str) -> str:
    """Return a typed gate ID as Crockford reads it: case ignored, o→0, i and l→1, dashes dropped."""
    return typed.strip().lower().replace("-", "").translate(str.maketrans("oil", "011"))


def normalise_code(typed: str) -> str:
    """Return a typed code with case ignored, and dashes and spaces dropped."""
    return "".join(typed.split()).replace("-", "").upper()


def is_code(text: str) -> bool:
    """Return True if a normalized text has the form of a code."""
    return len(text) == CODE_LENGTH and all(character in CODE_ALPHABET for character in text)


OWN_SECRET = "."  # noqa: S105 - the beginning of names, not a secret
"""The beginning of the names of the hub's own secrets. None of a person's begins so."""
_SIGN_IN = ".sign-in."


def sign_in_name(server: str, user_id: str) -> str:
    """Return the name under which the vault keeps a person's sign-in at a server."""
    return f"{_SIGN_IN}{server}.{user_id}"


def sign_in_client_name(server: str) -> str:
    """Return the name under which the vault keeps the hub's registration for sign-ins at a server."""
    return f".sign-in-client.{server}"


def attempt_name(attempt_id: str) -> str:
    """Return the name under which an attempt to sign in is sealed."""
    return f".sign-in-attempt.{attempt_id}"


def code_name(attempt_id: str) -> str:
    """Return the name under which the answer to a sign-in is sealed."""
    return f".sign-in-code.{attempt_id}"


def server_in(name: str) -> str | None:
    """Return the server of a name of `sign_in_name`; None for any other name."""
    return name.removeprefix(_SIGN_IN).partition(".")[0] if name.startswith(_SIGN_IN) else None


def is_secret_name(text: str) -> bool:
    """Return True if the vault accepts this name for a secret."""
    return _SECRET_NAME.fullmatch(text) is not None
