"""Matcher for event routines, at a cost that hardly grows with their number.

Every pattern is filed under the texts of which a message must contain one. RE2 tests the few patterns whose
texts occur. Patterns that need no text are tested every time. A change adds or removes one entry and takes
effect at once.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from itertools import product
from sys import byteorder
from typing import Generic, Literal, TypeVar

from core.lazy import dataclass
from core.routine import Event
from core.routines.matching.nodes import (
    At,
    Chain,
    Characters,
    Either,
    Group,
    Node,
    One,
    PatternRefused,
    Repeat,
    judge,
)
from core.routines.matching.pattern import Found, Pattern, Subject
from core.routines.matching.syntax import read_pattern

# Substring search for many texts at once: found by pieces of four or two bytes, at a cost that depends on the
# message and hardly on the number of texts.
#
# Each text is filed under two of its pieces, one of them the one with the fewest texts so far. A message is
# cut into all its pieces, and only texts with both pieces among these are searched for.

Key = TypeVar("Key")

LONG, SHORT = 4, 2
_FORMATS: dict[int, Literal["I", "H"]] = {LONG: "I", SHORT: "H"}


@dataclass(slots=True, eq=False)
class _Filed(Generic[Key]):
    """A text filed under two of its pieces: it is searched where `piece` is found, if `other` is as
    well."""

    text: bytes
    piece: int
    other: int
    keys: set[Key] = field(default_factory=set[Key])


class Grams(Generic[Key]):
    """Index of texts (UTF-8, at least two bytes each) with the keys that ask for them."""

    def __init__(self) -> None:
        self._files: dict[int, dict[int, list[_Filed[Key]]]] = {LONG: {}, SHORT: {}}
        self._by_text: dict[bytes, _Filed[Key]] = {}

    def asking(self, text: bytes) -> int:
        """Return the number of keys that lead to a text."""
        filed = self._by_text.get(text)
        return 0 if filed is None else len(filed.keys)

    def add(self, text: bytes, key: Key) -> None:
        """File a text."""
        filed = self._by_text.get(text)
        if filed is None:
            size = _size(text)
            files = self._files[size]
            pieces = [int.from_bytes(text[at : at + size], byteorder) for at in range(len(text) - size + 1)]
            piece = min(pieces, key=lambda piece: len(files.get(piece, ())))
            other = pieces[0] if piece != pieces[0] else pieces[-1]
            filed = self._by_text[text] = _Filed(text, piece, other)
            for place in {piece, other}:
                files.setdefault(place, []).append(filed)
        filed.keys.add(key)

    def discard(self, text: bytes, key: Key) -> None:
        """Remove a text."""
        filed = self._by_text.get(text)
        if filed is None:
            return
        filed.keys.discard(key)
        if not filed.keys:
            del self._by_text[text]
            files = self._files[_size(text)]
            for place in {filed.piece, filed.other}:
                files[place].remove(filed)
                if not files[place]:
                    del files[place]

    def found(self, message: bytes) -> set[Key]:
        """Return the keys of all texts that the message contains."""
        keys: set[Key] = set()
        for size, files in self._files.items():
            found = _found(files, message, size) if files else frozenset[int]()
            for piece in found:
                for filed in files[piece]:
                    if filed.piece == piece and filed.other in found and filed.text in message:
                        keys |= filed.keys
        return keys


def _size(text: bytes) -> int:
    return LONG if len(text) >= LONG else SHORT


def _found(files: dict[int, list[_Filed[Key]]], message: bytes, size: int) -> set[int]:
    """Return the message's pieces that have files; the message is read as numbers, from every offset."""
    found: set[int] = set()
    whole = memoryview(message)
    for begin in range(min(size, len(message) - size + 1)):
        end = begin + (len(message) - begin) // size * size
        found |= files.keys() & whole[begin:end].cast(_FORMATS[size])
    return found


# Texts that a message must contain for a match: they find candidates among thousands of
# patterns.
#
# Texts and messages are compared folded: characters that differ by case alone become the same,
# and neighbors stay neighbors. So a folded literal of the pattern is part of the folded
# message. The folded message may match more; then the pattern itself decides.

MAX_ALTERNATIVES = 16
"""A pattern that needs more is found by a shorter part of it, or tried on every message."""
MAX_SETS = 4
GOOD_LENGTH = 4
"""Length in bytes; longer texts are hardly more selective."""

Texts = frozenset[str]
_NOTHING: Texts = frozenset({""})


def folded(text: str) -> str:
    """Fold character by character: to lower case, with one form for all that `re` equates when
    ignoring case.

    The dot above, which belongs to a folded İ, is removed."""
    if text.isascii():
        return text.lower()
    return text.casefold().replace("\u0307", "").replace("ı", "i")


def needed(node: Node) -> tuple[Texts, ...]:
    """Return sets of folded texts, the most selective first: every match contains a text of each set."""
    found = _facts(node)
    return tuple(sorted(found.sets, key=_worth, reverse=True))[:MAX_SETS]


@dataclass(frozen=True, slots=True)
class _Facts:
    """The texts of a node. `whole`: all texts it can match, if they are few; `needs`: sets as in
    `needed`."""

    whole: Texts | None
    needs: tuple[Texts, ...] = ()

    @property
    def sets(self) -> tuple[Texts, ...]:
        """Return all known sets that say anything."""
        whole = () if self.whole is None or "" in self.whole else (self.whole,)
        return (*whole, *self.needs)


def _facts(node: Node) -> _Facts:
    match node:
        case One(characters):
            return _Facts(_few(characters))
        case At():
            return _Facts(_NOTHING)
        case Group(_, body):
            return _facts(body)
        case Either(options):
            return _either([_facts(option) for option in options])
        case Chain(parts):
            return _chain([_facts(part) for part in parts])
        case Repeat():
            return _repeat(node)


@lru_cache(maxsize=1024)
def _few(characters: Characters) -> Texts | None:
    size = sum(high - low + 1 for low, high in characters.ranges)
    if characters.kinds or characters.negated or not 0 < size <= MAX_ALTERNATIVES:
        return None
    return frozenset(folded(chr(code)) for low, high in characters.ranges for code in range(low, high + 1))


def _either(options: list[_Facts]) -> _Facts:
    wholes = [option.whole for option in options]
    whole = frozenset[str]().union(*(texts for texts in wholes if texts is not None))
    if None not in wholes and len(whole) <= MAX_ALTERNATIVES:
        return _Facts(whole)
    best = [max(option.sets, key=_worth, default=None) for option in options]
    together = frozenset[str]().union(*(texts for texts in best if texts is not None))
    return _Facts(None, (together,) if None not in best and len(together) <= MAX_ALTERNATIVES else ())


def _chain(parts: list[_Facts]) -> _Facts:
    """Join consecutive parts until there are too many texts."""
    needs: list[Texts] = []
    run = _NOTHING
    unbroken = True
    for part in parts:
        joined = None if part.whole is None else _joined(run, part.whole)
        if joined is not None:
            run = joined
            continue
        unbroken = False
        needs += [run, *part.needs]
        run = part.whole or _NOTHING
    if unbroken:
        return _Facts(run)
    return _Facts(None, tuple(texts for texts in (*needs, run) if "" not in texts))


def _joined(first: Texts, second: Texts) -> Texts | None:
    if len(first) * len(second) > MAX_ALTERNATIVES:
        return None
    return frozenset(one + other for one, other in product(first, second))


def _repeat(node: Repeat) -> _Facts:
    body = _facts(node.body)
    if node.least == 0:
        optional = node.most == 1 and body.whole is not None and len(body.whole) < MAX_ALTERNATIVES
        return _Facts(_NOTHING | (body.whole or frozenset()) if optional else None)
    if node.most == node.least == 1:
        return body
    return _Facts(None, body.sets)


def _worth(texts: Texts) -> tuple[int, int, int]:
    """Return a sort key: the shortest text decides; among equals, fewer texts are better."""
    shortest = min(len(text.encode("utf-8", "replace")) for text in texts)
    return min(shortest, GOOD_LENGTH), -len(texts), shortest


MAX_TEXT_CHARACTERS = 8192
"""Characters of a message that are matched; the rest is ignored."""
_READ_AT_ONCE = 10
_COMPILED_KEPT = 4096
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as routines see it. `readers`: the users whose routines may see it; `sender`: all
    names of the sender that the filter may use."""

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
    """A routine that a message fires, and its pattern's match."""

    listener: Listener
    found: Found


Sets = tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A filed routine. A message must contain a text of each set; the routine is filed under those in
    `filed`."""

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
        """Add the routine, or replace what it listened for. Raises PatternRefused for patterns that
        `core.routines.definitions` never saves; then nothing changes."""
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
        """Remove the routine."""
        entry = self._entries.pop(routine_id, None)
        self._always.discard(routine_id)
        for text in entry.filed if entry is not None else ():
            self._grams.discard(text, routine_id)

    async def load(self, listeners: Iterable[Listener]) -> list[tuple[Listener, PatternRefused]]:
        """Add many, with pauses in which everything else runs. Return those that cannot be used."""
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
        """Return the routines that the message fires, by id, so the oldest first."""
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
        """Return, of the most selective sets, the one with the fewest others filed under it; none if all
        are too short."""
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
            _logger.warning("routine.pattern_refused routine=%s error=%s", listener.routine_id, refused)
            return None
        return None if found is None else Hit(listener, found)


def hears(listener: Listener, heard: Heard) -> bool:
    """Return whether the message concerns the routine at all, whatever its text."""
    event = listener.event
    return (
        listener.owner_id in heard.readers
        and (event.channel is None or event.channel.casefold() == heard.channel.casefold())
        and (event.thread_id is None or event.thread_id == heard.thread_id)
        and (event.sender is None or event.sender.casefold() in map(str.casefold, heard.sender))
    )


def needed_texts(event: Event) -> Sets:
    """Return the folded texts a message must contain: one of each set. Raises PatternRefused."""
    syntax = read_pattern(event.pattern, ignore_case=event.ignore_case)
    judge(syntax)
    return tuple(tuple(text.encode("utf-8", "replace") for text in texts) for texts in needed(syntax.root))


def _compiled(pattern: str, ignore_case: bool) -> Pattern:
    return Pattern(pattern, ignore_case=ignore_case)
