"""Answering a card with one key, without taking the first letter of a sentence for consent.

A key counts if it is all there is on the line, and stays so for a moment, or is sent with Enter; and if the
line was empty once since the card appeared.
"""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.buffer import Buffer

from bot.chat.talk import Card
from bot.chat.view import EDIT_KEY, keys_of

SETTLES_S = 0.4
"""People who write a sentence type their second letter within this time."""


class Timer(Protocol):
    """Something that is going to happen."""

    def cancel(self) -> None:
        """It does not."""
        ...


class CardKeys:
    """Watches the line. `pressed` is called with the card and the place of its choice, None for editing;
    `later` calls a function after so many seconds, unless it is cancelled."""

    def __init__(
        self,
        buffer: Buffer,
        card: Callable[[], Card | None],
        pressed: Callable[[Card, int | None], None],
        later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._later = later
        self._buffer = buffer
        self._card = card
        self._pressed = pressed
        self._armed = True
        self._settling: Timer | None = None
        buffer.on_text_changed += self._changed

    def shown(self) -> None:
        """A card has appeared."""
        self._armed = not self._buffer.text

    def answers(self, text: str) -> bool:
        """Whether a line that was sent is a key, which counts then."""
        card = self._card()
        if card is None or not self._armed or not _is_key(card, text):
            return False
        self._count(card, text)
        return True

    def _changed(self, buffer: Buffer) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        if not buffer.text:
            self._armed = True
        card = self._card()
        if card is not None and self._armed and _is_key(card, buffer.text):
            prompt_id, key = card.prompt_id, buffer.text
            self._settling = self._later(SETTLES_S, lambda: self._settled(prompt_id, key))

    def _settled(self, prompt_id: str, key: str) -> None:
        card = self._card()
        if card is not None and card.prompt_id == prompt_id and self._buffer.text == key:
            self._buffer.reset()
            self._count(card, key)

    def _count(self, card: Card, key: str) -> None:
        self._pressed(card, None if key == EDIT_KEY else keys_of(card).index(key))


def _is_key(card: Card, text: str) -> bool:
    return text in keys_of(card) or (text == EDIT_KEY and card.arguments is not None)
