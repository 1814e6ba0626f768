"""An echo on python-telegram-bot's Bot: no model, no state. Its transport is the default or the hub's.

Usage: python -m benchmarks.bots.ptb_echo API_BASE_URL TOKEN default|aiohttp
"""

import asyncio
import sys

from telegram import Bot, Update
from telegram.request import HTTPXRequest

CONNECTIONS = 100


def request(transport: str) -> HTTPXRequest:
    """python-telegram-bot's own request class on either transport."""
    if transport == "default":
        return HTTPXRequest(connection_pool_size=CONNECTIONS)
    from httpx_aiohttp import AiohttpTransport

    return HTTPXRequest(connection_pool_size=CONNECTIONS, httpx_kwargs={"transport": AiohttpTransport()})


async def main(base: str, token: str, transport: str) -> None:
    """Poll for ever."""
    bot = Bot(
        token,
        base_url=f"{base}/bot",
        base_file_url=f"{base}/file/bot",
        request=request(transport),
        get_updates_request=request(transport),
    )
    async with bot, asyncio.TaskGroup() as tasks:
        offset = 0
        while True:
            updates: tuple[Update, ...] = await bot.get_updates(offset=offset, timeout=20)
            for update in updates:
                offset = update.update_id + 1
                if update.message is not None and update.message.text is not None:
                    tasks.create_task(bot.send_message(update.message.chat_id, update.message.text))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
