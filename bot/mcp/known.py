"""What servers listed when they were last reached: a file for each in the data directory.

With it their tools are there as soon as the hub is: a call that waits for its answer finds its tool again,
and a conversation need not wait for a server to be reached. What a file says was judged before that.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from core.tools.mcp.listing import Listed

DIRECTORY_NAME = "mcp"
LIMIT_BYTES = 4 * 1024 * 1024

logger = logging.getLogger(__name__)


class KnownTools:
    """Implements core.tools.mcp.connection.Known. `of`: what makes the server the one it is; another one's
    list is not taken for its."""

    def __init__(self, data_dir: Path, name: str, of: Sequence[str]) -> None:
        self._path = data_dir / DIRECTORY_NAME / f"{name}.json"
        self._of = hashlib.sha256(json.dumps(list(of)).encode()).hexdigest()

    def load(self) -> Sequence[Listed]:
        """See Known."""
        try:
            if self._path.stat().st_size > LIMIT_BYTES:
                return ()
            page = json.loads(self._path.read_bytes())
            return [Listed(**tool) for tool in page["tools"]] if page["of"] == self._of else ()
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            logger.warning("%s cannot be used, and will be written anew: %s", self._path, error)
            return ()

    def save(self, listed: Sequence[Listed]) -> None:
        """See Known."""
        fresh = self._path.with_suffix(".new")
        text = json.dumps({"of": self._of, "tools": [asdict(tool) for tool in listed]})
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.touch(mode=0o600)
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error)
