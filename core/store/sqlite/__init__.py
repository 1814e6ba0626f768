"""The store on one SQLite file: `SqliteStore` for the hub, `SqliteReader` for those who only look.

Each is imported when it is asked for: a command that looks needs nothing of what writes.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.store.sqlite.queries import SqliteReader
    from core.store.sqlite.store import SqliteStore

__all__ = ["SqliteReader", "SqliteStore"]


def __getattr__(name: str) -> Any:
    """The class, by PEP 562."""
    if name == "SqliteReader":
        from core.store.sqlite.queries import SqliteReader

        return SqliteReader
    if name == "SqliteStore":
        from core.store.sqlite.store import SqliteStore

        return SqliteStore
    raise AttributeError(f"module {__name__} has no attribute {name}")
