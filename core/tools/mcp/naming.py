"""What a server's tools are called here: `SERVER__TOOL`, of small letters, digits, `_` and `-`.

A server's own name has no double underscore, so no two servers can take each other's names, nor one of the
hub's own tools.
"""

import hashlib
import re

LIMIT_CHARS = 64
"""What both model protocols take as a function's name."""
SEPARATOR = "__"

_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_DIGEST_CHARS = 6


def own_name(server: str, tool: str) -> str | None:
    """The name here of a server's tool; None if nothing of its name can be kept.

    A long one is cut, and told from others that begin alike by a few digits of its digest.
    """
    words = _WORD_BEGINS.sub("_", tool).lower()
    name = _NOT_IN_NAMES.sub("_", words).strip("_-")
    if not name:
        return None
    room = LIMIT_CHARS - len(server) - len(SEPARATOR)
    if len(name) > room:
        digest = hashlib.sha256(tool.encode(errors="replace")).hexdigest()[:_DIGEST_CHARS]
        name = f"{name[: room - _DIGEST_CHARS - 1]}_{digest}"
    return f"{server}{SEPARATOR}{name}"
