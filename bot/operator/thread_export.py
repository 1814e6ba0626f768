"""Whole conversations as files, with tool calls and their results."""

import asyncio
import re
from datetime import UTC, datetime

from bot.views import Conversations, ConversationView, EntryView, conversation
from core.clock import SECOND_US

WHOLE_THREAD = 10**9


class ThreadExports:
    """The conversations of a store, as Markdown."""

    def __init__(self, store: Conversations) -> None:
        self._store = store

    async def read(self, thread_id: str, limit_bytes: int) -> bytes:
        """Return a whole conversation as UTF-8. Raises ValueError with the reason if it can't be sent."""
        found = await conversation(self._store, thread_id, WHOLE_THREAD)
        if found is None:
            raise ValueError("the conversation was deleted")
        content = await asyncio.to_thread(lambda: thread_markdown(found).encode())
        if len(content) > limit_bytes:
            advice = f"hubbub threads export {thread_id}"
            raise ValueError(f"it is larger than {limit_bytes} bytes; `{advice}` has no limit")
        return content


def thread_markdown(found: ConversationView) -> str:
    """Return a conversation as Markdown, undone turns too, which are marked."""
    thread = found.thread
    parts = [
        f"# {thread.title or thread.id}\n",
        f"Thread {thread.id} of {thread.owner_id} on {thread.channel}.",
    ]
    for entry in filter(says_something, found.entries):
        text = _fenced(entry.text) if entry.kind in {"call", "result"} else entry.text
        at = datetime.fromtimestamp(entry.at / SECOND_US, UTC)
        parts.append(f"\n## {speaker(entry)} · {at:%Y-%m-%d %H:%M:%S}\n\n{text}")
    return "\n".join([*parts, ""])


def says_something(entry: EntryView) -> bool:
    """Return whether the entry has text. A model that only calls tools writes none; its calls are entries
    of their own."""
    return bool(entry.text.strip()) or entry.kind != "assistant"


def speaker(entry: EntryView) -> str:
    """Return who speaks in an entry, or its tool, and what became of it."""
    undone = "(undone)" if entry.undone else None
    return " ".join(part for part in (entry.kind, entry.name, entry.status, undone) if part)


def _fenced(text: str) -> str:
    """Return the text in a fence that is longer than any fence within it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
