"""Approval presets, tool lists and limits: how often people are asked, how far a turn runs by itself,
and whose settings apply.

A conversation's settings override its person's, which override the configuration. None may be
looser than the admin policy allows. A setting that was not made is None.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from enum import StrEnum
from typing import Any, Protocol

from core.lazy import dataclass
from core.users import Principal, Role


class Preset(StrEnum):
    """An approval preset, from the strictest to the loosest."""

    MANUAL = "manual"
    WHITELIST = "whitelist"
    AUTO_LOOP = "auto_loop"
    AUTO = "auto"


_LOOSENESS = {preset: place for place, preset in enumerate(Preset)}

MAX_ROUNDS, MAX_TOOLS, MAX_LOOP_S = 1_000, 10_000, 86_400
"""Maximum limits a person may set, unless a policy allows less. They catch typing errors."""


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """The budget of a turn before a person is asked whether to continue. It is counted since the last
    human input, without time spent waiting for a person."""

    max_rounds: int = 5
    max_tools: int = 20
    loop_timeout_s: int = 300


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """The presets, tool lists and limits set by one person, conversation or policy. None: not set.

    `whitelist`: the tools that preset `whitelist` runs. `dangerous_tools`: those that ask in every preset.
    `tool_timeouts`: limits of single tools, by name, in seconds."""

    preset: Preset | None = None
    max_rounds: int | None = None
    max_tools: int | None = None
    loop_timeout_s: int | None = None
    whitelist: frozenset[str] | None = None
    dangerous_tools: frozenset[str] | None = None
    tool_timeouts: Mapping[str, float] | None = None

    def over(self, below: "ApprovalSettings") -> "ApprovalSettings":
        """Return these settings, with those of `below` for any that are not set, also for single tools."""
        said = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        if self.tool_timeouts is not None and below.tool_timeouts is not None:
            said["tool_timeouts"] = {**below.tool_timeouts, **self.tool_timeouts}
        return replace(below, **said)

    def within(self, ceiling: "ApprovalSettings") -> "ApprovalSettings":
        """Return these settings, none looser than `ceiling`."""
        stricter = {
            name: _STRICTER[name](getattr(self, name), getattr(ceiling, name))
            for name in SETTINGS
            if looser(self, ceiling, name)
        }
        return replace(self, **stricter) if stricter else self


SETTINGS = tuple(one.name for one in fields(ApprovalSettings))
"""The names of the settings."""
UNSAID = ApprovalSettings()


def looser(settings: ApprovalSettings, ceiling: ApprovalSettings, name: str) -> bool:
    """Return True if a setting is set and looser than the ceiling allows."""
    said, allowed = getattr(settings, name), getattr(ceiling, name)
    return said is not None and allowed is not None and _STRICTER[name](said, allowed) != said


def _shorter(said: Mapping[str, float], allowed: Mapping[str, float]) -> Mapping[str, float]:
    return {tool: min(seconds, allowed.get(tool, seconds)) for tool, seconds in said.items()}


def _in_both(said: frozenset[str], allowed: frozenset[str]) -> frozenset[str]:
    return said & allowed


def _in_either(said: frozenset[str], allowed: frozenset[str]) -> frozenset[str]:
    return said | allowed


def _stricter_preset(said: Preset, allowed: Preset) -> Preset:
    return min(said, allowed, key=_LOOSENESS.__getitem__)


_STRICTER: Mapping[str, Callable[[Any, Any], Any]] = {
    "preset": _stricter_preset,
    "max_rounds": min,
    "max_tools": min,
    "loop_timeout_s": min,
    "whitelist": _in_both,
    "dangerous_tools": _in_either,
    "tool_timeouts": _shorter,
}
"""By setting, returns the loosest value that is no looser than either of two."""


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings in force for one turn.

    `tool_timeouts`: as chosen; `longest_timeouts`: as the ceiling has it.
    `extends`: single tools without a ceiling may get more time than is configured."""

    preset: Preset
    limits: LoopLimits
    whitelist: frozenset[str] = frozenset()
    dangerous_tools: frozenset[str] = frozenset()
    tool_timeouts: Mapping[str, float] = field(default_factory=dict[str, float])
    longest_timeouts: Mapping[str, float] = field(default_factory=dict[str, float])
    extends: bool = True

    def timeout_s(self, tool: str, configured_s: float) -> float:
        """Return the time a call of the tool may take. `configured_s`: the limit if nothing else is set."""
        longest_s = self.longest_timeouts.get(tool, math.inf if self.extends else configured_s)
        return min(self.tool_timeouts.get(tool, configured_s), longest_s)


def _no_tools() -> Mapping[str, frozenset[str]]:
    return {}


def _no_ceilings() -> Mapping[str, ApprovalSettings]:
    return {}


@dataclass(frozen=True, slots=True)
class AdminPolicy:
    """The admin policy: overrides every user's settings, the owner's too.

    `disabled`: tools disabled for everyone.
    `disabled_for`: by user id, further tools disabled for that person.
    `ceiling`: the loosest settings allowed.
    `ceiling_for`: by user id, instead of that.
    `unreadable`: why the policy could not be read; no tool runs then.
    """

    disabled: frozenset[str] = frozenset()
    disabled_for: Mapping[str, frozenset[str]] = field(default_factory=_no_tools)
    ceiling: ApprovalSettings = UNSAID
    ceiling_for: Mapping[str, ApprovalSettings] = field(default_factory=_no_ceilings)
    unreadable: str | None = None

    def ceiling_of(self, principal: Principal, configured: InForce) -> ApprovalSettings:
        """Return the loosest settings this person may have. For anyone but the owner, the configured
        settings are the ceiling unless the policy sets one: the owner pays, and it is the owner's
        machine."""
        said = self.ceiling_for.get(principal.user_id, UNSAID).over(self.ceiling)
        return said if principal.role is Role.OWNER else said.over(settings_of(configured))


class PolicySource(Protocol):
    """The source of the admin policy."""

    def current(self) -> AdminPolicy:
        """Return the current policy; never raises. The same object as long as it has not changed. Called
        from several threads."""
        ...


class NoPolicy:
    """A source with an empty policy."""

    _POLICY = AdminPolicy()

    def current(self) -> AdminPolicy:
        return self._POLICY


def in_force(
    configured: InForce,
    person: ApprovalSettings,
    thread: ApprovalSettings,
    ceiling: ApprovalSettings,
    *,
    extends: bool = True,
) -> InForce:
    """Return the settings in force in a person's conversation."""
    if person is UNSAID and thread is UNSAID and ceiling is UNSAID:
        return configured
    said = thread.over(person).over(settings_of(configured)).within(ceiling)
    limits = configured.limits
    return InForce(
        said.preset or configured.preset,
        LoopLimits(
            said.max_rounds or limits.max_rounds,
            said.max_tools or limits.max_tools,
            said.loop_timeout_s or limits.loop_timeout_s,
        ),
        configured.whitelist if said.whitelist is None else said.whitelist,
        configured.dangerous_tools if said.dangerous_tools is None else said.dangerous_tools,
        said.tool_timeouts or {},
        ceiling.tool_timeouts or {},
        extends,
    )


def settings_of(held: InForce) -> ApprovalSettings:
    """Return the settings in force as if all had been set."""
    limits = held.limits
    return ApprovalSettings(
        held.preset,
        limits.max_rounds,
        limits.max_tools,
        limits.loop_timeout_s,
        held.whitelist,
        held.dangerous_tools,
        held.tool_timeouts,
    )
