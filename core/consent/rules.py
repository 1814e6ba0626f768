"""Approval rules: the people asked about a call, and the places they are asked in. The first
matching rule applies, else the default.

`ask_in` names places for further cards. The conversation the call was made in always has one.
Values: `HERE` (no further card), `DIRECT` (a private conversation with each person who may
decide), or `channel:address`. Empty: `HERE` if the requester may decide, otherwise `DIRECT`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core.approvals import AdminPolicy, ApprovalSettings, InForce, LoopLimits, PolicySource, Preset, in_force
from core.clock import SECOND_US
from core.consent.facts import Ask, Policy
from core.gates import ConsentSettings, VoteRule
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
    """The policy in force. `policy`, `limits`: as configured; `admin`: the admin policy, which may
    change at any time."""

    def __init__(self, policy: Policy, limits: LoopLimits, admin: PolicySource) -> None:
        self._configured = policy
        self._admin = admin
        self._by_preset = _by_preset(policy, admin.current())
        self._watcher: Callable[[], object] | None = None
        self.configured = InForce(policy.preset, limits)

    def watch(self, watcher: Callable[[], object]) -> None:
        """Report each change of the admin policy, as soon as a call is judged by it, in the calling
        thread."""
        self._watcher = watcher

    def in_force(self, principal: Principal, standing: ConsentSettings) -> InForce:
        """Return the preset and limits of a person's conversation with the settings `standing`."""
        return in_force(self.configured, standing.person, standing.thread, self.ceiling_of(principal))

    def ceiling_of(self, principal: Principal) -> ApprovalSettings:
        """Return the loosest presets and limits this person may set."""
        return self._admin.current().ceiling_of(principal, self.configured)

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
        return self.policy(self.in_force(principal, standing).preset)


def _by_preset(policy: Policy, admin: AdminPolicy) -> dict[Preset, Policy]:
    return {preset: replace(policy, preset=preset, admin=admin) for preset in Preset}
