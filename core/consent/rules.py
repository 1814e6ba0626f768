"""Who is asked about a call, and where: the first rule that fits it, else the default.

`ask_in` names places beside the conversation the call was made in, where a copy of the card always stands:
`HERE` (none), `DIRECT` (a private conversation with each of those who may decide), or `channel:address`.
Empty: `HERE` where the requester may decide, otherwise `DIRECT`.
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
    """One rule. `tool`: a name, or its beginning followed by `*`; `risk`: how much the call asks for; `role`:
    the requester's; None fits all. `escalate_after_s`: after so long without a decision those of the vote's
    `escalate_to` are asked, too; None: never."""

    vote: VoteRule
    tool: str | None = None
    risk: Requirement | None = None
    role: Role | None = None
    ask_in: str = ""
    escalate_after_s: float | None = None

    def fits(self, tool: str, risk: Requirement, role: Role) -> bool:
        """Whether it is about such a call."""
        return (
            (self.tool is None or _named(tool, self.tool))
            and self.risk in {None, risk}
            and self.role in {None, role}
        )

    def escalates_at(self, asked_at: int) -> int | None:
        """When others are asked, too, about something asked at `asked_at`; microseconds UTC."""
        if self.escalate_after_s is None or not self.vote.escalate_to:
            return None
        return asked_at + int(self.escalate_after_s * SECOND_US)

    def place(self, requester_id: str) -> str:
        """Where to ask: `HERE`, `DIRECT` or `channel:address`."""
        if self.ask_in:
            return self.ask_in
        alone = not self.vote.approvers or self.vote.approvers == (requester_id,)
        return HERE if alone and not self.vote.not_requester else DIRECT


class ApprovalRules:
    """All of them. `owner_id`: decides what the requester's role does not hold."""

    def __init__(self, default: ApprovalRule, rules: Sequence[ApprovalRule], owner_id: str) -> None:
        self._default = default
        self._rules = tuple(rules)
        self._owner_id = owner_id

    def of(self, tool: str, ask: Ask, requester: Principal) -> ApprovalRule:
        """The rule for a call of the requester's that needs consent."""
        fitting = (rule for rule in self._rules if rule.fits(tool, ask.requirement, requester.role))
        rule = next(fitting, self._default)
        if ask.owner_only:
            return replace(rule, vote=replace(rule.vote, approvers=(self._owner_id,), quorum=1))
        return rule


def _named(tool: str, wanted: str) -> bool:
    return tool.startswith(wanted[:-1]) if wanted.endswith("*") else tool == wanted


# What holds for a call now: the configuration, the operator's policy over it, people's own settings.


class EffectivePolicy:
    """`policy`, `limits`: as configured; `admin`: the operator's policy, which may change at any time."""

    def __init__(self, policy: Policy, limits: LoopLimits, admin: PolicySource) -> None:
        self._configured = policy
        self._admin = admin
        self._by_preset = _by_preset(policy, admin.current())
        self._watcher: Callable[[], object] | None = None
        self.configured = InForce(policy.preset, limits)

    def watch(self, watcher: Callable[[], object]) -> None:
        """Tell of each change of the operator's policy, as soon as somebody is judged by it; in their
        thread."""
        self._watcher = watcher

    def in_force(self, principal: Principal, standing: ConsentSettings) -> InForce:
        """The preset and the limits of a person's conversation, where `standing` was said."""
        return in_force(self.configured, standing.person, standing.thread, self.ceiling_of(principal))

    def ceiling_of(self, principal: Principal) -> ApprovalSettings:
        """The loosest presets and limits this person may set."""
        return self._admin.current().ceiling_of(principal, self.configured)

    def policy(self, preset: Preset | None = None) -> Policy:
        """What calls are judged by under that preset (None: the configured one).

        Asked from several threads: after a change whoever comes first makes all of them anew, twice at worst.
        """
        policies, admin = self._by_preset, self._admin.current()
        if policies[self.configured.preset].admin is not admin:
            self._by_preset = policies = _by_preset(self._configured, admin)
            if self._watcher is not None:
                self._watcher()
        return policies[self.configured.preset if preset is None else preset]

    def policy_for(self, principal: Principal, standing: ConsentSettings) -> Policy:
        """What a call of this person is judged by, in a conversation where `standing` was said."""
        return self.policy(self.in_force(principal, standing).preset)


def _by_preset(policy: Policy, admin: AdminPolicy) -> dict[Preset, Policy]:
    return {preset: replace(policy, preset=preset, admin=admin) for preset in Preset}
