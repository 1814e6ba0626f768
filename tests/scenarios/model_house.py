"""The parts that scenarios of failing models share: a hub with one or two models, and its owner's open
conversation."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import Seams
from tests.bot.web.api_client import Client, client
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.simulators.model import ModelSimulator

SPEED = 50


@dataclass
class House:
    """A hub with one or two models, the failing one among them, and the owner's open conversation."""

    hub: Hub
    api: Client
    main: ModelSimulator
    backup: ModelSimulator
    thread_id: str
    last_seq: int

    async def told(self, text: str) -> list[dict[str, Any]]:
        """The events of the stream from the owner's message until the turn rests."""
        path = f"/api/events?thread={self.thread_id}&after={self.last_seq - 1}"
        async with self.api.stream(path) as stream:
            await stream.until("item")  # from here on everything is told
            self.hub.telegram.user_sends_text(OWNER, text)
            return await stream.until("turn_rested")

    async def says(self) -> list[str]:
        """Return what stands on the platform after the first answer, once everything is out."""
        await self.hub.settled_sends()
        return self.hub.says(OWNER)[1:]

    async def kept(self) -> list[tuple[str, str]]:
        return (await self.api.lines(self.thread_id))[2:]


@contextlib.asynccontextmanager
async def open_house(
    directory: Path,
    *,
    models: int = 2,
    model: str = "",
    verbosity: str = "",
    extra: str = "",
    provider: str = "openai",
    **seams: Any,
) -> AsyncIterator[House]:
    async with ModelSimulator(api_key=KEY, models=("sim-1",)) as backup:
        more = f"""
[[models]]
name = "backup"
provider = "{provider}"
model = "sim-1"
base_url = "{getattr(backup, f"{provider}_base_url")}"
api_key = "{KEY}"
"""
        extra = (more if models == 2 else "") + extra
        options: dict[str, Any] = {"extra": extra, "model": model, "provider": provider}
        async with open_hub(directory, speed=SPEED, start=False, **options) as hub:
            await hub.serve(Seams(clock=hub.clock, **seams))
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            async with client(directory) as api:
                hub.telegram.user_sends_text(OWNER, "say: ready")
                await hub.telegram.wait_text(OWNER, "ready")
                if verbosity:
                    hub.telegram.user_sends_text(OWNER, f"/verbose {verbosity}")
                    await hub.telegram.wait_bot_messages(OWNER, 2)
                await hub.settled_sends()
                (thread,) = (await api.get("/api/threads"))["threads"]
                yield House(hub, api, hub.model, backup, thread["id"], thread["last_seq"])


def attempts_of(events: Sequence[dict[str, Any]]) -> dict[int, str]:
    """The text that was shown of each attempt."""
    shown: dict[int, str] = {}
    for event in events:
        if event["type"] == "turn_delta":
            data = event["data"]
            assert data["offset"] == len(shown.get(data["attempt"], "")), "a new attempt begins at offset 0"
            assert data["attempt"] >= max(shown, default=0), "no late pieces"
            shown[data["attempt"]] = shown.get(data["attempt"], "") + data["text"]
    return shown


def failures_in(events: Sequence[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Model, place and number of models of each failure."""
    return [
        (event["data"]["model"], event["data"]["attempt"], event["data"]["total"])
        for event in events
        if event["type"] == "candidate_failed"
    ]
