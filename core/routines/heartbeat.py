"""Heartbeat: at an interval, or once a day, the model works through the owner's list, HEARTBEAT.md of the
workspace.

It is a normal routine, created and updated from the configuration; the engine handles its
slots, runs, limits and notices. Only its active hours are special, and that an empty list calls
no model.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.lazy_dataclass import dataclass
from core.routine import Cron, Definition, Downtime, Guardrails, Lightweight, QuietHours
from core.routines.definitions import read_text, text_of
from core.routines.schedule import next_slot
from core.store.port import Store
from core.store.routine_rows import RoutineRow, RoutineText

logger = logging.getLogger(__name__)

HEARTBEAT_ID = "heartbeat"
NAMES = ("heartbeat", "heartbeat of the hub")
"""Names of the routine; the second is for an owner who has a routine with the first name."""
LIST = "HEARTBEAT.md"
LIST_LIMIT_BYTES = 64_000
SWITCHED_OFF = "[heartbeat] enabled is false"
_PROMPT = (
    "Go through my list below and check whether anything on it needs me now. If nothing does, there is "
    "nothing to report. Otherwise say briefly what needs me and what I could do."
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOTHING = re.compile(r"#.*|(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]?\])?|[-*_=]{3,}")
"""A line without a task: empty, a heading, an empty bullet or box, a rule."""


@dataclass(frozen=True, slots=True)
class Asleep:
    """The reason no model is called."""

    why: str


class Heartbeat:
    """One heartbeat. `awake`: hours of the owner's day, None for all; `read_file`: reads from the
    workspace,
    raises ValueError."""

    def __init__(
        self, read_file: Callable[[str, int], bytes], awake: QuietHours | None, clock: Clock
    ) -> None:
        self._read_file = read_file
        self._awake = awake
        self._clock = clock

    def action(self, timezone: str) -> Lightweight | Asleep:
        """Return the action for now. `timezone`: the owner's."""
        moment = datetime.fromtimestamp(self._clock.now() / SECOND_US, ZoneInfo(timezone))
        if self._awake is not None and not _covers(self._awake, moment.hour * 60 + moment.minute):
            return Asleep("outside active_hours")
        try:
            listed = self._read_file(LIST, LIST_LIMIT_BYTES).decode("utf-8", "replace")
        except ValueError as error:
            return Asleep(f"{LIST}: {error}")
        if asks_for_nothing(listed):
            return Asleep(f"{LIST} has no entries")
        return Lightweight(f"{_PROMPT}\n\n# {LIST}\n\n{listed}")


def _covers(awake: QuietHours, minute: int) -> bool:
    """Return whether a minute is within the active hours; equal start and end mean the whole day."""
    return awake.start_minute == awake.end_minute or awake.cover(minute)


def asks_for_nothing(listed: str) -> bool:
    """Return whether there are only headings, comments and empty items. An unclosed comment hides the
    rest."""
    return all(_NOTHING.fullmatch(line.strip()) for line in _COMMENT.sub("", listed).splitlines())


# --- upkeep ---------------------------------------------------------------------------------------------


async def keep_heartbeat(
    store: Store, owner_id: str, schedule: str | None, timezone: str, clock: Clock
) -> None:
    """Bring the routine in line with the configuration; None removes it. A heartbeat that a person paused
    stays paused.
    Raises StoreUnavailable."""
    row = await store.routines.routine(HEARTBEAT_ID)
    if schedule is None:
        if row is not None and row.enabled:
            await store.routines.switch_routine(
                row.id, enabled=False, next_slot_at=None, because=SWITCHED_OFF
            )
        return
    definition = _definition(schedule, timezone)
    now = clock.now()
    if row is None:
        for name in NAMES:
            text = _text(replace(definition, name=name), now, now)
            if await store.routines.save_routine(HEARTBEAT_ID, owner_id, text, None) is not None:
                return
        logger.error("heartbeat.names_taken names=%r", " and ".join(NAMES))
        return
    text = _text(replace(definition, name=row.text.name), now, row.created_at)
    if not _says(row, text.definition):
        await store.routines.rewrite_routine(row.id, text, version=row.version)
    if row.paused_because == SWITCHED_OFF:
        await store.routines.switch_routine(row.id, enabled=True, next_slot_at=text.next_slot_at)


def schedule_of_beats(every_s: int, at: str) -> str:
    """Return the schedule of the configuration. `at`: a time of day, "" for every `every_s` seconds."""
    hour, _, minute = at.partition(":")
    return f"{int(minute)} {int(hour)} * * *" if at else f"every {every_s // 60} m"


def _definition(schedule: str, timezone: str) -> Definition:
    # A missed beat is not made up for: the next one reads the same list.
    every = Cron(schedule, timezone, Downtime.SKIP)
    return Definition(
        name=NAMES[0],
        trigger=every,
        action=Lightweight(f"Go through {LIST}."),
        description=f"Checks {LIST} in the workspace; see [heartbeat] in the configuration.",
        guardrails=Guardrails(cooldown_s=0),
    )


def _text(definition: Definition, now: int, anchor: int) -> RoutineText:
    assert isinstance(definition.trigger, Cron)  # noqa: S101 - made so
    return text_of(definition, next_slot(definition.trigger, now, anchor))


def _says(row: RoutineRow, definition: str) -> bool:
    try:
        return read_text(row.text.definition) == read_text(definition)
    except ValueError:
        return False
