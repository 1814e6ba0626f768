"""What a person agreed to, as one keyed hash: any change of it voids the agreement."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

_PURPOSE = "hubbub call binding 1"
"""Keeps these hashes apart from all others made with the same key."""


def binding_hash(
    key: bytes,
    *,
    tool: str,
    version: int,
    arguments: Mapping[str, Any],
    principal: str,
    thread_id: str,
    working_dir: str,
    file_digests: Mapping[str, str] | None = None,
) -> str:
    """HMAC-SHA256, 64 hexadecimal digits, over the canonical JSON of everything given.

    Keyed, because arguments may be secret and short: without the key the hash tells nothing about them.
    `arguments` are the final, validated ones (plain JSON values; the order of keys is irrelevant).
    `principal`: the user id the call is made for. `file_digests`: path to digest of each file the call
    will change. Raises TypeError or ValueError on what JSON can't say.
    """
    said = {
        "purpose": _PURPOSE,
        "tool": tool,
        "version": version,
        "arguments": dict(arguments),
        "principal": principal,
        "thread": thread_id,
        "dir": working_dir,
        "files": dict(file_digests or {}),
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hmac.new(key, text.encode("ascii"), hashlib.sha256).hexdigest()


def same_binding(one: str, other: str) -> bool:
    """Whether two hashes are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
