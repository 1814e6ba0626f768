"""Which of many texts a message contains: found by pieces of four or two bytes, at a cost that depends on the
message and hardly on how many texts there are.

Each text is filed under two of its pieces, one of them the one with the fewest texts so far. A message is cut
into all its pieces, and only texts with both pieces among these are looked for in it.
"""

from dataclasses import dataclass, field
from sys import byteorder
from typing import Generic, Literal, TypeVar

Key = TypeVar("Key")

LONG, SHORT = 4, 2
_FORMATS: dict[int, Literal["I", "H"]] = {LONG: "I", SHORT: "H"}


@dataclass(slots=True, eq=False)
class _Filed(Generic[Key]):
    """A text under two of its pieces: looked for where `piece` is found, if `other` is as well."""

    text: bytes
    piece: int
    other: int
    keys: set[Key] = field(default_factory=set[Key])


class Grams(Generic[Key]):
    """Texts (UTF-8, at least two bytes each) with the keys that ask for them."""

    def __init__(self) -> None:
        self._files: dict[int, dict[int, list[_Filed[Key]]]] = {LONG: {}, SHORT: {}}
        self._by_text: dict[bytes, _Filed[Key]] = {}

    def asking(self, text: bytes) -> int:
        """How many keys ask for a text."""
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
        """Take it out again."""
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
        """The keys of all texts the message contains."""
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
    """The pieces of the message that there are files for: it is read as numbers, from every offset."""
    found: set[int] = set()
    whole = memoryview(message)
    for begin in range(min(size, len(message) - size + 1)):
        end = begin + (len(message) - begin) // size * size
        found |= files.keys() & whole[begin:end].cast(_FORMATS[size])
    return found
