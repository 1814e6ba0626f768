"""People, their keys, and the state of channels, for the API."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from bot.runtime import AdminError, version
from bot.views import DecisionView, StatusView, UserView
from bot.web.blocks import NamedPerson, Page
from bot.web.endpoints import Call, Endpoint, Limit, ShortText, decision_endpoint
from bot.web.responses import Given
from bot.web.stream import ChannelStates
from bot.web.threads import first_model
from channels.webchat import WEB
from core import texts, users
from core.consent.cards import under_grant_line
from core.ids import Ids
from core.store.accounts import NoiseRow
from core.store.feed import Explanations
from core.store.port import Store
from core.store.rows import Explanation
from core.users import Person, Preferences, Role, Thinking


class NewUser(Given):
    """The name of a new member."""

    name: ShortText


class TimezoneOf(Given):
    """A person and their time zone from now on, as an IANA name; null for the hub's."""

    user_id: ShortText
    timezone: ShortText | None


class ModelOf(Given):
    """A person, and the model or effort of all their conversations from now on; null for the configured one.
    A field that is left out stays as it is."""

    user_id: ShortText
    model: ShortText | None = None
    thinking: Thinking | None = None


class RoleOf(Given):
    """A person, and their role from now on. The owner is named in the configuration."""

    user_id: ShortText
    role: Literal["member", "guest"]


class CommandPage(Page):
    """A command, without its slash, and what it does."""

    name: str
    about: str


class Me(Page):
    """The caller, and the hub with its commands. `models`: the names of the configured ones; `model`: the one
    that a new conversation tries first; `timezone`: in which the caller's quiet hours are."""

    user_id: str
    name: str
    role: str
    version: str
    channels: tuple[str, ...]
    models: tuple[str, ...]
    model: str
    commands: tuple[CommandPage, ...]
    timezone: str


class People:
    """One method per endpoint. `models`: the names of the configured ones; `timezone`: the hub's."""

    def __init__(
        self,
        store: Store,
        ids: Ids,
        status: Callable[[], Awaitable[StatusView]],
        states: ChannelStates,
        models: Collection[str],
        *,
        timezone: str,
    ) -> None:
        self._store = store
        self._ids = ids
        self._status = status
        self._states = states
        self._models = models
        self._timezone = timezone

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/me", self.me, Me),
            Endpoint("GET", "/status", self.status, StatusView, owner_only=True),
            Endpoint("GET", "/users", self.users, list[UserView], owner_only=True),
            Endpoint("POST", "/users", self.add_user, UserView, body=NewUser, status=201, owner_only=True),
            decision_endpoint("/users/timezone", self.set_timezone, TimezoneOf, (404, 422, 503)),
            decision_endpoint("/users/role", self.set_role, RoleOf),
            decision_endpoint("/users/model", self.choose_model, ModelOf, (404, 422, 503)),
        ]

    async def me(self, call: Call) -> Me:
        """Return the caller."""
        person = call.caller.principal
        names = tuple(self._states()) if call.caller.is_owner else (WEB,)
        preferences = await self._store.people.preferences(person.user_id)
        return Me(
            user_id=person.user_id,
            name=person.name,
            role=person.role.value,
            version=version(),
            channels=names,
            models=tuple(self._models),
            model=first_model(preferences.chosen.model, self._models),
            commands=tuple(CommandPage(name=name, about=about) for name, about in texts.COMMANDS),
            timezone=users.timezone_in_force(preferences.timezone, self._timezone),
        )

    async def status(self, call: Call) -> StatusView:
        """Return the hub's status."""
        del call
        return await self._status()

    async def users(self, call: Call) -> list[UserView]:
        """List users and their accounts."""
        del call
        return [UserView.of(person) for person in await self._store.people.people()]

    async def add_user(self, call: Call) -> UserView:
        """Add a member without an account."""
        body: NewUser = call.body
        user = await self._store.people.ensure_user(self._ids.row_id(), Role.MEMBER, body.name)
        return UserView.of(Person(user, ()))

    async def set_timezone(self, call: Call) -> DecisionView:
        """Set a user's time zone, which applies to their quiet hours."""
        body: TimezoneOf = call.body
        name = None if body.timezone is None else users.timezone_named(body.timezone)
        if body.timezone is not None and name is None:
            near = " or ".join(users.timezones_like(body.timezone)) or "a name such as Europe/Berlin"
            reason = f"no time zone is called {body.timezone}; write {near}"
            raise AdminError("unusable", reason, "timezone")
        await self._prefer(body.user_id, lambda was: replace(was, timezone=name))
        return DecisionView(id=body.user_id, outcome=f"time zone {name or 'of the hub'}")

    async def set_role(self, call: Call) -> DecisionView:
        """Make a guest a member, or a member a guest, from their next message on. Keys of a guest rest."""
        body: RoleOf = call.body
        by = call.principal.user_id
        before = await self._store.people.set_role(body.user_id, Role(body.role), by=by)
        if before is None:
            raise AdminError("not_found", f"no user has the ID {body.user_id}; list the users", "user_id")
        if before is Role.OWNER:
            raise AdminError("refused", "this is the owner; hub.owner in the configuration file names them")
        return DecisionView(id=body.user_id, outcome=body.role)

    async def choose_model(self, call: Call) -> DecisionView:
        """Set the model that a user's runs try first, and the effort of their models."""
        body: ModelOf = call.body
        given = body.model_dump(include={"model", "thinking"}, exclude_unset=True)
        if body.model is not None and body.model not in self._models:
            names = ", ".join(self._models)
            raise AdminError("unusable", f"no model is called {body.model}; the models are {names}", "model")
        if not given:
            raise AdminError("unusable", "name a model or an effort", "model")
        await self._prefer(body.user_id, lambda was: replace(was, chosen=replace(was.chosen, **given)))
        words = (f"{name} {value or 'as configured'}" for name, value in given.items())
        return DecisionView(id=body.user_id, outcome=", ".join(words))

    async def _prefer(self, user_id: str, changed: Callable[[Preferences], Preferences]) -> None:
        if not await self._store.people.set_preferences(user_id, changed):
            raise AdminError("not_found", f"no user has the id {user_id}; list the users", "user_id")


# How the hub is doing: its channels, and what became of messages.


class ChannelPage(Page):
    """One channel. `phase`: starting, running, backing off, failed or stopped; `failures`: since it last
    ran well; `since`: microseconds UTC."""

    name: str
    platform: str
    phase: str
    reason: str | None
    since: int
    failures: int


class ChannelsPage(Page):
    """Every channel that runs."""

    channels: tuple[ChannelPage, ...]


class WhyQuery(Given):
    """`query`: an event's key, or part of it, of the sender's name or of the text; empty: the newest."""

    query: Annotated[str, Field(max_length=200)] = ""
    limit: Limit = 50


class DeliveryView(Page):
    """The delivery of one message."""

    state: str
    parts: int
    repeats: int
    reason: str | None


class ModelFailureView(Page):
    """A model that failed while the turn went on, or at its end."""

    provider: str
    model: str
    error: str
    attempt: int
    total: int


class WhyApproval(Page):
    """A request for approval of the turn. `title`: what was asked, such as "Run `ls`?"; `calls`: of several,
    each one's tool and its first argument. `outcome`: in words, null while it waits; `by`: who decided, null
    if the request ended otherwise."""

    title: str
    calls: tuple[str, ...]
    tool: str
    outcome: str | None
    by: NamedPerson | None
    at: int


class WhyGrant(Page):
    """A grant that let calls of the turn run without asking. `covers`: in words; `by`: who gave it, `at`."""

    covers: str
    by: NamedPerson
    at: int


class WhyTurn(Page):
    """The turn an event became part of. `model`: the one called last, empty if none was; `chosen`: the model
    and effort that people chose for it, in words."""

    id: str
    thread_id: str | None
    state: str | None
    error: str | None
    model: str
    chosen: str
    failures: tuple[ModelFailureView, ...]
    approvals: tuple[WhyApproval, ...]
    grants: tuple[WhyGrant, ...]
    deliveries: tuple[DeliveryView, ...]


class WhyEvent(Page):
    """One inbound event, with its outcome and the reason."""

    key: str
    channel: str
    at: int
    sender: str
    text: str
    outcome: str
    thread_id: str | None
    turn: WhyTurn | None
    deliveries: tuple[DeliveryView, ...]
    resting: tuple[str, ...]


class NoiseView(Page):
    """Events that were counted, not stored."""

    channel: str
    sender: str
    reason: str
    count: int
    last_at: int


class WhyPage(Page):
    """The newest first."""

    events: tuple[WhyEvent, ...]
    noise: tuple[NoiseView, ...]


class StatusApi:
    """One method per endpoint."""

    def __init__(self, explanations: Explanations, states: ChannelStates, platforms: dict[str, str]) -> None:
        self._explanations = explanations
        self._states = states
        self._platforms = platforms

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/channels", self.channels, ChannelsPage, owner_only=True),
            Endpoint("GET", "/why", self.why, WhyPage, WhyQuery, owner_only=True),
        ]

    async def channels(self, call: Call) -> ChannelsPage:
        """Return the state of each channel."""
        del call
        return ChannelsPage(
            channels=tuple(
                ChannelPage(
                    name=name,
                    platform=self._platforms.get(name, name),
                    phase=state.phase.value,
                    reason=state.reason,
                    since=state.since,
                    failures=state.failures,
                )
                for name, state in self._states().items()
            )
        )

    async def why(self, call: Call) -> WhyPage:
        """Return the outcomes of messages, and counts of events that were not stored."""
        query: WhyQuery = call.query
        text = query.query.strip()
        if text:
            found = await self._explanations.explain_matching(text, query.limit)
        else:
            found = await self._explanations.explain_recent(query.limit)
        noise = await self._explanations.noise(query.limit)
        wanted = [row for row in noise if not text or text in (row.channel, row.platform_user_id)]
        return WhyPage(events=tuple(map(_event, found)), noise=tuple(map(_noise, wanted)))


def _event(event: Explanation) -> WhyEvent:
    deliveries = tuple(
        DeliveryView(state=one.state, parts=one.parts, repeats=one.repeats, reason=one.reason)
        for one in event.deliveries
    )
    turn = None
    if event.turn_id is not None:
        turn = WhyTurn(
            id=event.turn_id,
            thread_id=event.thread_id,
            state=event.turn_state,
            error=event.turn_error,
            model=event.models.selected,
            chosen=event.models.chosen,
            failures=tuple(
                ModelFailureView(
                    provider=one.provider,
                    model=one.model,
                    error=one.error,
                    attempt=one.attempt,
                    total=one.total,
                )
                for one in event.models.failures
            ),
            approvals=tuple(
                WhyApproval(
                    title=one.title,
                    calls=one.calls,
                    tool=one.tool,
                    outcome=one.outcome,
                    by=None if one.by_id is None else NamedPerson(id=one.by_id, name=one.by or ""),
                    at=one.at,
                )
                for one in event.approvals
            ),
            grants=tuple(
                WhyGrant(covers=under_grant_line(one), by=NamedPerson(id=one.by_id, name=one.by), at=one.at)
                for one in event.under_grants
            ),
            deliveries=deliveries,
        )
    return WhyEvent(
        key=event.key,
        channel=event.channel,
        at=event.received_at,
        sender=event.sender,
        text=event.text,
        outcome=event.outcome,
        thread_id=event.thread_id,
        turn=turn,
        deliveries=deliveries,
        resting=event.resting,
    )


def _noise(row: NoiseRow) -> NoiseView:
    return NoiseView(
        channel=row.channel,
        sender=row.platform_user_id,
        reason=row.reason,
        count=row.seen,
        last_at=row.last_at,
    )
