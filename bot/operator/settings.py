"""An operator's settings: secrets, grants, tools, and what of the configuration file is shown and changed.

The API stands on this, in a running hub and in a command without one.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, get_args

from bot.config.document import KeyPath, locate, places
from bot.config.errors import dotted
from bot.config.keys import VaultKeyRing
from bot.config.schema import Config
from bot.operator.reload import Reloader
from bot.runtime import AdminError, StartError
from bot.views import DecisionView
from core.clock import Clock
from core.errors import VaultError
from core.gates import ToolSetting
from core.lazy import LazyModule, dataclass
from core.store.port import Store
from core.store.units import committed
from core.tools.execution import ToolPause

if TYPE_CHECKING:
    import difflib

    from core import vault as vault_module
else:
    difflib = LazyModule("difflib")
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
            near = difflib.get_close_matches(tool, names, n=1)
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
        """Pause or unpause all tools; the change applies, and what it stopped is over, when this returns."""
        # Applied even if the caller has gone: the recorded state is the one that counts.
        changed = await committed(self._pause(paused), lambda _: self._in_force(paused))
        if self._tool_pause is not None:
            await self._tool_pause.settled()
        state = "paused" if paused else "running"
        return DecisionView(id="tools", outcome=state if changed else f"already {state}")

    async def _pause(self, paused: bool) -> bool:
        return await self._store.kill_switch.pause_tools(self._owner_id, paused=paused)

    def _in_force(self, paused: bool) -> None:
        if self._tool_pause is not None:
            self._tool_pause.set(paused=paused)


# What of the configuration file the console shows and changes.

_MODEL = (
    "name",
    "provider",
    "model",
    "base_url",
    "api_key",
    "thinking",
    "context_tokens",
    "max_output_tokens",
    "input_usd_per_million",
    "output_usd_per_million",
)
_PROVIDERS = frozenset({"openai", "anthropic", "demo"})
"""The others run a command or an extension's code."""
_ASKS_THEN = "Beyond it, the turn asks whether to continue."
EXPLAINED: Mapping[str, tuple[str, str]] = {
    "approvals.preset": (
        "Preset",
        'When the hub asks a person before a tool runs: "manual": always; "whitelist": unless listed or'
        ' granted; "auto_loop": for dangerous tools and beyond the loop budget; "auto": for dangerous tools'
        " and beyond the turn's time limit only. A person can choose another preset for a conversation"
        " (/approvals).",
    ),
    "approvals.max_rounds": (
        "Rounds without a person",
        f"Maximum model rounds of one turn since a person last decided. {_ASKS_THEN}",
    ),
    "approvals.max_tools": (
        "Tool calls without a person",
        f"Maximum tool calls of one turn since a person last decided. {_ASKS_THEN}",
    ),
    "approvals.tool_timeout_s": (
        "Tool time limit (s)",
        "Time limit of a tool call in seconds, at most the rest of the turn's time. Some tools have their"
        " own: shell has 120.",
    ),
    "approvals.loop_timeout_s": (
        "Turn time limit (s)",
        "Maximum seconds of one turn since a person last decided, without the time spent waiting for people."
        f" {_ASKS_THEN}",
    ),
    "approvals.shell_per_minute": (
        "Shell calls per minute",
        "Maximum shell calls of each person in a minute.",
    ),
    "approvals.shell_per_hour": ("Shell calls per hour", "Maximum shell calls of each person in an hour."),
    "approvals.expires_after_s": (
        "Approval requests expire after (s)",
        "Seconds until an approval request or question expires; 86400 is one day.",
    ),
    "budget.daily_usd": (
        "Daily budget (USD)",
        "Maximum US dollars that all model calls of a day may cost; 0: no limit. Beyond it, a chat asks the"
        " owner whether to go on, and routines stop. Needs prices in [[models]], or models whose price is"
        " built in.",
    ),
    "budget.per_user_daily_usd": (
        "Daily budget per person (USD)",
        "Maximum US dollars that the model calls made for each person may cost in a day; 0: no limit.",
    ),
    "budget.hourly_model_calls": (
        "Model calls per hour",
        "Maximum model calls in any 60 minutes, of all people and routines together; 0: no limit.",
    ),
    "access.sender_per_minute": (
        "Messages per person and minute",
        "Maximum messages per person per minute, also across restarts; 0: no limit. The owner has no limit.",
    ),
    "agent.context_tokens": (
        "Tokens per request",
        "Largest context in tokens that is sent to any model; at least 1000. A model's own window may be"
        " smaller.",
    ),
    "agent.answer_tokens": (
        "Tokens per answer",
        "Longest answer of a chat turn, in tokens. A model's own limit may be lower; reasoning has tokens of"
        " its own.",
    ),
    "agent.max_waiting": ("Waiting messages", "Maximum queued messages in one thread; the hub refuses more."),
}
"""The keys that can be changed here, each with its label and its explanation, as in config.example.toml."""
_SHOWN = frozenset({"hub", "http", "workspace", "policy"})
"""Sections without secrets, whose values are shown with the line to edit."""
_SWITCHES = frozenset({"true", "false"})
_REFERENCE = re.compile(r"(?:env|vault):\S+")
_MODEL_KEY = re.compile(r"models\.(0|[1-9][0-9]{0,3})\.([a-z_]+)")
Written = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingView:
    """A key that can be changed here. `label`, `about`: its name and explanation, in words; `choices`: its
    only values, if they are few; `variable`: the environment variable that overrides it."""

    key: str
    label: str
    about: str
    value: Written
    choices: tuple[str, ...]
    variable: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredModelView:
    """An entry of `[[models]]`; the first is the default. `api_key`: the reference to it, never the key;
    `variable`: an environment variable that overrides a part of it."""

    name: str
    provider: str
    model: str
    base_url: str
    api_key: str
    variable: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedView:
    """A key that only a person with the file changes, in `line` (from 1). `value`: in TOML's words, null if
    it is not shown."""

    key: str
    line: int
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingChangeView:
    """A change that waits for approval. `lines`: what exactly it changes; `approved`: it is being written."""

    gate_id: str
    lines: tuple[str, ...]
    approved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFileView:
    """The configuration file. `missing`: the first change makes it; `version`: of its text; `next_start`:
    changed keys that wait for a restart; `next_model`: the place of a model that is added, as in
    `models.1.name`; `waiting`: null if nothing waits."""

    file: str
    missing: bool
    version: str
    models: tuple[ConfiguredModelView, ...]
    settings: tuple[SettingView, ...]
    locked: tuple[LockedView, ...]
    next_start: tuple[str, ...]
    can_undo: bool
    next_model: int
    waiting: WaitingChangeView | None


def api_key_shown(written: object) -> str:
    """Return the reference to a key, never the key itself."""
    if not written:
        return ""
    return written if isinstance(written, str) and _REFERENCE.fullmatch(written) else "in the file"


def settings_in(config: Config, variables: Mapping[str, str]) -> Iterator[SettingView]:
    """Yield the keys that can be changed here. `variables`: of the environment, by the key they override."""
    for key, (label, about) in EXPLAINED.items():
        section, _, name = key.partition(".")
        values = getattr(config, section)
        choices = get_args(type(values).model_fields[name].annotation)
        yield SettingView(
            key=key,
            label=label,
            about=about,
            value=getattr(values, name),
            choices=tuple(one for one in choices if isinstance(one, str)),
            variable=variables.get(key),
        )


def locked_in(text: str) -> Iterator[LockedView]:
    """Yield the keys of a file that only a person with the file changes."""
    values, _ = places(text)
    lines = locate(text)
    for path, (start, end) in values.items():
        here = _MODEL if path[0] == "models" else _keys_of(path[0])
        if path[-1] not in here:
            value = text[start:end]
            shown = path[0] in _SHOWN or path[-1] == "command" or value in _SWITCHES
            yield LockedView(key=dotted(path), line=lines[path], value=value if shown else None)


def _keys_of(section: str | int) -> tuple[str, ...]:
    return tuple(name for of, _, name in (key.partition(".") for key in EXPLAINED) if of == str(section))


def writable(key: str, value: Written) -> KeyPath:
    """Return the path of a key that may be changed here. Raises AdminError."""
    section, _, name = key.partition(".")
    if name in _keys_of(section):
        return (section, name)
    found = _MODEL_KEY.fullmatch(key)
    if found is None or found[2] not in _MODEL:
        raise AdminError("unusable", f"{key} is changed in the file only", key)
    if found[2] == "provider" and value not in _PROVIDERS:
        raise AdminError("unusable", f"use one of {', '.join(sorted(_PROVIDERS))}", key)
    if found[2] == "api_key" and value and not (isinstance(value, str) and _REFERENCE.fullmatch(value)):
        raise AdminError("unusable", "name the key, such as env:OPENAI_API_KEY or vault:openai", key)
    return ("models", int(found[1]), found[2])
