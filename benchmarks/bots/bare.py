"""The floor of floors: aiohttp, no state, no history, no framework; one model call a message, not streamed.

Usage: python -m benchmarks.bots.bare API_BASE_URL TOKEN MODEL_BASE_URL MODEL_KEY
"""

import asyncio
import sys
from typing import Any

import aiohttp


async def answer(
    http: aiohttp.ClientSession, api: str, model: str, key: str, message: dict[str, Any]
) -> None:
    """Ask the model and send what it says."""
    asked = {"model": "sim-1", "messages": [{"role": "user", "content": message["text"]}]}
    headers = {"Authorization": f"Bearer {key}"}
    async with http.post(f"{model}/chat/completions", json=asked, headers=headers) as reply:
        said = (await reply.json())["choices"][0]["message"]["content"]
    async with http.post(f"{api}/sendMessage", json={"chat_id": message["chat"]["id"], "text": said}) as sent:
        await sent.read()


async def main(base: str, token: str, model: str, key: str) -> None:
    """Poll for ever."""
    api, offset = f"{base}/bot{token}", 0
    async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as tasks:
        while True:
            async with http.post(f"{api}/getUpdates", json={"offset": offset, "timeout": 20}) as polled:
                updates = (await polled.json())["result"]
            for update in updates:
                offset = update["update_id"] + 1
                tasks.create_task(answer(http, api, model, key, update["message"]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
