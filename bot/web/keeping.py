"""What the owner lays down for the time to come: secrets, grants, settings of tools, the configuration."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from pydantic import Field, SecretStr

from bot.keeping import Keeping
from bot.reload_view import Reloading, ReloadView
from bot.views import DecisionView, GrantView, PermissionView
from bot.web.blocks import Page
from bot.web.callers import Caller
from bot.web.endpoints import Call, Endpoint, Given, ShortText
from bot.web.errors import not_found
from core.prompts import Grant, ToolSetting
from core.store.base import Store


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
    """A person's own word on a tool; null takes it back."""

    user_id: ShortText
    tool: ShortText
    setting: Annotated[ToolSetting | None, Field()]


class ToolsPage(Page):
    """The kill switch. `paused`: no tool runs."""

    paused: bool


class KeepingApi:
    """One method per endpoint. Secrets are for programs of this machine, never for a browser."""

    def __init__(self, store: Store, keeping: Keeping, reloading: Reloading) -> None:
        self._store = store
        self._keeping = keeping
        self._reloading = reloading

    def endpoints(self) -> list[Endpoint]:
        """What is served."""
        return [
            _changing("/secrets", self.keep_secret, NewSecret, tokens_only=True),
            _changing("/secrets/delete", self.drop_secret, SecretOf, tokens_only=True),
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
            _changing("/tools/pause", self.pause_tools, Given),
            _changing("/tools/resume", self.resume_tools, Given),
        ]

    async def keep_secret(self, call: Call) -> DecisionView:
        """Keep a secret in the vault."""
        body: NewSecret = call.body
        return await self._keeping.keep_secret(body.name, body.value.get_secret_value())

    async def drop_secret(self, call: Call) -> DecisionView:
        """Forget a secret."""
        body: SecretOf = call.body
        return await self._keeping.drop_secret(body.name)

    async def change_vault_key(self, call: Call) -> DecisionView:
        """Seal every secret with a new key."""
        del call
        return await self._keeping.change_vault_key()

    async def grants(self, call: Call) -> list[GrantView]:
        """What people allowed once and for all; for others than the owner what they allowed themselves."""
        return [GrantView.of(grant) for grant in await self._of(call.caller)]

    async def revoke_grant(self, call: Call) -> DecisionView:
        """Ask again from now on."""
        body: GrantOf = call.body
        if body.id not in {grant.id for grant in await self._of(call.caller)}:
            raise not_found(f"no grant has the id {body.id}; list the grants")
        return await self._keeping.revoke_grant(body.id)

    async def _of(self, caller: Caller) -> Sequence[Grant]:
        return await self._store.grants(None if caller.is_owner else caller.principal.user_id)

    async def permissions(self, call: Call) -> list[PermissionView]:
        """People's own settings of tools."""
        del call
        return [PermissionView.of(row) for row in await self._store.tool_settings(None)]

    async def set_permission(self, call: Call) -> DecisionView:
        """Write down a person's word on a tool."""
        body: Permission = call.body
        return await self._keeping.set_permission(body.user_id, body.tool, body.setting)

    async def reload(self, call: Call) -> ReloadView:
        """Read the configuration again: channels take up their tokens, the rest waits for the next start."""
        del call
        return await self._reloading.reload()

    async def tools(self, call: Call) -> ToolsPage:
        """Whether all tools are paused."""
        del call
        return ToolsPage(paused=await self._store.tools_halted())

    async def pause_tools(self, call: Call) -> DecisionView:
        """Stop all tools of everybody at once; what runs is ended."""
        del call
        return await self._keeping.halt_tools(halted=True)

    async def resume_tools(self, call: Call) -> DecisionView:
        """Let tools run again."""
        del call
        return await self._keeping.halt_tools(halted=False)


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
