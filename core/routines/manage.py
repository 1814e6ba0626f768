"""Operations on routines, the same for chat tools, command line, API and console.

People see only their own routines. Refusals name the field.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from core.clock import Clock
from core.ids import Ids
from core.routine import Action, Cron, Definition, FullJob, ManualInput, Webhook, is_once
from core.routine_json import Problem, RoutineNotFound, RoutineRefused, read_definition
from core.routines.definitions import change, definition_of, not_permitted, text_of, validate
from core.routines.schedule import next_slot, with_time_in_full
from core.routines.service import ChangeListener
from core.routines.triggers import HEARTBEAT_ID, HUB, SystemEvents
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.store.routine_rows import NewRun, RoutineRow, RoutineRunRow, RoutineText
from core.users import Principal, Role, timezone_in_force

if TYPE_CHECKING:
    from core.jobs.service import JobDispatcher

NEVER = "never occurs; choose a time that does"
MAX_ROUTINES = 10_000
"""Limit per person."""
REMINDER_NAME_CHARS = 60


class RoutineManager:
    """Management of routines; every method acts for the person named first.

    Raises RoutineNotFound, RoutineRefused, StoreError. `timezone`: of people who chose none, and so of
    their routines without one; `cooldown_s`: the default; `priced`: whether model prices are known.
    """

    def __init__(
        self,
        store: Store,
        listener: ChangeListener,
        clock: Clock,
        ids: Ids,
        *,
        timezone: str,
        cooldown_s: int = 300,
        priced: bool = False,
        leaks: LeakDetector | None = None,
        jobs: "Callable[[], JobDispatcher | None]" = lambda: None,
    ) -> None:
        """Keep the parts. `jobs`: returns the maker of new jobs; None: there are none."""
        self._leaks = leaks
        self.jobs = jobs
        self._store = store
        self._listener = listener
        self._clock = clock
        self._ids = ids
        self._timezone = timezone
        self._cooldown_s = cooldown_s
        self.priced = priced

    # --- definitions -----------------------------------------------------------------------------------

    async def create(
        self, by: Principal, page: Mapping[str, object], thread_id: str | None = None
    ) -> RoutineRow:
        """Create a routine. `thread_id`: the thread it is created in, and the default for its notices."""
        routine_id, definition, text = await self._to_create(by, page)
        row = await self._store.routines.save_routine(routine_id, by.user_id, text, thread_id)
        if row is None:
            raise await self._taken(by, definition, None)
        if not definition.enabled:
            row = await self._switched(row, enabled=False)
        self._listener.changed(row)
        return row

    async def objection(self, by: Principal, page: Mapping[str, object]) -> str | None:
        """Return why `create` would refuse the page now, or None if nothing is known against it."""
        try:
            _, definition, _ = await self._to_create(by, page)
        except RoutineRefused as error:
            return str(error)
        return str(taken) if (taken := await self._name_taken(by, definition, None)) is not None else None

    async def _to_create(
        self, by: Principal, page: Mapping[str, object]
    ) -> tuple[str, Definition, RoutineText]:
        """Return what a page creates: an id, the definition and its text."""
        routine_id = self._ids.row_id()
        page = _with_path(self._completed(page), routine_id)
        now = self._clock.now()
        zone = await self._zone_of(by)
        page = with_time_in_full(page, now, zone)
        formal = isinstance(read_definition(page, zone), tuple)
        definition = self._judged(validate(page, zone), by, formal=formal)
        await self._named_things(by, definition)
        if await self._store.routines.count_routines(by.user_id) >= MAX_ROUTINES:
            raise RoutineRefused(
                Problem("", f"you have {MAX_ROUTINES} routines, the maximum; delete one first")
            )
        return routine_id, definition, text_of(definition, self._next_slot(definition, now, now))

    async def change(self, by: Principal, named: str, page: Mapping[str, object]) -> RoutineRow:
        """Change only the fields that the page names. The prompt of a full job is its description."""
        row = _theirs(await self.find(by, named))
        page = page if row.text.kind == "webhook" else _with_path(page, row.id)
        held = _definition(row)
        zone = held.trigger.timezone if isinstance(held.trigger, Cron) else await self._zone_of(by)
        now = self._clock.now()
        page = with_time_in_full(_with_task(page, held.action), now, zone)
        definition = self._judged(change(held, page, zone), by)
        await self._named_things(by, definition)
        text = text_of(definition, self._next_slot(definition, row.created_at, now))
        changed = await self._store.routines.rewrite_routine(row.id, text, version=row.version)
        if changed is None:
            raise await self._taken(by, definition, row)
        if definition.enabled != changed.enabled:
            changed = await self._switched(changed, enabled=definition.enabled)
        self._listener.changed(changed)
        return changed

    async def switch(self, by: Principal, named: str, *, enabled: bool) -> RoutineRow:
        """Pause or resume it. A schedule resumes with its next slot, not with those it missed."""
        row = await self._switched(await self.find(by, named), enabled=enabled)
        self._listener.changed(row)
        return row

    async def delete(self, by: Principal, named: str) -> RoutineRow:
        """Delete a routine and its runs; return the deleted routine."""
        row = _theirs(await self.find(by, named))
        await self._store.routines.delete_routine(row.id)
        self._listener.deleted(row.id)
        return row

    async def find(self, by: Principal, named: str) -> RoutineRow:
        """Return one of the person's own routines, by name or id."""
        row = await self._store.routines.routine_named(by.user_id, named)
        if row is None:
            raise RoutineNotFound(f"you have no routine named “{named[:200]}”")
        return row

    async def listed(
        self, by: Principal, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> Sequence[RoutineRow]:
        """Return the person's routines by name; see Routines.routines of the store."""
        return await self._store.routines.routines(
            by.user_id, after=after, limit=limit, containing=containing
        )

    async def history(self, by: Principal, named: str, limit: int) -> Sequence[RoutineRunRow]:
        """Return its newest runs, newest first."""
        row = await self.find(by, named)
        return await self._store.run_views.routine_runs(row.id, max(1, limit))

    async def remind(self, by: Principal, text: str, when: str, key: str, thread_id: str) -> RoutineRow:
        """Create a reminder. `when`: a one-time schedule, with or without `at`; `key`: the same one makes
        one reminder."""
        digest = sha256(key.encode()).hexdigest()[:8]
        name = f"{' '.join(text.split())[:REMINDER_NAME_CHARS]} ({digest})"
        made = await self._store.routines.routine_named(by.user_id, name)
        if made is not None:
            return made
        schedule = when.strip() if is_once(when) else f"at {when.strip()}"
        trigger = {"type": "cron", "schedule": schedule}
        page = {
            "name": name,
            "trigger": trigger | {"timezone": await self._zone_of(by)},
            "action": {"type": "reminder", "text": text},
            "guardrails": {"cooldown_s": 0},
        }
        return await self.create(by, page, thread_id)

    # --- firing ----------------------------------------------------------------------------------------

    async def fire(self, by: Principal, named: str, request_id: str) -> str:
        """Request a run regardless of the cooldown and return its id. The same request runs once."""
        row = await self.find(by, named)
        fired_by = ManualInput(request_id, by.user_id)
        run = NewRun.fired(fired_by, self._ids.row_id(), row.id, self._clock.now(), heeds_guardrails=False)
        claim = await self._store.runs.claim_run(run)
        if claim.run_id is None:
            raise RoutineRefused(Problem("", str(claim.refusal)))
        self._listener.fired([row.id])
        return claim.run_id

    async def emit(
        self, by: Principal, source: str, event_type: str, payload: Mapping[str, Any], event_id: str
    ) -> Sequence[str]:
        """Emit an event to the person's routines and return the names of those that fire."""
        if source.casefold() == HUB:
            raise RoutineRefused(
                Problem("source", f"{HUB} is reserved for events of the hub itself; choose another name")
            )
        events = SystemEvents(self._store, self._listener.fired, self._clock, self._ids, self._leaks)
        return await events.emit(by.user_id, source, event_type, payload, event_id)

    # --- shared ----------------------------------------------------------------------------------------

    async def _zone_of(self, by: Principal) -> str:
        return timezone_in_force((await self._store.people.preferences(by.user_id)).timezone, self._timezone)

    def _judged(
        self, found: Definition | tuple[Problem, ...], by: Principal, *, formal: bool = False
    ) -> Definition:
        if isinstance(found, tuple):
            raise RoutineRefused(*found, formal=formal)
        jobs = self.jobs() if isinstance(found.action, FullJob) else None
        if problems := tuple(not_permitted(found, by, priced=self.priced, jobs=jobs)):
            raise RoutineRefused(*problems)
        return found

    def _completed(self, page: Mapping[str, object]) -> Mapping[str, object]:
        given = page.get("guardrails")
        if given is not None and not isinstance(given, dict):
            return page
        guardrails = cast("dict[str, object]", given or {})
        return {**page, "guardrails": {"cooldown_s": self._cooldown_s, **guardrails}}

    async def _named_things(self, by: Principal, definition: Definition) -> None:
        """Refuse an unknown secret, and a notice thread that is not the person's; an owner may name any
        thread."""
        name = definition.trigger.secret_name if isinstance(definition.trigger, Webhook) else None
        if name and name not in {secret.name for secret in await self._store.secrets.secrets()}:
            told = f"names a secret that is not in the vault; set it with: hubbub secrets set {name}"
            raise RoutineRefused(Problem("trigger.secret_name", told))
        if (thread_id := definition.notify.thread_id) is not None:
            thread = await self._store.threads.thread(thread_id)
            if thread is None or (by.role is not Role.OWNER and thread.owner_id != by.user_id):
                raise RoutineRefused(Problem("notify.thread_id", "is not one of your conversations"))

    def _next_slot(self, definition: Definition, anchor: int, now: int) -> int | None:
        if not isinstance(definition.trigger, Cron):
            return None
        try:
            found = next_slot(definition.trigger, now, anchor)
        except ValueError as error:
            raise RoutineRefused(Problem("trigger.schedule", str(error))) from error
        if found is None:
            told = "is in the past; choose a time to come" if is_once(definition.trigger.schedule) else NEVER
            raise RoutineRefused(Problem("trigger.schedule", told))
        return found

    async def _switched(self, row: RoutineRow, *, enabled: bool) -> RoutineRow:
        now = self._clock.now()
        slot_at = self._next_slot(_definition(row), row.created_at, now) if enabled else None
        changed = await self._store.routines.switch_routine(row.id, enabled=enabled, next_slot_at=slot_at)
        if changed is None:
            raise RoutineNotFound(f"the routine “{row.text.name}” no longer exists")
        return changed

    async def _name_taken(
        self, by: Principal, definition: Definition, row: RoutineRow | None
    ) -> RoutineRefused | None:
        other = await self._store.routines.routine_named(by.user_id, definition.name)
        if other is not None and other.text.name == definition.name and (row is None or other.id != row.id):
            return RoutineRefused(Problem("name", "is already the name of one of your routines"))
        return None

    async def _taken(self, by: Principal, definition: Definition, row: RoutineRow | None) -> RoutineRefused:
        """Return the reason it could not be saved."""
        if (taken := await self._name_taken(by, definition, row)) is not None:
            return taken
        now = None if row is None else await self._store.routines.routine(row.id)
        if row is not None and (now is None or now.version != row.version):
            return RoutineRefused(
                Problem("", "was changed by someone else in the meantime; review it and try again")
            )
        return RoutineRefused(Problem("trigger.path", "is used by another routine; choose another path"))


def _with_path(page: Mapping[str, object], routine_id: str) -> Mapping[str, object]:
    """Return the page; a webhook without a path gets the routine's id."""
    given = page.get("trigger")
    trigger = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    if trigger.get("type") != "webhook" or trigger.get("path"):
        return page
    return {**page, "trigger": {**trigger, "path": routine_id}}


def _with_task(page: Mapping[str, object], held: Action) -> Mapping[str, object]:
    """Return the page; a new prompt of a full job is its description."""
    given = page.get("action")
    action = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    if not isinstance(held, FullJob) or "type" in action or "prompt" not in action:
        return page
    described = {"description" if name == "prompt" else name: value for name, value in action.items()}
    return {**page, "action": described}


def _theirs(row: RoutineRow) -> RoutineRow:
    if row.id == HEARTBEAT_ID:
        raise RoutineRefused(
            Problem("", "is set in [heartbeat] of the configuration; here it can only be paused")
        )
    return row


def _definition(row: RoutineRow) -> Definition:
    try:
        return definition_of(row)
    except ValueError as error:
        raise RoutineRefused(Problem("", str(error))) from error
