"""Conversations in which things were said while the hub did not listen, on any platform, and what is to have
become of them: by the model's log and by what is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.simulators.model import ModelSimulator

EACH = 10


@dataclass(frozen=True, slots=True)
class Conversation:
    """One of five. `says`: its person writes, and what names that message; `shown`: the bot's texts there."""

    name: str
    says: Callable[[str], object]
    shown: Callable[[], Sequence[str]]

    @property
    def live(self) -> str:
        """Return what is said when the hub listens again."""
        return f"{self.name}-live."

    def missed(self) -> list[str]:
        """Return what is said while it does not, in order."""
        return [f"{self.name}-{number:02}." for number in range(EACH)]

    def has_answered_all(self) -> bool:
        """Return whether the newest is part of an answer."""
        return any(self.live in text for text in self.shown())


def say_what_is_missed(conversations: Sequence[Conversation]) -> list[object]:
    """Everybody speaks in turn; every third message, to be brought once more."""
    said = [
        conversation.says(text)
        for texts in zip(*(one.missed() for one in conversations), strict=True)
        for conversation, text in zip(conversations, texts, strict=True)
    ]
    return said[::3]


def judge(conversations: Sequence[Conversation], model: ModelSimulator) -> None:
    """Each message is part of exactly one turn, in order, and is answered once."""
    exchanges = model.log.all()
    for conversation in conversations:
        places: list[tuple[int, int]] = []
        for text in (*conversation.missed(), conversation.live):
            found = [
                (exchange.number, exchange.user_text.index(text))
                for exchange in exchanges
                for _ in range(exchange.user_text.count(text))
            ]
            assert len(found) == 1, f"{text} is part of {len(found)} turns"
            places += found
        assert places == sorted(places), f"out of order in {conversation.name}: {places}"
        whole = "\n".join(conversation.shown())
        answered = [whole.count(text) for text in (*conversation.missed(), conversation.live)]
        assert answered == [1] * (EACH + 1), f"answers in {conversation.name}: {answered}"
