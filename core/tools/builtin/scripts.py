"""Consent to a command line that runs files of the workspace: to what they hold, not to what they may hold
one day."""

import hashlib
import os
from collections.abc import Mapping, Sequence

from core.safety.digests import file_digest
from core.safety.paths import PathGuard

_MOST_SCRIPTS = 20
"""More files that one line runs are not bound to consent: reading them takes time."""
_OF_THE_MACHINE = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/nix/store/", "/snap/")
"""What lies there was installed; no tool of the hub's writes there without being asked each time."""


def digests_of(runs: Sequence[str], guard: PathGuard) -> Mapping[str, str]:
    """Of the workspace's files that a command line runs: who agrees to `sh build.sh` agrees to what it says.

    Files it only reads or writes are not among them: they may change for good reasons while a person thinks,
    and which they are can't be told from the line.
    """
    return {path: file_digest(guard, path) for path in runs[:_MOST_SCRIPTS] if guard.refusal(path) is None}


def as_they_are(pattern: str, runs: Sequence[str], guard: PathGuard) -> str | None:
    """What "always" would cover of a line that runs these files: `sh a.sh [a.sh unchanged, 1f0c…]`, with 32
    hexadecimal digits. None where it could not be known that they have changed: it is not offered then."""
    own = [path for path in runs if not _installed(path)]
    if not own:
        return pattern
    digests = digests_of(own, guard)
    if len(digests) < len(own) or "shut" in digests.values():
        return None
    told = "\n".join(f"{path}\0{digest}" for path, digest in digests.items())
    there = [path for path, digest in digests.items() if digest != "absent"]
    together = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{pattern} [{', '.join(there) or 'nothing there'} unchanged, {together}]"


def _installed(path: str) -> bool:
    return os.path.normpath(path).startswith(_OF_THE_MACHINE)
