"""`hubbub audit`: the records of who decided and did what, exported and verified."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from bot.cli.ending import USAGE, CommandFailed
from bot.cli.looking import existing_database
from bot.cli.printing import print_json, printable, when
from bot.config import Loaded, load
from bot.vault_keys import VaultKeyRing
from core.audit.heads import HEADS_NAME, Head, HeadFile
from core.audit.verify import Verified, as_lines
from core.audit.verify import verify as look_at
from core.audit_chain import ChainKey
from core.errors import VaultError
from core.store.audit_rows import AuditRow
from core.store.sqlite.audit_reading import AuditSnapshot, audit_in


def export(path: Path | None, after: int, *, as_json: bool) -> None:
    """Every record behind a number, one a line."""
    database = existing_database(load(path, secrets=False).database)
    with audit_in(database) as snapshot:
        for row in snapshot.rows(after):
            typer.echo(json.dumps(page(row)) if as_json else line(row))


def page(row: AuditRow) -> dict[str, Any]:
    """A record with all that its seal and its place are computed from."""
    return {**asdict(row), "detail": json.loads(row.detail), "seal": row.seal.hex()}


def line(row: AuditRow) -> str:
    """Return a record as one line for people."""
    detail = " ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in json.loads(row.detail).items()
        if value is not None
    )
    who = row.actor or "the hub"
    return printable(f"{row.id:>6}  {when(row.at)}  {row.kind:<16} {who:<12} {row.subject}  {detail}")


def verify(path: Path | None, head: str | None, *, as_json: bool) -> None:
    """Look at all of it, and end with 1 if anything is wrong."""
    loaded = load(path, secrets=False)
    database = existing_database(loaded.database)
    given = _head(head)
    noted = noted_heads(loaded)
    with audit_in(database) as snapshot:
        verified = verified_in(snapshot, loaded, noted, given)
    if as_json:
        print_json(verdict(verified))
    else:
        tell(verified)
    require_sound(verified)


def noted_heads(loaded: Loaded) -> Sequence[Head]:
    """Return the heads noted outside the database. Raises CommandFailed."""
    heads = HeadFile(loaded.config.hub.data_dir / HEADS_NAME)
    try:
        return heads.heads()
    except OSError as error:
        raise CommandFailed(f"{heads.path} cannot be read: {error.strerror}") from error


def verified_in(
    snapshot: AuditSnapshot, loaded: Loaded, noted: Sequence[Head], given: Head | None = None
) -> Verified:
    """Return what is found when all records are verified."""
    return look_at(
        snapshot.checkpoint(),
        snapshot.rows(),
        _keys(loaded, snapshot),
        noted,
        noted_in=HEADS_NAME,
        given=given,
        arguments=snapshot.arguments,
    )


def require_sound(verified: Verified) -> None:
    """End the command with 1 if anything is wrong. Raises CommandFailed."""
    if verified.findings:
        count = len(verified.findings) + verified.more
        raise CommandFailed(
            f"hubbub: the audit is not as it was written: {count} {'finding' if count == 1 else 'findings'}"
        )


def verdict(verified: Verified) -> dict[str, Any]:
    """Return what was found, as JSON values."""
    return {"ok": not verified.findings, **asdict(verified)}


def tell(verified: Verified) -> None:
    """Print what was found, for people."""
    for line in as_lines(verified):
        typer.echo(printable(line))
    if verified.findings:
        return
    since = "" if verified.first in {None, 1} else f", from record {verified.first}"
    waiting = f", {verified.waiting} of them not chained yet" if verified.waiting else ""
    count = "1 record" if verified.records == 1 else f"{verified.records} records"
    typer.echo(f"The audit is as it was written: {count}{since}{waiting}.")
    if verified.head is not None:
        typer.echo(f"head: {verified.head}")


def _head(text: str | None) -> Head | None:
    if text is None:
        return None
    try:
        return Head.parse(text)
    except ValueError as error:
        raise CommandFailed(printable(str(error)), USAGE) from error


def _keys(loaded: Loaded, snapshot: AuditSnapshot) -> Mapping[str, ChainKey]:
    """Of now and of before. Raises StartError if the vault's cannot be read."""
    ring = VaultKeyRing(loaded.config.hub.data_dir, loaded.environment)
    masters = [*ring.audit_masters()]
    retired = snapshot.retired_keys()
    vault = ring.keys() if retired else None
    for secret in retired:
        if vault is None:
            break
        try:
            masters.append(bytes.fromhex(vault.open(secret)))
        except (VaultError, ValueError):
            continue  # records sealed with it are reported, each with its key
    return {key.id: key for key in map(ChainKey.of, masters)}
