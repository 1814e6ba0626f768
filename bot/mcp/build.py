"""The configured MCP servers as parts of the hub. The SDK itself is loaded when the first is connected."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator

from bot.config import Loaded
from bot.mcp.known import KnownTools
from bot.mcp_settings import McpServer as ServerSettings
from core.clock import Clock
from core.errors import ToolFailed
from core.tool import Arguments, CallContext, Effect, Requirement, Tool
from core.tools.builtin.shell import safe_environment
from core.tools.mcp.connection import Connection, Connector, ServerFailed
from core.tools.mcp.judging import Judge
from core.tools.mcp.listing import Listed, Terms, ToolTerms, offer
from core.tools.mcp.server import McpServer, McpServers
from core.tools.registry import ToolRegistry

MISSING = "the package's extra `mcp` is not installed; pip install 'hubbub[mcp]'"


def build_servers(loaded: Loaded, registry: ToolRegistry, clock: Clock) -> McpServers:
    """All of them; the tools they are known to have are in the registry when this returns."""
    servers = [
        McpServer(
            _terms(loaded, name, settings),
            _LateConnector(loaded, name, settings),
            _known(loaded, name, settings),
            registry.replace,
            clock,
        )
        for name, settings in loaded.config.mcp.items()
    ]
    for server in servers:
        server.recall()
    commands = [name for name, settings in loaded.config.mcp.items() if settings.command]
    return McpServers(servers, [_mark(loaded, name) for name in commands])


def name_known_tools(loaded: Loaded, registry: ToolRegistry) -> None:
    """The tools servers are known to have, for those who only look at them."""
    for name, settings in loaded.config.mcp.items():
        known = _known(loaded, name, settings).load()
        registry.replace(name, offer(known, _terms(loaded, name, settings), _not_here, judged=True).tools)


async def _not_here(
    tool: Tool, _listed: Listed, _judge: Judge | None, _call: CallContext, _arguments: Arguments
) -> str:
    raise ToolFailed(f"{tool.name} is only named here.")


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
    """What the server's processes carry, and nobody else's."""
    whose = hashlib.sha256(str(loaded.config.hub.data_dir.resolve()).encode()).hexdigest()[:16]
    return f"mcp-{whose}-{name}"


def _known(loaded: Loaded, name: str, settings: ServerSettings) -> KnownTools:
    return KnownTools(loaded.config.hub.data_dir, name, [*settings.command, settings.url or ""])


class _LateConnector:
    """Implements core.tools.mcp.connection.Connector; what it takes is loaded in a thread, when needed."""

    def __init__(self, loaded: Loaded, name: str, settings: ServerSettings) -> None:
        self._loaded = loaded
        self._name = name
        self._settings = settings

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Connection]:
        """See Connector."""
        try:
            connector = await asyncio.to_thread(self._connector)
        except ImportError as error:
            raise ServerFailed(MISSING) from error
        async with connector.open() as connection:
            yield connection

    def _connector(self) -> Connector:
        from bot.mcp.session import quieten

        quieten()
        settings, config = self._settings, self._loaded.config
        if settings.url is not None:
            from bot.mcp.http import HttpConnector

            headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
            return HttpConnector(settings.url, headers, settings.connect_timeout_s)
        from bot.mcp.stdio import StdioConnector

        given = {name: value.get_secret_value() for name, value in settings.env.items()}
        return StdioConnector(
            self._name,
            settings.command,
            {**safe_environment(self._loaded.environment), **given},
            str(config.workspace.dir),
            _mark(self._loaded, self._name),
            settings.connect_timeout_s,
        )
