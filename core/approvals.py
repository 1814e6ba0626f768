"""Approval presets and limits: how often people are asked, how far a turn runs by itself, and
whose settings apply.

A conversation's settings override its person's, which override the configuration. None may be
looser than the admin policy allows. A setting that was not made is None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Protocol

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
    """The presets and limits set by one person, conversation or policy. None: not set."""

    preset: Preset | None = None
    max_rounds: int | None = None
    max_tools: int | None = None
    loop_timeout_s: int | None = None

    def over(self, below: "ApprovalSettings") -> "ApprovalSettings":
        """Return these settings, with those of `below` for any that are not set."""
        said = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        return replace(below, **said)

    def within(self, ceiling: "ApprovalSettings") -> "ApprovalSettings":
        """Return these settings, none looser than `ceiling`."""
        too_loose = {name: getattr(ceiling, name) for name in SETTINGS if looser(self, ceiling, name)}
        return replace(self, **too_loose) if too_loose else self


SETTINGS = tuple(one.name for one in fields(ApprovalSettings))
"""The names of the settings."""
UNSAID = ApprovalSettings()


def looser(settings: ApprovalSettings, ceiling: ApprovalSettings, name: str) -> bool:
    """Return True if a setting is set and looser than the ceiling allows."""
    said, allowed = getattr(settings, name), getattr(ceiling, name)
    if said is None or allowed is None:
        return False
    if name == "preset":
        return _LOOSENESS[said] > _LOOSENESS[allowed]
    return said > allowed


@dataclass(frozen=True, slots=True)
class InForce:
    """The preset and limits in force for one turn."""

    preset: Preset
    limits: LoopLimits


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
        return said if principal.role is Role.OWNER else said.over(_settings_of(configured))


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
    configured: InForce, person: ApprovalSettings, thread: ApprovalSettings, ceiling: ApprovalSettings
) -> InForce:
    """Return the preset and limits in force in a person's conversation."""
    if person is UNSAID and thread is UNSAID and ceiling is UNSAID:
        return configured
    said = thread.over(person).over(_settings_of(configured)).within(ceiling)
    limits = configured.limits
    return InForce(
        said.preset or configured.preset,
        LoopLimits(
            said.max_rounds or limits.max_rounds,
            said.max_tools or limits.max_tools,
            said.loop_timeout_s or limits.loop_timeout_s,
        ),
    )


def _settings_of(held: InForce) -> ApprovalSettings:
    limits = held.limits
    return ApprovalSettings(held.preset, limits.max_rounds, limits.max_tools, limits.loop_timeout_s)
