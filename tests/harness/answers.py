"""Answers of `hubbub why` at the end: one to everything the platform delivered.

Read from the database as the command does, and compared with the simulator's own record; how the hub reads
updates plays no part in it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from core.store.sqlite.offline import open_listings
from tests.simulators.telegram.log import UpdateRecord
from tests.simulators.telegram.world import SERVICE_FIELDS

MOST = 1000
Seat = tuple[str, str]
"""A chat and somebody in it, by their ids."""


async def unanswered(database: Path, updates: Iterable[UpdateRecord]) -> list[str]:
    """Keys of what the platform saw confirmed and `why` neither explains nor counts."""
    async with open_listings(database) as reader:
        explained = {one.key: one.outcome for one in await reader.explanations.explain_recent(MOST)}
        noise = Counter[Seat]()
        for row in await reader.explanations.noise(MOST):
            noise[row.address.partition(":")[0], row.platform_user_id] += row.seen
    assert all(explained.values())
    unreadable = sum(outcome == "failed: unreadable" for outcome in explained.values())
    missing: dict[str, Seat | None] = {}
    for update in updates:
        if update.confirmed_at is None:
            continue
        if update.kind == "raw":  # whatever it is, it is nothing that can be read
            unreadable -= 1
            if unreadable < 0:
                missing[f"raw update {update.update_id}"] = None
        missing |= {key: seat for key, seat in _expected(update) if not _is_known(key, explained)}
    return [key for key, seat in missing.items() if not _is_counted(seat, noise)]


def _is_known(key: str, explained: dict[str, str]) -> bool:
    if key.endswith(":e"):  # an edit's key goes on with what the message says
        return any(one.startswith(key) for one in explained)
    return key in explained


def _is_counted(seat: Seat | None, noise: Counter[Seat]) -> bool:
    if seat is None or noise[seat] == 0:
        return False
    noise[seat] -= 1
    return True


def _expected(update: UpdateRecord) -> Iterator[tuple[str, Seat]]:
    """Under which key an update is to be explained, and whose noise it is otherwise."""
    bot, payload = update.bot_id, update.payload
    match update.kind:
        case "message" | "edited_message":
            message = payload[update.kind]
            seat = (str(message["chat"]["id"]), str(message.get("from", {}).get("id")))
            if moved := _move(message):
                yield f"tg:{bot}:mv:{moved[0]}:{moved[1]}", seat
            elif _is_somebodys(message):
                edit = ":e" if update.kind == "edited_message" else ""
                yield f"tg:{bot}:m:{seat[0]}:{message['message_id']}{edit}", seat
        case "callback_query":
            press = payload["callback_query"]
            seat = (str(press["message"]["chat"]["id"]), str(press["from"]["id"]))
            yield f"tg:{bot}:cb:{press['id']}", seat
        case _:
            pass


def _move(message: dict[str, Any]) -> tuple[int, int] | None:
    here = message["chat"]["id"]
    if to := message.get("migrate_to_chat_id"):
        return here, to
    if since := message.get("migrate_from_chat_id"):
        return since, here
    return None


def _is_somebodys(message: dict[str, Any]) -> bool:
    """Not of a bot or a channel, and not the platform's own word on what happened."""
    sender = message.get("from", {})
    written = SERVICE_FIELDS.isdisjoint(message)
    return written and not sender.get("is_bot", True) and "sender_chat" not in message
