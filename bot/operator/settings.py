"""An operator's settings: secrets, grants, and tools.

The API stands on this, in a running hub and in a command without one.
"""

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import TYPE_CHECKING

from bot.config.keys import VaultKeyRing
from bot.operator.reload import Reloader
from bot.runtime import AdminError, StartError
from bot.views import DecisionView
from core.clock import Clock
from core.errors import VaultError
from core.gates import ToolSetting
from core.lazy_module import LazyModule
from core.store.port import Store
from core.store.units import committed
from core.tools.execution import ToolPause

if TYPE_CHECKING:
    from core import vault as vault_module
else:
    vault_module = LazyModule("core.vault")


class SettingsService:
    """All methods raise AdminError and StoreUnavailable, and then nothing has changed.

    `tools`: names of all tools of this hub; `owner_id`: in whose name it is done; `pause`: the switch of a
    hub that runs; `reloading`: the running one's."""

    def __init__(
        self,
        store: Store,
        ring: VaultKeyRing,
        tools: Callable[[], Collection[str]],
        clock: Clock,
        owner_id: str,
        pause: ToolPause | None = None,
        reloading: Reloader | None = None,
    ) -> None:
        self._store = store
        self._ring = ring
        self._tools = tools
        self._clock = clock
        self._reloading = reloading
        self._owner_id = owner_id
        self._tool_pause = pause

    async def set_secret(self, name: str, value: str) -> DecisionView:
        """Store a secret in the vault, replacing one of the same name."""
        try:
            await vault_module.Vault(self._store.secrets, self._ring.keys_to_seal(), self._clock).keep(
                name, value, by=self._owner_id
            )
        except VaultError as error:
            raise AdminError("refused", str(error)) from error
        except StartError as error:
            raise AdminError("unavailable", str(error)) from error
        return DecisionView(id=name, outcome=f"stored; {await self._taken_up()}")

    async def _taken_up(self) -> str:
        """Return the outcome in the running hub."""
        later = "used from the next start of the hub"
        if self._reloading is None:
            return later
        try:
            done = await self._reloading.reload()
        except AdminError as refused:
            return f"not used yet: {refused}"
        changes = [change.in_words() for change in done.channels if change.outcome != "unchanged"]
        return "; ".join(changes) or later

    async def drop_secret(self, name: str) -> DecisionView:
        """Delete a secret."""
        if not await self._store.secrets.drop_secret(name, by=self._owner_id):
            raise AdminError("not_found", f"there is no secret named {name}; run `hubbub secrets list`")
        return DecisionView(id=name, outcome="deleted")

    async def change_vault_key(self) -> DecisionView:
        """Replace the vault's key. If this is interrupted, every secret can still be read: both keys stay
        until all secrets are sealed again. A key set by the environment is changed there; put the new one
        before the old one."""
        try:
            if not self._ring.from_environment:
                self._ring.keys_to_seal()
                self._ring.add_newest()
            vault = vault_module.Vault(self._store.secrets, self._ring.keys_to_seal(), self._clock)
            await vault.keep_audit_keys(self._ring.audit_masters()[1:])
            sealed = await vault.reseal()
            if not self._ring.from_environment:
                self._ring.drop_older()
        except VaultError as error:
            raise AdminError("refused", str(error)) from error
        except StartError as error:
            raise AdminError("unavailable", str(error)) from error
        where = "HUBBUB_VAULT_KEY" if self._ring.from_environment else str(self._ring.path)
        return DecisionView(id=where, outcome=f"{sealed} secrets are encrypted with the newest key")

    async def revoke_grant(self, grant_id: str) -> DecisionView:
        """Revoke a grant; its calls need approval again."""
        if not await self._store.consents.revoke_grant(grant_id, by=self._owner_id):
            raise AdminError("not_found", f"no grant has the ID {grant_id}; run `hubbub grants list`")
        return DecisionView(id=grant_id, outcome="revoked")

    async def set_permission(self, user_id: str, tool: str, setting: ToolSetting | None) -> DecisionView:
        """Set or remove a person's setting for a tool. The setting of a tool that no longer exists
        can be removed."""
        names = self._tools()
        if setting is not None and tool not in names:
            near = get_close_matches(tool, names, n=1)
            advice = f"did you mean {near[0]}?" if near else f"available: {', '.join(sorted(names))}"
            raise AdminError("not_found", f"there is no tool named {tool}; {advice}")
        if not await self._store.consents.set_tool_setting(user_id, tool, setting, by=self._owner_id):
            raise AdminError("not_found", f"no user has the ID {user_id}; run `hubbub users list`")
        return DecisionView(id=f"{user_id}: {tool}", outcome=setting.value if setting else "as configured")

    async def reset_tool(self, tool: str) -> DecisionView:
        """Forget a tool's failures: unattended runs are offered it again."""
        if not await self._store.tool_failures.reset_tool(tool, self._owner_id):
            raise AdminError("not_found", f"no failures of {tool} are recorded; run `hubbub tools list`")
        return DecisionView(id=tool, outcome="reset; jobs and routines may use it again")

    async def pause_tools(self, *, paused: bool) -> DecisionView:
        """Pause or unpause all tools; the change applies when this returns."""
        # Applied even if the caller has gone: the recorded state is the one that counts.
        changed = await committed(self._pause(paused), lambda _: self._in_force(paused))
        state = "paused" if paused else "running"
        return DecisionView(id="tools", outcome=state if changed else f"already {state}")

    async def _pause(self, paused: bool) -> bool:
        return await self._store.kill_switch.pause_tools(self._owner_id, paused=paused)

    def _in_force(self, paused: bool) -> None:
        if self._tool_pause is not None:
            self._tool_pause.set(paused=paused)
