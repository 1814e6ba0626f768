"""Queries for consoles and command lines, each one statement, with or without a running hub.

They use a separate connection (aiosqlite), so that a long listing delays no turn.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import os
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiosqlite

from core.audit_chain import RETIRED
from core.clock import Clock, SystemClock
from core.errors import StoreUnavailable
from core.gates import Grant
from core.messages import Address, Message
from core.ports import Seen
from core.store.codecs import message_from_json
from core.store.facets import SealedSecret, ToolSettingRow
from core.store.pairing import NoiseRow, PairingRequest
from core.store.rows import Execution, GateView, ThreadRow
from core.store.sqlite.connection import BUSY_TIMEOUT_S, Row, database_uri, is_failure_of_the_disk, what_to_do
from core.store.sqlite.maintenance import require_current
from core.store.sqlite.mapping import (
    ACTIVE_TURN,
    ENTRY,
    EXECUTION,
    GATE_VIEW,
    GATE_VIEW_FROM,
    GRANT,
    PRINCIPAL,
    REQUEST,
    SEALED,
    THREAD,
    TOOL_SETTING,
    entry_of,
    execution_of,
    gate_views_of,
    grant_of,
    principal_of,
    request_of,
    secret_of,
    thread_of,
    tool_setting_of,
)
from core.store.sqlite.pages import Explanations, Pages
from core.transcript import Entry
from core.users import Account, Person, Principal


class SqliteReader:
    """A read-only view of the store; used as `async with`."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()
        self._opened: aiosqlite.Connection | None = None
        self.pages = Pages(self._all)
        self.explanations = Explanations(self._all)

    async def open(self) -> None:
        """Open the database for reading, whether or not a hub runs on it.

        Raises StoreUnavailable if there is none or it needs an upgrade first, SchemaTooNew or SchemaTooOld if
        this version doesn't know its schema.
        """
        # aiosqlite leaves its thread running if connecting fails; a thread that outlives the loop
        # complains.
        if not os.access(self._path, os.R_OK):
            raise StoreUnavailable("it is not readable; run this as the hub's user")
        try:
            self._opened = await aiosqlite.connect(
                database_uri(self._path, read_only=True),
                uri=True,
                timeout=BUSY_TIMEOUT_S,
                isolation_level=None,
            )
            rows = await self._all("PRAGMA user_version")
            require_current(int(rows[0][0]))
        except sqlite3.Error as error:
            await self.close()
            raise _unreadable(error) from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the database."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def thread(self, thread_id: str) -> ThreadRow | None:
        rows = await self._all(f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.id = ?", thread_id)
        return thread_of(rows[0]) if rows else None

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        rows = await self._all(
            f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} ORDER BY t.last_active_at DESC LIMIT ?", limit
        )
        return [thread_of(row) for row in rows]

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        newest = f"SELECT {ENTRY} FROM entries WHERE thread_id = ? ORDER BY seq DESC LIMIT ?"
        return [entry_of(row) for row in reversed(await self._all(newest, thread_id, limit))]

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        rows = await self._all(
            f"SELECT {EXECUTION} FROM calls c JOIN turns tn ON tn.id = c.turn_id"
            " JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq"
            " WHERE c.thread_id = ?1 AND (?2 IS NULL OR c.seq < ?2) ORDER BY c.seq DESC LIMIT ?3",
            thread_id,
            before,
            limit,
        )
        return [execution_of(row) for row in rows]

    async def last_seen(self, channel: str, since: int) -> Sequence[Seen]:
        rows = await self._all(
            "SELECT address, max(order_key) FROM inbox WHERE channel = ? AND kind = 'message'"
            " AND received_at >= ? AND address IS NOT NULL AND order_key <> '' GROUP BY address",
            channel,
            since,
        )
        return [Seen(Address(row[0]), row[1]) for row in rows]

    async def said_to(self, event_key: str) -> Sequence[Message]:
        rows = await self._all(
            "SELECT o.message FROM inbox i JOIN outbox o ON o.event_id = i.id"
            " WHERE i.key = ? AND o.edit_of IS NULL AND o.state NOT IN ('streaming', 'replaced')"
            " ORDER BY o.id",
            event_key,
        )
        return [message_from_json(row[0]) for row in rows]

    async def active_thread(self, user_id: str) -> ThreadRow | None:
        rows = await self._all(
            f"SELECT {THREAD} FROM sessions s JOIN threads t ON t.id = s.active_thread {ACTIVE_TURN}"
            " WHERE s.user_id = ?",
            user_id,
        )
        return thread_of(rows[0]) if rows else None

    async def noise(self, limit: int) -> Sequence[NoiseRow]:
        rows = await self._all(
            "SELECT channel, address, platform_user_id, reason, seen, first_at, last_at FROM noise"
            " ORDER BY last_at DESC LIMIT ?",
            limit,
        )
        return [NoiseRow(row[0], Address(row[1]), *row[2:]) for row in rows]

    async def open_gates(self) -> Sequence[GateView]:
        rows = await self._all(
            f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE g.state = 'open'"
            " ORDER BY g.created_at, g.id, v.at"
        )
        return gate_views_of(rows)

    async def tools_paused(self) -> bool:
        """Return whether all tools are paused."""
        return bool(await self._all("SELECT 1 FROM tool_pause"))

    async def user(self, user_id: str) -> Principal | None:
        rows = await self._all(f"SELECT {PRINCIPAL} FROM users u WHERE u.id = ?", user_id)
        return principal_of(rows[0]) if rows else None

    async def people(self) -> Sequence[Person]:
        rows = await self._all(
            f"SELECT {PRINCIPAL}, u.timezone, i.channel, i.platform_user_id, i.via, i.name FROM users u"
            " LEFT JOIN identities i ON i.user_id = u.id ORDER BY u.name, u.id, i.channel, i.created_at"
        )
        return [_person(list(group)) for _, group in groupby(rows, key=lambda row: row[0])]

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        rows = await self._all(
            f"SELECT {REQUEST} FROM pairing_requests r WHERE r.state = 'open' AND r.expires_at > ?"
            " ORDER BY r.created_at, r.id",
            self._clock.now(),
        )
        return [request_of(row) for row in rows]

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        rows = await self._all(
            f"SELECT {GRANT} FROM grants WHERE user_id = coalesce(?, user_id)"
            " AND (expires_at IS NULL OR expires_at > ?) ORDER BY id",
            user_id,
            self._clock.now(),
        )
        return [grant_of(row) for row in rows]

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        rows = await self._all(
            f"SELECT {TOOL_SETTING} FROM tool_settings WHERE user_id = coalesce(?, user_id)"
            " ORDER BY user_id, tool",
            user_id,
        )
        return [tool_setting_of(row) for row in rows]

    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        found = [secret_of(row) for row in await self._all(f"SELECT {SEALED} FROM secrets ORDER BY name")]
        return found if own else [secret for secret in found if not secret.name.startswith(RETIRED)]

    async def _all(self, sql: str, *parameters: Any) -> list[Row]:
        if self._opened is None:
            raise StoreUnavailable("the store is closed")
        try:
            return list(await self._opened.execute_fetchall(sql, parameters))
        except sqlite3.Error as error:
            if is_failure_of_the_disk(error):
                raise _unreadable(error) from error
            raise


def _unreadable(error: sqlite3.Error) -> StoreUnavailable:
    return StoreUnavailable(f"it is not readable: {error}{what_to_do(error)}")


def _person(rows: Sequence[Row]) -> Person:
    accounts = tuple(Account(*row[4:8]) for row in rows if row[4] is not None)
    return Person(principal_of(rows[0][:3]), accounts, rows[0][3])
