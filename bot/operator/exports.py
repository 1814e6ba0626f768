"""Exports of the database as a whole: conversations, copies, and the audit, which is verified."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from bot.config.keys import KEY_NAME, VAULT_KEY_VARIABLE, VaultKeyRing
from bot.config.load import Loaded
from bot.runtime import AdminError, ConfigError, StartError
from bot.views import Conversations, ConversationView, EntryView, conversation
from core.audit.linker import HEADS_NAME, Head, HeadFile
from core.audit.verification import Verified
from core.audit.verification import verify as look_at
from core.audit_chain import AuditKind, ChainKey
from core.clock import SECOND_US, SystemClock
from core.errors import VaultError
from core.lazy import LazyModule, dataclass
from core.store.port import Store
from core.store.rows import AuditRow
from core.store.sql.audit import PAGE_ROWS, AuditSnapshot
from core.store.sqlite.maintenance import back_up
from core.store.sqlite.offline import PastCall, Was, audit_in, past_calls_in
from core.transcript import ResultStatus

if TYPE_CHECKING:
    from bot import tools
    from core.safety import fencing
    from core.tools import pipeline as pipelines
    from core.tools.pipeline import CallPipeline
else:  # listings and exports need none of it
    tools = LazyModule("bot.tools")
    fencing = LazyModule("core.safety.fencing")
    pipelines = LazyModule("core.tools.pipeline")

T = TypeVar("T")
Sensitive = Callable[[str], Collection[str]]

WHOLE_THREAD = 10**9


class ThreadExports:
    """The conversations of a store, as Markdown. `sensitive`: the names of a tool's arguments never shown."""

    def __init__(self, store: Conversations, sensitive: Sensitive) -> None:
        self._store, self._sensitive = store, sensitive

    async def read(self, thread_id: str, limit_bytes: int) -> bytes:
        """Return a whole conversation as UTF-8. Raises ValueError with the reason if it can't be sent."""
        found = await conversation(self._store, thread_id, WHOLE_THREAD)
        if found is None:
            raise ValueError("the conversation was deleted")
        content = await asyncio.to_thread(lambda: thread_markdown(found, self._sensitive).encode())
        if len(content) > limit_bytes:
            advice = f"hubbub threads export {thread_id}"
            raise ValueError(f"it is larger than {limit_bytes} bytes; `{advice}` has no limit")
        return content


def thread_markdown(found: ConversationView, sensitive: Sensitive = lambda _: ()) -> str:
    """Return a conversation as Markdown, undone turns too, which are marked."""
    thread = found.thread
    parts = [
        f"# {thread.title or thread.id}\n",
        f"Thread {thread.id} of {thread.owner_id} on {thread.channel}.",
    ]
    for entry in filter(says_something, found.entries):
        text = entry.text
        if entry.kind == "call" and (hidden := sensitive(entry.name or "")):
            text = fencing.struck_out(text, hidden)
        text = _fenced(text) if entry.kind in {"call", "result"} else text
        at = datetime.fromtimestamp(entry.at / SECOND_US, UTC)
        parts.append(f"\n## {speaker(entry)} · {at:%Y-%m-%d %H:%M:%S}\n\n{text}")
    return "\n".join([*parts, ""])


def says_something(entry: EntryView) -> bool:
    """Return whether the entry has text. A model that only calls tools writes none; its calls are entries
    of their own."""
    return bool(entry.text.strip()) or entry.kind != "assistant"


def speaker(entry: EntryView) -> str:
    """Return who speaks in an entry, or its tool, and what became of it."""
    undone = "(undone)" if entry.undone else None
    return " ".join(part for part in (entry.kind, entry.name, entry.status, undone) if part)


def _fenced(text: str) -> str:
    """Return the text in a fence that is longer than any fence within it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


# A copy of the database, for a browser that downloads it.

UNFINISHED_NAME = "backup.unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPart:
    """What a complete backup contains. `path`: where it is on the hub's machine; `inside`: the copy of the
    database has it, everything else is copied by other means."""

    name: str
    path: str
    inside: bool


def backup_name(at: int) -> str:
    """Return the name of a copy that is made at that second."""
    return f"hub-{datetime.fromtimestamp(at, UTC):%Y%m%d-%H%M%S}.db"


class Backups:
    """Copies of one database, made one at a time. `copy` raises AdminError and StoreUnavailable."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._database = loaded.database
        self._one_at_a_time = asyncio.Lock()

    def parts(self) -> list[BackupPart]:
        """Return what a complete backup contains, the database first."""
        config, data_dir = self._loaded.config, self._loaded.config.hub.data_dir
        vault = VaultKeyRing(data_dir, self._loaded.environment)
        outside = [
            ("hub.key", data_dir / KEY_NAME),
            ("vault.key", f"the variable {VAULT_KEY_VARIABLE}" if vault.from_environment else vault.path),
            ("audit.heads", data_dir / HEADS_NAME),
            ("files people sent", data_dir / "uploads"),
            ("long outputs of tools", data_dir / "outputs"),
            ("workspace", config.workspace.dir),
            ("settings file", self._loaded.file.absolute()),
            ("environment file", self._loaded.environment_file),
            ("policy file", config.policy.file),
        ]
        database = BackupPart(name="database with all conversations", path=str(self._database), inside=True)
        rest = [BackupPart(name=name, path=str(path), inside=False) for name, path in outside if path]
        return [database, *rest]

    async def size_bytes(self) -> int:
        """Return the size of the database now: a copy's, but for what is written until then."""
        return (await asyncio.to_thread(self._database.stat)).st_size

    async def copy(self) -> tuple[BinaryIO, int]:
        """Return a copy, as the database is at one moment, open for reading, and its size in bytes. It is
        gone once it is closed."""
        async with self._one_at_a_time:
            try:
                return await asyncio.to_thread(self._copied)
            except OSError as error:
                said = f"can't copy the database: {error.strerror or error}; free up space, then try again"
                raise AdminError("unavailable", said) from error

    def _copied(self) -> tuple[BinaryIO, int]:
        directory = self._database.with_name(UNFINISHED_NAME)
        shutil.rmtree(directory, ignore_errors=True)  # left by a hub that was killed
        directory.mkdir(mode=0o700)
        try:
            path = directory / self._database.name
            back_up(self._database, path, lambda _done, _total: None)
            file = path.open("rb")
            return file, os.fstat(file.fileno()).st_size
        finally:
            shutil.rmtree(directory, ignore_errors=True)


# The audit: verified, searched and exported, by commands and by the API of a running hub.


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """What is wrong. `record`: the position of the record that has it; None: it is of the whole audit."""

    record: int | None
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditState:
    """The result of verifying all records; see core.audit.verification.Verified."""

    ok: bool
    records: int
    waiting: int
    first: int | None
    head: str | None
    findings: tuple[AuditFinding, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecordView:
    """One record for people. `record`: its position, or WRITER/NUMBER until it is chained; `actor`: a user's
    id, None for the hub; `actor_name`: the name of that user, if there is one."""

    record: str
    at: int
    kind: str
    actor: str | None
    actor_name: str | None
    subject: str
    thread_id: str | None
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditListing:
    """Records, the newest first. `next`: `before` of the next page; `kinds`: all that records may be of."""

    records: tuple[AuditRecordView, ...]
    next: int | None
    kinds: tuple[str, ...] = tuple(AuditKind)


class AuditLog:
    """The audit of a hub that runs. Methods raise AdminError and StoreUnavailable."""

    def __init__(self, database: Path, ring: VaultKeyRing, store: Store) -> None:
        self._database = database
        self._ring = ring
        self._store = store
        self._one_at_a_time = asyncio.Lock()

    async def noted(self, by: str) -> None:
        """Record that a person downloads it."""
        await self._store.audit.note_download("audit", by)

    async def verified(self, given: Head | None) -> AuditState:
        """Verify all of it. `given`: a head that was kept elsewhere."""
        async with self._one_at_a_time:
            try:
                noted = await asyncio.to_thread(noted_heads, self._database.parent)
                found = await self._read(lambda audit: verified_in(audit, self._ring, noted, given))
            except StartError as error:
                raise AdminError("unavailable", str(error)) from error
        return audit_state(found)

    async def search(self, text: str, kind: AuditKind | None, before: int | None, limit: int) -> AuditListing:
        """Return records that have a text in them, or were made by a person of such a name."""
        names = {one.user.user_id: one.user.name for one in await self._store.people.people()}
        actors = [of for of, name in names.items() if text.casefold() in name.casefold()] if text else []
        rows = await self._read(lambda audit: audit.search(text, kind, actors, before, limit + 1))
        chained = [row for row in rows if row.position is not None]
        shown = rows if len(chained) <= limit else rows[:-1]
        return AuditListing(
            records=tuple(_view(row, names) for row in shown),
            next=shown[-1].position if len(chained) > limit else None,
        )

    async def batch(self, after: int) -> tuple[Sequence[AuditRow], int | None]:
        """Return some of the records after a position, in order, and where to go on; None: these were all."""
        return await self._read(lambda audit: _batch(audit, after))

    async def _read(self, read: Callable[[AuditSnapshot], T]) -> T:
        def work() -> T:
            with audit_in(self._database) as audit:
                return read(audit)

        return await asyncio.to_thread(work)


def _batch(audit: AuditSnapshot, after: int) -> tuple[Sequence[AuditRow], int | None]:
    """Those not chained yet come with the last of the others, as they are at that moment."""
    rows: list[AuditRow] = []
    for row in audit.rows(after):
        if row.position is not None and len(rows) == PAGE_ROWS:
            return rows, rows[-1].position
        rows.append(row)
    return rows, None


def _view(row: AuditRow, names: Mapping[str, str]) -> AuditRecordView:
    return AuditRecordView(
        record=row.name,
        at=row.at,
        kind=row.kind,
        actor=row.actor,
        actor_name=names.get(row.actor or ""),
        subject=row.subject,
        thread_id=row.thread_id,
        detail=json.loads(row.detail),
    )


def record_page(row: AuditRow) -> dict[str, Any]:
    """Return a record with all fields from which its seal and its position are computed."""
    return {"record": row.name, **asdict(row), "detail": json.loads(row.detail), "seal": row.seal.hex()}


def record_lines(rows: Sequence[AuditRow]) -> Iterator[str]:
    """Return the records as JSON, one per line."""
    return (f"{json.dumps(record_page(row))}\n" for row in rows)


def audit_state(verified: Verified) -> AuditState:
    """Return the result for programs."""
    return AuditState(
        ok=not verified.findings,
        records=verified.records,
        waiting=verified.waiting,
        first=verified.first,
        head=verified.head,
        findings=tuple(AuditFinding(record=one.record, problem=one.problem) for one in verified.findings),
        more=verified.more,
    )


def noted_heads(data_dir: Path) -> Sequence[Head]:
    """Return the heads noted outside the database. Raises StartError."""
    heads = HeadFile(data_dir / HEADS_NAME)
    try:
        return heads.heads()
    except OSError as error:
        raise StartError(f"can't read {heads.path}: {error.strerror}") from error


def verified_in(
    audit: AuditSnapshot, ring: VaultKeyRing, noted: Sequence[Head], given: Head | None = None
) -> Verified:
    """Return the result of verifying all records. `noted`: read before the snapshot was opened; `given`: a
    head that was kept elsewhere. Raises StartError if the vault's keys can't be read."""
    return look_at(
        audit.checkpoint(),
        audit.rows(),
        audit.counts(),
        _keys(ring, audit),
        noted,
        noted_in=HEADS_NAME,
        given=given,
        arguments=audit.arguments,
    )


def _keys(ring: VaultKeyRing, audit: AuditSnapshot) -> Mapping[str, ChainKey]:
    """Return the current and retired keys by name. Raises StartError if the vault's keys can't be
    read."""
    masters = [*ring.audit_masters()]
    retired = audit.retired_keys()
    vault = ring.keys() if retired else None
    for secret in retired:
        if vault is None:
            break
        try:
            masters.append(bytes.fromhex(vault.open(secret)))
        except (VaultError, ValueError):
            continue  # records sealed with it are reported, each with its key
    return {key.id: key for key in map(ChainKey.of, masters)}


# Past calls, judged by the rules as they are now or as a preset would make them.

NOT_HERE = "can't be decided"
"""The tool is gone, or takes other arguments by now."""


@dataclass(frozen=True, slots=True)
class ChangedDecision:
    """A call that would be decided otherwise. `was`, `now`: runs, asks or refused; `now` may be NOT_HERE.
    `user`, `name`: for whom it was made; `about`: the first line of what people see of it."""

    at: int
    call_id: str
    thread_id: str
    user: str
    name: str
    tool: str
    about: str
    was: str
    now: str
    reason: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would have been asked. `judged`: past calls; `left_out`: those that no rule decided."""

    judged: int
    left_out: int
    otherwise: Sequence[ChangedDecision]


def dry_run(loaded: Loaded, limit: int, preset: str | None = None) -> DryRun:
    """Judge the newest past calls by the rules of today. Nothing runs, and nothing is changed.

    `preset`: the approval preset in the place of the configured one."""
    if preset is not None:
        approvals = loaded.config.approvals.model_copy(update={"preset": preset})
        config = loaded.config.model_copy(update={"approvals": approvals})
        loaded = replace(loaded, config=config)
    calls, left_out = past_calls_in(loaded.database, limit, SystemClock())
    pipeline = judging_pipeline(loaded)
    differ = [found for call in calls if (found := _otherwise(pipeline, call)) is not None]
    return DryRun(len(calls), left_out, differ)


def dry_run_now(loaded: Loaded, limit: int, preset: str | None) -> DryRun:
    """Judge by the configuration as its file is now. Raises AdminError if it can't be read."""
    try:
        return dry_run(loaded if loaded.again is None else loaded.again(), limit, preset)
    except ConfigError as error:
        raise AdminError("refused", str(error)) from error


def judging_pipeline(loaded: Loaded) -> "CallPipeline":
    """Build a pipeline that judges calls and never runs them."""
    config = loaded.config
    settings = pipelines.PipelineSettings(
        effective_policy=tools.build_effective_policy(config),
        binding_key=b"",
        workspace=tools.workspace_of(loaded),
        tool_timeout_s=config.approvals.tool_timeout_s,
        result_limits=fencing.ResultLimits(),
    )
    clock = SystemClock()
    return pipelines.CallPipeline(tools.build_tools(loaded, None, clock), settings, clock)


def _otherwise(pipeline: "CallPipeline", past: PastCall) -> ChangedDecision | None:
    now, reason = _judged(pipeline, past)
    if now == past.was:
        return None
    call, whose = past.call, past.principal
    about = pipeline.shown(call).partition("\n")[0]
    at, of = (past.at, call.call_id, past.thread_id), (whose.user_id, whose.name)
    return ChangedDecision(*at, *of, call.tool, about, past.was, now, reason)


def _judged(pipeline: "CallPipeline", past: PastCall) -> tuple[str, str]:
    """Return the decision on a past call under today's rules, with its reason."""
    prepared = pipeline.prepare(past.call, past.principal, past.thread_id, past.standing)
    match prepared:
        case pipelines.Ready() | pipelines.PutsQuestion():
            return Was.RUNS.value, ""
        case pipelines.NeedsPerson(ask=ask):
            return Was.ASKS.value, ask.reason
        case pipelines.Refused(result):
            refused = result.status is ResultStatus.DENIED
            return (Was.REFUSED.value if refused else NOT_HERE), result.text
