"""The store on one SQLite file: `SqliteStore` for the hub, `SqliteReader` for those who only look."""

from core.store.sqlite.queries import SqliteReader
from core.store.sqlite.store import SqliteStore

__all__ = ["SqliteReader", "SqliteStore"]
