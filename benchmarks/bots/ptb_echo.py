"""An echo on python-telegram-bot's Bot: no model, no state. Its transport is the default or the hub's.

Usage: python -m benchmarks.bots.ptb_echo API_BASE_URL TOKEN default|aiohttp
"""

import asyncio
import ssl
import sys

from telegram import Bot, Update
from telegram.request import BaseRequest, HTTPXRequest

CONNECTIONS = 100


def request(transport: str) -> BaseRequest:
    """python-telegram-bot's own request class, or the hub's."""
    if transport == "default":
        return HTTPXRequest(connection_pool_size=CONNECTIONS)
    from channels.telegram.client import BotRequest, RequestTimeouts

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # for plain http: no authorities are loaded
    return BotRequest(tls, CONNECTIONS, RequestTimeouts(connect_s=5.0, pool_s=5.0, read_s=30.0))


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
