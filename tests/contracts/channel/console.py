"""The suite's stage on the console's channel: a program does over HTTP what the console does in a browser.

What has no meaning there: see ABSENT. Others are there in one way only: a member may try to answer what waits
for the owner. What the console shows of it on the screen is shown in tests/browser.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.messages import Attachment
from tests.bot.web.api_client import Client, client
from tests.contracts.channel.subject import HubSubject, Shown
from tests.harness.telegram_hub import LIMIT_S, Hub, open_hub

logger = logging.getLogger(__name__)

ABSENT: Mapping[str, str] = {
    "limits": "a line of a thread holds whatever is said",
    "rates": "nothing is sent: people read what the hub keeps",
    "refs": "what is said is not shown in a second place, where it would have to be changed",
    "connection": "people connect to the hub; how a cut stream goes on: tests/bot/web/test_streams.py",
    "token": "the hub proves nothing to anybody: people prove to it who they are",
}
LOOK_AGAIN_S = 0.02


class ConsoleSubject(HubSubject):
    """See Subject."""

    name = "web"
    limit = 0

    def __init__(self, house: Hub) -> None:
        super().__init__(house)
        self._open = contextlib.AsyncExitStack()
        self._api: Client | None = None
        self._to_say: asyncio.Queue[tuple[dict[str, Any], bytes | None]] = asyncio.Queue()
        self._unanswered = 0
        self._said: list[dict[str, Any]] = []
        self._file: Attachment | None = None
        self._page: dict[str, Any] = {}

    async def start(self) -> None:
        await super().start()
        await self._open.aclose()
        self._api = await self._open.enter_async_context(client(self.hub.directory))

    async def close(self) -> None:
        """Let connections go."""
        await self._open.aclose()

    @property
    def api(self) -> Client:
        """The owner's."""
        assert self._api is not None
        return self._api

    def in_company(self) -> None:
        """A member may try to answer in any case."""

    # --- saying ------------------------------------------------------------------------------------------
    def says(self, text: str) -> None:
        self._say({"text": text})

    def sends_file(self, name: str, content: bytes) -> None:
        self._say({"text": name}, content)

    def delivered_again(self) -> None:
        self._say(self._said[-1])

    def _say(self, body: dict[str, Any], content: bytes | None = None) -> None:
        self._said.append({"client_key": f"key-{len(self._said)}", **body})
        self._unanswered += 1
        self._to_say.put_nowait((self._said[-1], content))

    async def deliver(self) -> None:
        """Hand in what is said, one after the other, each until it is taken: as the console does."""
        while True:
            body, content = await self._to_say.get()
            if content is not None:
                await self._upload(body, content)
            while (await self._handed_in(body)) != 202:  # noqa: ASYNC110 - only asking tells
                await asyncio.sleep(LOOK_AGAIN_S)
            self._unanswered -= 1
            self._to_say.task_done()

    async def _handed_in(self, body: dict[str, Any]) -> int:
        status, page = await self.api.ask("POST", "/api/chat/send", body)
        assert status in (202, 503), page
        if status == 503:
            logger.warning("not taken: %s", page["error"]["message"])
        return status

    async def _upload(self, body: dict[str, Any], content: bytes) -> None:
        name = body["text"]
        headers = {"Content-Type": "text/plain"}
        status, page = await self.api.ask("POST", f"/api/uploads?name={name}", content, headers)
        assert status == 201
        self._file = Attachment(page["id"], page["name"], page["media_type"], page["size_bytes"])
        body["attachments"] = [page["id"]]

    def received_file(self) -> Attachment:
        assert self._file is not None
        return self._file

    async def forges(self, text: str) -> int:
        stranger = {"Authorization": "Bearer not-the-token"}
        status, _ = await self.api.ask("POST", "/api/chat/send", {"text": text}, stranger)
        return status

    # --- seeing ------------------------------------------------------------------------------------------
    async def look(self) -> None:
        """See what is shown now."""
        threads = (await self.api.get("/api/threads?channel=web"))["threads"]
        self._page = await self.api.get(f"/api/threads/{threads[0]['id']}") if threads else {}

    def shown(self) -> Sequence[Shown]:
        page = self._page
        if not page:
            return []
        cards = [one for one in page["approvals"] if one["state"] == "open"]
        asked = {one["gate_id"]: [c["label"] for c in one["choices"]] for one in cards}
        outcomes = {one["gate_id"]: one["text"] for one in page["items"] if one["kind"] == "outcome"}
        seen = [_seen(item, asked, outcomes) for item in page["items"]]
        live = page["live"]
        if live is not None and live["text"]:
            seen.append(Shown(live["turn"], live["text"], (), len(live["text"])))
        return [one for one in seen if one is not None]

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(LIMIT_S):
            await self.look()
            while not is_so():
                await asyncio.sleep(LOOK_AGAIN_S)
                await self.look()

    async def hears(self, text: str) -> Shown:
        await self.until(lambda: any(text in one.text for one in self.shown()))
        return next(one for one in reversed(self.shown()) if text in one.text)

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        person = await self.api.member("sam") if stranger else self.api
        status, page = await person.resolve(shown.id, str(button))
        await self.look()
        return page["error"]["message"] if status != 200 else ""

    async def settled(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            await self._to_say.join()
        await self.look()

    def is_acknowledged(self) -> bool:
        return self._unanswered == 0

    # --- trouble it has none of ---------------------------------------------------------------------------
    def limit_rate(self, times: int) -> None:
        raise NotImplementedError(ABSENT["rates"])

    async def cut(self, seconds: float) -> None:
        raise NotImplementedError(ABSENT["connection"])

    def revoke(self) -> None:
        raise NotImplementedError(ABSENT["token"])


def _seen(
    item: Mapping[str, Any], asked: Mapping[str, Sequence[str]], outcomes: Mapping[str, str]
) -> Shown | None:
    """A line of the thread as one message of the hub; None for those of others, and for what it does."""
    match item:
        case {"kind": "assistant" | "notice", "text": str(text)} if text:
            return Shown(item["turn"] or str(item["seq"]), text, (), len(text))
        case {"kind": "gate", "gate_id": str(gate_id), "title": str(title), "lines": list(lines)}:
            text = "\n".join([title, *lines, outcomes.get(gate_id, "")]).strip()
            return Shown(gate_id, text, tuple(asked.get(gate_id, ())), len(text))
        case _:
            return None


@contextlib.asynccontextmanager
async def console(directory: Path, mode: str) -> AsyncIterator[ConsoleSubject]:
    """Up and running."""
    async with open_hub(directory, start=False) as house:
        stage = ConsoleSubject(house)
        await stage.start()
        async with asyncio.TaskGroup() as tasks:
            delivering = tasks.create_task(stage.deliver(), name="what the owner says")
            yield stage
            delivering.cancel()
        await stage.close()
