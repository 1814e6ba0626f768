"""What it costs to call the platforms' libraries by their typed methods: CPU per message.

    python -m benchmarks.sdk_calls [--rounds 7] [--calls 2000]

A message is sent in two ways, both by public methods: by the library's typed method, which builds and parses
its objects, and by its general request method with JSON as it is. The network is left out: it costs the same
either way. The difference is printed as a share of the CPU time that the hub needs for a whole message
(docs/proof/overhead*.json); the limit for a typed method is 5 %. Rounds of both alternate; the figure is the
median.
"""

import argparse
import asyncio
import json
import statistics
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import discord
from discord.http import Route
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity
from telegram.request import BaseRequest, RequestData
from telegram.warnings import PTBUserWarning

from tests.tree import ROOT

LIMIT_PERCENT = 5.0
TEXT = "Here is the answer to your question, in two sentences. It has a bold word and some code."
Call = Callable[[], Awaitable[object]]


# --- Telegram -----------------------------------------------------------------------------------------------

SENT = {
    "message_id": 4711,
    "from": {"id": 1, "is_bot": True, "first_name": "hub", "username": "hub_bot"},
    "chat": {"id": 7, "first_name": "Olivia", "type": "private"},
    "date": 1_795_500_000,
    "text": TEXT,
    "entities": [{"offset": 64, "length": 4, "type": "bold"}],
}


class _Answers(BaseRequest):
    """A network that answers each request at once."""

    @property
    def read_timeout(self) -> float | None:
        return 5.0

    async def initialize(self) -> None: ...

    async def shutdown(self) -> None: ...

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *_: Any, **__: Any
    ) -> tuple[int, bytes]:
        assert request_data is not None
        assert request_data.json_payload  # encoding it is part of both ways
        return 200, json.dumps({"ok": True, "result": SENT}).encode()


def telegram_calls() -> tuple[Call, Call]:
    """Return the typed way and the general one."""
    bot = Bot("1:token", request=_Answers(), get_updates_request=_Answers())
    warnings.filterwarnings("ignore", "Please use 'Bot\\.", PTBUserWarning)
    entities = [{"type": "bold", "offset": 64, "length": 4}]
    buttons = [[{"text": "Approve", "callback_data": "p:1:0"}, {"text": "Deny", "callback_data": "p:1:1"}]]

    async def typed() -> object:
        keyboard = [
            [InlineKeyboardButton(button["text"], callback_data=button["callback_data"]) for button in row]
            for row in buttons
        ]
        return await bot.send_message(
            7,
            TEXT,
            entities=[MessageEntity("bold", 64, 4)],
            reply_markup=InlineKeyboardMarkup(keyboard),
        )

    async def general() -> object:
        markup = {"inline_keyboard": buttons}
        written = {"entities": json.dumps(entities), "reply_markup": json.dumps(markup)}
        return await bot.do_api_request("sendMessage", {"chat_id": 7, "text": TEXT, **written})

    return typed, general


# --- Discord ------------------------------------------------------------------------------------------------

POSTED: dict[str, Any] = {
    "id": "1100000000000000001",
    "channel_id": "1100000000000000000",
    "author": {"id": "1", "username": "hub", "discriminator": "0", "avatar": None, "bot": True},
    "content": TEXT,
    "timestamp": "2026-11-24T12:00:00+00:00",
    "edited_timestamp": None,
    "tts": False,
    "mention_everyone": False,
    "mentions": [],
    "mention_roles": [],
    "attachments": [],
    "embeds": [],
    "components": [],
    "pinned": False,
    "type": 0,
    "flags": 0,
}


async def _posted(route: Route, **sent: Any) -> Any:
    """Answer a request at once."""
    del route
    json.dumps(sent.get("json") or sent["form"][0]["value"])
    return json.loads(json.dumps(POSTED))


def discord_calls() -> tuple[Call, Call]:
    """Return the typed way and the general one."""
    client = discord.Client(intents=discord.Intents.none(), max_messages=None)
    http = client.http
    vars(http)["request"] = _posted  # the network of this one client
    channel = client.get_partial_messageable(int(POSTED["channel_id"]))

    async def typed() -> object:
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="Approve", custom_id="p:1:0"))
        view.add_item(discord.ui.Button(label="Deny", custom_id="p:1:1"))
        return await channel.send(
            TEXT, nonce="1" * 25, allowed_mentions=discord.AllowedMentions.none(), view=view
        )

    async def general() -> object:
        buttons = [
            {"type": 2, "style": 2, "label": label, "custom_id": f"p:1:{index}"}
            for index, label in enumerate(("Approve", "Deny"))
        ]
        body = {
            "content": TEXT,
            "nonce": "1" * 25,
            "allowed_mentions": {"parse": []},
            "components": [{"type": 1, "components": buttons}],
        }
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=POSTED["channel_id"])
        return await http.request(route, json=body)

    return typed, general


# --- measuring ----------------------------------------------------------------------------------------------


async def cpu_ms(call: Call, calls: int) -> float:
    """Return the CPU time of one call, in milliseconds."""
    began_s = time.process_time()
    for _ in range(calls):
        await call()
    return (time.process_time() - began_s) * 1000 / calls


async def compare(typed: Call, general: Call, rounds: int, calls: int) -> tuple[float, float]:
    """Return the medians of both, of alternating rounds; milliseconds."""
    both: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, found in zip((typed, general), both, strict=True):
            found.append(await cpu_ms(call, calls))
    return statistics.median(both[0]), statistics.median(both[1])


def report(name: str, typed_ms: float, general_ms: float, message_ms: float) -> str:
    """Return a line about one library."""
    percent = 100 * (typed_ms - general_ms) / message_ms
    verdict = "within the limit" if percent <= LIMIT_PERCENT else "over the limit"
    return (
        f"{name}: {typed_ms:.3f} ms typed, {general_ms:.3f} ms general,"
        f" {percent:+.1f} % of {message_ms:.2f} ms per message: {verdict}"
    )


def message_ms(suite: str) -> float:
    """Return the CPU time of a whole message by the last long run, in milliseconds."""
    page = json.loads((ROOT / "docs" / "proof" / f"{suite}.json").read_text())
    return float(page["figures"]["hub"]["cpu_ms_per_message"])


async def measured(rounds: int, calls: int) -> list[str]:
    """Return a line for each library."""
    libraries = {
        "python-telegram-bot": (telegram_calls(), "overhead"),
        "discord.py": (discord_calls(), "overhead-discord"),
    }
    lines: list[str] = []
    for name, ((typed, general), suite) in libraries.items():
        typed_ms, general_ms = await compare(typed, general, rounds, calls)
        lines.append(report(name, typed_ms, general_ms, message_ms(suite)))
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the typed methods cost."""
    parser = argparse.ArgumentParser(prog="sdk_calls", description="CPU per message of typed calls.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args(arguments)
    print("\n".join(asyncio.run(measured(options.rounds, options.calls))))


if __name__ == "__main__":
    main()
