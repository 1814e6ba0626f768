"""Standing consent: grants for calls, and settings of tools."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from core.approvals import UNSAID, ApprovalSettings
from core.audit_chain import AuditKind
from core.clock import SECOND_US
from core.gates import ConsentSettings, Grant, GrantScope, ToolSetting
from core.store.codecs import limits_to_json, settings_from_columns, storable
from core.store.facets import FailingTool, ToolSettingRow
from core.store.rows import Execution
from core.store.sql.audit import record
from core.store.sql.mapping import (
    EXECUTION,
    GRANT,
    TOOL_SETTING,
    execution_of,
    grant_of,
    same,
    tool_setting_of,
)
from core.store.sql.people import user
from core.store.units import Facet, Row, Transaction, reads, writes
from core.tool import FAILURES_UNTIL_LEFT_OUT, TOOLS_PAUSED, UseLimit
from core.transcript import ResultStatus, ToolResult

ID_CHARS = 32
"""The length of the id of a routine's grant."""


def in_thread(tx: Transaction, user_id: str, thread_id: str) -> ConsentSettings:
    rows = tx.all("SELECT tool, setting FROM tool_settings WHERE user_id = ?", user_id)
    settings = {tool: ToolSetting(setting) for tool, setting in rows}
    person, thread = _approvals(tx, user_id, thread_id)
    return ConsentSettings(_grants(tx, user_id, thread_id), settings, person, thread)


def _approvals(
    tx: Transaction, user_id: str, thread_id: str | None
) -> tuple[ApprovalSettings, ApprovalSettings]:
    """Return a person's approval settings, in general and in a thread."""
    row = tx.one(
        "SELECT u.preset, u.limits, t.preset, t.limits FROM users u LEFT JOIN threads t ON t.id = ?"
        " WHERE u.id = ?",
        thread_id,
        user_id,
    )
    if row is None:
        return UNSAID, UNSAID
    return settings_from_columns(row[0], row[1]), settings_from_columns(row[2], row[3])


def set_thread_approvals(
    tx: Transaction, thread_id: str, settings: ApprovalSettings, by: str | None = None
) -> bool:
    limits = limits_to_json(settings)
    changed = tx.run(
        "UPDATE threads SET preset = ?, limits = ? WHERE id = ?", settings.preset, limits, thread_id
    )
    if changed:
        record(
            tx,
            AuditKind.APPROVALS,
            thread_id,
            actor=by,
            thread_id=thread_id,
            preset=settings.preset,
            limits=limits,
        )
    return changed > 0


def set_person_approvals(tx: Transaction, user_id: str, settings: ApprovalSettings) -> bool:
    limits = limits_to_json(settings)
    changed = tx.run("UPDATE users SET preset = ?, limits = ? WHERE id = ?", settings.preset, limits, user_id)
    if changed:
        record(tx, AuditKind.APPROVALS, user_id, actor=user_id, preset=settings.preset, limits=limits)
    return changed > 0


def _grants(tx: Transaction, user_id: str, thread_id: str) -> tuple[Grant, ...]:
    """Return a person's grants that are in force in a thread."""
    rows = tx.all(
        f"SELECT {GRANT} FROM grants WHERE user_id = ? AND (thread_id IS NULL OR thread_id = ?)"
        " AND (expires_at IS NULL OR expires_at > ?) ORDER BY id",
        user_id,
        thread_id,
        tx.clock.now(),
    )
    return tuple(grant_of(row) for row in rows)


def own_grants(tx: Transaction, run_id: str) -> frozenset[tuple[str, str]]:
    """Return the grants that an unattended run itself has now, each a tool and a pattern: those of its
    routine, or of its job. A subtask has those of the run that it is a part of."""
    while (part := tx.one(_WHOLE, run_id)) is not None:
        (run_id,) = part
    found = tx.one(_ROUTINE_OF, run_id)
    if found is not None:
        pairs = (grant.partition(" ") for grant in _written(found[0]))
        return frozenset((tool, pattern) for tool, _, pattern in pairs)
    rows = tx.all(
        "SELECT g.tool, g.pattern FROM grants g JOIN jobs j ON j.origin = g.thread_id"
        " WHERE j.id = ? AND j.routine_id IS NULL AND g.user_id = j.owner_id AND g.pattern IS NOT NULL"
        " AND (g.expires_at IS NULL OR g.expires_at > ?)",
        run_id,
        tx.clock.now(),
    )
    return frozenset((tool, pattern) for tool, pattern in rows)


_WHOLE = "SELECT c.turn_id FROM calls c JOIN runs s ON s.id = c.id WHERE c.id = ? AND s.kind = 'subtask'"
_ROUTINE_OF = (
    "SELECT o.definition FROM routines o WHERE o.id = coalesce("
    "(SELECT r.routine_id FROM routine_runs r WHERE r.id = ?1),"
    " (SELECT j.routine_id FROM jobs j WHERE j.id = ?1))"
)


def _written(definition: str) -> Sequence[str]:
    """Return the grants in a routine's definition."""
    return json.loads(definition).get("action", {}).get("grants", ())


_LISTED = (
    f"SELECT {GRANT}, (SELECT j.short_id || ' “' || j.title || '”' FROM jobs j WHERE j.id = grants.thread_id)"
    " FROM grants WHERE user_id = coalesce(?1, user_id) AND (expires_at IS NULL OR expires_at > ?2)"
    " ORDER BY id"
)
_OF_ROUTINES = (
    "SELECT id, owner_id, name, updated_at, definition FROM routines"
    " WHERE owner_id = coalesce(?, owner_id) AND lower(definition) LIKE lower('%\"grants\"%')"
    " ORDER BY name, owner_id"
)
"""The routines that may have grants. The grants are a part of their definitions."""


def _recorded(row: Row) -> Grant:
    """Return a grant from the columns of `_LISTED`."""
    grant, job = grant_of(row[:-1]), row[-1]
    return grant if job is None else replace(grant, scope=GrantScope.JOB, subject=f"job {job}")


def _of_routine(row: Row) -> Sequence[Grant]:
    """Return the grants of a routine from the columns of `_OF_ROUTINES`. Each is named by what it is."""
    routine_id, owner_id, name, updated_at, definition = row
    found: list[Grant] = []
    for written in _written(definition):
        tool, _, pattern = written.partition(" ")
        grant_id = sha256(f"{routine_id} {written}".encode()).hexdigest()[:ID_CHARS]
        subject = f"routine “{name}”"
        found.append(
            Grant(
                grant_id,
                owner_id,
                tool,
                pattern,
                GrantScope.ROUTINE,
                None,
                owner_id,
                updated_at,
                subject=subject,
            )
        )
    return found


def grants_of(tx: Transaction, user_id: str) -> tuple[Grant, ...]:
    """Return all of a person's grants that are in force, in any scope."""
    recorded = [_recorded(row) for row in tx.all(_LISTED, user_id, tx.clock.now())]
    return (*recorded, *(grant for row in tx.all(_OF_ROUTINES, user_id) for grant in _of_routine(row)))


def record_grant(tx: Transaction, grant: Grant) -> None:
    """Store a grant, replacing one for the same thing, so that revoking it leaves none."""
    tx.run(
        "DELETE FROM grants WHERE user_id = ? AND tool = ? AND scope = ?"
        f" AND {same('pattern', grant.pattern)} AND {same('thread_id', grant.thread_id)}",
        grant.user_id,
        grant.tool,
        grant.scope.value,
        *(name for name in (grant.pattern, grant.thread_id) if name is not None),
    )
    tx.run(
        f"INSERT INTO grants ({GRANT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        grant.id,
        grant.user_id,
        grant.tool,
        grant.pattern,
        grant.scope.value,
        grant.thread_id,
        grant.granted_by,
        grant.created_at,
        grant.expires_at,
    )
    record(
        tx,
        AuditKind.GRANTED,
        grant.id,
        actor=grant.granted_by,
        thread_id=grant.thread_id,
        user=grant.user_id,
        tool=grant.tool,
        pattern=grant.pattern,
        scope=grant.scope.value,
        expires_at=grant.expires_at,
    )


def revoke_grant(tx: Transaction, grant_id: str, by: str | None = None) -> bool:
    """Revoke a grant. Return False if there is none."""
    row = tx.one("DELETE FROM grants WHERE id = ? RETURNING user_id, tool, pattern", grant_id)
    if row is None:
        return _take_from_routine(tx, grant_id, by)
    user_id, tool, pattern = row
    record(tx, AuditKind.GRANT_REVOKED, grant_id, actor=by, user=user_id, tool=tool, pattern=pattern)
    return True


def _take_from_routine(tx: Transaction, grant_id: str, by: str | None) -> bool:
    """Take a grant out of the definition of the routine that has it. Return False if none has."""
    for row in tx.all(_OF_ROUTINES, None):
        kept = [grant for grant in _of_routine(row) if grant.id != grant_id]
        gone = [grant for grant in _of_routine(row) if grant.id == grant_id]
        if not gone:
            continue
        routine_id, page = row[0], json.loads(row[-1])
        page["action"]["grants"] = [f"{grant.tool} {grant.pattern}" for grant in kept]
        tx.run(
            "UPDATE routines SET definition = ?, version = version + 1, updated_at = ? WHERE id = ?",
            storable(json.dumps(page, ensure_ascii=False)),
            tx.clock.now(),
            routine_id,
        )
        tx.changes.routines.add(routine_id)
        tool, pattern = gone[0].tool, gone[0].pattern
        record(
            tx, AuditKind.GRANT_REVOKED, routine_id, actor=by, routine=routine_id, tool=tool, pattern=pattern
        )
        return True
    return False


class ConsentUnits(Facet):
    """The units of Consents."""

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        recorded = await self._engine.ask(_LISTED, user_id, self._engine.clock.now())
        routines = await self._engine.ask(_OF_ROUTINES, user_id)
        return [*map(_recorded, recorded), *(grant for row in routines for grant in _of_routine(row))]

    @reads
    def standing(self, tx: Transaction, user_id: str, thread_id: str) -> ConsentSettings:
        return in_thread(tx, user_id, thread_id)

    @writes
    def set_thread_approvals(
        self, tx: Transaction, thread_id: str, settings: ApprovalSettings, *, by: str | None = None
    ) -> bool:
        return set_thread_approvals(tx, thread_id, settings, by)

    @writes
    def set_person_approvals(self, tx: Transaction, user_id: str, settings: ApprovalSettings) -> bool:
        return set_person_approvals(tx, user_id, settings)

    @writes
    def revoke_grant(self, tx: Transaction, grant_id: str, *, by: str | None = None) -> bool:
        return revoke_grant(tx, grant_id, by)

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        rows = await self._engine.ask(
            f"SELECT {TOOL_SETTING} FROM tool_settings WHERE user_id = coalesce(?, user_id)"
            " ORDER BY user_id, tool",
            user_id,
        )
        return [tool_setting_of(row) for row in rows]

    @writes
    def set_tool_setting(
        self, tx: Transaction, user_id: str, tool: str, setting: ToolSetting | None, *, by: str | None = None
    ) -> bool:
        if user(tx, user_id) is None:
            return False
        if setting is None:
            tx.run("DELETE FROM tool_settings WHERE user_id = ? AND tool = ?", user_id, tool)
        else:
            tx.run(
                "INSERT INTO tool_settings (user_id, tool, setting, changed_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (user_id, tool) DO UPDATE"
                " SET setting = excluded.setting, changed_at = excluded.changed_at",
                user_id,
                tool,
                setting.value,
                tx.clock.now(),
            )
        record(tx, AuditKind.TOOL_SETTING, tool, actor=by, user=user_id, setting=setting and setting.value)
        return True

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        rows = await self._engine.ask(
            f"SELECT {EXECUTION} FROM calls c JOIN runs tn ON tn.id = c.turn_id"
            " JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq"
            " WHERE c.thread_id = ?1 AND (?2 IS NULL OR c.seq < ?2) ORDER BY c.seq DESC LIMIT ?3",
            thread_id,
            before,
            limit,
        )
        return [execution_of(row) for row in rows]


# What keeps tools from running: the kill switch for all, limits on recent use, and repeated failures in
# unattended runs. Also the limit on daily model calls.


def pause_tools(tx: Transaction, by: str, *, paused: bool) -> bool:
    now = tx.clock.now()
    if paused:
        changed = tx.run(
            "INSERT INTO tool_pause (id, by, at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", by, now
        )
    else:
        changed = tx.run("DELETE FROM tool_pause")
    if changed:
        tx.changes.tools = True
        record(tx, AuditKind.PAUSED if paused else AuditKind.RESUMED, "tools", actor=by)
    return changed > 0


def tools_paused(tx: Transaction) -> bool:
    return tx.one("SELECT 1 FROM tool_pause WHERE id = 1") is not None


def refusal_while_paused(tx: Transaction) -> str | None:
    """Return why no call may be marked running now, or None if calls may run."""
    return TOOLS_PAUSED if tools_paused(tx) else None


def use(tx: Transaction, user_id: str, tool: str, limits: Sequence[UseLimit]) -> UseLimit | None:
    """Count one use of a tool by a person. If it would exceed a limit, return that limit and count
    nothing."""
    now = tx.clock.now()
    for limit in limits:
        row = tx.one(
            "SELECT count(*) FROM tool_uses WHERE user_id = ? AND tool = ? AND at > ?",
            user_id,
            tool,
            now - limit.window_s * SECOND_US,
        )
        if row is not None and row[0] >= limit.most:
            return limit
    over = now - max(limit.window_s for limit in limits) * SECOND_US
    tx.run("DELETE FROM tool_uses WHERE user_id = ? AND tool = ? AND at <= ?", user_id, tool, over)
    tx.run("INSERT INTO tool_uses (user_id, tool, at) VALUES (?, ?, ?)", user_id, tool, now)
    return None


def count_model_call(tx: Transaction, user_id: str, day: str, most: int) -> bool:
    counted = tx.run(
        "INSERT INTO model_calls (user_id, day, calls) SELECT ?1, ?2, 1 WHERE ?3 > 0"
        " ON CONFLICT (user_id) DO UPDATE SET"
        " calls = CASE model_calls.day WHEN ?2 THEN model_calls.calls + 1 ELSE 1 END,"
        " day = ?2 WHERE model_calls.day <> ?2 OR model_calls.calls < ?3",
        user_id,
        day,
        most,
    )
    return counted > 0


class KillSwitchUnits(Facet):
    """The units of KillSwitch."""

    @writes
    def pause_tools(self, tx: Transaction, by: str, *, paused: bool) -> bool:
        return pause_tools(tx, by, paused=paused)

    async def tools_paused(self) -> bool:
        return bool(await self._engine.ask("SELECT 1 FROM tool_pause"))


# Tools that fail again and again in unattended runs. Only a success there ends a tool's series of failures,
# or a reset; a tool that has failed often enough is left out until the reset.


def count_failures(tx: Transaction, results: Sequence[ToolResult]) -> None:
    """Count how tools did in an unattended run. A result that says nothing of its tool changes nothing."""
    for result in results:
        row = tx.one("SELECT tool FROM calls WHERE id = ?", result.call_id)
        if row is None:
            continue
        if result.status is ResultStatus.OK:
            tx.run("DELETE FROM tool_failures WHERE tool = ? AND left_out_at IS NULL", row[0])
        elif result.fault:
            now = tx.clock.now()
            tx.run(
                "INSERT INTO tool_failures (tool, failures, error, at) VALUES (?1, 1, ?2, ?3)"
                " ON CONFLICT (tool) DO UPDATE SET failures = failures + 1, error = ?2, at = ?3,"
                " left_out_at = coalesce(left_out_at, CASE WHEN failures + 1 >= ?4 THEN ?3 END)",
                row[0],
                storable(result.fault),
                now,
                FAILURES_UNTIL_LEFT_OUT,
            )


def left_out(tx: Transaction) -> frozenset[str]:
    """Return the tools that unattended runs go without."""
    return frozenset(row[0] for row in tx.all("SELECT tool FROM tool_failures WHERE left_out_at IS NOT NULL"))


class ToolFailureUnits(Facet):
    """The units of ToolFailures."""

    @reads
    def failing_tools(self, tx: Transaction) -> Sequence[FailingTool]:
        rows = tx.all("SELECT tool, failures, error, at, left_out_at FROM tool_failures ORDER BY tool")
        return [FailingTool(*row) for row in rows]

    @writes
    def reset_tool(self, tx: Transaction, tool: str, by: str) -> bool:
        changed = tx.run("DELETE FROM tool_failures WHERE tool = ?", tool)
        if changed:
            record(tx, AuditKind.RESUMED, tool, actor=by)
        return changed > 0
