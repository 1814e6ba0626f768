"""How much people want to be asked, and how far a turn goes by itself: presets, limits, whose word holds.

A conversation's word beats its person's, that beats the configuration; none is looser than the operator's
policy allows. What nobody has said is None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Protocol

from core.users import Principal, Role


class Preset(StrEnum):
    """How much a person wants to be asked; from the strictest to the loosest."""

    MANUAL = "manual"
    WHITELIST = "whitelist"
    AUTO_LOOP = "auto_loop"
    AUTO = "auto"


_LOOSENESS = {preset: place for place, preset in enumerate(Preset)}

MAX_ROUNDS, MAX_TOOLS, MAX_LOOP_S = 1_000, 10_000, 86_400
"""What a person may set a limit to, where no policy allows less: a slip of the finger is no wish."""


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """What a turn may use before a person is asked whether to go on: counted since the last human input;
    waiting for a person doesn't count."""

    max_rounds: int = 5
    max_tools: int = 20
    loop_timeout_s: int = 300


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """What one person, conversation or policy says of presets and limits; None: nothing."""

    preset: Preset | None = None
    max_rounds: int | None = None
    max_tools: int | None = None
    loop_timeout_s: int | None = None

    def over(self, below: "ApprovalSettings") -> "ApprovalSettings":
        """These, and where they say nothing what is below them."""
        said = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        return replace(below, **said)

    def within(self, ceiling: "ApprovalSettings") -> "ApprovalSettings":
        """These, nowhere looser than `ceiling`."""
        too_loose = {name: getattr(ceiling, name) for name in SETTINGS if looser(self, ceiling, name)}
        return replace(self, **too_loose) if too_loose else self


SETTINGS = tuple(one.name for one in fields(ApprovalSettings))
"""The names of what can be set."""
UNSAID = ApprovalSettings()


def looser(settings: ApprovalSettings, ceiling: ApprovalSettings, name: str) -> bool:
    """Whether one of the settings, if it is set, is looser than the ceiling allows."""
    said, allowed = getattr(settings, name), getattr(ceiling, name)
    if said is None or allowed is None:
        return False
    if name == "preset":
        return _LOOSENESS[said] > _LOOSENESS[allowed]
    return said > allowed


@dataclass(frozen=True, slots=True)
class InForce:
    """What holds for one turn."""

    preset: Preset
    limits: LoopLimits


def _no_tools() -> Mapping[str, frozenset[str]]:
    return {}


def _no_ceilings() -> Mapping[str, ApprovalSettings]:
    return {}


@dataclass(frozen=True, slots=True)
class AdminPolicy:
    """The operator's policy: beats everybody's settings, the owner's too.

    `disabled`: tools nobody has; `disabled_for`: by user id, tools that person lacks besides; `ceiling`:
    the loosest that anybody may set; `ceiling_for`: by user id, instead of that. `unreadable`: why it could
    not be read; no tool runs then.
    """

    disabled: frozenset[str] = frozenset()
    disabled_for: Mapping[str, frozenset[str]] = field(default_factory=_no_tools)
    ceiling: ApprovalSettings = UNSAID
    ceiling_for: Mapping[str, ApprovalSettings] = field(default_factory=_no_ceilings)
    unreadable: str | None = None

    def ceiling_of(self, principal: Principal, configured: InForce) -> ApprovalSettings:
        """The loosest this person may have it. Who is not the owner has what is configured for a ceiling,
        where the policy does not say otherwise: it is the owner's money and the owner's machine."""
        said = self.ceiling_for.get(principal.user_id, UNSAID).over(self.ceiling)
        return said if principal.role is Role.OWNER else said.over(_settings_of(configured))


class PolicySource(Protocol):
    """Where the operator's policy comes from."""

    def current(self) -> AdminPolicy:
        """The policy as it is now; never raises. The same object as long as it has not changed. Called from
        several threads."""
        ...


class NoPolicy:
    """Nothing was laid down."""

    _POLICY = AdminPolicy()

    def current(self) -> AdminPolicy:
        """See PolicySource."""
        return self._POLICY


def in_force(
    configured: InForce, person: ApprovalSettings, thread: ApprovalSettings, ceiling: ApprovalSettings
) -> InForce:
    """What holds in a conversation of a person."""
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
