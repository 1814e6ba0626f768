"""Looks at everything the hub needs, and says of each thing how it is and what to do about it.

While a hub runs, it is asked about its channels and servers; otherwise the port, the platforms and, by their
answers, the clock are tried. Changes nothing: no file is made, no schema upgraded, nothing sent to anybody.
"""

import fcntl
import os
import shutil
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from bot.config import Loaded
from bot.errors import DeskRefused, StartError
from bot.file_findings import file_findings
from bot.findings import Finding, broken, fine, warning
from bot.mcp_findings import servers_configured, servers_running
from bot.policy_file import read_policy
from bot.probes import probed
from bot.settings import Config
from bot.status_views import StatusView
from bot.web.server import listen
from core.errors import StoreError
from core.store.lock import LOCK_NAME
from core.store.sqlite.queries import SqliteReader

ROOM_BYTES = 256 * 1024 * 1024
"""Less and the hub may soon take nothing in: its database and tools' outputs grow."""

GIVE_UP = "mend that (a new token?), then run hubbub config reload; until then it is left alone"

UNPAUSE = "look at hubbub approvals list, then let tools run again: hubbub tools resume, or /resume in a chat"

Status = Callable[[], Awaitable[StatusView]]


async def examine(loaded: Loaded, status: Status) -> list[Finding]:
    """All findings. `status` asks the running hub, and raises DeskRefused if that does not answer."""
    config = loaded.config
    data_dir = config.hub.data_dir
    findings = [fine("configuration", str(loaded.source or "embedded defaults"))]
    if not config.channels:
        fix = "hubbub init makes a configuration; or add a [channels.NAME] section"
        findings.append(
            warning(
                "configuration", "no channel: nobody writes to the hub but in its console and terminal", fix
            )
        )
    findings.append(_network(config.network.allow_private))
    findings += _hooks(config)
    findings += _policy(config.policy.file)
    findings += file_findings(loaded)
    findings += _room(data_dir)
    try:
        findings += await _store(loaded.database, there=loaded.database.is_file())
    except OSError as error:
        problem = f"{loaded.database} cannot be read: {error.strerror}"
        findings.append(broken("store", problem, "run this as the user the hub runs as"))
    running = _is_held(data_dir)
    if running:
        findings += await _hub(status)
    else:
        findings.append(_port(config.http.host, config.http.port))
        findings += servers_configured(loaded)
    return findings + await probed(config, running=running)


def _network(opened: Sequence[str]) -> Finding:
    """Nothing is asked: what answers there is not the hub's business before a tool is used."""
    if not opened:
        return fine("network", "tools reach the public internet only")
    return fine("network", f"besides the public internet tools reach {', '.join(opened)}")


def _hooks(config: Config) -> Iterator[Finding]:
    """Nothing is asked: what a hook would say is its own business."""
    if not config.hooks:
        return
    from bot.hooks import looked_at

    for hook in config.hooks:
        what = f"hook {hook.name}"
        try:
            yield fine(what, f"{looked_at(config, hook)}, asked at {', '.join(hook.on)}")
        except StartError as error:
            message, _, advice = str(error).partition("; ")
            yield broken(what, message.removeprefix(f"{what}: "), advice)


def _policy(path: Path | None) -> Iterator[Finding]:
    """What the operator laid down over everybody's settings."""
    if path is None:
        return
    policy = read_policy(path)
    if policy.unreadable is not None:
        fix = "mend the file, or take [policy] file away; it holds as soon as it is written"
        yield broken("policy", f"no tool runs: {path} {policy.unreadable}", fix)
        return
    people = len(policy.ceiling_for)
    yield fine("policy", f"{path} holds: {len(policy.disabled)} disabled, rules of their own for {people}")


def _room(data_dir: Path) -> Iterator[Finding]:
    place = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    free_bytes = shutil.disk_usage(place).free
    if free_bytes < ROOM_BYTES:
        free_mb = free_bytes // 1024 // 1024
        yield warning("disk", f"{free_mb} MB are free at {place}", "make room, or move [hub] data_dir")
    else:
        yield fine("disk", f"{free_bytes // 1024**3} GB are free")


async def _store(database: Path, *, there: bool) -> list[Finding]:
    if not there:
        return [fine("store", "there is no database yet; the first start makes it")]
    try:
        async with SqliteReader(database) as reader:
            waiting, paused = len(await reader.open_prompts()), await reader.tools_paused()
    except StoreError as error:
        return [broken("store", str(error), "do what it says, or restore the database from a backup")]
    waits = "1 approval waits" if waiting == 1 else f"{waiting} approvals wait"
    found = fine("store", f"{database} is readable and up to date; {waits}")
    if paused:
        return [found, warning("tools", "all tools are paused; no tool runs", UNPAUSE)]
    return [found, fine("tools", "tools run; nobody has paused them")]


def _is_held(data_dir: Path) -> bool:
    """Whether a hub runs on the directory. Where there is no lock file none is made."""
    try:
        fd = os.open(data_dir / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


async def _hub(status: Status) -> list[Finding]:
    try:
        state = await status()
    except DeskRefused as error:
        return [broken("hub", f"runs, but does not answer: {error}", "look at its log; restart it")]
    healthy = state.ready
    findings = [
        fine("hub", f"runs, version {state.version}")
        if healthy
        else broken("hub", f"runs, but takes no messages: {state.store}", "look at its log")
    ]
    for name, channel in state.channels.items():
        what = f"channel {name}"
        if channel.state == "running":
            findings.append(fine(what, f"running since {channel.since}"))
        else:
            reason = channel.reason or "no reason given"
            fix = GIVE_UP if channel.state == "failed" else "tried again by itself; if it stays: hubbub logs"
            findings.append(broken(what, f"{channel.state}: {reason}", fix))
    return [*findings, *servers_running(state.mcp)]


def _port(host: str, port: int) -> Finding:
    try:
        listen(host, port).close()
    except (StartError, socket.gaierror) as error:
        message, _, advice = str(error).partition("; ")
        return broken("port", message, advice or "set another [http] host")
    return fine("port", f"{host}:{port} is free")
