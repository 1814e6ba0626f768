"""A hub and its owner on one platform, as what any platform lets people do: write, reply, press, read."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.scenarios import guild, house, workspace
from tests.simulators.model import ModelSimulator

LIMIT_S = 15.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot's: its text and the labels of its buttons, as they are now."""

    id: Any
    text: str
    buttons: tuple[str, ...]


class Scene(Protocol):
    """One platform with one person, who owns the hub."""

    files: Path
    model: ModelSimulator

    def say(self, text: str) -> None:
        """The person writes to the bot."""
        ...

    def shown(self) -> Sequence[Shown]:
        """What the bot shows them, in order."""
        ...

    def press(self, card: Shown, label: str) -> None:
        """The person presses a button that is there."""
        ...

    async def until(self, holds: Callable[[], object]) -> None:
        """Until that is so. Raises TimeoutError."""
        ...

    def hold_next_message(self) -> Callable[[], None]:
        """The platform does not take the bot's next message until what is returned is called."""
        ...

    async def held(self) -> None:
        """Until there is such a message."""
        ...


class OnTelegram:
    """See Scene."""

    def __init__(self, place: house.House) -> None:
        self._place = place
        self.files, self.model = place.workspace, place.model

    def say(self, text: str) -> None:
        """See Scene."""
        self._place.telegram.user_sends_text(house.OWNER, text)

    def shown(self) -> Sequence[Shown]:
        """See Scene."""
        return [
            Shown(message.id, message.text, tuple(b["text"] for row in rows for b in row))
            for message in self._place.telegram.bot_messages(house.OWNER)
            for rows in [(message.keyboard or {}).get("inline_keyboard", [])]
        ]

    def press(self, card: Shown, label: str) -> None:
        """See Scene."""
        self._place.telegram.user_presses_button(house.OWNER, card.id, card.buttons.index(label))

    async def until(self, holds: Callable[[], object]) -> None:
        """See Scene."""
        await self._place.telegram.wait_for(holds, LIMIT_S)

    def hold_next_message(self) -> Callable[[], None]:
        """See Scene."""
        fault = self._place.telegram.fail("hold", method="sendMessage", when="before", count=1)
        return lambda: self._place.telegram.release(fault.id)

    async def held(self) -> None:
        """See Scene."""
        await self._place.telegram.wait_held()


class OnSlack:
    """See Scene."""

    def __init__(self, place: workspace.Workspace) -> None:
        self._place = place
        self.files, self.model = place.files, place.model

    def say(self, text: str) -> None:
        """See Scene."""
        self._place.slack.user_sends_text(workspace.OWNER, text)

    def shown(self) -> Sequence[Shown]:
        """See Scene."""
        slack = self._place.slack
        return [
            Shown(one.ts, slack.look(one).text, tuple(label for label, _ in slack.look(one).buttons))
            for one in slack.bot_messages(self._place.direct())
        ]

    def press(self, card: Shown, label: str) -> None:
        """See Scene."""
        self._place.slack.user_presses_button(workspace.OWNER, self._place.direct(), card.id, label)

    async def until(self, holds: Callable[[], object]) -> None:
        """See Scene."""
        await self._place.slack.wait_for(holds, LIMIT_S)

    def hold_next_message(self) -> Callable[[], None]:
        """See Scene."""
        slack = self._place.slack
        slack.fail("hold", method="chat.postMessage", when="before", count=1)
        return slack.clear_faults

    async def held(self) -> None:
        """See Scene."""
        await self._place.slack.wait_held(timeout_s=LIMIT_S)


class OnDiscord:
    """See Scene."""

    def __init__(self, place: guild.Server) -> None:
        self._place = place
        self.files, self.model = place.files, place.model

    def say(self, text: str) -> None:
        """See Scene."""
        self._place.discord.user_sends_text(guild.OWNER, text)

    def shown(self) -> Sequence[Shown]:
        """See Scene."""
        return [
            Shown(one.id, one.text, tuple(button["label"] for button in one.buttons()))
            for one in self._place.discord.bot_messages(self._place.direct())
            if one.ephemeral_for is None
        ]

    def press(self, card: Shown, label: str) -> None:
        """See Scene."""
        self._place.discord.user_presses_button(guild.OWNER, card.id, card.buttons.index(label))

    async def until(self, holds: Callable[[], object]) -> None:
        """See Scene."""
        await self._place.discord.wait_for(holds, LIMIT_S)

    def hold_next_message(self) -> Callable[[], None]:
        """See Scene."""
        discord = self._place.discord
        discord.fail("hold", method="createMessage", when="before", count=1)
        return discord.clear_faults

    async def held(self) -> None:
        """See Scene."""
        await self._place.discord.wait_held(timeout_s=LIMIT_S)


@contextlib.asynccontextmanager
async def open_scene(
    platform: str, directory: Path, *, extra: str = "", speed: float = 1.0
) -> AsyncIterator[Scene]:
    """The hub on that platform; `extra` ends its configuration."""
    match platform:
        case "telegram":
            async with house.open_house(directory, extra=extra, speed=speed) as at_home:
                yield OnTelegram(at_home)
        case "slack":
            async with workspace.open_workspace(directory, extra=extra, speed=speed) as at_work:
                yield OnSlack(at_work)
        case "discord":
            async with guild.open_server(directory, extra=extra, speed=speed) as at_play:
                yield OnDiscord(at_play)
        case _:
            raise ValueError(platform)


__all__ = ["LIMIT_S", "Scene", "Shown", "open_scene"]
