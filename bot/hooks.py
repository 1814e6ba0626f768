"""Builds the hooks that the configuration names; nothing of this is loaded where it names none."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, cast

from bot.config.load import Loaded
from bot.config.schema import Config
from bot.config.sections import Hook as HookSettings
from bot.extensions.python import HOOKS
from bot.runtime import StartError, authorities
from bot.tools import network_guard
from core.clock import Clock, Timers
from core.errors import ToolDenied
from core.hooks.chain import AnswerHooks, CallHooks, Chain, Hook, Point, Registered, ReplyHooks
from core.hooks.points import (
    LOOK_EVERY_S,
    TELL_TIMEOUT_S,
    AskingWebhook,
    InboundHooks,
    OutboundHooks,
    SessionHooks,
    Starts,
    Target,
    ToldWebhook,
    WebhookNotifier,
    WebhookSender,
)
from core.hooks.summaries import SessionSummaries, Unfinished
from core.ids import Ids
from core.lazy import dataclass
from core.ports import OutboxListener
from core.runs.model_list import ModelList
from core.runs.unseen_models import UnseenModels
from core.safety.leaks import LeakDetector
from core.safety.network import NetworkGuard
from core.safety.paths import PathGuard
from core.store.port import Store
from core.tools.builtin.file_changes import append_to_file, to_its_end
from core.tools.builtin.web_tools import web_client
from core.users import TimeZones
from core.web import Interceptor, WebAnswer, WebRequest

if TYPE_CHECKING:
    from core.tools.web_client import WebClient

DAY_S = 86_400


class _Web:
    """The web as tools reach it, set up when something is first asked."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._guard = guard
        self._client: WebClient | None = None

    async def fetch(self, request: WebRequest, limit_s: float, interceptor: Interceptor) -> WebAnswer:
        if self._client is None:
            self._client = await asyncio.to_thread(web_client, self._guard, authorities)
        return await self._client.fetch(request, limit_s, interceptor)


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks by point; None where there are none."""

    config: Config
    chains: dict[Point, Chain]
    notifier: WebhookNotifier
    store: Store
    clock: Clock
    unfinished: Unfinished

    @property
    def calls(self) -> CallHooks | None:
        """The hooks on tool calls, which run before consent is decided."""
        chain = self.chains.get(Point.BEFORE_TOOL_CALL)
        return None if chain is None else CallHooks(chain)

    @property
    def answers(self) -> AnswerHooks | None:
        """Return the hook for answers to questions."""
        chain = self.chains.get(Point.BEFORE_INBOUND)
        return None if chain is None else AnswerHooks(chain)

    @property
    def replies(self) -> ReplyHooks | None:
        """Return the hook for replies of models."""
        chain = self.chains.get(Point.TRANSFORM_RESPONSE)
        return None if chain is None else ReplyHooks(chain)

    @property
    def gate(self) -> OutboundHooks | None:
        """Return the hook for outgoing messages."""
        chain = self.chains.get(Point.BEFORE_OUTBOUND)
        return None if chain is None else OutboundHooks(chain, self.store.held)

    @property
    def show_steps_only(self) -> bool:
        """Return whether texts stay hidden until they are complete."""
        return Point.TRANSFORM_RESPONSE in self.chains or Point.BEFORE_OUTBOUND in self.chains

    def inbound(self, starts: Starts, listener: OutboxListener) -> InboundHooks | None:
        """Return the hook for messages of people."""
        chain = self.chains.get(Point.BEFORE_INBOUND)
        return None if chain is None else InboundHooks(chain, self.store.held, starts, listener, self.clock)

    def beside(self, inbound: InboundHooks | None) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
        """Return tasks that run as long as the hub, by name."""
        running: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {"hooks told": self.notifier.run}
        if inbound is not None:
            running["hooks about messages"] = inbound.run
        return running

    def set_timers(self, timers: Timers) -> None:
        """Set the timers that hooks need."""
        if (sessions := self.sessions()) is not None:
            timers.every("sessions.idle", LOOK_EVERY_S, sessions.look)

    def sessions(self) -> SessionHooks | None:
        """Return the hook for sessions."""
        begin, end = self.chains.get(Point.SESSION_START), self.chains.get(Point.SESSION_END)
        if begin is None and end is None:
            return None
        idle_s = self.config.sessions.idle_days * DAY_S
        return SessionHooks(begin, end, self.store.held, idle_s, self.unfinished)


def build_hooks(
    loaded: Loaded,
    leaks: LeakDetector,
    store: Store,
    models: ModelList,
    interceptor: Interceptor,
    clock: Clock,
    ids: Ids,
) -> Hooks:
    """Build the configured hooks. Raises StartError for one that doesn't exist or must not be called."""
    config, unfinished = loaded.config, Unfinished()
    guard = network_guard(config)
    notifier = WebhookNotifier(sender := WebhookSender(_Web(guard), interceptor, clock, ids))
    registered = [_registered(settings, guard, sender, notifier) for settings in config.hooks]
    chains = {point: [one for one in registered if point in one.points] for point in Point}
    if config.sessions.summary:
        replies = ReplyHooks(Chain(chains[Point.TRANSFORM_RESPONSE], leaks))
        unseen = UnseenModels(models, leaks, replies)
        chains[Point.SESSION_END].append(_summary_hook(loaded, store, unseen, ids, unfinished))
    return Hooks(
        config,
        {point: Chain(hooks, leaks) for point, hooks in chains.items() if hooks},
        notifier,
        store,
        clock,
        unfinished,
    )


def _summary_hook(
    loaded: Loaded, store: Store, models: UnseenModels, ids: Ids, unfinished: Unfinished
) -> Registered:
    config = loaded.config
    guard = PathGuard(config.workspace.dir, loaded.closed)

    async def append(path: str, text: str) -> None:
        draft = f".hubbub-{ids.row_id()}.tmp"
        await to_its_end(lambda given_up: append_to_file(guard, path, text, draft, given_up))

    summaries = SessionSummaries(
        store.people,
        store.threads,
        models,
        append,
        TimeZones(store.people.preferences, config.hub.timezone),
        unfinished,
        config.sessions.idle_days * DAY_S,
        ids.row_id,
    )
    return Registered("session-summary", frozenset({Point.SESSION_END}), summaries)


def _registered(
    settings: HookSettings, guard: NetworkGuard, sender: WebhookSender, notifier: WebhookNotifier
) -> Registered:
    hook: Hook
    if not settings.url:
        hook = loaded(settings)
    else:
        target = webhook_target(settings, guard)
        hook = AskingWebhook(sender, target) if settings.waits else ToldWebhook(notifier, target)
    return Registered(
        settings.name,
        frozenset(Point(point) for point in settings.on),
        hook,
        settings.priority,
        settings.timeout_s,
        settings.on_failure == "closed",
    )


def webhook_target(settings: HookSettings, guard: NetworkGuard) -> Target:
    """Return the webhook's target. Raises StartError where tools may not reach it."""
    try:
        url = guard.web_address(settings.url)
    except ToolDenied as error:
        raise StartError(
            f"hook {settings.name}: {settings.url}: {error.reason}; use another url, or allow its address"
            " with [network] allow_private"
        ) from error
    limit_s = settings.timeout_s if settings.waits else TELL_TIMEOUT_S
    return Target(settings.name, url, settings.secret.get_secret_value(), limit_s)


def looked_at(config: Config, settings: HookSettings) -> str:
    """Return a hook's description, without calling it. Raises StartError as `build_hooks` does."""
    if not settings.url:
        loaded(settings)
        return f"the entry point {settings.ask}"
    return str(webhook_target(settings, network_guard(config)).url.origin())


def found(name: str) -> EntryPoint | None:
    """Return the entry point of that name in an installed package."""
    points: Sequence[EntryPoint] = tuple(entry_points(group=HOOKS, name=name))
    return points[0] if points else None


def loaded(settings: HookSettings) -> Hook:
    """Return the hook's code. Raises StartError."""
    name = settings.ask
    advice = "install the package that provides it, or remove the hook"
    point = found(name)
    if point is None:
        raise StartError(f'hook {settings.name}: no package has an entry point "{name}"; {advice}')
    try:
        hook = point.load()
    except Exception as error:  # whatever that code does as it is loaded
        raise StartError(
            f'hook {settings.name}: "{point.value}" failed to load: {error}; {advice}'
        ) from error
    if not callable(hook):
        raise StartError(f'hook {settings.name}: "{point.value}" is not a function; {advice}')
    return cast("Hook", hook)
