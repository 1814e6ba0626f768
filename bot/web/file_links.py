"""Addresses of files that open without a key: each for one path, one person, and a minute.

A browser that downloads a file sends no headers of ours, so the console asks for such an address first. It is
signed with a key that lives as long as the hub, and nothing is kept of it.
"""

import hashlib
import hmac
import secrets
from urllib.parse import quote, unquote

from core.clock import SECOND_US, Clock

LINK_LIFE_US = 60 * SECOND_US
_SEPARATOR = "&link="
"""Before the signature, which is the last parameter."""


def file_target(thread_id: str, seq: int, position: int) -> str:
    """Return the path and query of a file that was sent in a thread."""
    return f"/api/threads/{thread_id}/file?seq={seq}&position={position}"


class FileLinks:
    """Signatures of addresses, made and checked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def link(self, target: str, user_id: str) -> str:
        """Return the address that opens `target`, a path with a query, for this person."""
        until = self._clock.now() + LINK_LIFE_US
        return f"{target}{_SEPARATOR}{until}.{self._signature(target, user_id, until)}.{quote(user_id, '')}"

    def opened_by(self, path: str, query: str) -> tuple[str, str] | None:
        """Return for whom an address was signed and its query without the signature; None if it was not
        signed, was changed, or is too old."""
        plain_query, found, given = query.rpartition(_SEPARATOR)
        until, _, rest = given.partition(".")
        signature, _, quoted_id = rest.partition(".")
        if not (found and until.isascii() and until.isdecimal() and len(until) < 19):
            return None
        user_id = unquote(quoted_id)
        known = self._signature(f"{path}?{plain_query}", user_id, int(until))
        if not hmac.compare_digest(known.encode(), signature.encode()):
            return None
        return (user_id, plain_query) if self._clock.now() < int(until) else None

    def _signature(self, target: str, user_id: str, until: int) -> str:
        signed = f"{until}\n{user_id}\n{target}"
        return hmac.new(self._key, signed.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()
