"""The hub's own files in a command line: its data directory with the keys, its configuration.

A path is judged as text, from the workspace on. What a variable or a pattern makes of the rest of a path can
lead anywhere below the part that is plain.
"""

import posixpath
import re
from collections.abc import Iterable

_NAMES = frozenset({"hub.db", "hub.db-wal", "hub.key", "vault.key", "api.json", "hub.log", "chat_history"})
_HOME = re.compile(r"^(?:\$\{HOME\}|\$HOME|~)(?=/|$)")
_BETWEEN = re.compile(r"""[\s"'`=:,;()<>@|&{}]+""")
_OPEN = re.compile(r"[*?\[$`]")


class ClosedPlaces:
    """Knows them. `workspace`, `places`, `home`: absolute paths."""

    def __init__(self, workspace: str, places: Iterable[str], home: str = "") -> None:
        self._workspace = posixpath.normpath(workspace)
        self._places = tuple(posixpath.normpath(place) for place in places)
        self._home = home

    def touched_by(self, text: str) -> bool:
        """Whether a word, or a line of several, names one of them, or leads above one."""
        return any(self._leads_there(token) for token in (text, *_BETWEEN.split(text)) if token)

    def _leads_there(self, token: str) -> bool:
        if token.rpartition("/")[2] in _NAMES:
            return True
        parts = _HOME.sub(self._home or "~", token).split("/")
        plain = next((i for i, part in enumerate(parts) if _OPEN.search(part)), len(parts))
        if not plain or (plain == 1 and parts[0] in ("", ".")):
            return plain == 1 and parts[0] == "" and len(parts) > 1 and bool(self._places)
        path = posixpath.normpath(posixpath.join(self._workspace, "/".join(parts[:plain])))
        if path == self._workspace:
            return False
        return any(_holds(place, path) or _holds(path, place) for place in self._places)


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
