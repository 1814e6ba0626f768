"""`hubbub db`: is the database sound, copy it, put a copy back, bring it up to date."""

import asyncio
import contextlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import typer

from bot.cli.exit_codes import USAGE, CommandFailed
from bot.cli.output import print_json, printable
from bot.cli.parameters import database_of, existing_database
from bot.config.load import load
from bot.runtime import needed_to_start
from core.audit.linker import HEADS_NAME, START, HeadFile
from core.clock import SystemClock
from core.errors import StoreLocked
from core.messages import size_in_words
from core.store.lease import DataDirectoryLock
from core.store.sqlite import maintenance
from core.store.sqlite.maintenance import Progress, current_schema

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
