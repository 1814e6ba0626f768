"""Commands of operation: doctor, config, models, login, logs and the prompt of a thread."""

import asyncio
import contextlib
import io
import itertools
import json
import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import typer
from pydantic import BaseModel, SecretStr

from bot.cli.api import HubApi, api_at, running, with_api
from bot.cli.conventions import data_dir_of, print_json, print_table, printable, printable_lines, when, whole
from bot.cli.serve import models_in_words
from bot.cli.show import row_id
from bot.config.load import Loaded, load
from bot.config.place import read_access
from bot.config.schema import secret_values
from bot.operator.reload import ReloadView
from bot.ops.doctor import examine
from bot.ops.logs import (
    LEVELS,
    LOG_NAME,
    STRUCK_OUT,
    Record,
    Redactor,
    WantedRecords,
    lines_of,
    log_files,
    records_of,
)
from bot.ops.probes import Health, broken
from bot.runtime import FAILED, USAGE, AdminError, CommandFailed, ConfigError
from bot.views import PromptView, StatusView
from core.lazy import LazyModule
from core.store.lease import is_held

if TYPE_CHECKING:
    from bot.config import place
    from bot.jobs import worker_image
else:
    worker_image = LazyModule("bot.jobs.worker_image")
    place = LazyModule("bot.config.place")


def _loaded(path: Path | None, *, as_json: bool) -> Loaded:
    """Load the configuration; without a valid one no other check is possible."""
    try:
        return load(path)
    except ConfigError as error:
        if as_json:
            fix = "each line says how to fix it"
            found = [broken("configuration", problem, fix) for problem in error.problems]
            print_json([asdict(one) for one in found])
        raise


def doctor(path: Path | None, *, as_json: bool) -> None:
    """Print every finding. Raises CommandFailed if something is broken."""
    loaded = _loaded(path, as_json=as_json)

    async def status() -> StatusView:
        access = read_access(loaded.config.hub.data_dir)
        if access is None:
            raise AdminError("unavailable", "it has not published its API address")
        return await api_at(access).get("/status", StatusView)

    findings = asyncio.run(
        examine(
            loaded,
            status,
            lambda: worker_image.sandbox_problem(loaded.environment, loaded.config.sandbox),
        )
    )
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        rows = ((f.what, f.health.value, f.message, f.fix) for f in findings)
        print_table((whole("check"), whole("state"), "finding", "fix"), rows)
    failing = sum(finding.health is Health.BROKEN for finding in findings)
    if failing:
        of_all = f"{failing} of {len(findings)} findings"
        raise CommandFailed(
            f"{of_all} {'is' if failing == 1 else 'are'} broken; the last column says how to fix them."
        )


# `hubbub config check` and `hubbub config reload`.


def check(path: Path | None, *, as_json: bool) -> None:
    """Check the configuration; as JSON also print the effective settings, without secrets."""
    if not as_json:
        loaded = load(path)
        source = loaded.source or "embedded defaults"
        channels = ", ".join(loaded.config.channels) or "none"
        typer.echo(f"{source}: valid. Channels: {channels}. Models: {models_in_words(loaded)}.")
        return
    try:
        loaded = load(path)
    except ConfigError as error:
        print_json({"ok": False, "problems": list(error.problems)})
        raise CommandFailed(str(error), USAGE) from error
    redact = Redactor(secret_values(loaded.config))
    source = None if loaded.source is None else str(loaded.source)
    print_json({"ok": True, "source": source, "problems": [], "config": _shown(loaded.config, redact)})


def reload(path: Path | None, *, as_json: bool) -> None:
    """Have the running hub read the configuration again."""
    access = place.read_access(load(path, secrets=False).config.hub.data_dir)
    if access is None:
        raise CommandFailed("no hub is running here; the next start reads the file: hubbub run")
    done = running(access, lambda api: api.post("/config/reload", ReloadView))
    if as_json:
        print_json(done)
    else:
        if not done.channels and not done.next_start:
            typer.echo("the hub uses the configuration as it is written")
        for change in done.channels:
            typer.echo(printable(change.in_words()))
        if done.next_start:
            typer.echo(printable(f"applied at the next start: {', '.join(done.next_start)}"))
    if any(change.outcome == "refused" for change in done.channels):
        raise typer.Exit(FAILED)


def _shown(value: object, redact: Redactor) -> object:
    """Return a configured value as JSON has it; for a secret only whether it is set."""
    match value:
        case SecretStr():
            return STRUCK_OUT if value.get_secret_value() else ""
        case BaseModel():
            return {name: _shown(inner, redact) for name, inner in value}
        case Mapping():
            return {str(name): _shown(inner, redact) for name, inner in value.items()}
        case tuple():
            return [_shown(inner, redact) for inner in value]
        case str() | Path():
            return redact(str(value))
        case _:
            return value


# `hubbub status`.


def show_status(path: Path | None, *, as_json: bool) -> None:
    """Print what runs and when the hub's timers are due. Raises CommandFailed where no hub runs."""
    data_dir = data_dir_of(path)
    if not is_held(data_dir):
        raise CommandFailed(f"No hub is running on {data_dir}. Start one with `hubbub run`.")
    access = read_access(data_dir)
    if access is None:
        raise CommandFailed(f"The hub on {data_dir} is starting or stopping. Try again in a moment.")
    status = running(access, lambda hub: hub.get("/status", StatusView))
    if as_json:
        print_json(status)
    else:
        _print_status(status)


def _print_status(status: StatusView) -> None:
    ready = "ready" if status.ready else "not ready"
    typer.echo(printable(f"hubbub {status.version}: {status.hub}, {ready}. Database: {status.store}."))
    typer.echo(
        f"Open approvals: {status.approvals}. Pairing requests: {status.pairing_requests}."
        f" Conversations at work: {status.at_work}."
    )
    connections = list(_connection_rows(status))
    if connections:
        typer.echo("")
        print_table((whole("connection"), whole("state"), whole("since"), "reason"), connections)
    if status.timers:
        typer.echo("")
        columns = (whole("timer"), whole("next run (UTC)"), whole("last run (UTC)"), "failures")
        print_table(columns, _timer_rows(status))


def _connection_rows(status: StatusView) -> Iterator[Sequence[str]]:
    for name, channel in status.channels.items():
        yield name, channel.state, channel.since, channel.reason or ""
    for name, server in status.mcp.items():
        yield f"mcp {name}", server.state, server.since, server.reason or ""


def _timer_rows(status: StatusView) -> Iterator[Sequence[str]]:
    for timer in status.timers:
        yield timer.name, _at(timer.due_at), _at(timer.last_run_at), str(timer.failures)


def _at(at: int | None) -> str:
    return "-" if at is None else when(at)


# `hubbub login`.


def login(path: Path | None, *, as_json: bool) -> None:
    """Print a link that the running hub made for this."""
    access = read_access(data_dir_of(path))
    if access is None:
        raise CommandFailed("no hub is running here; start one with: hubbub run (it also prints a link)")
    url = running(access, lambda api: api.post("/login-links", dict[str, str]))["url"]
    if as_json:
        print_json({"url": url})
    else:
        typer.echo(printable(url))


# `hubbub logs`: what the hub has written down, and what it writes now.

LOOKS_EVERY_S = 0.2

_AGO = re.compile(r"(\d+)\s*([smhd])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_OWN = frozenset({"at", "level", "logger", "message", "trace"})


def show(
    path: Path | None, level: str, since: str | None, limit: int, *, follow: bool, as_json: bool
) -> None:
    """Print the newest records of at least that level, oldest first; with `follow`, until interrupted."""
    data_dir = data_dir_of(path)
    wanted = WantedRecords(_level(level), "" if since is None else _moment(since))
    if not log_files(data_dir) and not follow:
        raise CommandFailed(f"There is no log in {data_dir} yet; start the hub first.")
    with contextlib.closing(_Tail(data_dir / LOG_NAME)) as tail:
        full = [file for file in log_files(data_dir) if file.name != LOG_NAME]
        older = (line for file in full for line in lines_of(file))
        told = filter(wanted, records_of(itertools.chain(older, tail.lines())))
        for record in deque(told, limit):
            _tell(record, as_json=as_json)
        with contextlib.suppress(KeyboardInterrupt):
            while follow:
                for record in filter(wanted, records_of(tail.lines())):
                    _tell(record, as_json=as_json)
                time.sleep(LOOKS_EVERY_S)


class _Tail:
    """Reader of a file to its end, then of what is added to it, then of the file that replaced it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: io.BufferedReader | None = None
        self._begun = b""

    def lines(self) -> Iterator[bytes]:
        """Yield the complete lines that were not read yet."""
        while True:
            if self._file is None and self._path.exists():
                self._file, self._begun = self._path.open("rb"), b""
            yield from self._unread()
            if not self._is_replaced():
                return
            yield from self._unread()  # what was added while it was looked at
            self.close()

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _unread(self) -> Iterator[bytes]:
        for part in self._file or ():
            self._begun += part
            if self._begun.endswith(b"\n"):
                line, self._begun = self._begun, b""
                yield line

    def _is_replaced(self) -> bool:
        if self._file is None:
            return False
        try:
            return os.fstat(self._file.fileno()).st_ino != self._path.stat().st_ino
        except FileNotFoundError:
            return False


def _tell(record: Record, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(record, ensure_ascii=False))
        return
    context = " ".join(f"{name}={value}" for name, value in record.items() if name not in _OWN)
    line = f"{record['at']} {record['level'].upper():<7} {record['logger']}: {record['message']}"
    typer.echo(printable(line.replace("\n", "\\n") + (f" [{context}]" if context else "")))
    if "trace" in record:
        typer.echo("    " + printable_lines(record["trace"]).replace("\n", "\n    "))


# --- what was asked for ---------------------------------------------------------------------------------


def _level(word: str) -> int:
    try:
        return LEVELS.index(word.strip().lower())
    except ValueError as error:
        raise CommandFailed(
            f"{printable(word)} is not a log level; use one of {', '.join(LEVELS)}", USAGE
        ) from error


def _moment(text: str) -> str:
    """Return a time as records write it. `text`: `10m` for ten minutes ago, or a date with or without
    a time, in UTC."""
    ago = _AGO.fullmatch(text.strip().lower())
    try:
        if ago is not None:
            at = datetime.now(UTC) - timedelta(seconds=int(ago.group(1)) * _UNIT_S[ago.group(2)])
        else:
            at = datetime.fromisoformat(text.strip())
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CommandFailed(
            f"{printable(text)} is not a time; use 30s, 10m, 2h or 3d (ago), or 2026-01-31T08:00", USAGE
        ) from error
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


# `hubbub threads show ID --prompt`: what the model would be told first in a thread's next turn.


def show_prompt(path: Path | None, thread_id: str, message: str, *, as_json: bool) -> None:
    """Print a thread's next prompt: the sizes of its parts, then their texts."""
    wanted = row_id(thread_id)

    async def prompt(api: HubApi) -> PromptView | None:
        try:
            return await api.get(f"/threads/{quote(wanted, safe='')}/prompt", PromptView, message=message)
        except AdminError as error:
            if error.code == "not_found":
                return None
            raise

    page = with_api(path, prompt)
    if page is None:
        raise CommandFailed(
            f"No thread has the ID {printable(thread_id)}; `hubbub threads list` shows the IDs."
        )
    if as_json:
        print_json(page)
        return
    rows = [(part.name, f"{part.chars:,}", f"{part.tokens:,}") for part in page.parts]
    rows.append((f"(descriptions of {len(page.tools)} tools)", "", f"{page.tools_tokens:,}"))
    rows.append((f"(conversation, {page.messages} messages)", "", f"{page.messages_tokens:,}"))
    rows.append((f"({page.time})", f"{len(page.time)}", ""))
    print_table((whole("part"), "characters", "tokens (estimated)"), rows)
    typer.echo(f"\n{printable_lines(page.prompt)}")
