"""`hubbub audit`, `hubbub policy test` and `hubbub db`: the records of decisions are exported, verified and
replayed, and the database that holds them is checked, copied, put back and brought up to date."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from bot.cli.conventions import (
    database_of,
    existing_database,
    print_json,
    print_table,
    printable,
    when,
    whole,
)
from bot.cli.show import asked
from bot.cli.unattended import tell_expected
from bot.config.keys import VaultKeyRing
from bot.config.load import Loaded, load
from bot.config.policy import read_policy
from bot.operator.exports import (
    audit_state,
    dry_run,
    judging_pipeline,
    noted_heads,
    record_page,
    verified_in,
)
from bot.operator.unattended_views import ExpectedView
from bot.runtime import USAGE, CommandFailed, needed_to_start
from core.audit.linker import HEADS_NAME, START, Head, HeadFile
from core.audit.verification import Verified, as_lines
from core.audit_chain import AuditKind
from core.clock import SystemClock
from core.errors import StoreLocked
from core.gates import ConsentSettings, GrantScope
from core.messages import size_in_words
from core.runs.unseen_models import Outlook, scope_of_job
from core.store.lease import DataDirectoryLock
from core.store.rows import AuditRow, InboundRow
from core.store.sql.audit import AuditSnapshot
from core.store.sqlite import maintenance
from core.store.sqlite.maintenance import Progress, current_schema
from core.store.sqlite.offline import audit_in
from core.users import Principal, Role


def export(path: Path | None, after: int, *, as_json: bool) -> None:
    """Print every record after a position, one per line; last, the ones not chained yet."""
    database = existing_database(load(path, secrets=False).database)
    with audit_in(database) as snapshot:
        for row in snapshot.rows(after):
            typer.echo(json.dumps(record_page(row)) if as_json else line(row))


def line(row: AuditRow) -> str:
    """Return a record as one line for people."""
    detail = " ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in json.loads(row.detail).items()
        if value is not None
    )
    who = row.actor or "the hub"
    return printable(f"{row.name:>6}  {when(row.at)}  {row.kind:<16} {who:<12} {row.subject}  {detail}")


def verify(path: Path | None, head: str | None, *, as_json: bool) -> None:
    """Look at all of it, and end with 1 if anything is wrong."""
    loaded = load(path, secrets=False)
    database = existing_database(loaded.database)
    given = _head(head)
    noted = noted_heads(database.parent)
    with audit_in(database) as snapshot:
        verified = verified_in(snapshot, _ring(loaded), noted, given)
    if as_json:
        print_json(audit_state(verified))
    else:
        tell(verified)
        if noted and not any(head.number for head in noted) and verified.head is not None:
            typer.echo(f"{HEADS_NAME} starts over at the next start of the hub, as after a restore.")
    require_sound(verified)


def require_sound(verified: Verified) -> None:
    """End the command with 1 if anything is wrong. Raises CommandFailed."""
    if verified.findings:
        count = len(verified.findings) + verified.more
        raise CommandFailed(
            f"hubbub: the audit log is not intact: {count} {'finding' if count == 1 else 'findings'}"
        )


def tell(verified: Verified) -> None:
    """Print the result for people."""
    for line in as_lines(verified):
        typer.echo(printable(line))
    if verified.findings:
        return
    since = "" if verified.first in {None, 1} else f", from record {verified.first}"
    waiting = f", {verified.waiting} not chained yet" if verified.waiting else ""
    count = "1 record" if verified.records == 1 else f"{verified.records} records"
    typer.echo(f"The audit log is intact: {count}{since}{waiting}.")
    if verified.head is not None:
        typer.echo(f"head: {verified.head}")


def _ring(loaded: Loaded) -> VaultKeyRing:
    return VaultKeyRing(loaded.config.hub.data_dir, loaded.environment)


def _head(text: str | None) -> Head | None:
    if text is None:
        return None
    try:
        return Head.parse(text)
    except ValueError as error:
        raise CommandFailed(printable(str(error)), USAGE) from error


# `hubbub audit export --message`: a message, what was decided and done for it, and its reply, verified.

GONE = "no longer stored"


def export_message(path: Path | None, key: str, *, as_json: bool) -> None:
    """Print the chain of one message. Ends with 1 if the audit is not as it was written."""
    loaded = load(path, secrets=False)
    noted = noted_heads(loaded.config.hub.data_dir)
    with audit_in(existing_database(loaded.database)) as snapshot:
        records, event = snapshot.naming(key), snapshot.event(key)
        if not records and event is None:
            raise CommandFailed(f"No event has the key {printable(key)}; `hubbub why` lists the newest ones.")
        replies = _replies(snapshot, records, event)
        verified = verified_in(snapshot, _ring(loaded), noted)
    if as_json:
        message = None if event is None else asdict(event)
        told = {"message": message, "records": [*map(record_page, records)], "replies": replies}
        print_json({**told, "verified": asdict(audit_state(verified))})
    else:
        for text in _as_lines(key, event, records, replies):
            typer.echo(text)
        tell(verified)
    require_sound(verified)


def _replies(
    snapshot: AuditSnapshot, records: Sequence[AuditRow], event: InboundRow | None
) -> Sequence[Mapping[str, Any]]:
    """Return each row of the outbox with its state, and the record that names it (None: none does)."""
    named = {
        row_id: record.name
        for record in records
        if record.kind == AuditKind.ANSWERED
        for row_id in json.loads(record.detail)["outbox"]
    }
    found = sorted({*named, *(() if event is None else event.outbox)})
    states = snapshot.outbox_states(found)
    return [{"outbox": one, "state": states.get(one, GONE), "record": named.get(one)} for one in found]


def _as_lines(
    key: str, event: InboundRow | None, records: Sequence[AuditRow], replies: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    yield f"message {printable(key)}: {GONE if event is None else _told(event)}"
    for record in records:
        yield line(record) + ("" if record.link is not None else "  (not chained yet)")
    if not records:
        yield "No audit record refers to this message."
    for reply in replies:
        named = "in no record" if reply["record"] is None else f"in record {reply['record']}"
        yield f"reply in outbox row {reply['outbox']}: {reply['state']}, {named}"


def _told(event: InboundRow) -> str:
    who = event.sender or "the hub"
    return printable(f"from {who} on {event.channel}, {when(event.received_at)}, {event.outcome}")


# `hubbub policy test`: the calls of the past, judged by the rules as they are now.


def test(path: Path | None, policy: Path | None, limit: int, *, as_json: bool) -> None:
    """Judge them, and list what would be decided otherwise."""
    loaded = _with_policy(load(path, secrets=False), policy)
    existing_database(loaded.database)
    found = dry_run(loaded, limit)
    differ = found.otherwise
    if as_json:
        print_json(asdict(found))
        return
    if differ:
        columns = ("when (UTC)", whole("call"), "user", "tool", "was", "would be", "because")
        rows = ((when(o.at), o.call_id, o.user, o.tool, o.was, o.now, o.reason) for o in differ)
        print_table(columns, rows)
    besides = f" {found.left_out} calls were not decided by a rule." if found.left_out else ""
    typer.echo(f"{len(differ)} of {found.judged} calls would be decided differently.{besides}")


def expect(
    path: Path | None, policy: Path | None, tools: str, calls: Sequence[str], *, as_json: bool
) -> None:
    """Tell what a job of the owner's with those tools would be refused. Nothing runs."""
    loaded = _with_policy(load(path, secrets=False), policy)
    owner = Principal(loaded.config.hub.owner, Role.OWNER, loaded.config.hub.owner)
    pipeline = judging_pipeline(loaded)
    named = [name.strip() for name in tools.split(",") if name.strip()]
    standing = ConsentSettings()
    if loaded.database.exists():
        held = asked(path, lambda reader: reader.consents.grants(owner.user_id))
        standing = ConsentSettings(tuple(grant for grant in held if grant.scope is GrantScope.USER))
    outlook = Outlook(pipeline, owner, standing, scope_of_job(pipeline, owner, named))
    found = [*map(outlook.of_tool, named), *map(outlook.of_call, calls)]
    expected = [ExpectedView.of(one) for one in found]
    if as_json:
        print_json(expected)
    else:
        tell_expected(expected)


def _with_policy(loaded: Loaded, policy: Path | None) -> Loaded:
    """Raise CommandFailed for a policy that leaves no tool because it cannot be read."""
    config = loaded.config
    file = policy.absolute() if policy is not None else config.policy.file
    if file is not None and (why := read_policy(file).unreadable) is not None:
        raise CommandFailed(printable(f"{file} {why}"), USAGE)
    changed = config.policy.model_copy(update={"file": file})
    return replace(loaded, config=config.model_copy(update={"policy": changed}))


# `hubbub db`: is the database sound, copy it, put a copy back, bring it up to date.

PAUSED = (
    "Tools are paused: calls approved when the backup was made may have run since. Start the hub, check "
    "`hubbub approvals list`, then run `hubbub tools unpause`."
)


def check(path: Path | None, *, as_json: bool) -> None:
    """Check the database, also while a hub runs."""
    database = database_of(path)
    found = maintenance.check(database)
    current = current_schema().version
    if as_json:
        page = {"database": str(database), "schema": found.schema, "current_schema": current}
        print_json({**page, "size_bytes": found.size_bytes, "problems": list(found.problems)})
    else:
        for problem in found.problems:
            typer.echo(printable(problem))
        older = "" if found.schema == current else f" of {current}: run `hubbub db upgrade`, then check again"
        size = size_in_words(found.size_bytes)
        if not found.problems:
            typer.echo(f"{database}: intact, {size}, schema {found.schema}{older}.")
    if found.problems:
        advice = "stop the hub and restore a backup: hubbub db restore FILE"
        raise CommandFailed(f"{database} is damaged; {advice}")


def backup(path: Path | None, target: Path, *, as_json: bool) -> None:
    """Copy the database to a new file, also while a hub runs."""
    database = database_of(path)
    copy = target / f"hub-{_now()}.db" if target.is_dir() else target
    try:
        with _progress("Copying") as progress:
            maintenance.back_up(database, copy, progress)
    except FileExistsError as error:
        raise CommandFailed(f"{copy} already exists; choose another file", USAGE) from error
    except OSError as error:
        raise CommandFailed(f"can't write {copy}: {error.strerror}; choose another file") from error
    size_bytes = copy.stat().st_size
    if as_json:
        print_json({"database": str(database), "backup": str(copy), "size_bytes": size_bytes})
    else:
        size = size_in_words(size_bytes)
        typer.echo(f"{copy}: {size}. The backup contains no keys: back up hub.key and vault.key separately.")


def restore(path: Path | None, backup_file: Path, *, as_json: bool) -> None:
    """Restore a backup. Raises CommandFailed over a running hub.

    Tools are paused in it: calls approved when it was made may have run since.
    """
    from bot.cli.offline import pause_tools_in  # half of the hub

    loaded = load(path, secrets=False)
    database = loaded.database
    if not backup_file.is_file():
        raise CommandFailed(f"{backup_file} does not exist", USAGE)
    now = _now()
    kept_as = database.with_name(f"{database.name}.before-{now}")
    heads = loaded.config.hub.data_dir / HEADS_NAME
    heads_kept_as = heads.with_name(f"{heads.name}.before-{now}")
    with _alone(loaded.config.hub.data_dir), _progress("Restoring") as progress:
        replaced = database.exists()
        try:
            maintenance.restore(
                backup_file,
                database,
                kept_as,
                progress,
                lambda copy: asyncio.run(pause_tools_in(copy, loaded)),
            )
            # They are of the database that was there; the audit of this one goes on from where it ends.
            noted = heads.exists()
            if noted:
                heads.rename(heads_kept_as)
            HeadFile(heads).append(START, SystemClock().now())
        except OSError as error:
            raise CommandFailed(f"can't replace {database}: {error.strerror or error}") from error
    if as_json:
        page = {"database": str(database), "kept_as": str(kept_as) if replaced else None, "tools": "paused"}
        print_json({**page, "heads_kept_as": str(heads_kept_as) if noted else None})
    else:
        kept = f" The previous database is kept as {kept_as}." if replaced else ""
        heads_kept = f" The previous audit heads are kept as {heads_kept_as}." if noted else ""
        typer.echo(f"Restored {database} from {backup_file}.{kept}{heads_kept} {PAUSED}")


def upgrade(path: Path | None, *, as_json: bool) -> None:
    """Upgrade the schema, after a backup."""
    loaded = load(path, secrets=False)
    database = existing_database(loaded.database)
    with _alone(loaded.config.hub.data_dir):
        before, current = maintenance.version_of(database), current_schema().version
        maintenance.require_known(before)  # before it makes a copy that nobody needs
        copy = database.with_name(f"{database.name}.schema-{before}")
        if copy.exists():  # of an earlier upgrade, before a backup was put back
            copy = copy.with_name(f"{copy.name}.{_now()}")
        if before < current:
            with _progress("Copying") as progress:
                maintenance.back_up(database, copy, progress)
        maintenance.upgrade(database)
    if as_json:
        kept_as = str(copy) if before < current else None
        print_json({"database": str(database), "before": before, "schema": current, "kept_as": kept_as})
    elif before < current:
        typer.echo(
            f"{database}: upgraded from schema {before} to {current}. The previous one is kept as {copy}."
        )
    else:
        typer.echo(f"{database} is up to date: schema {current}.")


@contextlib.contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    lock = DataDirectoryLock(data_dir)
    try:
        with needed_to_start(data_dir, "run this as the hub's user"):
            lock.acquire()
    except StoreLocked as held:
        raise CommandFailed(f"hubbub: {held}") from held
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Progress]:
    """Show a progress bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _pages: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, pages: bar.update(task, completed=done, total=pages)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
