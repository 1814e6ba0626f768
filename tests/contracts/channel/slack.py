"""The suite's stage on Slack, by Socket Mode or by signed requests."""

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp

from core.messages import Attachment
from tests.contracts.channel.subject import PlatformSubject, Shown
from tests.harness.slack_hub import BOT_TOKEN, LIMIT_S, OWNER, SlackHub, open_slack_hub

STRANGER = "U0STRANGER"


class SlackSubject(PlatformSubject):
    """See Subject."""

    name = "slack"
    limit = 3000
    posts = "chat.postMessage"

    def __init__(self, hub: SlackHub) -> None:
        super().__init__(hub, hub.slack)
        self._hub = hub
        self._slack = hub.slack
        self._room: str | None = None

    @property
    def _here(self) -> str:
        return self._room or self._hub.direct()

    def in_company(self) -> None:
        self._room = self._slack.create_channel("friends", [OWNER, STRANGER], apps=["hub"]).id

    def says(self, text: str) -> None:
        if self._room is None:
            self._slack.user_sends_text(OWNER, text)
        else:
            self._slack.user_mentions(OWNER, text, self._room)

    def sends_file(self, name: str, content: bytes) -> None:
        self._slack.user_sends_file(OWNER, name, content)

    def received_file(self) -> Attachment:
        sent = [m for m in self._slack.messages(self._hub.direct()) if m.body.get("files")]
        file = sent[-1].body["files"][0]
        return Attachment(file["url_private_download"], file["name"], file["mimetype"], file["size"])

    def delivered_again(self) -> None:
        self._slack.redeliver()

    async def forges(self, text: str) -> int:
        event = {"type": "message", "channel": self._here, "channel_type": "im", "user": OWNER, "text": text}
        said = {"type": "event_callback", "event_id": "Ev1", "event": {**event, "ts": "1700000000.000100"}}
        headers = {"X-Slack-Request-Timestamp": str(int(time.time())), "X-Slack-Signature": f"v0={'0' * 64}"}
        url = f"{self.app.url}/channels/slack/events"
        async with aiohttp.ClientSession() as http, http.post(url, json=said, headers=headers) as answer:
            return answer.status

    def shown(self) -> Sequence[Shown]:
        messages = self._slack.bot_messages(self._here)
        looks = [(message.ts, self._slack.look(message)) for message in messages]
        return [
            Shown(ts, look.text, tuple(label for label, _ in look.buttons), len(look.text))
            for ts, look in looks
        ]

    async def hears(self, text: str) -> Shown:
        message = await self._hub.hears(self._here, text)
        return next(shown for shown in self.shown() if shown.id == message.ts)

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        person = STRANGER if stranger else OWNER
        told_before = len(self._slack.ephemerals(person))
        value = self._value(shown, button)
        pressed = self._slack.user_presses_button(person, self._here, shown.id, value=value)
        await self._slack.wait_settled(pressed.id, LIMIT_S)
        if not stranger:
            return ""
        await self._slack.wait_for(lambda: len(self._slack.ephemerals(person)) > told_before, LIMIT_S)
        return self._slack.look(self._slack.ephemerals(person)[-1]).text

    def _value(self, shown: Shown, button: int) -> str:
        message = next(m for m in self._slack.messages(self._here) if m.ts == shown.id)
        return self._slack.look(message).buttons[button][1]

    async def settled(self) -> None:
        await self._slack.wait_acked(timeout_s=LIMIT_S)

    def is_acknowledged(self) -> bool:
        return all(delivery.state == "acked" for delivery in self._slack.deliveries())

    def revoke(self) -> None:
        self._slack.revoke_token(BOT_TOKEN)


@contextlib.asynccontextmanager
async def slack(directory: Path, mode: str) -> AsyncIterator[SlackSubject]:
    """Up and running."""
    async with open_slack_hub(directory, mode=mode, extra='groups = "addressed"') as place:
        place.slack.add_user(STRANGER, name="sam")
        place.slack.configure(retry_delays_s=[0.0, 0.5, 1.0])
        yield SlackSubject(place)
