"""A thousand requests a second for a webhook, and the chat goes on: a hub in a process of its own."""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from bot.web.webhooks import A_SECOND, AT_ONCE
from tests.crash.fired_story import NAME, TOLD, TRIGGERS, greeted, set_secret
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.webhook_senders import Sender

RATE = 1000
CONNECTIONS = 50
GOOD_EVERY_S = 0.5


async def flooded(town: MortalHub, http: aiohttp.ClientSession, seconds: int) -> tuple[Counter[int], float]:
    """So many unsigned requests, in even steps; how they were answered, and how long it took in seconds."""
    url, statuses = f"{town.url()}/api/webhooks/ci", Counter[int]()
    headers = {"Content-Type": "application/json"}
    room = asyncio.Semaphore(CONNECTIONS)

    async def one() -> None:
        async with room, http.post(url, data=b"{}", headers=headers) as answer:
            statuses[answer.status] += 1

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for step in range(seconds * 20):
            await asyncio.sleep(max(0.0, began + step / 20 - time.monotonic()))
            for _ in range(RATE // 20):
                group.create_task(one())
    return statuses, time.monotonic() - began


async def chatted(town: MortalHub, flooding: asyncio.Task[tuple[Counter[int], float]]) -> list[float]:
    """Messages, one after the other while the flood lasts; how long each answer took, in seconds."""
    took: list[float] = []
    while not flooding.done():
        text = f"hello {len(took)}"
        began = time.monotonic()
        town.owner_says(text)
        await town.telegram.wait_text(OWNER, f"You said: {text}", timeout_s=LIMIT_S)
        took.append(time.monotonic() - began)
    return took


@pytest.mark.slow
async def test_a_flood_of_deliveries_does_not_disturb_the_chat(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    seconds = profile.pick(test=3, proof=10)
    async with open_mortal_hub(tmp_path) as town, aiohttp.ClientSession() as http:
        await set_secret(town)
        page = {"trigger": TRIGGERS["webhook"], "guardrails": {"cooldown_s": 0}}
        (tmp_path / "watch.json").write_text(json.dumps(page))
        words = ("routines", "add", NAME, "--prompt", "Look.", "--file", str(tmp_path / "watch.json"))
        await town.command(*words)
        await town.start()
        await greeted(town)
        flooding = asyncio.create_task(flooded(town, http, seconds))
        took = await chatted(town, flooding)
        statuses, lasted_s = flooding.result()
        # Nothing of it has cost its sender: what is signed is taken as soon as the path rests.
        body = b'{"type": "build.done"}'
        async with asyncio.timeout(LIMIT_S):
            while True:
                signed = {"Content-Type": "application/json", **Sender(time.time()).standard(body, "d-1")}
                async with http.post(f"{town.url()}/api/webhooks/ci", data=body, headers=signed) as answer:
                    if answer.status != 429:
                        break
                await asyncio.sleep(GOOD_EVERY_S)
        assert answer.status == 202
        await town.telegram.wait_text(OWNER, TOLD, timeout_s=LIMIT_S)
        events = await town.account()
        await town.stop()
    assert sum(statuses.values()) == seconds * RATE
    assert statuses.keys() == {401, 429}
    assert AT_ONCE <= statuses[401] <= AT_ONCE + A_SECOND * (lasted_s + 1)
    assert len(took) >= profile.pick(test=1, proof=seconds)  # every message was answered while it lasted
    assert {event["outcome"].split()[0] for event in events} == {"turn"}
    proof_record(
        "webhook-flood",
        requests=seconds * RATE,
        refused_unread=statuses[429],
        chat_messages_answered=len(took),
        chat_median_ms=round(sorted(took)[len(took) // 2] * 1000, 1),
    )
