"""The store's side of hooks: what waits to be asked about, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.messages import Message
from core.ports import OutboxRow

HELD = 1 << 62
"""Until when a message waits about which hooks are still to be asked; microseconds, and never."""


@dataclass(frozen=True, slots=True)
class HeldInput:
    """A message that was taken, and that no turn takes before hooks have spoken."""

    id: int
    text: str
    user_id: str
    thread_id: str
    channel: str


@dataclass(frozen=True, slots=True)
class SessionChange:
    """Somebody's session began, or ended."""

    user_id: str
    began: bool


class Hooking(Protocol):
    """One method = one transaction, as in Store."""

    async def held_inputs(self, limit: int) -> Sequence[HeldInput]:
        """Messages that hooks are to be asked about, the oldest first."""
        ...

    async def release_input(self, held: HeldInput, text: str, *, album_wait_us: int) -> int | None:
        """Let it go on, saying `text`; when its thread is to be looked at (microseconds UTC). None: it says
        something else by now, or waits no more; nothing is changed."""
        ...

    async def refuse_input(self, held: HeldInput, outcome: str, told: Message) -> tuple[OutboxRow, ...]:
        """It goes no further, and its writer is told; () where that is so already, or it says something
        else by now."""
        ...

    async def outbound_judged(self, row_id: int) -> Message | None:
        """What became of a message on its way out; None: nobody was asked yet."""
        ...

    async def judge_outbound(self, row_id: int, message: Message) -> None:
        """Keep what it says from now on, and that hooks were asked."""
        ...

    async def session_changes(self, idle_us: int) -> Sequence[SessionChange]:
        """Whose session began or ended since this was asked last; each is told once. A session ends when
        its person has said nothing for `idle_us`."""
        ...
