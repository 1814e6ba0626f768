"""Calls to be judged, put together from what a test is about."""

from core.consent.decide import decide
from core.consent.rules import (
    Allow,
    Ask,
    Autonomous,
    CallFacts,
    Decision,
    Deny,
    Interactive,
    Policy,
    ToolFacts,
)
from core.gates import Grant, GrantScope, ToolSetting
from core.tool import Data, Requirement, Risk
from core.users import Principal, Role

OWNER = Principal("u-owner", Role.OWNER, "Olivia")

MEMBER = Principal("u-member", Role.MEMBER, "Milan")

GUEST = Principal("u-guest", Role.GUEST, "Gus")

NOW = 1_000_000

ALWAYS_ALLOW = ToolSetting.ALWAYS_ALLOW


def tool(
    requirement: str = "ask", name: str = "tool", *, data: Data = Data.OWN, rated: bool = False
) -> ToolFacts:
    return ToolFacts(name, Requirement(requirement), data, rated)


def grant(name: str = "tool", pattern: str | None = None, user: Principal = OWNER) -> Grant:
    return Grant("g1", user.user_id, name, pattern, GrantScope.USER, None, user.user_id, 0)


def judge(
    facts: ToolFacts | None,
    *,
    who: Principal = OWNER,
    policy: Policy | None = None,
    mode: Interactive | Autonomous | None = None,
    grants: tuple[Grant, ...] = (),
    setting: ToolSetting | None = None,
    risk: Risk | None = None,
    operation: str = "",
    method: str | None = None,
) -> Decision:
    call = CallFacts(
        facts, "t1", NOW, risk=risk, operation=operation, method=method, grants=grants, setting=setting
    )
    return decide(call, who, mode or Interactive(), policy or Policy())


def word(decision: Decision) -> str:
    """A decision as the tables below write it; `ask+`: "always" is offered."""
    match decision:
        case Allow():
            return "run"
        case Ask():
            return "ask+" if decision.allow_always else "ask"
        case Deny():
            return decision.reason.value
