"""Settings the owner changes: secrets, grants, tools, the configuration."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from bot.operator.reload import Reloader, ReloadView
from bot.operator.settings import SettingsService
from bot.operator.usage_views import FailingToolView
from bot.views import DecisionView, GrantView, PermissionView, SecretView
from bot.web.auth import Caller
from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Limit, ShortText
from bot.web.responses import ApiError, Given, not_found
from bot.web.threads import thread_seen_by
from core.approvals import (
    MAX_LOOP_S,
    MAX_ROUNDS,
    MAX_TOOLS,
    SETTINGS,
    UNSAID,
    ApprovalSettings,
    Preset,
    settings_of,
)
from core.consent import card_texts
from core.consent.rules import EffectivePolicy
from core.gates import Grant, ToolSetting
from core.store.codecs import settings_to_json
from core.store.feed import ThreadGlance
from core.store.port import Store
from core.store.rows import Execution


class NewSecret(Given):
    """A secret and its name."""

    name: ShortText
    value: SecretStr


class SecretOf(Given):
    """A secret's name."""

    name: ShortText


class GrantOf(Given):
    """A grant."""

    id: ShortText


class Permission(Given):
    """A person's setting for a tool; null removes it."""

    user_id: ShortText
    tool: ShortText
    setting: Annotated[ToolSetting | None, Field()]


class ToolsPage(Page):
    """The kill switch. `paused`: no tool runs."""

    paused: bool


class ToolOf(Given):
    """A tool's name."""

    name: ShortText


class SettingsApi:
    """One method per endpoint. Values of secrets go in and never out; the vault's key is changed by programs
    of this machine only."""

    def __init__(self, store: Store, settings: SettingsService, reloading: Reloader) -> None:
        self._store = store
        self._settings = settings
        self._reloading = reloading

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/secrets", self.secrets, list[SecretView], owner_only=True),
            _changing("/secrets", self.set_secret, NewSecret),
            _changing("/secrets/delete", self.drop_secret, SecretOf),
            _changing("/secrets/rotate", self.change_vault_key, Given, tokens_only=True),
            Endpoint("GET", "/grants", self.grants, list[GrantView]),
            _changing("/grants/revoke", self.revoke_grant, GrantOf, owner_only=False),
            Endpoint("GET", "/permissions", self.permissions, list[PermissionView], owner_only=True),
            _changing("/permissions", self.set_permission, Permission),
            Endpoint(
                "POST",
                "/config/reload",
                self.reload,
                ReloadView,
                body=Given,
                refusals=(409,),
                owner_only=True,
            ),
            Endpoint("GET", "/tools", self.tools, ToolsPage),
            Endpoint("GET", "/tools/failing", self.failing_tools, list[FailingToolView], owner_only=True),
            _changing("/tools/reset", self.reset_tool, ToolOf),
            _changing("/tools/pause", self.pause_tools, Given),
            _changing("/tools/unpause", self.unpause_tools, Given),
            _changing("/tools/resume", self.unpause_tools, Given),  # its old name, for one version
        ]

    async def secrets(self, call: Call) -> list[SecretView]:
        """Return the names of the vault's secrets."""
        del call
        return [SecretView.of(one) for one in await self._store.secrets.secrets()]

    async def set_secret(self, call: Call) -> DecisionView:
        """Store a secret in the vault."""
        body: NewSecret = call.body
        return await self._settings.set_secret(body.name, body.value.get_secret_value())

    async def drop_secret(self, call: Call) -> DecisionView:
        """Delete a secret."""
        body: SecretOf = call.body
        return await self._settings.drop_secret(body.name)

    async def change_vault_key(self, call: Call) -> DecisionView:
        """Encrypt every secret with a new key."""
        del call
        return await self._settings.change_vault_key()

    async def grants(self, call: Call) -> list[GrantView]:
        """Return everyone's grants to the owner, and to others their own."""
        return [GrantView.of(grant) for grant in await self._of(call.caller)]

    async def revoke_grant(self, call: Call) -> DecisionView:
        """Revoke a grant. The hub asks again from now on."""
        body: GrantOf = call.body
        if body.id not in {grant.id for grant in await self._of(call.caller)}:
            raise not_found(f"no grant has the ID {body.id}; run `hubbub grants list`")
        return await self._settings.revoke_grant(body.id)

    async def _of(self, caller: Caller) -> Sequence[Grant]:
        return await self._store.consents.grants(None if caller.is_owner else caller.principal.user_id)

    async def permissions(self, call: Call) -> list[PermissionView]:
        """Return people's tool settings."""
        del call
        return [PermissionView.of(row) for row in await self._store.consents.tool_settings(None)]

    async def set_permission(self, call: Call) -> DecisionView:
        """Set a person's permission for a tool."""
        body: Permission = call.body
        return await self._settings.set_permission(body.user_id, body.tool, body.setting)

    async def reload(self, call: Call) -> ReloadView:
        """Reload the configuration: channels use new tokens at once, the rest applies at the next start."""
        del call
        return await self._reloading.reload()

    async def tools(self, call: Call) -> ToolsPage:
        """Return whether all tools are paused."""
        del call
        return ToolsPage(paused=await self._store.kill_switch.tools_paused())

    async def failing_tools(self, call: Call) -> list[FailingToolView]:
        """Return the tools that fail again and again in jobs and routines."""
        del call
        return [
            FailingToolView(
                name=one.tool,
                failures=one.failures,
                error=one.error,
                at=one.at,
                left_out_at=one.left_out_at,
            )
            for one in await self._store.tool_failures.failing_tools()
        ]

    async def reset_tool(self, call: Call) -> DecisionView:
        """Forget a tool's failures: jobs and routines may use it again."""
        body: ToolOf = call.body
        return await self._settings.reset_tool(body.name)

    async def pause_tools(self, call: Call) -> DecisionView:
        """Pause all tools at once. Running calls are stopped."""
        del call
        return await self._settings.pause_tools(paused=True)

    async def unpause_tools(self, call: Call) -> DecisionView:
        """Let tools run again."""
        del call
        return await self._settings.pause_tools(paused=False)


def _changing(
    path: str,
    handle: Callable[[Call], Awaitable[DecisionView]],
    body: type[Given],
    *,
    tokens_only: bool = False,
    owner_only: bool = True,
) -> Endpoint:
    return Endpoint(
        "POST",
        path,
        handle,
        DecisionView,
        body=body,
        refusals=(404, 409, 503),
        owner_only=owner_only,
        tokens_only=tokens_only,
    )


# How people want to be asked in one conversation, and what was executed there.

PresetName = Literal["manual", "whitelist", "auto_loop", "auto"]
MAX_NAMED = 1000
ToolNames = Annotated[list[ShortText], Field(max_length=MAX_NAMED)]


class NewApprovalPolicy(Given):
    """Approval settings of the conversation; null: those of its person, or else of the configuration.

    `whitelist`: the tools that preset whitelist runs; `dangerous_tools`: those that ask in every preset;
    `tool_timeouts`: limits of single tools in seconds."""

    preset: PresetName | None = None
    max_rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    max_tools: Annotated[int, Field(ge=1, le=MAX_TOOLS)] | None = None
    loop_timeout_s: Annotated[int, Field(ge=1, le=MAX_LOOP_S)] | None = None
    whitelist: ToolNames | None = None
    dangerous_tools: ToolNames | None = None
    tool_timeouts: (
        Annotated[dict[ShortText, Annotated[int, Field(ge=1, le=MAX_LOOP_S)]], Field(max_length=MAX_NAMED)]
        | None
    ) = None


class SettingsView(Page):
    """Settings that were made; null: not set."""

    preset: PresetName | None
    max_rounds: int | None
    max_tools: int | None
    loop_timeout_s: int | None
    whitelist: tuple[str, ...] | None
    dangerous_tools: tuple[str, ...] | None
    tool_timeouts: dict[str, float] | None


class ApprovalPolicyPage(Page):
    """Approval settings by source, and in effect. `effective`: null where there is no limit; `ceiling`: the
    loosest
    allowed, null for any."""

    thread: SettingsView
    person: SettingsView
    effective: SettingsView
    ceiling: SettingsView


class ExecutionView(Page):
    """One call. `status`: ok, error, denied, cancelled, skipped or unknown, null while it has no outcome;
    `state`: its progress; `round`: the model's round since a person last decided; `for_user`: the person
    it was made for."""

    seq: int
    call_id: str
    turn: str
    tool: str
    state: str
    status: str | None
    round: int | None
    for_user: str
    asked_at: int
    started_at: int | None
    ended_at: int | None


class ExecutionsPage(Page):
    """The newest first. `next`: `before` for the next page."""

    executions: tuple[ExecutionView, ...]
    next: int | None


class ExecutionsQuery(Given):
    """Calls before that position; without it the newest."""

    before: Annotated[int, Field(ge=1, le=2**53)] | None = None
    limit: Limit = 100


class ApprovalPolicies:
    """One method per endpoint."""

    def __init__(self, store: Store, effective_policy: EffectivePolicy) -> None:
        self._store = store
        self._effective_policy = effective_policy

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        path = "/threads/{id}/approval-policy"
        return [
            Endpoint("GET", path, self.read, ApprovalPolicyPage, refusals=(404,)),
            Endpoint(
                "PUT",
                path,
                self.change,
                ApprovalPolicyPage,
                body=NewApprovalPolicy,
                refusals=(404, 409, 503),
            ),
            Endpoint(
                "GET",
                "/threads/{id}/executions",
                self.executions,
                ExecutionsPage,
                ExecutionsQuery,
                refusals=(404,),
            ),
        ]

    async def read(self, call: Call) -> ApprovalPolicyPage:
        """Return the approval settings of a conversation."""
        return await self._page(await thread_seen_by(self._store.feed, call))

    async def change(self, call: Call) -> ApprovalPolicyPage:
        """Change the approval settings of a conversation."""
        body: NewApprovalPolicy = call.body
        glance = await thread_seen_by(self._store.feed, call)
        wanted = _wanted(body)
        was = (await self._store.consents.standing(glance.owner.user_id, glance.thread.id)).thread
        unknown = self._effective_policy.unknown_tool(wanted, was)
        if unknown is not None:
            raise not_found(card_texts.no_such_tool(unknown))
        too_loose = self._effective_policy.too_loose(glance.owner, wanted, UNSAID)
        if too_loose is not None:
            raise ApiError(409, "refused", card_texts.approvals_ceiling(*too_loose), too_loose[0])
        await self._store.consents.set_thread_approvals(
            glance.thread.id, wanted, by=call.caller.principal.user_id
        )
        return await self._page(glance)

    async def executions(self, call: Call) -> ExecutionsPage:
        """Return the calls executed in a conversation, the newest first."""
        query: ExecutionsQuery = call.query
        glance = await thread_seen_by(self._store.feed, call)
        found = await self._store.consents.executions(glance.thread.id, query.before, query.limit + 1)
        page = found[: query.limit]
        return ExecutionsPage(
            executions=tuple(map(_execution, page)),
            next=page[-1].seq if len(found) > query.limit else None,
        )

    async def _page(self, glance: ThreadGlance) -> ApprovalPolicyPage:
        standing = await self._store.consents.standing(glance.owner.user_id, glance.thread.id)
        held = self._effective_policy.in_force(glance.owner, standing)
        effective = settings_of(held)
        if held.preset is Preset.AUTO:
            effective = replace(effective, max_rounds=None, max_tools=None)
        return ApprovalPolicyPage(
            thread=_settings(standing.thread),
            person=_settings(standing.person),
            effective=_settings(effective),
            ceiling=_settings(self._effective_policy.ceiling_of(glance.owner)),
        )


def _wanted(body: NewApprovalPolicy) -> ApprovalSettings:
    return ApprovalSettings(
        None if body.preset is None else Preset(body.preset),
        body.max_rounds,
        body.max_tools,
        body.loop_timeout_s,
        None if body.whitelist is None else frozenset(body.whitelist),
        None if body.dangerous_tools is None else frozenset(body.dangerous_tools),
        body.tool_timeouts or None,
    )


def _settings(said: ApprovalSettings) -> SettingsView:
    return SettingsView.model_validate(dict.fromkeys(SETTINGS) | settings_to_json(said))


def _execution(row: Execution) -> ExecutionView:
    return ExecutionView(
        seq=row.seq,
        call_id=row.call_id,
        turn=row.turn_id,
        tool=row.tool,
        state=row.state.value,
        status=row.status,
        round=row.round,
        for_user=row.principal_id,
        asked_at=row.asked_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
