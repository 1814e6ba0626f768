"""Which routines a message fires, at a cost that hardly grows with their number.

Every pattern is filed under the texts of which a message must contain one (`core.routines.literals`); the few
whose texts are there are asked themselves, by RE2. Patterns that need no text are asked every time. A change
is one entry more or less: it holds at once, and nothing has to be built anew.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from core.routine import Event
from core.routines.grams import SHORT, Grams
from core.routines.literals import GOOD_LENGTH, folded, needed
from core.routines.pattern import Found, Pattern, Subject
from core.routines.pattern_nodes import PatternRefused
from core.routines.pattern_rules import judge
from core.routines.pattern_syntax import read_pattern

MAX_TEXT_CHARACTERS = 8192
"""Of a message; what is beyond takes no part."""
_READ_AT_ONCE = 10
_COMPILED_KEPT = 4096
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as routines hear it. `readers`: the users whose routines may; `sender`: all names the filter
    for senders may use for who wrote it."""

    text: str
    readers: frozenset[str]
    channel: str
    sender: tuple[str, ...] = ()
    thread_id: str = ""


@dataclass(frozen=True, slots=True)
class Listener:
    """A routine that listens for messages."""

    routine_id: str
    owner_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Hit:
    """A routine that a message fires, and what its pattern found there."""

    listener: Listener
    found: Found


Sets = tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message must contain a text of each set; the routine is filed under those of `filed`."""

    listener: Listener
    filed: tuple[bytes, ...]
    others: Sets


class Matcher:
    """The patterns of all enabled routines."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._grams = Grams[str]()
        self._always: set[str] = set()
        self._pattern = lru_cache(maxsize=_COMPILED_KEPT)(_compiled)

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, listener: Listener) -> None:
        """From now on the routine listens, in place of what it listened for before. Raises PatternRefused
        for what `core.routines.validation` lets nobody save; then nothing has changed."""
        sets = needed_texts(listener.event)
        self.remove(listener.routine_id)
        filed = self._best(sets)
        self._entries[listener.routine_id] = _Entry(
            listener, filed, tuple(one for one in sets if one != filed)
        )
        for text in filed:
            self._grams.add(text, listener.routine_id)
        if not filed:
            self._always.add(listener.routine_id)

    def remove(self, routine_id: str) -> None:
        """From now on the routine does not listen."""
        entry = self._entries.pop(routine_id, None)
        self._always.discard(routine_id)
        for text in entry.filed if entry is not None else ():
            self._grams.discard(text, routine_id)

    async def load(self, listeners: Iterable[Listener]) -> list[tuple[Listener, PatternRefused]]:
        """`put` for many, with pauses in which everything else runs; gives those that cannot be used."""
        refused: list[tuple[Listener, PatternRefused]] = []
        for count, listener in enumerate(listeners):
            if count % _READ_AT_ONCE == 0:
                await asyncio.sleep(0)
            try:
                self.put(listener)
            except PatternRefused as reason:
                refused.append((listener, reason))
        return refused

    def match(self, heard: Heard) -> list[Hit]:
        """The routines the message fires, by id, so the oldest first."""
        if not self._entries:
            return []
        subject = Subject(heard.text[:MAX_TEXT_CHARACTERS])
        message = folded(subject.text).encode()
        hits: list[Hit] = []
        for routine_id in sorted(self._grams.found(message) | self._always):
            entry = self._entries[routine_id]
            if all(any(text in message for text in texts) for texts in entry.others):
                hit = self._hit(entry.listener, heard, subject)
                hits += [] if hit is None else [hit]
        return hits

    def _best(self, sets: Sets) -> tuple[bytes, ...]:
        """Of the sets that say most the one fewest others are filed under; none where all are too short."""
        shortest = [min(map(len, texts)) for texts in sets]
        length = min(max(shortest, default=0), GOOD_LENGTH)
        good = [texts for texts, least in zip(sets, shortest, strict=True) if least >= length >= SHORT]
        return min(good, key=lambda texts: sum(map(self._grams.asking, texts)), default=())

    def _hit(self, listener: Listener, heard: Heard, subject: Subject) -> Hit | None:
        if not hears(listener, heard):
            return None
        try:
            found = self._pattern(listener.event.pattern, listener.event.ignore_case).search(subject)
        except PatternRefused as refused:
            _logger.warning("routine %s hears nothing: its pattern %s", listener.routine_id, refused)
            return None
        return None if found is None else Hit(listener, found)


def hears(listener: Listener, heard: Heard) -> bool:
    """Whether the message is one for the routine at all, whatever its text."""
    event = listener.event
    return (
        listener.owner_id in heard.readers
        and (event.channel is None or event.channel.casefold() == heard.channel.casefold())
        and (event.thread_id is None or event.thread_id == heard.thread_id)
        and (event.sender is None or event.sender.casefold() in map(str.casefold, heard.sender))
    )


def needed_texts(event: Event) -> Sets:
    """What a message must contain, folded: a text of each set. Raises PatternRefused."""
    syntax = read_pattern(event.pattern, ignore_case=event.ignore_case)
    judge(syntax)
    return tuple(tuple(text.encode("utf-8", "replace") for text in texts) for texts in needed(syntax.root))


def _compiled(pattern: str, ignore_case: bool) -> Pattern:
    return Pattern(pattern, ignore_case=ignore_case)
