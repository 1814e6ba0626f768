"""Approval rules: the people asked about a call, and the places they are asked in. The first
matching rule applies, else the default.

`ask_in` names places for further cards. The conversation the call was made in always has one.
Values: `HERE` (no further card), `DIRECT` (a private conversation with each person who may
decide), or `channel:address`. Empty: `HERE` if the requester may decide, otherwise `DIRECT`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from core.approvals import (
    SETTINGS,
    AdminPolicy,
    ApprovalSettings,
    InForce,
    LoopLimits,
    PolicySource,
    Preset,
    in_force,
    looser,
)
from core.clock import SECOND_US
from core.consent.facts import Ask, Policy
from core.gates import ConsentSettings, VoteRule
from core.lazy_dataclass import dataclass
from core.tool import Requirement
from core.users import Principal, Role

HERE = "here"
DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One approval rule. None matches all.

    `tool`: a name, or a prefix followed by `*`.
    `risk`: the call's requirement.
    `role`: the requester's.
    `escalate_after_s`: the time without a decision after which the vote's `escalate_to` are asked
    too; None: never."""

    vote: VoteRule
    tool: str | None = None
    risk: Requirement | None = None
    role: Role | None = None
    ask_in: str = ""
    escalate_after_s: float | None = None

    def fits(self, tool: str, risk: Requirement, role: Role) -> bool:
        """Return True if the rule applies to such a call."""
        return (
            (self.tool is None or _named(tool, self.tool))
            and self.risk in {None, risk}
            and self.role in {None, role}
        )

    def escalates_at(self, asked_at: int) -> int | None:
        """Return when to escalate a gate opened at `asked_at`; microseconds UTC."""
        if self.escalate_after_s is None or not self.vote.escalate_to:
            return None
        return asked_at + int(self.escalate_after_s * SECOND_US)

    def asked_in(self, requester_id: str) -> str:
        """Return the place to ask in: `HERE`, `DIRECT` or `channel:address`."""
        if self.ask_in:
            return self.ask_in
        alone = not self.vote.approvers or self.vote.approvers == (requester_id,)
        return HERE if alone and not self.vote.not_requester else DIRECT


class ApprovalRules:
    """The approval rules. `owner_id`: decides on tools the requester's role does not have."""

    def __init__(self, default: ApprovalRule, rules: Sequence[ApprovalRule], owner_id: str) -> None:
        self._default = default
        self._rules = tuple(rules)
        self._owner_id = owner_id

    def of(self, tool: str, ask: Ask, requester: Principal) -> ApprovalRule:
        """Return the rule for a call of the requester's that needs consent."""
        fitting = (rule for rule in self._rules if rule.fits(tool, ask.requirement, requester.role))
        rule = next(fitting, self._default)
        if ask.owner_only:
            return replace(rule, vote=replace(rule.vote, approvers=(self._owner_id,), quorum=1))
        return rule


def _named(tool: str, wanted: str) -> bool:
    return tool.startswith(wanted[:-1]) if wanted.endswith("*") else tool == wanted


# The rules in force for a call: the configuration, the admin policy over it, people's own settings.


class EffectivePolicy:
    """The policy in force. `policy`, `limits`, `tool_timeouts`: as configured; `admin`: the admin policy,
    which may change at any time. `tools`: the names of this hub's tools; empty if they are unknown."""

    def __init__(
        self,
        policy: Policy,
        limits: LoopLimits,
        admin: PolicySource,
        tool_timeouts: Mapping[str, float] = MappingProxyType({}),
        tools: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._configured = policy
        self._admin = admin
        self._by_preset = _by_preset(policy, admin.current())
        self._watcher: Callable[[], object] | None = None
        self._tools = tools
        self.configured = InForce(
            policy.preset, limits, policy.whitelist, policy.dangerous_tools, tool_timeouts
        )

    def configure(self, policy: Policy, limits: LoopLimits) -> None:
        """Judge later calls by another configured policy and other limits of turns."""
        self._by_preset = _by_preset(policy, self._admin.current())
        self._configured = policy
        self.configured = replace(
            self.configured,
            preset=policy.preset,
            limits=limits,
            whitelist=policy.whitelist,
            dangerous_tools=policy.dangerous_tools,
        )
        if self._watcher is not None:
            self._watcher()

    def watch(self, watcher: Callable[[], object]) -> None:
        """Report each change: of the admin policy as soon as a call is judged by it, in the calling thread,
        of the configured one at once."""
        self._watcher = watcher

    def in_force(self, principal: Principal, standing: ConsentSettings) -> InForce:
        """Return the settings in force in a person's conversation with the settings `standing`."""
        ceiling, extends = self.ceiling_of(principal), principal.role is Role.OWNER
        return in_force(self.configured, standing.person, standing.thread, ceiling, extends=extends)

    def ceiling_of(self, principal: Principal) -> ApprovalSettings:
        """Return the loosest settings this person may have."""
        return self._admin.current().ceiling_of(principal, self.configured)

    def too_loose(
        self, principal: Principal, wanted: ApprovalSettings, was: ApprovalSettings
    ) -> tuple[str, object] | None:
        """Return the first setting that would become looser than this person may have, with the loosest."""
        ceiling = self.ceiling_of(principal)
        for name in SETTINGS:
            if getattr(wanted, name) != getattr(was, name) and looser(wanted, ceiling, name):
                return name, getattr(ceiling, name)
        return None

    def unknown_tool(self, wanted: ApprovalSettings, was: ApprovalSettings) -> str | None:
        """Return a tool that is named anew and that this hub doesn't have."""
        known = set(self._tools())
        return min(_tools_named(wanted) - _tools_named(was) - known, default=None) if known else None

    def policy(self, preset: Preset | None = None) -> Policy:
        """Return the policy for calls under that preset (None: the configured one).

        Called from several threads. After a change, the first caller rebuilds all policies; at worst
        two callers do.
        """
        policies, admin = self._by_preset, self._admin.current()
        if policies[self.configured.preset].admin is not admin:
            self._by_preset = policies = _by_preset(self._configured, admin)
            if self._watcher is not None:
                self._watcher()
        return policies[self.configured.preset if preset is None else preset]

    def policy_for(self, principal: Principal, standing: ConsentSettings) -> Policy:
        """Return the policy for calls of this person, in a conversation with the settings `standing`."""
        held = self.in_force(principal, standing)
        policy = self.policy(held.preset)
        if (held.whitelist, held.dangerous_tools) == (policy.whitelist, policy.dangerous_tools):
            return policy
        return replace(policy, whitelist=held.whitelist, dangerous_tools=held.dangerous_tools)


def _tools_named(settings: ApprovalSettings) -> set[str]:
    named = (settings.whitelist, settings.dangerous_tools, settings.tool_timeouts)
    return {tool for names in named for tool in names or ()}


def _by_preset(policy: Policy, admin: AdminPolicy) -> dict[Preset, Policy]:
    return {preset: replace(policy, preset=preset, admin=admin) for preset in Preset}
