"""The queue of events between a hub and a terminal."""

import asyncio
from collections import deque
from dataclasses import replace

from bot.chat.talk import Event, Wrote


class Feed:
    """Events in order. Pieces of the same reply become one, so that a slow terminal makes nothing pile up but
    what was really said."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._some = asyncio.Event()

    def put(self, event: Event) -> None:
        """Never blocks and never fails."""
        last = self._events[-1] if self._events else None
        if (
            isinstance(event, Wrote)
            and isinstance(last, Wrote)
            and (last.turn, last.offset + len(last.text)) == (event.turn, event.offset)
        ):
            self._events[-1] = replace(last, text=last.text + event.text)
        else:
            self._events.append(event)
        self._some.set()

    async def get(self) -> Event:
        """The next event."""
        await self._some.wait()
        event = self._events.popleft()
        if not self._events:
            self._some.clear()
        return event

    @property
    def empty(self) -> bool:
        """Whether everything was taken."""
        return not self._events
