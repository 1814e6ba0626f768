"""How these suites settle a card."""

from core.messages import Message, plain
from core.prompts import Answer, Option, Prompt
from core.store.effects import ClosePrompt

SETTLED = plain("settled card")


def closing(prompt: Prompt, answer: Answer) -> ClosePrompt:
    said = answer.value if isinstance(answer, Option) else "answered"
    return ClosePrompt(prompt.id, answer, f"{said} by Ada", SETTLED)


def expired(prompt: Prompt) -> str:
    return f"{prompt.kind} expired"


def expired_card(prompt: Prompt) -> Message:
    return plain(f"expired: {prompt.title}")
