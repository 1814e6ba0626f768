"""Checks of everything the hub needs, each with its state and a remedy.

While a hub runs, it is asked about its channels and servers; otherwise the port, the platforms and, by
their answers,
the clock are tried. Changes nothing: no file is made, no schema upgraded, nothing sent.
"""

import importlib.util
import os
import shutil
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.keys import KEY_NAME, VAULT_KEY_NAME, VaultKeyRing
from bot.config.load import Loaded
from bot.config.place import ACCESS_NAME, DATABASE_NAME
from bot.config.policy import read_policy
from bot.config.schema import Config, secret_values
from bot.config.sections import ExtensionChannel
from bot.ops.logs import LOG_NAME, Redactor
from bot.ops.probes import Finding, broken, fine, probed, warning
from bot.runtime import AdminError, StartError, listen
from bot.views import ServerView, StatusView
from core.errors import StoreError, VaultError
from core.lazy import LazyModule
from core.runs.actors import MANY
from core.sandbox.disk import keeper_of
from core.sandbox.policy import RootRefused, container_user
from core.store.lease import is_held
from core.store.sqlite.offline import open_listings, sealed_in
from core.tools.builtin.shell import safe_environment

if TYPE_CHECKING:
    from bot.extensions import python as extensions
    from bot.ops import model_trial
else:
    model_trial = LazyModule("bot.ops.model_trial")
    extensions = LazyModule("bot.extensions.python")

# What `hubbub doctor` says about files: who can read what is secret, and can the hub work with them.

FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
PRIVATE = (KEY_NAME, VAULT_KEY_NAME, ACCESS_NAME, DATABASE_NAME, LOG_NAME)


def file_findings(loaded: Loaded) -> Iterator[Finding]:
    """Check the data directory, the configuration's files, the workspace and the vault."""
    yield from _data_dir(loaded.config.hub.data_dir)
    yield from _configuration(loaded)
    yield _workspace(loaded.config.workspace.dir)
    yield from _vault(loaded)


def _data_dir(data_dir: Path) -> Iterator[Finding]:
    """Check that only the hub's user can read the directory with secrets."""
    if not data_dir.exists():
        yield fine("files", f"{data_dir} does not exist yet; the first start creates it")
        return
    if not os.access(data_dir, os.R_OK | os.W_OK | os.X_OK):
        advice = "run this command and the hub as the directory's owner"
        yield broken("files", f"{data_dir} is not writable", advice)
        return
    exposed = [path for path in (data_dir, *(data_dir / name for name in PRIVATE)) if _open_to_others(path)]
    for path in exposed:
        mode = "700" if path.is_dir() else "600"
        yield broken("files", f"{path} is accessible to other users", f"chmod {mode} {path}")
    if not exposed:
        yield fine("files", f"{data_dir} is private")
    owner = data_dir.stat().st_uid
    if owner != os.geteuid():
        advice = "run this command and the hub as that user; it can't read files of another user"
        yield warning("files", f"{data_dir} belongs to the user ID {owner}", advice)


def _open_to_others(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & FOR_OTHERS)
    except OSError:  # it is not there, or is said to be unusable by whoever reads it
        return False


def _configuration(loaded: Loaded) -> Iterator[Finding]:
    """Check who can read the configuration's files. Tokens belong in the environment file, not in the
    configuration file."""
    beside = loaded.environment_file
    if beside is not None:
        if _open_to_others(beside):
            yield broken("environment file", f"{beside} is accessible to other users", f"chmod 600 {beside}")
        else:
            yield fine("environment file", f"{beside} is private")
    if loaded.source is None or not _open_to_others(loaded.source):
        return
    text = loaded.source.read_text(errors="replace")
    if any(secret in text for secret in secret_values(loaded.config)):
        advice = "move them to the vault: run hubbub secrets set NAME, and use vault:NAME instead"
        yield warning(
            "configuration", f"{loaded.source} contains tokens or keys and other users can access it", advice
        )


def _workspace(workspace: Path) -> Finding:
    place = next(path for path in (workspace, *workspace.parents) if path.exists())
    if not place.is_dir():
        advice = "move that file, or set another [workspace] dir"
        return broken("workspace", f"{place} is not a directory", advice)
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        advice = f"make it writable by the hub's user: chown USER {place}"
        return broken("workspace", f"{place} is not writable", advice)
    state = "is usable" if place == workspace else "will be created at the start"
    return fine("workspace", f"{workspace} {state}")


def _vault(loaded: Loaded) -> Iterator[Finding]:
    """Check that every secret of the vault can be read. A start reads only those the configuration uses."""
    try:
        sealed = sealed_in(loaded.database)
        if not sealed:
            return
        ring = VaultKeyRing(loaded.config.hub.data_dir, loaded.environment)
        keys = ring.keys()
    except (StoreError, StartError) as error:
        yield broken("vault", str(error), "see the message")
        return
    if keys is None:
        message = f"{len(sealed)} secrets but no key"
        yield broken("vault", message, f"restore {ring.path}, set HUBBUB_VAULT_KEY, or set the secrets again")
        return
    lost = 0
    for secret in sealed:
        try:
            keys.open(secret)
        except VaultError as error:
            lost += 1
            message, _, advice = str(error).partition(": ")
            yield broken("vault", message, advice)
    if not lost:
        yield fine("vault", f"{len(sealed)} secrets are readable")


# What `hubbub doctor` says about MCP servers: as the running hub sees them, else whether they could begin.
#
# No server is started or reached for it: that is not without effects.

LIBRARY = "mcp"


def servers_running(servers: Mapping[str, ServerView]) -> Iterator[Finding]:
    """Report each MCP server's state, as the hub sees it."""
    for name, server in servers.items():
        what = f"mcp {name}"
        if server.state != "ready":
            reason = server.reason or "no reason given"
            fix = "fix the server; `hubbub logs` shows its standard error"
            yield broken(what, f"{server.state}: {reason}", fix)
        elif server.refused:
            first, why = next(iter(server.refused.items()))
            not_offered = f"{server.tools} tools available, some refused: {first}: {why}"
            yield warning(what, not_offered, "select tools with `only`, or fix the server")
        else:
            yield fine(what, f"ready since {server.since}; {server.tools} tools available")


def servers_configured(loaded: Loaded) -> Iterator[Finding]:
    """Check that the requirements of servers are there."""
    if not loaded.config.mcp:
        return
    if importlib.util.find_spec(LIBRARY) is None:
        yield broken(
            "mcp", "the SDK is not installed, so no server is available", "pip install 'hubbub[mcp]'"
        )
        return
    path = safe_environment(loaded.environment)["PATH"]
    for name, server in loaded.config.mcp.items():
        what = f"mcp {name}"
        if server.url is not None:
            yield fine(what, "not checked; connected when the hub runs")
        elif shutil.which(server.command[0], path=path) is None:
            fix = "install it, or use its absolute path"
            yield broken(what, f"there is no program {server.command[0]} on PATH", fix)
        else:
            yield fine(what, "its program exists; started when the hub runs")


ROOM_BYTES = 256 * 1024 * 1024
"""Less and the hub may soon take nothing in: its database and tools' outputs grow."""

GIVE_UP = "fix the cause (a new token?), then run hubbub config reload; it is not retried until then"

UNPAUSE = "check hubbub approvals list, then run hubbub tools unpause, or send /unpause in a chat"

Status = Callable[[], Awaitable[StatusView]]


async def examine(
    loaded: Loaded, status: Status, sandbox_problem: Callable[[], Awaitable[str | None]]
) -> list[Finding]:
    """Return all findings, without secrets. `status` asks the running hub, and raises AdminError if that does
    not answer. `sandbox_problem`: returns why no container can run now; None if one can."""
    config = loaded.config
    data_dir = config.hub.data_dir
    findings = [fine("configuration", str(loaded.source or "embedded defaults"))]
    if not config.channels:
        fix = "run hubbub init, or add a [channels.NAME] section"
        findings.append(
            warning("configuration", "no channel: only the console and terminal can reach the hub", fix)
        )
    findings.append(_network(config.network.allow_private))
    findings += _hooks(config)
    findings += _extensions(config)
    findings += _policy(config.policy.file)
    findings += file_findings(loaded)
    findings += _room(data_dir)
    try:
        findings += await _store(loaded.database, there=loaded.database.is_file())
    except OSError as error:
        problem = f"{loaded.database} is not readable: {error.strerror}"
        findings.append(broken("store", problem, "run this as the hub's user"))
    running = is_held(data_dir)
    if running:
        findings += await hub_findings(status)
    else:
        findings.append(_port(config.http.host, config.http.port))
        findings += servers_configured(loaded)
    findings += await probed(config, running=running)
    if any(model.provider == "cli" for model in config.models):
        findings += await model_trial.cli_findings(loaded)
    if config.sandbox.enabled:
        findings.append(await _containers(config, sandbox_problem))
    findings.append(_chat_tools(config))
    redact = Redactor(secret_values(config))
    return [replace(one, message=redact(one.message), fix=redact(one.fix)) for one in findings]


async def _containers(config: Config, sandbox_problem: Callable[[], Awaitable[str | None]]) -> Finding:
    """Report whether a job can have a container now, and the user that it runs as."""
    try:
        user = container_user(os.geteuid(), os.getegid(), 0)
    except RootRefused as error:
        return broken("containers", str(error), "see the message")
    problem = await sandbox_problem()
    if problem is not None:
        fails = "jobs with --sandbox, and with chat_tools the commands of chats, fail until then"
        return broken("containers", problem, f"see the message; {fails}")
    whose = "users of their own" if os.geteuid() == 0 else f"the hub's own user {user.uid}"
    images = ", ".join((config.sandbox.image, *config.sandbox.images))
    disk = f"disk_mb is {keeper_of(config.hub.data_dir)}"
    return fine("containers", f"Docker has {images}; containers run as {whose}, never root; {disk}")


def _chat_tools(config: Config) -> Finding:
    """Report where shell and file tools of chats work."""
    if config.sandbox.chat_tools:
        return fine("chat tools", "shell and file tools work in a container for each person")
    found = "shell and file tools work on this machine, as the hub's user"
    if config.sandbox.enabled:
        return warning("chat tools", found, "set [sandbox] chat_tools = true: each person has a container")
    return fine(
        "chat tools", f"{found}; [sandbox] enabled and chat_tools = true give each person a container"
    )


def _network(opened: Sequence[str]) -> Finding:
    """Report the networks that tools may reach. Nothing is contacted before a tool is used."""
    if not opened:
        return fine("network", "tools may reach the public internet only")
    return fine("network", f"tools may reach the public internet and {', '.join(opened)}")


def _hooks(config: Config) -> Iterator[Finding]:
    """Report the configured hooks, without calling any."""
    if not config.hooks:
        return
    from bot.hooks import looked_at

    for hook in config.hooks:
        what = f"hook {hook.name}"
        try:
            yield fine(what, f"{looked_at(config, hook)}, called on {', '.join(hook.on)}")
        except StartError as error:
            message, _, advice = str(error).partition("; ")
            yield broken(what, message.removeprefix(f"{what}: "), advice)


def _extensions(config: Config) -> Iterator[Finding]:
    """Report the Python extensions that the configuration names; loads them and calls nothing."""
    channels = {
        name: one.entry_point for name, one in config.channels.items() if isinstance(one, ExtensionChannel)
    }
    models = {one.name: one.entry_point for one in config.models if one.provider == "extension"}
    wanted = [
        *((f"extension {name}", extensions.TOOLS, name) for name in config.extensions.tools),
        *((f"channel {name}", extensions.CHANNELS, point) for name, point in channels.items()),
        *((f"model {name}", extensions.MODELS, point) for name, point in models.items()),
    ]
    for what, group, point in wanted:
        try:
            extensions.load(group, point)
        except extensions.ExtensionUnusable as error:
            yield broken(what, str(error), "install the package that provides it, or remove it from the file")
        else:
            yield fine(what, f'the entry point "{point}" in {group}')


def _policy(path: Path | None) -> Iterator[Finding]:
    """Check the admin policy."""
    if path is None:
        return
    policy = read_policy(path)
    if policy.unreadable is not None:
        fix = "fix the file, or remove [policy] file; changes apply as soon as it is saved"
        yield broken("policy", f"all tools are disabled: {path} {policy.unreadable}", fix)
        return
    people = len(policy.ceiling_for)
    yield fine(
        "policy", f"{path} applies: {len(policy.disabled)} tools disabled, own limits for {people} people"
    )


def _room(data_dir: Path) -> Iterator[Finding]:
    place = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    free_bytes = shutil.disk_usage(place).free
    if free_bytes < ROOM_BYTES:
        free_mb = free_bytes // 1024 // 1024
        yield warning("disk", f"{free_mb} MB are free at {place}", "free up space, or move [hub] data_dir")
    else:
        yield fine("disk", f"{free_bytes // 1024**3} GB are free")


async def _store(database: Path, *, there: bool) -> list[Finding]:
    if not there:
        return [fine("store", "there is no database yet; the first start creates it")]
    try:
        async with open_listings(database) as reader:
            waiting, paused = len(await reader.gates.open_gates()), await reader.kill_switch.tools_paused()
    except StoreError as error:
        return [broken("store", str(error), "see the message, or restore a backup")]
    waits = "1 open request" if waiting == 1 else f"{waiting} open requests"
    found = fine("store", f"{database} is readable and up to date; {waits}")
    if paused:
        return [found, warning("tools", "all tools are paused; no tool runs", UNPAUSE)]
    return [found, fine("tools", "tools are not paused")]


async def hub_findings(status: Status) -> list[Finding]:
    """Report what a running hub says of itself."""
    try:
        state = await status()
    except AdminError as error:
        return [broken("hub", f"running, but not responding: {error}", "check its log; restart it")]
    healthy = state.ready
    findings = [
        fine("hub", f"running, version {state.version}")
        if healthy
        else broken("hub", f"running, but not accepting messages: {state.store}", "check its log")
    ]
    if state.changed:
        count = len(state.changed)
        waits = "1 changed setting waits" if count == 1 else f"{count} changed settings wait"
        told = f"{waits} for a restart: {', '.join(state.changed)}"
        fix = "restart the hub; for tokens of channels, hubbub config reload is enough"
        findings.append(warning("configuration", told, fix))
    for name, channel in state.channels.items():
        what = f"channel {name}"
        if channel.state == "running":
            findings.append(fine(what, f"running since {channel.since}"))
        else:
            reason = channel.reason or "no reason given"
            fix = (
                GIVE_UP if channel.state == "failed" else "retried automatically; if it persists: hubbub logs"
            )
            findings.append(broken(what, f"{channel.state}: {reason}", fix))
    if state.at_work >= MANY:
        told = f"{state.at_work} conversations are at work; answers may take long"
        findings.append(warning("conversations", told, "see `hubbub threads list` for who writes so much"))
    return [*findings, *servers_running(state.mcp)]


def _port(host: str, port: int) -> Finding:
    try:
        listen(host, port).close()
    except (StartError, socket.gaierror) as error:
        message, _, advice = str(error).partition("; ")
        return broken("port", message, advice or "set another [http] host")
    return fine("port", f"{host}:{port} is free")
