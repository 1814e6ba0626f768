"""The operator's API while no hub runs: decisions are recorded, and the next hub continues from there."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from starlette.middleware import Middleware
from starlette.types import ASGIApp

from bot.config.keys import VaultKeyRing
from bot.config.load import Loaded
from bot.jobs.builder import build_registry
from bot.operator.reload import ReloadView
from bot.operator.settings import SettingsService
from bot.parts import build_pipeline, build_rules, open_store
from bot.platforms import build_prompts
from bot.routines.service import resting_routines, routines_api
from bot.runtime import AdminError
from bot.tools import build_effective_policy, build_tools, workspace_of
from bot.views import StatusView
from bot.web.accounts import Accounts, KeysApi
from bot.web.answers import ApprovalsApi
from bot.web.auth import Caller, LoginService, SoleCaller
from bot.web.chat import ConversationsApi
from bot.web.endpoints import application
from bot.web.extensions import ExtensionsApi
from bot.web.items import Presenter
from bot.web.jobs_api import JobsApi
from bot.web.operations import UsageApi
from bot.web.people import People
from bot.web.settings import SettingsApi
from bot.web.threads import PromptsApi
from core.clock import Clock, SystemClock
from core.errors import InboxUnavailable, StoreUnavailable
from core.ids import RandomIds
from core.inbound.judge import EventJudge
from core.inbound.rules import InboundRules
from core.messages import Address, InboundEvent, Message
from core.people.pairing import ClaimRules, PairingService
from core.ports import Acceptance, OutboxRow, Seen
from core.runs.workspace_texts import WorkspaceTexts
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.store.sqlite.store import open_store as open_sqlite
from core.tools.execution import HostExecutor, ToolPause
from core.tools.pipeline import CallPipeline
from core.tools.registry import ToolRegistry
from core.users import Role
from core.web import UNINTERCEPTED

NO_HUB = "no hub is running here; start one with: hubbub run"


@contextlib.asynccontextmanager
async def resting_api(loaded: Loaded) -> AsyncIterator[ASGIApp]:
    """Open the operator's part of the API on the database itself, as the owner. The database is made if there
    is none yet. The caller holds the data directory's lock.

    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld.
    """
    config = loaded.config
    clock, ids = SystemClock(), RandomIds()
    ring = VaultKeyRing(config.hub.data_dir, loaded.environment)
    async with open_store(config, ring, clock, ids) as store:
        owner = await store.people.ensure_user(config.hub.owner, Role.OWNER, config.hub.owner)
        rules = build_rules(config, owner, ids, build_effective_policy(config))
        pairing = PairingService(store.people, ClaimRules(rules.access, ids), NoOutboxListener())
        inbox = RecordingInbox(store, rules, clock)

        def tools() -> ToolRegistry:
            return build_tools(loaded, store, clock)

        settings = SettingsService(store, ring, lambda: tools().names, clock, owner.user_id)
        models = {one.name: one.model for one in config.models}
        presenter = Presenter(lambda name: tools().lookup(name).sensitive, models)
        leaks = LeakDetector()  # of texts with the form of a secret: the configured ones are not read here

        def pipeline() -> CallPipeline:
            executor = HostExecutor()
            return build_pipeline(loaded, tools(), clock, leaks, ToolPause(), None, executor, UNINTERCEPTED)

        texts = WorkspaceTexts(workspace_of(loaded), leaks, config.workspace.trusted_skills)
        prompts = build_prompts(config, texts, lambda principal: pipeline().unattended(principal))
        routines = routines_api(config, store, resting_routines(store), clock, ids, pipeline)
        jobs = JobsApi(lambda: build_registry(config, store, pipeline(), ids, leaks), store.threads)
        login = LoginService(store.keys, owner, clock)
        endpoints = [
            *People(store, ids, _no_status, dict, models, timezone=config.hub.timezone).endpoints(),
            *KeysApi(store, ids, login, "").endpoints(),
            *Accounts(pairing, owner).endpoints(),
            *SettingsApi(store, settings, NoReloader()).endpoints(),
            *ApprovalsApi(store.feed, inbox, presenter, clock, ids).endpoints(),
            *routines.endpoints(),
            *ConversationsApi(store).endpoints(),
            *jobs.endpoints(),
            *PromptsApi(store, prompts, pipeline, clock).endpoints(),
            *ExtensionsApi(store, config, owner).endpoints(),
            *UsageApi(store, clock, ids, config).endpoints(),
        ]
        yield application(endpoints, Middleware(SoleCaller, caller=Caller(owner)))


async def _no_status() -> StatusView:
    raise AdminError("unavailable", NO_HUB)


class NoReloader:
    """A Reloader: nothing runs that could read the configuration again."""

    async def reload(self) -> ReloadView:
        """Raise AdminError."""
        raise AdminError("unavailable", NO_HUB)


async def pause_tools_in(copy: Path, loaded: Loaded) -> None:
    """Pause tools in a copy of the database that is about to be put back.

    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld.
    """
    config = loaded.config
    ring = VaultKeyRing(config.hub.data_dir, loaded.environment)
    store = await open_sqlite(copy, SystemClock(), RandomIds(), chain=ring)
    try:
        owner = await store.people.ensure_user(config.hub.owner, Role.OWNER, config.hub.owner)
        await store.kill_switch.pause_tools(owner.user_id, paused=True)
    finally:
        await store.close()


class NoOutboxListener:
    """An OutboxListener: rows wait in the store for the next hub."""

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        # The rows are in the store; the next hub sends them.
        pass

    def may_send_now(self, channel: str, address: Address) -> bool:
        # Nothing is sent here.
        del channel, address
        return False

    def prerender(self, channel: str, message: Message) -> None:
        """Ignore the message: no channel runs."""


class RecordingInbox:
    """An Inbox that keeps and judges like the hub's, but starts nothing."""

    def __init__(self, store: Store, rules: InboundRules, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._clock = clock

    async def accept(self, event: InboundEvent) -> Acceptance:
        """Accept an event. A turn that continues because of it is run by the next hub and counts
        as no crash."""
        judge = EventJudge(self._rules, event, self._clock.now())
        try:
            accepted = await self._store.inbound.accept_event(event, judge, send_now=False)
            if accepted.started is not None:
                await self._store.recovery.release_runs([accepted.started.turn_id])
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error
        return Acceptance(accepted.outcome, accepted.answer, accepted.duplicate)

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        # Nothing is received here, so nothing was missed.
        del channel
        return ()
