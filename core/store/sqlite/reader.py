"""Hot reads: whole units in a thread of their own, each on one consistent view of the database."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from core.errors import StoreUnavailable
from core.store.sqlite.connection import connect_reader, is_failure_of_the_disk
from core.store.sqlite.transaction import Transaction, Unit

T = TypeVar("T")

QUEUE_LIMIT = 256
"""Reads handed in and not yet answered; further callers wait."""


class ReaderThread:
    """Runs reading units one after the other, beside the writer."""

    def __init__(self, path: Path, begin: Callable[[sqlite3.Connection], Transaction]) -> None:
        self._path = path
        self._begin = begin
        self._slots = asyncio.Semaphore(QUEUE_LIMIT)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store reader")
        self._transaction: Transaction | None = None

    async def run(self, unit: Unit[T]) -> T:
        """The unit's result. Sees every commit that anyone has heard of."""
        async with self._slots:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, unit)

    async def close(self) -> None:
        """Answer what was asked, then close the connection."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=False)

    def _read(self, unit: Unit[T]) -> T:
        try:
            transaction = self._transaction
            if transaction is None:
                transaction = self._transaction = self._begin(connect_reader(self._path))
            transaction.connection.execute("BEGIN")
            try:
                return unit(transaction)
            finally:
                transaction.connection.execute("COMMIT")
        except sqlite3.Error as error:
            if is_failure_of_the_disk(error):
                raise StoreUnavailable(f"the database can't be read: {error}") from error
            raise

    def _disconnect(self) -> None:
        if self._transaction is not None:
            self._transaction.connection.close()
            self._transaction = None
