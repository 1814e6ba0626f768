"""The suite's stage on Telegram, by polling or by webhook."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp

from core.messages import Attachment
from tests.contracts.channel.subject import PlatformSubject, Shown
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.ports import free_port

STRANGER = 66


class TelegramSubject(PlatformSubject):
    """See Subject."""

    name = "telegram"
    limit = 4096
    posts = "sendMessage"

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub, hub.telegram)
        self._telegram = hub.telegram
        self._chat_id = OWNER

    def in_company(self) -> None:
        self._chat_id = self._telegram.create_group("Friends", [OWNER, STRANGER]).id

    def says(self, text: str) -> None:
        if self._chat_id == OWNER:
            self._telegram.user_sends_text(OWNER, text)
        else:
            named = f"@{self._telegram.bot().user.username} {text}"
            self._telegram.user_sends_text(OWNER, named, chat_id=self._chat_id)

    def sends_file(self, name: str, content: bytes) -> None:
        self._telegram.user_sends_document(OWNER, name, content)

    def received_file(self) -> Attachment:
        message = next(m for m in reversed(self._telegram.messages(OWNER)) if "document" in m.content)
        file = message.content["document"]
        return Attachment(file["file_id"], file["file_name"], file["mime_type"], file["file_size"])

    def delivered_again(self) -> None:
        self._telegram.redeliver()

    async def forges(self, text: str) -> int:
        person = {"id": OWNER, "is_bot": False, "first_name": "Olivia"}
        message = {"message_id": 900, "date": 1, "chat": {"id": OWNER, "type": "private"}, "from": person}
        update = {"update_id": 900, "message": {**message, "text": text}}
        headers = {"X-Telegram-Bot-Api-Secret-Token": "another-word"}
        url = f"{self.app.url}/channels/telegram/webhook"
        async with aiohttp.ClientSession() as http, http.post(url, json=update, headers=headers) as answer:
            return answer.status

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                str(message.id),
                message.text,
                tuple(b["text"] for row in (message.keyboard or {}).get("inline_keyboard", []) for b in row),
                len(message.text.encode("utf-16-le")) // 2,
            )
            for message in self._telegram.bot_messages(self._chat_id)
        ]

    async def hears(self, text: str) -> Shown:
        await self._telegram.wait_text(self._chat_id, text, timeout_s=LIMIT_S)
        return next(shown for shown in reversed(self.shown()) if text in shown.text)

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        person = STRANGER if stranger else OWNER
        message = self._telegram.message(self._chat_id, int(shown.id))
        rows = (message.keyboard or {}).get("inline_keyboard", [])
        data = [b["callback_data"] for row in rows for b in row][button]
        query = self._telegram.user_presses_button(person, message.id, data=data, chat_id=self._chat_id)
        answered = await self._telegram.wait_callback_answer(query.id, LIMIT_S)
        return answered.answers[0].get("text", "")

    async def settled(self) -> None:
        await self._telegram.wait_confirmed(timeout_s=LIMIT_S)

    def is_acknowledged(self) -> bool:
        return self._telegram.all_confirmed()

    def revoke(self) -> None:
        bots = self._telegram.world.bots
        bots["123456:another"] = bots.pop(TOKEN)


@contextlib.asynccontextmanager
async def telegram(directory: Path, mode: str) -> AsyncIterator[TelegramSubject]:
    """Up and running."""
    http, extra = "port = 0", 'groups = "addressed"'
    if mode == "webhook":
        port = free_port()
        http = f'port = {port}\npublic_url = "http://127.0.0.1:{port}"'
        extra += '\nmode = "webhook"\nwebhook_secret = "a-secret_word"'
    async with open_hub(directory, http=http, extra=extra, start=False) as house:
        house.telegram.add_user(STRANGER, first_name="Sam")
        stage = TelegramSubject(house)
        await stage.start()
        house.telegram.bot().started_by.add(OWNER)
        yield stage
