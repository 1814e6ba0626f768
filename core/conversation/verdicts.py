"""What becomes of an event, where several rules say the same."""

from core.messages import plain
from core.store.accept import Verdict
from core.store.effects import Effect, Say


def refused(reason: str, word: str, *effects: Effect) -> Verdict:
    """The event is answered with `word`, and nothing else comes of it but `effects`."""
    return Verdict(f"refused: {reason}", (*effects, Say(plain(word))))
