"""Tools, and the extensions that bring some, as the API and commands show and change them."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, assert_never

from pydantic import Field

from bot.config.load import Loaded
from bot.config.schema import Config
from bot.views import DecisionView
from bot.web.endpoints import Call, Endpoint, ShortText
from bot.web.responses import ApiError, Given, not_found
from core.consent.rules import Allow, Ask, Decision, Deny, DenyReason
from core.errors import SignInFailed
from core.extension import COMMAND_CHARS, Extension, ExtensionChange, ExtensionRefused, checked
from core.gates import ConsentSettings, ToolSetting
from core.lazy import LazyModule, dataclass
from core.store.port import Store
from core.tool import Data, Effect, Requirement, Tool
from core.tools.pipeline import INTERACTIVE, CallPipeline
from core.tools.registry import ToolRegistry
from core.users import Principal, Role

if TYPE_CHECKING:
    from bot.extensions import python
    from bot.mcp.extensions import ExtensionManager
else:
    python = LazyModule("bot.extensions.python")

BY_COMMAND_LINE = (
    "an extension that starts a command is added on the hub's machine (hubbub extensions add), or by asking"
    " the assistant, which shows you the whole command for approval"
)
NO_HUB = "no hub is running here; start one with: hubbub run"
Words = Annotated[tuple[Annotated[str, Field(max_length=COMMAND_CHARS)], ...], Field(max_length=200)]


class NewExtension(Given):
    """An MCP server to add or replace. `secrets`: names of vault secrets, by variable or header;
    `user_id`: whose it is, null: the owner's."""

    name: ShortText
    user_id: ShortText | None = None
    command: Words = ()
    url: Annotated[str, Field(max_length=COMMAND_CHARS)] | None = None
    secrets: Mapping[ShortText, ShortText] = Field(default={}, max_length=50)
    requirement: Requirement = Requirement.ASK


class ChangedExtension(Given):
    """A change of an extension."""

    name: ShortText
    change: ExtensionChange


class NamedExtension(Given):
    """The server to sign in to."""

    name: ShortText


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInView(DecisionView):
    """A link at which the caller signs in to a server. It is good once, for a day."""

    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionView:
    """An extension, or one of the operator's servers (`configured`). `server`: its whole command or its
    address; null where only the operator may see it. `changed_at`: null for the operator's. `signs_in`: the
    caller may sign in to it. `package`: it is a Python package, and `state` says what it brings."""

    name: str
    users: tuple[str, ...]
    server: str | None
    enabled: bool
    state: str
    requirement: str
    configured: bool = False
    changed_at: int | None = None
    signs_in: bool = False
    package: bool = False


class ExtensionsApi:
    """One method per endpoint. `manager`: None while no hub runs."""

    def __init__(
        self, store: Store, config: Config, owner: Principal, manager: "ExtensionManager | None" = None
    ) -> None:
        self._store = store
        self._config = config
        self._owner = owner
        self._manager = manager

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/extensions", self.extensions, list[ExtensionView]),
            Endpoint(
                "POST",
                "/extensions",
                self.add,
                DecisionView,
                body=NewExtension,
                refusals=(404, 409, 503),
                owner_only=True,
            ),
            Endpoint(
                "POST",
                "/extensions/change",
                self.change,
                DecisionView,
                body=ChangedExtension,
                refusals=(404, 409, 503),
            ),
            Endpoint(
                "POST",
                "/extensions/auth",
                self.auth,
                SignInView,
                body=NamedExtension,
                refusals=(409, 503),
            ),
        ]

    async def extensions(self, call: Call) -> list[ExtensionView]:
        """Return everybody's extensions and the installed packages to the owner, and to others their own."""
        caller, all_of_them = call.caller.principal, call.caller.is_owner
        stored = await self._store.extensions.extensions()
        views = [self._view(one, caller) for one in stored if all_of_them or one.owner_id == caller.user_id]
        states = {} if self._manager is None else self._manager.configured_states()
        for name, settings in self._config.mcp.items():
            users = settings.users or (self._config.hub.owner,)
            if all_of_them or caller.user_id in users:
                views.append(
                    ExtensionView(
                        name=name,
                        users=users if all_of_them else (caller.user_id,),
                        server=(settings.url or " ".join(settings.command)) if all_of_them else None,
                        enabled=True,
                        state=states.get(name, "not running"),
                        requirement=settings.requirement,
                        configured=True,
                        signs_in=self._signs_in(name, caller),
                    )
                )
        return [*views, *await asyncio.to_thread(self._packages)] if all_of_them else views

    def _packages(self) -> list[ExtensionView]:
        return [
            ExtensionView(
                name=name,
                users=(),
                server=None,
                enabled=True,
                state=said,
                requirement="",
                configured=True,
                package=True,
            )
            for name, said in python.packages(self._config).items()
        ]

    async def add(self, call: Call) -> DecisionView:
        """Add an extension, or replace a person's of that name."""
        body: NewExtension = call.body
        if body.command and call.caller.by_session:
            raise ApiError(403, "forbidden", BY_COMMAND_LINE, "command")
        user = await self._store.people.user(body.user_id or self._owner.user_id)
        if user is None or user.role is Role.GUEST:
            raise not_found("no member has that ID; run `hubbub users list`")
        try:
            wanted = checked(
                Extension(
                    body.name,
                    user.user_id,
                    body.command,
                    body.url,
                    body.secrets,
                    body.requirement,
                )
            )
            said = await self._put(wanted, user, call.caller.principal)
        except ExtensionRefused as error:
            raise ApiError(409, "refused", str(error)) from error
        return DecisionView(id=body.name, outcome=said)

    async def _put(self, wanted: Extension, user: Principal, by: Principal) -> str:
        if wanted.name in self._config.mcp:
            raise ExtensionRefused("the configuration has a server of this name; choose another")
        if self._manager is not None:
            return await self._manager.put(wanted, by)
        await self._store.extensions.put_extension(wanted, by.user_id)
        return f"added for {user.name}; connected from the next start of the hub"

    async def change(self, call: Call) -> DecisionView:
        """Enable, disable or remove an extension. Its person and the owner may."""
        body: ChangedExtension = call.body
        if body.name in self._config.mcp:
            raise ApiError(409, "refused", "it is set in the configuration; change it there")
        caller = call.caller
        found = next(
            (one for one in await self._store.extensions.extensions() if one.name == body.name), None
        )
        missing = f"there is no extension named {body.name}; run `hubbub extensions list`"
        if found is None or not (caller.is_owner or found.owner_id == caller.principal.user_id):
            raise not_found(missing)
        by = caller.principal.user_id
        if not await self._store.extensions.change_extension(body.name, found.owner_id, body.change, by):
            raise not_found(missing)
        if self._manager is not None:
            await self._manager.follow()
        return DecisionView(id=body.name, outcome=_OUTCOMES[body.change])

    async def auth(self, call: Call) -> SignInView:
        """Return a new link at which the caller signs in to their extension, or to the operator's server."""
        name, caller = call.body.name, call.caller.principal
        if self._manager is None:
            raise ApiError(503, "unavailable", NO_HUB)
        try:
            link = await self._manager.sign_in_link(name, caller)
        except SignInFailed as error:
            raise ApiError(409, "refused", str(error)) from error
        return SignInView(id=name, outcome=f"open this page to sign in: {link}", link=link)

    def _signs_in(self, name: str, caller: Principal) -> bool:
        return self._manager is not None and self._manager.signs_in(name, caller.user_id)

    def _view(self, one: Extension, caller: Principal) -> ExtensionView:
        resting = "enabled" if one.enabled else "disabled"
        return ExtensionView(
            name=one.name,
            users=(one.owner_id,),
            server=one.shown,
            enabled=one.enabled,
            state=resting if self._manager is None else self._manager.state_of(one),
            requirement=one.requirement.value,
            changed_at=one.changed_at,
            signs_in=self._signs_in(one.name, caller),
        )


_OUTCOMES: Mapping[ExtensionChange, str] = {
    ExtensionChange.ENABLE: "enabled",
    ExtensionChange.DISABLE: "disabled",
    ExtensionChange.REMOVE: "removed",
}


# The catalog of tools, as one person has them.


class CatalogQuery(Given):
    """`user_id`: the person; left out: the caller."""

    user_id: ShortText | None = None


class Outcome(StrEnum):
    """The outcome of a call that a person asks for now."""

    RUNS = "runs"
    ASKS = "asks"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogToolView:
    """A tool. `source`: the server or package that brings it, "" for the hub's own; `now`: the outcome of the
    person's calls as things are, and `reason` for it; `rated`: arguments can require more; `always_asks`: no
    setting lets it run; `unattended`: jobs and routines may have it; `setting`: the person's own, null: as
    configured; `offered`: the settings that would have an effect; `remedy`: what else refuses the tool, and
    where to change that, "" if nothing does."""

    name: str
    about: str
    source: str
    effect: Effect
    data: Data
    now: Outcome
    reason: str
    rated: bool
    always_asks: bool
    unattended: bool
    setting: ToolSetting | None
    offered: tuple[ToolSetting, ...]
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogView:
    """All tools of the hub, in the order models see them. `preset`: the configured one."""

    user_id: str
    preset: str
    tools: tuple[CatalogToolView, ...]


class CatalogApi:
    """The catalog's endpoint. `loaded`: where roles and the policy are changed."""

    def __init__(self, store: Store, registry: ToolRegistry, pipeline: CallPipeline, loaded: Loaded) -> None:
        self._store = store
        self._registry = registry
        self._pipeline = pipeline
        self._loaded = loaded

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoint."""
        return [
            Endpoint(
                "GET",
                "/tools/catalog",
                self.catalog,
                CatalogView,
                CatalogQuery,
                refusals=(404,),
                owner_only=True,
            )
        ]

    async def catalog(self, call: Call) -> CatalogView:
        """Return all tools, with a person's settings for them."""
        query: CatalogQuery = call.query
        user_id = query.user_id or call.principal.user_id
        person = await self._store.people.user(user_id)
        if person is None:
            raise not_found("no user has this ID; list the users")
        own = {row.tool: row.setting for row in await self._store.consents.tool_settings(user_id)}
        standing = ConsentSettings(settings=own)
        policy = self._pipeline.effective_policy.policy()
        sources = self._registry.sources()

        def with_setting(tool: Tool, setting: ToolSetting | None) -> Decision:
            settings = {} if setting is None else {tool.name: setting}
            return self._pipeline.judged(tool.name, person, ConsentSettings(settings=settings), INTERACTIVE)

        def view(tool: Tool) -> CatalogToolView:
            now, reason = _judged(self._pipeline.judged(tool.name, person, standing, INTERACTIVE))
            otherwise = with_setting(tool, None)
            remedy = self._remedy(tool.name, person, otherwise) if isinstance(otherwise, Deny) else ""
            takes_effect = {
                one: _EFFECTIVE[one] is _judged(with_setting(tool, one))[0] for one in ToolSetting
            }
            return CatalogToolView(
                name=tool.name,
                about=tool.description,
                source=sources.get(tool.name, ""),
                effect=tool.effect,
                data=tool.data,
                now=now,
                reason=reason,
                rated=self._pipeline.rates(tool.name),
                always_asks=tool.requirement is Requirement.ALWAYS_ASK,
                unattended=tool.name not in policy.denylist,
                setting=own.get(tool.name),
                offered=() if remedy else tuple(one for one, effective in takes_effect.items() if effective),
                remedy=remedy,
            )

        tools = tuple(view(tool) for tool in self._registry.all())
        return CatalogView(user_id=user_id, preset=policy.preset.value, tools=tools)

    def _remedy(self, tool: str, person: Principal, denied: Deny) -> str:
        file = self._loaded.file
        policy = self._loaded.config.policy.file or "policy"
        match denied.reason:
            case DenyReason.NOT_IN_ROLE if person.role is Role.MEMBER:
                return (
                    f'The configuration says what members may use: add "{tool}" to tools of [roles.member] in'
                    f" {file}, or set ask_owner = true there."
                )
            case DenyReason.NOT_IN_ROLE:
                return (
                    "The configuration says what guests may use, never what reaches shared data: see tools of"
                    f" [roles.guest] in {file}, or make this person a member."
                )
            case DenyReason.DISABLED:
                return f"The policy file disables it: see {policy}."
            case DenyReason.POLICY_UNREADABLE:
                return f"Correct the policy file {policy}."
            case DenyReason.UNKNOWN_TOOL:
                return f"It belongs to a server of other people: see users of the server's section in {file}."
            case _:
                return denied.text


_EFFECTIVE: Mapping[ToolSetting, Outcome] = {
    ToolSetting.ALWAYS_ALLOW: Outcome.RUNS,
    ToolSetting.ASK_EACH_TIME: Outcome.ASKS,
    ToolSetting.DISABLED: Outcome.REFUSED,
}
"""A setting that leads to another outcome has no effect."""


def _judged(decision: Decision) -> tuple[Outcome, str]:
    match decision:
        case Allow():
            return Outcome.RUNS, ""
        case Ask(reason=reason):
            return Outcome.ASKS, reason
        case Deny(text=text):
            return Outcome.REFUSED, text
        case _:
            assert_never(decision)
