"""How these suites settle a card."""

from core.gates import Answer, Gate, Option
from core.messages import Message, plain
from core.store.effects import CloseGate

SETTLED = plain("settled card")


def closing(gate: Gate, answer: Answer) -> CloseGate:
    said = answer.value if isinstance(answer, Option) else "answered"
    return CloseGate(gate.id, answer, f"{said} by Ada", SETTLED)


def expired(gate: Gate) -> str:
    return f"{gate.kind} expired"


def expired_card(gate: Gate) -> Message:
    return plain(f"expired: {gate.title}")
