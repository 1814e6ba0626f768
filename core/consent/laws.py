"""What holds for a call now: the configuration, the operator's policy over it, people's own settings."""

from collections.abc import Callable
from dataclasses import replace

from core.approvals import (
    AdminPolicy,
    ApprovalSettings,
    InForce,
    LoopLimits,
    PolicySource,
    Preset,
    in_force,
)
from core.consent.facts import Policy
from core.prompts import Standing
from core.users import Principal


class ConsentLaws:
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

    def in_force(self, principal: Principal, standing: Standing) -> InForce:
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

    def policy_for(self, principal: Principal, standing: Standing) -> Policy:
        """What a call of this person is judged by, in a conversation where `standing` was said."""
        return self.policy(self.in_force(principal, standing).preset)


def _by_preset(policy: Policy, admin: AdminPolicy) -> dict[Preset, Policy]:
    return {preset: replace(policy, preset=preset, admin=admin) for preset in Preset}
