"""Requests that were taken and wait: each hold ends when released, after its time, or with its client."""

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class Holds:
    """The holds in force, by request number."""

    _waiting: dict[int, tuple[str, asyncio.Event]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self, number: int, gate: str, at_most_s: float | None) -> None:
        """Return when released or after `at_most_s`; a cancelled handler (client gone) leaves at once."""
        released = asyncio.Event()
        self._waiting[number] = (gate, released)
        try:
            async with asyncio.timeout(at_most_s):
                await released.wait()
        except TimeoutError:
            pass  # the hold's own time is up: the answer goes on
        finally:
            self._waiting.pop(number, None)

    def release(self, *, number: int | None = None, gate: str | None = None) -> int:
        """Release one request, one gate's, or all; how many were let go. Those that come later still wait."""
        chosen = [
            held
            for held, (held_gate, _) in self._waiting.items()
            if (number is None or held == number) and (gate is None or held_gate == gate)
        ]
        for held in chosen:
            _, released = self._waiting.pop(held)
            released.set()
        return len(chosen)
