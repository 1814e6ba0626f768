"""Databases that are ready to be opened: bringing one to today's schema is most of what a new one costs."""

import contextlib
import tempfile
from functools import cache
from pathlib import Path

from core.store.sqlite.connection import connect_writer
from core.store.sqlite.maintenance import current_schema, migrate


def lay_database(path: Path) -> Path:
    """An empty database of today's schema, unless something lies there; its path."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(_empty())
        path.chmod(0o600)
    return path


@cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "hub.db"
        with contextlib.closing(connect_writer(path)) as connection:
            migrate(connection, current_schema())
        return path.read_bytes()
