"""The webhooks that stand open, by their paths. What is changed holds from the next delivery on."""

import logging
from dataclasses import dataclass

from core.routine import Webhook
from core.routines.stored import definition_of
from core.store.routines import RoutineRow

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Door:
    """A webhook: the routine it fires, and what it asks of whoever comes."""

    routine_id: str
    trigger: Webhook


class Doors:
    """All webhooks. Whether a routine is paused is judged where its run is claimed: a sender who knows the
    secret is told so, and nobody else."""

    def __init__(self) -> None:
        self._by_path: dict[str, Door] = {}
        self._paths: dict[str, str] = {}

    def changed(self, row: RoutineRow) -> None:
        """From now on the routine is as the row says; one that cannot be read has no door, and is logged."""
        self.deleted(row.id)
        if row.text.kind != "webhook":
            return
        try:
            trigger = definition_of(row).trigger
        except ValueError as error:
            logger.warning("routine %s has no webhook: %s", row.text.name, error)
            return
        if isinstance(trigger, Webhook):
            self._by_path[trigger.path] = Door(row.id, trigger)
            self._paths[row.id] = trigger.path

    def deleted(self, routine_id: str) -> None:
        """Its door is gone."""
        path = self._paths.pop(routine_id, None)
        door = None if path is None else self._by_path.get(path)
        if door is not None and door.routine_id == routine_id:  # another may have taken the path meanwhile
            del self._by_path[door.trigger.path]

    def at(self, path: str) -> Door | None:
        """The one at that path."""
        return self._by_path.get(path)
