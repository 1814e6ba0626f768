"""The front door as channels see it: the hub's inbox, protected from a single event that breaks it."""

import logging
from collections import OrderedDict
from collections.abc import Sequence

from core.clock import Clock
from core.errors import HubError, InboxUnavailable
from core.messages import InboundEvent, Unreadable
from core.ports import Acceptance, Inbox, Seen

logger = logging.getLogger(__name__)

TRIES = 3
REMEMBERED = 1_000


class Reception:
    """An Inbox in front of the hub's.

    An event whose handling fails unexpectedly is asked for again by its platform; at its third failure it
    is recorded as unreadable and acknowledged, so that it does not hold up everything behind it.
    """

    def __init__(self, inbox: Inbox, clock: Clock) -> None:
        self._inbox = inbox
        self._clock = clock
        self._failures: OrderedDict[str, int] = OrderedDict()

    async def accept(self, event: InboundEvent) -> Acceptance:
        """See Inbox.accept; raises nothing but InboxUnavailable."""
        try:
            acceptance = await self._inbox.accept(event)
        except InboxUnavailable:
            raise
        except HubError as error:
            raise InboxUnavailable(str(error)) from error
        except Exception as error:  # a defect met by one event; the platform keeps it meanwhile
            logger.exception("accepting %s failed", event.key)
            if self._count(event.key) < TRIES:
                raise InboxUnavailable(f"{event.key} could not be accepted, see the log") from error
            return await self._set_aside(event)
        self._failures.pop(event.key, None)
        return acceptance

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """See Inbox.last_seen."""
        return await self._inbox.last_seen(channel)

    async def _set_aside(self, event: InboundEvent) -> Acceptance:
        summary = "accepting it failed repeatedly, see the log"
        try:
            acceptance = await self._inbox.accept(
                Unreadable(event.key, event.channel, summary, self._clock.now())
            )
        except HubError as error:
            raise InboxUnavailable("not even a note of the event could be kept") from error
        except Exception as error:
            logger.exception("noting that %s could not be accepted failed", event.key)
            raise InboxUnavailable("not even a note of the event could be kept") from error
        self._failures.pop(event.key, None)
        return acceptance

    def _count(self, key: str) -> int:
        failures = self._failures.pop(key, 0) + 1
        self._failures[key] = failures
        if len(self._failures) > REMEMBERED:
            self._failures.popitem(last=False)
        return failures
