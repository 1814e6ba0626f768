"""Opens agent CLIs as models: their processes, directories, and the part of the environment they see."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.config.schema import Model as ModelSettings
from bot.mcp.bridge import McpBridge
from core.ids import Ids
from core.model.base import ModelAbilities
from core.model.cli import Bridge, ChildFailed, CliModel, Launch, presets
from core.tools.builtin.shell import safe_environment
from core.tools.mcp.connection import ServerChild, ServerExited, ServerFailed
from core.users import Thinking

DIRECTORY_NAME = "cli"
WINDOW_LIMIT_LINES = 50_000
"""The most lines in ten seconds: a streamed reply has one for each of its pieces."""


class CliChild:
    """One process of a CLI, killed with its whole group; it dies with the hub."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], directory: str, mark: str
    ) -> None:
        try:
            self._child = ServerChild(argv, environment, directory, mark, WINDOW_LIMIT_LINES)
        except ServerFailed as error:
            raise ChildFailed(str(error)) from error
        self._rest: bytes | None = None

    async def connect(self) -> None:
        await self._child.connect()

    async def line(self) -> bytes:
        try:
            return await self._child.line()
        except ServerExited as error:
            rest, self._rest = (error.rest if self._rest is None else b""), b""
            return rest
        except ServerFailed as error:
            raise ChildFailed(str(error)) from error

    async def tell(self, text: bytes) -> None:
        try:
            await self._child.say(text)
        except ServerFailed as error:
            raise ChildFailed(str(error)) from error
        self._child.end_input()

    def complaint(self) -> str:
        return self._child.errors.text()

    async def end(self) -> None:
        await self._child.end()


def launcher(name: str, new_id: Callable[[], str]) -> Launch:
    """Return what starts the processes of a model."""
    return lambda argv, environment, directory: CliChild(
        argv, environment, directory, f"cli-{name}-{new_id()}"
    )


@asynccontextmanager
async def open_bridge() -> AsyncIterator[Bridge]:
    """Serve the hub's tools to CLIs within the block."""
    bridge = McpBridge()
    async with bridge.serving():
        yield bridge.offer


def cli_model(
    settings: ModelSettings,
    key: str,
    data_dir: Path,
    environment: Mapping[str, str],
    ids: Ids,
    abilities: ModelAbilities,
    bridge: Bridge | None = None,
) -> CliModel:
    """Return a configured agent CLI. `environment`: the hub's own, of which it sees the harmless part."""
    preset = presets()[settings.preset]
    if settings.command:
        preset = replace(preset, program=settings.command)
    if settings.arguments:
        preset = replace(preset, arguments=settings.arguments)
    return CliModel(
        preset,
        name=settings.name,
        model=settings.model,
        base_url=settings.base_url,
        api_key=key,
        directory=(data_dir / DIRECTORY_NAME / settings.name).absolute(),
        environment=safe_environment(environment),
        launch=launcher(settings.name, ids.row_id),
        timeout_s=settings.timeout_s,
        new_name=ids.row_id,
        bridge=bridge,
        abilities=abilities,
        thinking=Thinking(settings.thinking),
    )
