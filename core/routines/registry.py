"""Registries of event routines and webhooks. A change takes effect with the next message or delivery."""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from core.lazy import dataclass
from core.messages import InboundMessage
from core.routine import Event, Match, MessageInput, OnMatch, Webhook, kept
from core.routines.definitions import definition_of
from core.routines.matching.matcher import Heard, Hit, Listener, Matcher
from core.routines.matching.nodes import PatternRefused
from core.store.routine_rows import RoutineRow

logger = logging.getLogger(__name__)

LOADED_AT_ONCE = 10


class PatternRegistry:
    """Registry of all enabled event routines. Permissions and threads are judged with the message, in the
    transaction
    that accepts it; here only text, channel and sender are matched."""

    def __init__(self) -> None:
        self._matcher = Matcher()
        self._events: dict[str, Event] = {}
        self._readers: frozenset[str] = frozenset()

    def changed(self, row: RoutineRow) -> None:
        """Apply a change of the routine; one that cannot be read hears nothing, which is logged."""
        self.deleted(row.id)
        if row.text.kind != "event" or not row.enabled:
            return
        try:
            trigger = definition_of(row).trigger
            if isinstance(trigger, Event):
                heard = replace(trigger, thread_id=None)
                self._matcher.put(Listener(row.id, row.owner_id, heard))
                self._events[row.id] = trigger
                self._readers |= {row.owner_id}
        except (ValueError, PatternRefused) as error:
            logger.warning("routine.trigger_refused routine=%r error=%s", row.text.name, error)

    async def load(self, rows: Iterable[RoutineRow]) -> None:
        """Apply `changed` to many, with pauses in which everything else runs."""
        for count, row in enumerate(rows):
            if count % LOADED_AT_ONCE == 0:
                await asyncio.sleep(0)
            self.changed(row)

    def deleted(self, routine_id: str) -> None:
        """Remove the routine."""
        if self._events.pop(routine_id, None) is not None:
            self._matcher.remove(routine_id)

    def matches(self, message: InboundMessage) -> Sequence[Match]:
        """Return the routines the message fires, judged by the message alone."""
        if not self._events or not message.text:
            return ()
        sender = message.sender
        names = tuple(name for name in (sender.platform_user_id, sender.username) if name)
        hits = self._matcher.match(Heard(message.text, self._readers, message.channel, names))
        return [self._match(hit, message) for hit in hits]

    def _match(self, hit: Hit, message: InboundMessage) -> Match:
        routine_id = hit.listener.routine_id
        trigger = self._events[routine_id]
        heard = MessageInput(
            event_key=message.key,
            channel=message.channel,
            sender=message.sender.name,
            text=kept(message.text),
            groups=hit.found.groups,
            named_groups=hit.found.names,
        )
        digest = hashlib.sha256(" ".join(message.text.split()).encode("utf-8", "replace")).hexdigest()
        return Match(routine_id, heard, digest, trigger.on_match is OnMatch.CONSUME, trigger.thread_id)


# Open webhooks by path. A change takes effect with the next delivery.


@dataclass(frozen=True, slots=True)
class WebhookEntry:
    """A webhook: the routine it fires, and the checks on a delivery."""

    routine_id: str
    trigger: Webhook


class WebhookRegistry:
    """Registry of all webhooks. A pause is judged where the run is claimed: only a sender who knows the
    secret learns
    of it."""

    def __init__(self) -> None:
        self._by_path: dict[str, WebhookEntry] = {}
        self._paths: dict[str, str] = {}

    def changed(self, row: RoutineRow) -> None:
        """Apply a change of the routine; one that cannot be read has no webhook, which is logged."""
        self.deleted(row.id)
        if row.text.kind != "webhook":
            return
        try:
            trigger = definition_of(row).trigger
        except ValueError as error:
            logger.warning("routine.webhook_unavailable routine=%r error=%s", row.text.name, error)
            return
        if isinstance(trigger, Webhook):
            self._by_path[trigger.path] = WebhookEntry(row.id, trigger)
            self._paths[row.id] = trigger.path

    def deleted(self, routine_id: str) -> None:
        """Remove the routine's webhook."""
        path = self._paths.pop(routine_id, None)
        entry = None if path is None else self._by_path.get(path)
        if entry is not None and entry.routine_id == routine_id:  # another routine may have taken the path
            del self._by_path[entry.trigger.path]

    def at(self, path: str) -> WebhookEntry | None:
        """Return the webhook at that path."""
        return self._by_path.get(path)
