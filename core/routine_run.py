"""Runs of a routine: what fired one, how it ended, and what all of them left behind.

Times are microseconds UTC, money is micro-USD.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

MAX_INPUT_CHARACTERS = 16_000
"""Of what a run keeps of the text that fired it: a long message is kept whole, a large payload is not."""
_CUT = "\n[… cut here]"


class RunStatus(StrEnum):
    """`WAITING` for a free place; `OK`: nothing to tell; `ATTENTION`: a result to read; `INTERRUPTED`: the
    hub ended during the run; `SKIPPED`: it waited, and was not wanted any more."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    ATTENTION = "attention"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    SKIPPED = "skipped"

    @property
    def over(self) -> bool:
        """Whether this is an end."""
        return self not in (RunStatus.WAITING, RunStatus.RUNNING)


# --- what fired it --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlotInput:
    """A slot of the schedule, and how many before it were passed over in its favour."""

    slot_at: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class MessageInput:
    """A message: its event key, where it was said and by whom, its text, and what the pattern's groups found
    (None where a group took no part; named ones also by name)."""

    event_key: str
    channel: str
    sender: str
    text: str
    groups: tuple[str | None, ...] = ()
    named_groups: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class SystemInput:
    """An event by its id; `payload` is JSON text."""

    event_id: str
    source: str
    event_type: str
    payload: str = "{}"


@dataclass(frozen=True, slots=True)
class WebhookInput:
    """A delivery by the id its sender gave it; `event`: what the sender calls it, "" where it does not;
    `payload` is what the routine asked for, as JSON text."""

    delivery_id: str
    payload: str = "{}"
    event: str = ""


@dataclass(frozen=True, slots=True)
class ManualInput:
    """A person's word: `request_id` makes a repeated one harmless."""

    request_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Match:
    """A message whose text a routine's pattern is found in. `thread_id`: the only thread it is to be heard
    in; `consumes`: the message is the routine's alone. `content_hash` is the same for texts that differ in
    white space alone."""

    routine_id: str
    found: MessageInput
    content_hash: str
    consumes: bool = False
    thread_id: str | None = None


RunInput = SlotInput | MessageInput | SystemInput | WebhookInput | ManualInput


def claim_key(fired_by: RunInput) -> str:
    """What may fire a routine once and no more: unique together with the routine's id."""
    match fired_by:
        case SlotInput():
            return f"slot:{fired_by.slot_at}"
        case MessageInput():
            return f"message:{fired_by.event_key}"
        case SystemInput():
            return f"event:{fired_by.event_id}"
        case WebhookInput():
            return f"delivery:{fired_by.delivery_id}"
        case ManualInput():
            return f"manual:{fired_by.request_id}"
        case _:
            assert_never(fired_by)


def kept(text: str) -> str:
    """The text as a run keeps it: whole, or its beginning and a word that it was cut."""
    if len(text) <= MAX_INPUT_CHARACTERS:
        return text
    return text[: MAX_INPUT_CHARACTERS - len(_CUT)] + _CUT


# --- how it went ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run used so far, over all its attempts."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_micro_usd: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """What a routine's runs left behind. `paused_because`: why the hub itself stopped firing it, "" if it did
    not; `tested_as`: the fingerprint of the behaviour that last ended well (`core.routines.status`)."""

    next_fire_at: int | None = None
    last_run_at: int | None = None
    last_status: RunStatus | None = None
    running: int = 0
    run_count: int = 0
    consecutive_failures: int = 0
    paused_because: str = ""
    tested_as: str | None = None
