"""An echo on slack_sdk's Socket Mode client: no model, no state; it acknowledges, then answers.

Usage: python -m benchmarks.bots.slack_echo API_BASE_URL BOT_TOKEN APP_TOKEN
"""

import asyncio
import sys
from typing import Any, cast

from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient


async def main(api: str, bot_token: str, app_token: str) -> None:
    """Listen for ever."""
    web = AsyncWebClient(bot_token, base_url=api)
    client = SocketModeClient(app_token, web_client=web)

    async def answer(_: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        event = cast("dict[str, Any]", request.payload).get("event", {})
        if event.get("type") == "message" and "bot_id" not in event and "subtype" not in event:
            await web.chat_postMessage(channel=event["channel"], text=event["text"])

    client.socket_mode_request_listeners.append(answer)
    await client.connect()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
