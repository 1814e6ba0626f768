"""Messages and the routines whose patterns they match. What is changed is heard from the next message on."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.messages import InboundMessage
from core.routine import Event, OnMatch
from core.routine_run import Match, MessageInput, kept
from core.routines.stored import definition_of
from core.store.routines import RoutineRow

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Heard:
    trigger: Event
    pattern: Any


class Listening:
    """All enabled event routines."""

    def __init__(self) -> None:
        self._heard: dict[str, _Heard] = {}

    def changed(self, row: RoutineRow) -> None:
        """From now on the routine is as the row says; one that cannot be read is not heard, and logged."""
        self._heard.pop(row.id, None)
        if row.text.kind != "event" or not row.enabled:
            return
        try:
            trigger = definition_of(row).trigger
        except ValueError as error:
            logger.warning("routine %s hears nothing: %s", row.text.name, error)
            return
        if isinstance(trigger, Event):
            self._heard[row.id] = _Heard(trigger, _compiled(trigger.pattern))

    def deleted(self, routine_id: str) -> None:
        """It hears nothing any more."""
        self._heard.pop(routine_id, None)

    def matches(self, message: InboundMessage) -> Sequence[Match]:
        """Those that the message fires, as far as the message itself tells."""
        if not self._heard or not message.text:
            return ()
        found = ((id_, heard, heard.pattern.search(message.text)) for id_, heard in self._heard.items())
        return [
            _match(id_, heard.trigger, message, match)
            for id_, heard, match in found
            if match is not None and _fits(heard.trigger, message)
        ]


def _compiled(pattern: str) -> Any:
    engine = cast("Any", re2)
    return engine.compile(pattern)


def _fits(trigger: Event, message: InboundMessage) -> bool:
    if trigger.channel is not None and trigger.channel.casefold() != message.channel.casefold():
        return False
    names = {message.sender.platform_user_id.casefold(), (message.sender.username or "").casefold()}
    return trigger.sender is None or trigger.sender.casefold() in names


def _match(routine_id: str, trigger: Event, message: InboundMessage, found: Any) -> Match:
    named = tuple((name, found.group(name)) for name in found.re.groupindex)
    heard = MessageInput(
        event_key=message.key,
        channel=message.channel,
        sender=message.sender.name,
        text=kept(message.text),
        groups=tuple(found.groups()),
        named_groups=named,
    )
    digest = hashlib.sha256(" ".join(message.text.split()).encode("utf-8", "replace")).hexdigest()
    return Match(routine_id, heard, digest, trigger.on_match is OnMatch.CONSUME, trigger.thread_id)
