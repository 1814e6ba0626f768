"""What a file held, as one short text: consent to change or run it is bound to that.

A file that is absent, or may not be read, has a digest too: that it was so. So consent to write a new file
doesn't cover overwriting one that somebody put there meanwhile.
"""

import hashlib
import os

from core.errors import ToolDenied, ToolFailed
from core.safety.paths import PathGuard

CONTENT_LIMIT_BYTES = 5_000_000
"""As much as the hub's own tools write. Of longer files not the content counts but that nobody wrote to
them: the system's own time of their last change, which a program can't set."""


def file_digest(guard: PathGuard, path: str) -> str:
    """The digest of the file a path leads to now, links followed. Reads it; never raises."""
    try:
        with guard.reading(path) as file:
            found = os.fstat(file.fileno())
            if found.st_size > CONTENT_LIMIT_BYTES:
                return f"long:{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_ctime_ns}"
            return hashlib.sha256(file.read(CONTENT_LIMIT_BYTES + 1)).hexdigest()
    except ToolDenied:
        return "shut"
    except ToolFailed:
        return "absent"
