"""Tools, channels and models of other installed packages, found as entry points that the configuration names.

Nothing is loaded that it doesn't name. An extension's code has all of the hub's permissions; its word about
its own risk counts only where the operator says so. What one of them does wrong costs nothing but itself.
"""

import logging
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, cast

from bot.config.schema import Config
from bot.config.schema import Model as ModelSettings
from bot.config.sections import ExtensionChannel
from channels.channel import Channel, Connected, Look, Payload, Route
from core.errors import (
    AuthRejected,
    HubError,
    ModelError,
    ModelFault,
    ModelMisconfigured,
    ModelUnavailable,
    Unavailable,
)
from core.extension import is_of_server
from core.messages import Address, Attachment, Message, MessageRef
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta, closing
from core.ports import Inbox, Posted
from core.tool import Data, Effect, Requirement, Tool
from core.tools.registry import ToolRegistry

TOOLS, CHANNELS, MODELS, HOOKS = "hubbub.tools", "hubbub.channels", "hubbub.models", "hubbub.hooks"
"""The groups of entry points. bot.hooks loads those of hooks."""
_TOOL_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")

logger = logging.getLogger(__name__)


class ExtensionUnusable(HubError):
    """Error for an extension that is not there or can't be loaded; the text says why."""


def load(group: str, name: str) -> Any:
    """Return what an entry point names. Raises ExtensionUnusable."""
    for point in entry_points(group=group, name=name):
        try:
            return point.load()
        except Exception as error:  # whatever that code does as it is loaded
            raise ExtensionUnusable(f'"{point.value}" failed to load: {error}') from error
    raise ExtensionUnusable(f'no installed package has an entry point "{name}" in {group}')


def packages(config: Config) -> Mapping[str, str]:
    """Return what the installed packages bring, by name and version, and what of it is in use. Loads
    nothing."""
    channels = {one.entry_point for one in config.channels.values() if isinstance(one, ExtensionChannel)}
    kinds = (
        ("tools", TOOLS, {*config.extensions.tools}),
        ("channel", CHANNELS, channels),
        ("model", MODELS, {one.entry_point for one in config.models if one.provider == "extension"}),
        ("hook", HOOKS, {one.ask for one in config.hooks}),
    )
    brought: defaultdict[str, list[str]] = defaultdict(list)
    for kind, group, named in kinds:
        for point in entry_points(group=group):
            package = "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
            use = "in use" if point.name in named else "not in the configuration"
            brought[package].append(f"{kind} {point.name} ({use})")
    return {package: f"Python package: {', '.join(sorted(brought[package]))}" for package in sorted(brought)}


# --- tools ---------------------------------------------------------------------------------------------


def add_tools(registry: ToolRegistry, config: Config) -> None:
    """Add the tools of the named entry points, each of them if it can be used."""
    trusted = frozenset(config.extensions.trusted_tools)
    for name in config.extensions.tools:
        try:
            registry.replace(
                f"{TOOLS} {name}", [_limited(tool, trusted) for tool in _tools(load(TOOLS, name))]
            )
        except (ExtensionUnusable, ValueError) as error:
            logger.error("extensions.unusable name=%s error=%s", name, error)  # noqa: TRY400 - the text says it


def _tools(found: Any) -> Sequence[Tool]:
    tools = (found,) if isinstance(found, Tool) else found
    if not isinstance(tools, list | tuple):
        raise ExtensionUnusable("it is neither a tool nor a list of tools")
    for tool in cast("Sequence[Any]", tools):
        if not isinstance(tool, Tool) or not _TOOL_NAME.fullmatch(tool.name) or is_of_server(tool.name):
            raise ExtensionUnusable(
                "it is not a list of tools with names of lowercase letters, digits, - and _"
            )
    return cast("Sequence[Tool]", tools)


def _limited(tool: Tool, trusted: Collection[str]) -> Tool:
    """Return the tool without what only its own word speaks for: that it needs no approval, may be repeated
    and shows no one anything."""
    if tool.name in trusted:
        return replace(tool, foreign=True)
    asks = Requirement.ASK if tool.requirement is Requirement.NEVER else tool.requirement
    return replace(tool, requirement=asks, effect=Effect.EFFECT, data=Data.SHARED, foreign=True)


# --- channels ------------------------------------------------------------------------------------------


def python_channel(name: str, settings: ExtensionChannel) -> Channel:
    """Build a channel of an extension; if that fails, one that says why and does nothing else."""
    secrets = {key: value.get_secret_value() for key, value in settings.secrets.items()}
    options = {**settings.options, **secrets}
    try:
        channel: Channel = load(CHANNELS, settings.entry_point)(name, options)
        if channel.name != name:
            raise ExtensionUnusable("the channel has another name than it was given")
    except Exception as error:
        logger.exception("extensions.unusable name=%s error=%s", name, type(error).__name__)
        return UnusableChannel(name, str(error) or type(error).__name__)
    return channel


class UnusableChannel:
    """A channel whose extension can't be used: its state says why, and messages to it wait."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = f"its extension can't be used: {reason}"

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        del inbox
        return ()

    async def check(self) -> None:
        raise AuthRejected(self._reason)

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        del inbox, connected
        raise AuthRejected(self._reason)

    def render(self, message: Message) -> tuple[Payload, ...]:
        del message
        return ({},)

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        del to, payload, nonce, repeated
        raise Unavailable(self._reason)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        del ref, payload
        raise Unavailable(self._reason)

    async def retract(self, ref: MessageRef) -> bool:
        del ref
        raise Unavailable(self._reason)

    async def typing(self, to: Address) -> None:
        del to

    async def acknowledge(self, ref: MessageRef) -> None:
        del ref

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        del to, payload, nonce, look
        raise Unavailable(self._reason)

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        del attachment, limit_bytes
        raise Unavailable(self._reason)

    def direct(self, platform_user_id: str) -> Address:
        return Address(platform_user_id)

    async def close(self) -> None:
        pass


# --- models --------------------------------------------------------------------------------------------


def python_model(settings: ModelSettings, key: str) -> Model:
    """Build a model of an extension; if that fails, one that says why, so that the next one answers."""
    options = {**settings.options, **({"api_key": key} if key else {})}
    try:
        return ExtensionModel(load(MODELS, settings.entry_point)(settings.name, settings.model, options))
    except Exception as error:
        logger.exception("extensions.unusable name=%s error=%s", settings.name, type(error).__name__)
        return UnusableModel(settings.name, str(error) or type(error).__name__)


class ExtensionModel:
    """A model of an extension, whose defects are the failures of a model and of nothing else."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        try:
            async with closing(self._model.reply(request)) as stream:
                async for part in stream:
                    yield part
        except ModelError:
            raise
        except Exception as error:
            logger.exception("extensions.model_crashed name=%s", self.name)
            raise ModelUnavailable(f"{self.name} failed: {type(error).__name__}") from error


class UnusableModel:
    """A model whose extension can't be used."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.abilities = ModelAbilities()
        self._reason = reason

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        del request
        for _ in ():
            yield ReplyDelta("")
        raise ModelMisconfigured(f"its extension can't be used: {self._reason}", ModelFault.EXTENSION)
