"""The configured MCP servers as parts of the hub. The SDK itself is loaded when the first is connected."""

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from bot.config.load import Loaded
from bot.config.sections import McpServer as ServerSettings
from bot.mcp.session import TOO_LARGE, SdkConnection, greeted
from core.clock import Clock
from core.errors import ToolFailed, VaultError
from core.extension import Extension
from core.off_loop import TooManyValues, json_with_breaks, off_loop
from core.tool import Arguments, CallContext, Effect, Requirement, Tool
from core.tools.builtin.shell import safe_environment
from core.tools.mcp.catalog import Judge, Listed, Terms, ToolTerms, offer
from core.tools.mcp.connection import (
    ANSWER_LIMIT_VALUES,
    Connection,
    Connector,
    ServerChild,
    ServerFailed,
)
from core.tools.mcp.server import McpServer, McpServers
from core.tools.processes import end_marked
from core.tools.registry import ToolRegistry
from core.tools.sign_in import ServerTerms, SignIns
from core.web import Interceptor

# What servers listed when they were last reached: a file for each in the data directory.
#
# With it their tools are there as soon as the hub is: a call that waits for its answer finds its tool
# again, and a conversation need not wait for a server to be reached. What a file says was judged before
# that.

DIRECTORY_NAME = "mcp"
LIMIT_BYTES = 4 * 1024 * 1024

logger = logging.getLogger(__name__)


class KnownTools:
    """Implements core.tools.mcp.connection.Known. `of`: what makes the server the one it is; another one's
    list is not taken for its."""

    def __init__(self, data_dir: Path, name: str, of: Sequence[str]) -> None:
        self._path = data_dir / DIRECTORY_NAME / f"{name}.json"
        self._of = hashlib.sha256(json.dumps(list(of)).encode()).hexdigest()

    def load(self) -> Sequence[Listed]:
        try:
            if self._path.stat().st_size > LIMIT_BYTES:
                return ()
            page = json.loads(self._path.read_bytes())
            return [Listed(**tool) for tool in page["tools"]] if page["of"] == self._of else ()
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            logger.warning("mcp.catalog_unreadable path=%s error=%s", self._path, error)
            return ()

    def save(self, listed: Sequence[Listed]) -> None:
        fresh = self._path.with_suffix(".new")
        text = json.dumps({"of": self._of, "tools": [asdict(tool) for tool in listed]})
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.touch(mode=0o600)
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("mcp.catalog_write_failed path=%s error=%s", self._path, error)


MISSING = "the extra `mcp` is not installed; run: pip install 'hubbub[mcp]'"


Secret = Callable[[str], Awaitable[str]]
"""Function that returns a secret of the vault by its name. Raises VaultError."""


def add_configured(
    servers: McpServers, loaded: Loaded, registry: ToolRegistry, clock: Clock, sign_ins: SignIns | None
) -> None:
    """Add the clients of all configured servers. Their known tools are in the registry when this returns."""
    for name, settings in loaded.config.mcp.items():
        given = {
            key: value.get_secret_value() for key, value in (*settings.env.items(), *settings.headers.items())
        }
        credentials = None
        if sign_ins is not None and settings.people_sign_in:
            credentials = ServerSignIns(sign_ins, name)
        connector = _LateConnector(loaded, name, settings, _given(given), servers.interceptor, credentials)
        _add(servers, loaded, name, settings, connector, registry, clock, credentials)


def add_extension(
    servers: McpServers,
    loaded: Loaded,
    extension: Extension,
    registry: ToolRegistry,
    clock: Clock,
    secret: Secret,
    sign_ins: SignIns | None,
) -> None:
    """Add the client of an extension, with the tools it is known to have. Raises ServerFailed if these can't
    be used."""
    settings = ServerSettings.model_construct(
        command=extension.command,
        url=extension.url,
        users=(extension.owner_id,),
        requirement=extension.requirement.value,
    )

    async def given() -> Mapping[str, str]:
        try:
            return {key: await secret(name) for key, name in extension.secrets.items()}
        except VaultError as error:
            raise ServerFailed(str(error)) from error

    credentials = None
    if sign_ins is not None and extension.url is not None and extension.people_sign_in:
        terms = ServerTerms(extension.url, frozenset({extension.owner_id}))
        sign_ins.serve(extension.name, terms)
        credentials = ServerSignIns(sign_ins, extension.name)
    connector = _LateConnector(loaded, extension.name, settings, given, servers.interceptor, credentials)
    _add(servers, loaded, extension.name, settings, connector, registry, clock, credentials)


def _add(
    servers: McpServers,
    loaded: Loaded,
    name: str,
    settings: ServerSettings,
    connector: Connector,
    registry: ToolRegistry,
    clock: Clock,
    credentials: "ServerSignIns | None" = None,
) -> None:
    terms, known = _terms(loaded, name, settings), _known(loaded, name, settings)
    server = McpServer(terms, connector, known, registry.replace, clock, credentials)
    server.recall()
    servers.add(server, _mark(loaded, name) if settings.command else None)


def _given(values: Mapping[str, str]) -> Callable[[], Awaitable[Mapping[str, str]]]:
    async def given() -> Mapping[str, str]:
        return values

    return given


def name_known_tools(loaded: Loaded, registry: ToolRegistry) -> None:
    """Register the tools servers are known to have, for commands that only list them."""
    for name, settings in loaded.config.mcp.items():
        known = _known(loaded, name, settings).load()
        registry.replace(name, offer(known, _terms(loaded, name, settings), _not_here, judged=True).tools)


async def _not_here(
    tool: Tool, _listed: Listed, _judge: Judge | None, _call: CallContext, _arguments: Arguments
) -> str:
    raise ToolFailed(f"{tool.name} can't be called here.")


def _terms(loaded: Loaded, name: str, settings: ServerSettings) -> Terms:
    return Terms(
        server=name,
        users=frozenset(settings.users or (loaded.config.hub.owner,)),
        requirement=Requirement(settings.requirement),
        timeout_s=settings.timeout_s,
        only=frozenset(settings.only) or None,
        tools={
            tool: ToolTerms(
                None if said.requirement is None else Requirement(said.requirement),
                Effect(said.effect),
                said.timeout_s,
            )
            for tool, said in settings.tools.items()
        },
    )


def _mark(loaded: Loaded, name: str) -> str:
    """Return the mark that only the server's processes carry."""
    whose = hashlib.sha256(str(loaded.config.hub.data_dir.resolve()).encode()).hexdigest()[:16]
    return f"mcp-{whose}-{name}"


def _known(loaded: Loaded, name: str, settings: ServerSettings) -> KnownTools:
    return KnownTools(loaded.config.hub.data_dir, name, [*settings.command, settings.url or ""])


class _LateConnector:
    """Implements core.tools.mcp.connection.Connector; what it takes is loaded in a thread, when needed."""

    def __init__(
        self,
        loaded: Loaded,
        name: str,
        settings: ServerSettings,
        given: Callable[[], Awaitable[Mapping[str, str]]],
        interceptor: Interceptor,
        credentials: "ServerSignIns | None" = None,
    ) -> None:
        """Initialize. `given`: returns the command's own variables, or the headers of requests, at each
        connection. `credentials`: of the people who sign in to the server."""
        self._loaded = loaded
        self._name = name
        self._settings = settings
        self._given = given
        self._interceptor = interceptor
        self._credentials = credentials

    @contextlib.asynccontextmanager
    async def open(self, user_id: str | None = None) -> AsyncIterator[Connection]:
        given = await self._given()
        try:
            connector = await asyncio.to_thread(self._connector, given)
        except ImportError as error:
            raise ServerFailed(MISSING) from error
        async with connector.open(user_id) as connection:
            yield connection

    def _connector(self, given: Mapping[str, str]) -> Connector:
        from bot.mcp.session import quieten

        quieten()
        settings, config = self._settings, self._loaded.config
        if settings.url is not None:
            from bot.mcp.http import HttpConnector

            limit_s = settings.connect_timeout_s
            return HttpConnector(settings.url, given, limit_s, self._interceptor, self._credentials)

        return StdioConnector(
            self._name,
            settings.command,
            {**safe_environment(self._loaded.environment), **given},
            str(config.workspace.dir),
            _mark(self._loaded, self._name),
            settings.connect_timeout_s,
        )


# A server that is started as a child and spoken with over its standard input and output.
#
# The SDK's own transport takes lines of any length; ours is bounded (core.tools.mcp.connection).

Lost = Callable[[str], None]


class StdioConnector:
    """Implements core.tools.mcp.connection.Connector. `mark`: names the server's processes, and no others."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: str,
        mark: str,
        limit_s: float,
    ) -> None:
        self._name = name
        self._argv = argv
        self._environment = environment
        self._directory = directory
        self._mark = mark
        self._limit_s = limit_s

    @contextlib.asynccontextmanager
    async def open(self, user_id: str | None = None) -> AsyncIterator[SdkConnection]:
        del user_id  # a child serves everybody
        if await end_marked(self._mark):
            logger.warning("mcp.processes_stopped server=%s", self._name)
        child = ServerChild(self._argv, self._environment, self._directory, self._mark)
        try:
            await child.connect()
            async with self._spoken_with(child) as connection:
                yield connection
        finally:
            await child.end()
            if complaints := child.errors.text().strip():
                logger.info("mcp.server_stderr server=%s output=%s", self._name, complaints)

    @contextlib.asynccontextmanager
    async def _spoken_with(self, child: ServerChild) -> AsyncIterator[SdkConnection]:
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
        told: list[SdkConnection] = []
        failed: ServerFailed | None = None

        def lost(because: str) -> None:
            for connection in told:
                connection.lose(because)

        async with asyncio.TaskGroup() as pumps:
            tasks = (
                pumps.create_task(_hear(child, heard_in, lost), name=f"mcp {self._name} hears"),
                pumps.create_task(_say(child, said_out, lost), name=f"mcp {self._name} says"),
            )
            try:
                async with greeted((heard, said), child.info, self._limit_s, told) as connection:
                    yield connection
            except ServerFailed as error:
                failed = error
            for task in tasks:
                task.cancel()
        if failed is not None:
            raise failed


async def _hear(child: ServerChild, into: MemoryObjectSendStream[Any], lost: Lost) -> None:
    async with into:
        try:
            while True:
                message = await _message(await child.line())
                if message is not None:
                    await into.send(SessionMessage(message))
        except ServerFailed as error:
            lost(str(error))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the session is over


async def _say(child: ServerChild, source: MemoryObjectReceiveStream[SessionMessage], lost: Lost) -> None:
    async with source:
        try:
            async for sent in source:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await child.say(text.encode() + b"\n")
        except ServerFailed as error:
            lost(str(error))


async def _message(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message of a line; None for anything else, such as a stray log line. Raises ServerFailed."""
    try:
        read: Any = await off_loop(
            len(line), partial(json_with_breaks, line, most_values=ANSWER_LIMIT_VALUES)
        )
        return types.jsonrpc_message_adapter.validate_python(read, by_name=False)
    except TooManyValues as error:
        raise ServerFailed(TOO_LARGE) from error
    except (ValueError, RecursionError, ValidationError):
        return None


class ServerSignIns:
    """The sign-ins at one server: implements core.tools.mcp.connection.Credentials."""

    def __init__(self, sign_ins: SignIns, server: str) -> None:
        self._sign_ins = sign_ins
        self._server = server

    def bearer(self, user_id: str, refused: str = "") -> Awaitable[str | None]:
        return self._sign_ins.bearer(self._server, user_id, refused)

    def holder(self, users: Iterable[str]) -> Awaitable[str | None]:
        return self._sign_ins.holder(self._server, users)

    def changed(self) -> Awaitable[None]:
        return self._sign_ins.changed_again()
