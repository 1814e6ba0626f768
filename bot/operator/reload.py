"""Reload of a changed configuration in a running hub: the tokens and secrets of its channels, its models, its
budget, and the preset and limits of approvals.

Everything else takes effect with the next start. A channel whose token the platform rejected is tried again
with the same token: it may have been allowed again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import BaseModel, SecretStr

from bot.config.load import Loaded
from bot.config.schema import Config, secret_values
from bot.config.sections import ChannelSection
from bot.ops.logs import strike_out
from bot.runtime import AdminError, ConfigError, StartError
from channels.manager import Phase
from core.errors import ChannelError
from core.lazy import dataclass

if TYPE_CHECKING:
    from bot.platforms import ChannelBuilder
    from channels.manager import ChannelManager

# What came of reading the configuration again, as the API and commands show it.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedChannel:
    """One configured channel. `refused`: it stays as before, for this reason."""

    name: str
    outcome: Literal["unchanged", "replaced", "refused"]
    reason: str | None = None

    def in_words(self) -> str:
        """Return a line for people."""
        match self.outcome:
            case "unchanged":
                return f"channel {self.name} is unchanged"
            case "replaced":
                return f"channel {self.name} uses the new tokens"
            case "refused":
                return f"channel {self.name} keeps its old tokens: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadView:
    """The result of a reload: every running channel. `next_start`: other changed keys, which apply from the
    next start."""

    channels: tuple[ReloadedChannel, ...]
    next_start: tuple[str, ...]


class Reloader(Protocol):
    """Reader of a changed configuration in a running hub."""

    async def reload(self) -> ReloadView:
        """Take over what can be taken over. Raises AdminError, and then nothing has changed."""
        ...


logger = logging.getLogger(__name__)


class LiveParts(Protocol):
    """The parts of a running hub whose settings can be replaced."""

    async def take_up(self, running: Config, written: Config) -> Config:
        """Use the settings that can change while the hub runs. Return the configuration in use then. Raises
        StartError: a model can't be opened, and nothing has changed."""
        ...


class ChannelReloader:
    """Reader of a changed configuration in a running hub, one reload at a time. `loaded`: the configuration
    at the start; `learn`: called with every secret before it is used, besides the log; `live`: what else is
    taken up."""

    def __init__(
        self,
        loaded: Loaded,
        manager: "ChannelManager",
        builder: "ChannelBuilder",
        learn: Callable[[Iterable[str]], None],
        live: LiveParts,
    ) -> None:
        self._live = live
        self._loaded = loaded
        self._learn = learn
        self._manager = manager
        self._builder = builder
        self._running: Config = loaded.config
        self._one_at_a_time = asyncio.Lock()

    async def reload(self) -> ReloadView:
        async with self._one_at_a_time:
            written = await self._written()
            self._hide(written)
            await self._take_up(written)
            async with asyncio.TaskGroup() as tasks:
                changes = [
                    tasks.create_task(self._channel(name, old, written.channels.get(name)))
                    for name, old in self._running.channels.items()
                ]
            return ReloadView(
                channels=tuple(change.result() for change in changes),
                next_start=tuple(self.next_start(written)),
            )

    @property
    def running(self) -> Config:
        """The configuration in use."""
        return self._running

    async def take_up(self, written: Config) -> None:
        """Use what of the written configuration can change while the hub runs, without the channels."""
        async with self._one_at_a_time:
            self._hide(written)
            await self._take_up(written)

    def _hide(self, written: Config) -> None:
        strike_out(secret_values(written))
        self._learn(secret_values(written))

    async def _take_up(self, written: Config) -> None:
        try:
            self._running = await self._live.take_up(self._running, written)
        except StartError as error:  # it is tried again at the next start
            logger.warning("settings.not_taken_up error=%s", error)

    def next_start(self, written: Config) -> Sequence[str]:
        """Return the keys that differ from the running configuration."""
        return tuple(differences(self._running, written))

    async def changed(self) -> Sequence[str]:
        """Return the keys whose written values are not those in use; none if they cannot be read."""
        try:
            return self.next_start(await self._written())
        except AdminError:
            return ()

    async def _written(self) -> Config:
        if self._loaded.again is None:
            raise AdminError("refused", "this hub's configuration has no source to reload; restart the hub")
        try:
            return (await asyncio.to_thread(self._loaded.again)).config
        except ConfigError as error:
            raise AdminError("refused", str(error)) from error

    async def _channel(
        self, name: str, old: ChannelSection, written: ChannelSection | None
    ) -> ReloadedChannel:
        secrets = {} if written is None else _changed_secrets(old, written)
        if not secrets and self._manager.states()[name].phase is not Phase.FAILED:
            return ReloadedChannel(name=name, outcome="unchanged")
        new = old.model_copy(update=secrets)
        try:
            await self._manager.replace(self._builder.one(self._running, name, new))
        except ChannelError as error:
            logger.warning("channel.reload_failed channel=%s error=%s", name, error)
            return ReloadedChannel(name=name, outcome="refused", reason=str(error))
        channels = {**self._running.channels, name: new}
        self._running = self._running.model_copy(update={"channels": channels})
        logger.info("channel.replaced channel=%s", name)
        return ReloadedChannel(name=name, outcome="replaced")


def _changed_secrets(old: ChannelSection, new: ChannelSection) -> Mapping[str, SecretStr]:
    if type(old) is not type(new):
        return {}
    return {
        key: value for key, value in new if isinstance(value, SecretStr) and value != getattr(old, key, None)
    }


def differences(old: object, new: object, *path: str) -> Iterator[str]:
    """Yield the keys whose values differ."""
    if old == new:
        return
    before, after = _entries(old), _entries(new)
    if before is None or after is None:
        yield ".".join(path)
        return
    for key in dict.fromkeys([*before, *after]):
        if key in before and key in after:
            yield from differences(before[key], after[key], *path, key)
        else:
            yield ".".join((*path, key))


def _entries(value: object) -> Mapping[str, object] | None:
    match value:
        case BaseModel():
            return {name: inner for name, inner in value}
        case Mapping():
            return {str(key): inner for key, inner in value.items()}
        case tuple() | list():
            return {str(index): inner for index, inner in enumerate(value)}
        case _:
            return None
