"""The suite's stage on Discord.

Discord waits for no acknowledgement of messages: what it brought counts as taken as long as the bot stays
connected, and a bot that could not take a message ends its session and reads the history in the next one.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from core.messages import Attachment
from tests.contracts.channel.subject import PlatformSubject, Shown
from tests.harness.discord_hub import BOT, LIMIT_S, OWNER, DiscordHub, open_discord_hub
from tests.simulators.discord.world import Message

STRANGER = 100_000_000_000_000_008


class DiscordSubject(PlatformSubject):
    """See Subject."""

    name = "discord"
    limit = 2000
    posts = "createMessage"

    def __init__(self, hub: DiscordHub) -> None:
        super().__init__(hub, hub.discord)
        self._hub = hub
        self._discord = hub.discord
        self._room: int | None = None
        self._said: list[Message] = []

    @property
    def _here(self) -> int:
        return self._room or self._hub.direct()

    def in_company(self) -> None:
        self._room = self._hub.room("friends").id

    def says(self, text: str) -> None:
        if self._room is None:
            self._said.append(self._discord.user_sends_text(OWNER, text))
        else:
            self._said.append(self._discord.user_mentions_bot(OWNER, text, self._room))

    def sends_file(self, name: str, content: bytes) -> None:
        files = [{"name": name, "content": content}]
        self._said.append(self._discord.user_sends_text(OWNER, "", files=files))

    def received_file(self) -> Attachment:
        (file,) = self._said[-1].attachments
        handle = f"{self._hub.direct()}:{self._said[-1].id}:{file.id}"
        return Attachment(handle, file.name, file.media_type or "", len(file.content))

    def delivered_again(self) -> None:
        self._discord.redeliver(self._said[-1].id)

    async def forges(self, text: str) -> int:
        raise NotImplementedError("Discord delivers nothing by HTTP here")

    def shown(self) -> Sequence[Shown]:
        messages = self._discord.bot_messages(self._here)
        return [_shown(message) for message in messages if message.ephemeral_for is None]

    async def hears(self, text: str) -> Shown:
        return _shown(await self._hub.hears(self._here, text))

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        person = STRANGER if stranger else OWNER
        custom_id = self._discord.message(shown.id).buttons()[button]["custom_id"]
        pressed = self._discord.user_presses_button(person, shown.id, custom_id=custom_id)
        settled = await self._discord.wait_interaction(pressed.id, LIMIT_S)
        assert settled.failure is None
        return "".join(message.text for message in settled.messages() if message.ephemeral_for == person)

    async def settled(self) -> None:
        await self._discord.wait_connected(timeout_s=LIMIT_S)
        await self._discord.wait_for(self._all_sent, LIMIT_S)

    def _all_sent(self) -> bool:
        return all(event.sent_at for event in self._discord.events())

    def is_acknowledged(self) -> bool:
        return self._discord.is_connected(BOT)

    def revoke(self) -> None:
        self._discord.revoke_token()


def _shown(message: Message) -> Shown:
    labels = tuple(str(button["label"]) for button in message.buttons())
    return Shown(str(message.id), message.text, labels, len(message.content))


@contextlib.asynccontextmanager
async def discord(directory: Path, mode: str) -> AsyncIterator[DiscordSubject]:
    """Up and running."""
    async with open_discord_hub(directory, extra='groups = "addressed"') as place:
        place.joins(STRANGER, "sam")
        yield DiscordSubject(place)
