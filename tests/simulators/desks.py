"""Desks for people: one platform's simulator as a chat by hand needs it. People go by their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.simulators.discord import DiscordSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator


@dataclass(frozen=True, slots=True)
class Told:
    """A message of the bot as it is now."""

    id: str
    text: str
    buttons: tuple[str, ...] = ()
    deleted: bool = False


class Desk(Protocol):
    """One platform. `name`: of it; `identities`: how it calls people, by their names."""

    name: str

    @property
    def identities(self) -> Mapping[str, str]:
        """Platform ids by names."""
        ...

    def meet(self, name: str) -> None:
        """Somebody new."""
        ...

    def says(self, name: str, text: str) -> None:
        """Somebody writes to the bot."""
        ...

    def presses(self, name: str, message_id: str, button: int) -> None:
        """Somebody presses the N-th button (from 0). Raises LookupError if there is none."""
        ...

    def told(self, name: str) -> Sequence[Told]:
        """Return what the bot shows somebody, in order; deleted messages too, where people see that."""
        ...

    def asides(self) -> Mapping[str, str]:
        """Words that are shown for a moment, or to one person alone, each under a name of its own."""
        ...

    async def wait_for(self, is_so: Callable[[], Any], timeout_s: float) -> Any:
        """Until something that happens there makes it true."""
        ...

    async def wait_listening(self, timeout_s: float) -> None:
        """Until the hub listens. Raises TimeoutError."""
        ...


class TelegramDesk:
    """See Desk."""

    name = "telegram"

    def __init__(self, telegram: TelegramSimulator, ids: Mapping[str, int]) -> None:
        self._telegram = telegram
        self._ids = dict(ids)
        for name, user_id in ids.items():
            telegram.add_user(user_id, first_name=name)

    @property
    def identities(self) -> Mapping[str, str]:
        return {name: str(user_id) for name, user_id in self._ids.items()}

    def meet(self, name: str) -> None:
        self._ids[name] = self._telegram.add_user(first_name=name).id

    def says(self, name: str, text: str) -> None:
        self._telegram.user_sends_text(self._ids[name], text)

    def presses(self, name: str, message_id: str, button: int) -> None:
        self._telegram.user_presses_button(self._ids[name], int(message_id), button)

    def told(self, name: str) -> Sequence[Told]:
        messages = self._telegram.messages(self._ids[name], by="bot", deleted=True)
        return [Told(str(m.id), m.text, _telegram_buttons(m), m.deleted) for m in messages]

    def asides(self) -> Mapping[str, str]:
        answered = [query for query in self._telegram.callback_queries() if query.answers]
        return {query.id: str(query.answers[-1].get("text") or "") for query in answered}

    async def wait_for(self, is_so: Callable[[], Any], timeout_s: float) -> Any:
        return await self._telegram.wait_for(is_so, timeout_s)

    async def wait_listening(self, timeout_s: float) -> None:
        await self._telegram.wait_polling(timeout_s=timeout_s)


def _telegram_buttons(message: Any) -> tuple[str, ...]:
    rows = (message.keyboard or {}).get("inline_keyboard", [])
    return tuple(str(button["text"]) for row in rows for button in row)


class SlackDesk:
    """See Desk."""

    name = "slack"

    def __init__(self, slack: SlackSimulator, ids: Mapping[str, str]) -> None:
        self._slack = slack
        self._ids = dict(ids)
        for name, user_id in ids.items():
            slack.add_user(user_id, name=name.lower(), real_name=name)

    @property
    def identities(self) -> Mapping[str, str]:
        return self._ids

    def meet(self, name: str) -> None:
        self._ids[name] = self._slack.add_user(name=name.lower(), real_name=name).id

    def says(self, name: str, text: str) -> None:
        self._slack.user_sends_text(self._ids[name], text)

    def presses(self, name: str, message_id: str, button: int) -> None:
        self._slack.user_presses_button(self._ids[name], self._direct(name), message_id, button)

    def told(self, name: str) -> Sequence[Told]:
        seen = [(m.ts, self._slack.look(m)) for m in self._slack.bot_messages(self._direct(name))]
        return [Told(ts, look.text, tuple(label for label, _ in look.buttons)) for ts, look in seen]

    def asides(self) -> Mapping[str, str]:
        return {
            shown.ts: self._slack.look(shown).text
            for user_id in self._ids.values()
            for shown in self._slack.ephemerals(user_id)
        }

    async def wait_for(self, is_so: Callable[[], Any], timeout_s: float) -> Any:
        return await self._slack.wait_for(is_so, timeout_s)

    async def wait_listening(self, timeout_s: float) -> None:
        await self._slack.wait_for(self._slack.connections, timeout_s)

    def _direct(self, name: str) -> str:
        return self._slack.direct_channel(self._ids[name]).id


class DiscordDesk:
    """See Desk."""

    name = "discord"

    def __init__(self, discord: DiscordSimulator, ids: Mapping[str, int]) -> None:
        self._discord = discord
        self._ids = dict(ids)
        for name, user_id in ids.items():
            discord.add_user(user_id, name.lower(), global_name=name)
        self._guild = discord.create_guild("house", list(ids.values())).id

    @property
    def identities(self) -> Mapping[str, str]:
        return {name: str(user_id) for name, user_id in self._ids.items()}

    def meet(self, name: str) -> None:
        user_id = max(self._ids.values()) + 1
        self._discord.add_user(user_id, name.lower(), global_name=name)
        self._discord.join_guild(self._guild, user_id)
        self._ids[name] = user_id

    def says(self, name: str, text: str) -> None:
        self._discord.user_sends_text(self._ids[name], text)

    def presses(self, name: str, message_id: str, button: int) -> None:
        self._discord.user_presses_button(self._ids[name], int(message_id), button)

    def told(self, name: str) -> Sequence[Told]:
        channel = self._discord.dm_channel(self._ids[name]).id
        shown = [m for m in self._discord.bot_messages(channel) if m.ephemeral_for is None]
        return [Told(str(m.id), m.text, tuple(str(b["label"]) for b in m.buttons())) for m in shown]

    def asides(self) -> Mapping[str, str]:
        channels = [self._discord.dm_channel(user_id).id for user_id in self._ids.values()]
        messages = [message for channel in channels for message in self._discord.bot_messages(channel)]
        return {str(m.id): m.text for m in messages if m.ephemeral_for is not None}

    async def wait_for(self, is_so: Callable[[], Any], timeout_s: float) -> Any:
        return await self._discord.wait_for(is_so, timeout_s)

    async def wait_listening(self, timeout_s: float) -> None:
        await self._discord.wait_connected(timeout_s=timeout_s)
