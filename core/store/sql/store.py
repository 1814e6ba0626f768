"""All units over one engine, those of model usage among them: implements core.store.port.Store."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from core.clock import SECOND_US
from core.errors import StoreUnavailable
from core.lazy import LazyModule
from core.store.feed import ChangeListener
from core.store.sql.accept import InboundUnits
from core.store.sql.audit import AuditUnits
from core.store.sql.extensions import ExtensionUnits, SignInUnits
from core.store.sql.gate_timers import GateUnits, NoticeUnits, OutboxUnits
from core.store.sql.grants import ConsentUnits, KillSwitchUnits, ToolFailureUnits
from core.store.sql.hooks import HeldInputUnits
from core.store.sql.memory import MemoryUnits, SecretUnits
from core.store.sql.pages import ExplanationUnits, FeedUnits, ThreadUnits
from core.store.sql.pairing import PeopleUnits
from core.store.sql.people import KeyUnits
from core.store.sql.recovery import LeaseUnits, RecoveryUnits
from core.store.sql.steps import TurnUnits
from core.store.sql.turns import require_running
from core.store.sql.usage import over_budget, reserve, settle
from core.store.units import Engine, Facet, Row, Transaction, writes
from core.usage import (
    Budget,
    CallEnd,
    CallKind,
    Expected,
    Payer,
    Reservation,
    UsageBy,
    UsageSum,
    day_start,
    folded_sums,
)

if TYPE_CHECKING:
    from core.store.sql import job_containers, job_views, jobs, routine_definitions, routine_runs, run_journal
else:
    # A hub without routines and jobs never needs these.
    jobs = LazyModule("core.store.sql.jobs")
    job_views = LazyModule("core.store.sql.job_views")
    job_containers = LazyModule("core.store.sql.job_containers")
    routine_runs = LazyModule("core.store.sql.routine_runs")
    routine_definitions = LazyModule("core.store.sql.routine_definitions")
    run_journal = LazyModule("core.store.sql.run_journal")


BUCKET_US = 900 * SECOND_US
"""A quarter of an hour: in every time zone, days are made of whole ones."""

_SUMS = (
    "count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),"
    " coalesce(sum(cached_input_tokens), 0), coalesce(sum(cache_write_tokens), 0),"
    " coalesce(sum(CASE WHEN state = 'settled' THEN micro_usd END), 0),"
    " coalesce(sum(CASE WHEN state <> 'settled' THEN 1 END), 0),"
    " coalesce(sum(CASE WHEN state <> 'settled' THEN reserved_tokens END), 0),"
    " coalesce(sum(CASE WHEN state <> 'settled' THEN micro_usd END), 0)"
)
_KEYS = {
    UsageBy.DAY: f"reserved_at / {BUCKET_US}",
    UsageBy.MODEL: "model",
    UsageBy.USER: "user_id",
    UsageBy.KIND: "kind",
    UsageBy.ROUTINE: "coalesce(routine_id, '')",
    UsageBy.THREAD: "coalesce(thread_id, '')",
    UsageBy.JOB: "coalesce(job_id, '')",
    UsageBy.STEP: "coalesce(job_id || ' ' || plan_step, '')",
}


class UsageUnits(Facet):
    """The units of ModelUsage."""

    @writes
    def hold_to(self, tx: Transaction, budget: Budget, first_call: Expected) -> None:
        tx.policy.spending.budget, tx.policy.spending.first_call = budget, first_call

    @writes
    def reserve_call(
        self,
        tx: Transaction,
        payer: Payer,
        wanted: Reservation,
        ends: Sequence[CallEnd] = (),
        *,
        approved: bool = False,
    ) -> str | None:
        if payer.kind in {CallKind.CHAT, CallKind.ROUTINE, CallKind.JOB}:
            payer = replace(payer, thread_id=require_running(tx, payer.run_id, heed_stop=True))
        settle(tx, ends)
        refusal = None if approved else over_budget(tx, payer.user_id, wanted.micro_usd)
        if refusal is None:
            reserve(tx, payer, wanted)
        return refusal

    @writes
    def settle_calls(self, tx: Transaction, ends: Sequence[CallEnd]) -> None:
        settle(tx, ends)

    async def usage(self, by: UsageBy, since: int, until: int, timezone: str = "UTC") -> Sequence[UsageSum]:
        key = _KEYS[by]
        rows = await self.engine.ask(
            f"SELECT {key}, {_SUMS} FROM usage WHERE reserved_at >= ? AND reserved_at < ?"
            f" GROUP BY {key} ORDER BY 7 DESC, 1",
            since,
            until,
        )
        return _by_day(rows, timezone) if by is UsageBy.DAY else [UsageSum(*row) for row in rows]


def _by_day(rows: Sequence[Row], timezone: str) -> Sequence[UsageSum]:
    """Return the sums of quarters of an hour as sums of days, the newest first."""
    days: dict[int, list[UsageSum]] = {}
    for bucket, *sums in rows:
        days.setdefault(day_start(bucket * BUCKET_US, timezone), []).append(UsageSum("", *sums))
    return [folded_sums(str(start), days[start]) for start in sorted(days, reverse=True)]


PROBE_BYTES = 1 << 18
"""The size of a test write. A few bytes would fit on many full disks, so it must be larger."""


class HubEngine(Engine, Protocol):
    """An engine a hub runs on."""

    @property
    def healthy(self) -> bool:
        """True if the last commit that wrote anything succeeded."""
        ...

    def watch(self, listener: ChangeListener) -> None:
        """Report every later commit that changed something visible, in the event loop."""
        ...

    async def close(self) -> None:
        """Finish all units already submitted, then close the database."""
        ...


class SqlViews:
    """The facets over an engine; one for listings serves those that list."""

    def __init__(self, engine: Engine) -> None:
        self.facet_engine = engine
        self.inbound = InboundUnits(engine)
        self.held = HeldInputUnits(engine)
        self.turns = TurnUnits(engine)
        self.recovery = RecoveryUnits(engine)
        self.leases = LeaseUnits(engine)
        self.outbox = OutboxUnits(engine)
        self.gates = GateUnits(engine)
        self.notices = NoticeUnits(engine)
        self.consents = ConsentUnits(engine)
        self.people = PeopleUnits(engine)
        self.keys = KeyUnits(engine)
        self.secrets = SecretUnits(engine)
        self.memory = MemoryUnits(engine)
        self.kill_switch = KillSwitchUnits(engine)
        self.tool_failures = ToolFailureUnits(engine)
        self.sign_ins = SignInUnits(engine)
        self.extensions = ExtensionUnits(engine)
        self.usage = UsageUnits(engine)
        self.audit = AuditUnits(engine)
        self.feed = FeedUnits(engine)
        self.threads = ThreadUnits(engine)
        self.explanations = ExplanationUnits(engine)

    @property
    def routines(self) -> "routine_definitions.RoutineUnits":
        """Definitions of routines."""
        return routine_definitions.RoutineUnits(self.facet_engine)

    @property
    def runs(self) -> "routine_runs.RunUnits":
        """Runs of routines."""
        return routine_runs.RunUnits(self.facet_engine)

    @property
    def run_views(self) -> "routine_runs.RunViewUnits":
        """Listings of runs, and their notices."""
        return routine_runs.RunViewUnits(self.facet_engine)

    @property
    def journal(self) -> "run_journal.SubtaskUnits":
        """The journal of runs that use tools."""
        return run_journal.SubtaskUnits(self.facet_engine)

    @property
    def jobs(self) -> "jobs.JobUnits":
        """Jobs."""
        return jobs.JobUnits(self.facet_engine)

    @property
    def job_monitors(self) -> "job_views.JobMonitorUnits":
        """The messages that show jobs."""
        return job_views.JobMonitorUnits(self.facet_engine)

    @property
    def containers(self) -> "job_containers.ContainerJobUnits":
        """Jobs in containers."""
        return job_containers.ContainerJobUnits(self.facet_engine)


class SqlStore(SqlViews):
    """The store of a hub."""

    def __init__(self, engine: HubEngine) -> None:
        super().__init__(engine)
        self._hub_engine = engine

    def watch(self, listener: ChangeListener) -> None:
        self._hub_engine.watch(listener)

    async def healthy(self) -> bool:
        """Return True if the last commit succeeded. If not, try one, so that the store recovers even while
        no unit is submitted."""
        if not self._hub_engine.healthy:
            try:
                await self._hub_engine.write(_probe)
            except StoreUnavailable:
                return False
        return self._hub_engine.healthy

    async def close(self) -> None:
        await self._hub_engine.close()


def _probe(tx: Transaction) -> None:
    tx.run(
        "INSERT INTO probe (id, at, filler) VALUES (1, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET at = excluded.at, filler = excluded.filler",
        tx.clock.now(),
        bytes(PROBE_BYTES),
    )
