"""The one path of every call: what a person agreed to is what runs, judged again at the last moment."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

from core.approvals import LoopLimits, NoPolicy, Preset
from core.clock import SystemClock
from core.consent.roles import RolePolicy
from core.consent.rules import Autonomous, DenyReason, EffectivePolicy, Policy, ScopeGrant
from core.gates import ConsentSettings, Grant, GrantScope, Option, ToolSetting
from core.safety.fencing import ResultLimits
from core.store.rows import CallRow, CallState
from core.tool import (
    Arguments,
    CallContext,
    CallPlan,
    Data,
    Effect,
    ProcessInfo,
    Requirement,
    Tool,
    Workspace,
)
from core.tools.builtin.basics import ask_user_tool
from core.tools.definition import tool
from core.tools.pipeline import CallPipeline, NeedsPerson, PipelineSettings, Ready, Refused
from core.tools.registry import ToolRegistry
from core.transcript import ResultStatus
from core.users import Principal, Role

OWNER = Principal("owner", Role.OWNER, "Olivia")
MEMBER = Principal("ann", Role.MEMBER, "Ann")
THREAD = "t1"


def charge_tool(version: int = 1) -> Tool:
    @tool(name="charge", requirement=Requirement.ALWAYS_ASK, data=Data.SHARED, version=version)
    async def charge(call: CallContext, amount: Annotated[int, "in cents"], to: str = "shop") -> str:
        """Charge the card."""
        return f"charged {amount} to {to} as {call.idempotency_key} for {call.principal.user_id}"

    return charge


def look_tool() -> Tool:
    @tool(name="look", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def look(call: CallContext) -> str:
        """Look around."""
        return f"in {call.workspace.root} for {call.deadline_s:g} s"

    return look


WORK = Workspace(Path("/w"), Path("/nonexistent"))


def pipeline(
    *tools: Tool,
    policy: Policy | None = None,
    workspace: Workspace = WORK,
    key: bytes = b"k" * 32,
) -> CallPipeline:
    settings = PipelineSettings(
        effective_policy=EffectivePolicy(policy or Policy(), LoopLimits(), NoPolicy(), {"charge": 7}),
        binding_key=key,
        workspace=workspace,
        tool_timeout_s=30,
        result_limits=ResultLimits(),
    )
    return CallPipeline(ToolRegistry(tools or (charge_tool(), look_tool())), settings, SystemClock())


def call(name: str = "charge", arguments: str = '{"amount": 5}') -> CallRow:
    return CallRow("c1", "n1", 1, name, arguments, CallState.INTENT, Effect.EFFECT)


def approved(made: CallPipeline, asked_for: CallRow, principal: Principal = OWNER) -> CallRow:
    """The call as it stands after a person approved what they were shown."""
    prepared = made.prepare(asked_for, principal, THREAD, ConsentSettings())
    assert isinstance(prepared, NeedsPerson)
    return replace(
        asked_for, state=CallState.APPROVED, binding=prepared.binding, answer=Option.APPROVE, answered_by="O"
    )


async def no_process(process: ProcessInfo) -> None:
    raise AssertionError("no process is started here")


def test_gates_show_the_arguments() -> None:
    prepared = pipeline().prepare(call(), OWNER, THREAD, ConsentSettings())
    assert isinstance(prepared, NeedsPerson)
    assert prepared.detail == "amount: 5\nto: shop"
    assert not prepared.ask.allow_always


def test_later_gates_show_the_call_in_the_same_way() -> None:
    """Say that it has happened: with what the tool reads in it, and nothing hidden."""
    made, asked_for = pipeline(), call(arguments='{"amount": "5"}')
    prepared = made.prepare(asked_for, OWNER, THREAD, ConsentSettings())
    assert isinstance(prepared, NeedsPerson)
    assert made.shown(asked_for) == prepared.detail
    gone = call("gone", '{"text": "a\u200bb\\n  two", "more": [1]}')
    assert made.shown(gone) == "text: a[U+200B]b\n      two\nmore: [1]"
    assert made.shown(call("gone", "{no JSON")) == "{no JSON"


def test_an_approved_call_is_ready_with_the_arguments_shown() -> None:
    made = pipeline()
    prepared = made.prepare(approved(made, call()), OWNER, THREAD, ConsentSettings())
    assert isinstance(prepared, Ready)
    assert dict(prepared.arguments) == {"amount": 5, "to": "shop"}
    assert made.recheck(THREAD)(approved(made, call()), OWNER, ConsentSettings()) == ()


@pytest.mark.parametrize(
    "change",
    ["arguments", "default argument", "person", "thread", "workspace", "tool version", "key", "no binding"],
)
def test_consent_covers_nothing_but_what_was_shown(change: str) -> None:
    made = pipeline()
    agreed = approved(made, call())
    principal, thread = OWNER, THREAD
    match change:
        case "arguments":
            agreed = replace(agreed, arguments='{"amount": 500}')
        case "default argument":
            agreed = replace(agreed, arguments='{"amount": 5, "to": "thief"}')
        case "person":
            principal = replace(OWNER, user_id="somebody else")
        case "thread":
            thread = "t2"
        case "workspace":
            made = pipeline(workspace=replace(WORK, root=Path("/elsewhere")))
        case "tool version":
            made = pipeline(charge_tool(version=2))
        case "key":
            made = pipeline(key=b"x" * 32)
        case _:
            agreed = replace(agreed, binding=None)
    assert isinstance(made.prepare(agreed, principal, thread, ConsentSettings()), NeedsPerson)
    assert isinstance(made.recheck(thread)(agreed, principal, ConsentSettings()), str)


def test_a_role_lost_after_the_approval_stops_the_call() -> None:
    made = pipeline(policy=Policy(roles=RolePolicy(member=("charge",))))
    agreed = approved(made, call(), MEMBER)
    assert made.recheck(THREAD)(agreed, MEMBER, ConsentSettings()) == ()
    assert isinstance(made.recheck(THREAD)(agreed, replace(MEMBER, role=Role.GUEST), ConsentSettings()), str)


def test_a_denied_answer_is_no_consent() -> None:
    made = pipeline()
    agreed = replace(approved(made, call()), answer=Option.DENY)
    assert isinstance(made.prepare(agreed, OWNER, THREAD, ConsentSettings()), NeedsPerson)


def test_run_it_again_is_consent_to_the_same_call() -> None:
    again = replace(call(), state=CallState.UNKNOWN, answer=Option.RETRY)
    assert isinstance(pipeline().prepare(again, OWNER, THREAD, ConsentSettings()), Ready)


def test_a_grant_never_covers_what_always_asks() -> None:
    grant = Grant("g", "owner", "charge", None, GrantScope.USER, None, "owner", 0)
    assert isinstance(pipeline().prepare(call(), OWNER, THREAD, ConsentSettings((grant,))), NeedsPerson)


@pytest.mark.parametrize(
    "asked, status",
    [
        (call("nothing_like_it"), ResultStatus.ERROR),
        (call(arguments="{"), ResultStatus.ERROR),
        (call(arguments="[1]"), ResultStatus.ERROR),
        (call(arguments='{"amount": "many"}'), ResultStatus.ERROR),
        (call(arguments="{}"), ResultStatus.ERROR),
    ],
)
def test_an_impossible_call_is_a_result_for_the_model(asked: CallRow, status: ResultStatus) -> None:
    prepared = pipeline().prepare(asked, OWNER, THREAD, ConsentSettings())
    assert isinstance(prepared, Refused)
    assert prepared.result.status is status


@pytest.mark.parametrize("raised", [ValueError, SystemExit, asyncio.CancelledError])
def test_a_tool_that_fails_while_its_arguments_are_rated_fails_only_that_call(
    raised: type[BaseException],
) -> None:
    def fails(arguments: Arguments, workspace: Workspace) -> CallPlan:
        raise raised("a defect")

    @tool(name="broken", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE, plan=fails)
    async def broken(_call: CallContext) -> str:
        """Break."""
        return "it ran"

    prepared = pipeline(broken).prepare(call("broken", "{}"), OWNER, THREAD, ConsentSettings())
    assert isinstance(prepared, Refused)
    assert prepared.result.status is ResultStatus.ERROR
    assert "checking its arguments failed unexpectedly" in prepared.result.text


def test_a_tool_outside_the_role_is_hidden_and_refused() -> None:
    made = pipeline()
    assert [spec.name for spec in made.offered(MEMBER)] == []
    prepared = made.prepare(call(), MEMBER, THREAD, ConsentSettings())
    assert isinstance(prepared, Refused)
    assert prepared.result.status is ResultStatus.DENIED


def test_a_tool_that_does_not_exist_has_no_unknown_effect() -> None:
    assert pipeline().effect_of("nothing_like_it") is Effect.NONE
    assert pipeline().effect_of("charge") is Effect.EFFECT


async def test_a_call_runs_with_its_own_deadline_and_a_stable_key() -> None:
    made = pipeline()
    asked = call()

    ready = made.prepare(approved(made, asked), OWNER, THREAD, ConsentSettings())
    assert isinstance(ready, Ready)
    result = await made.run(asked, ready, OWNER, THREAD, no_process)
    assert result.status is ResultStatus.OK
    assert "charged 5 to shop as c1 for owner" in result.text
    look = made.prepare(call("look", json.dumps({})), OWNER, THREAD, ConsentSettings())
    assert isinstance(look, Ready)
    assert "in /w for 30 s" in (await made.run(call("look"), look, OWNER, THREAD, no_process)).text


# --- a person's own settings ----------------------------------------------------------------------------


def settings(value: ToolSetting, tool: str = "look") -> ConsentSettings:
    return ConsentSettings(settings={tool: value})


def test_a_tool_the_person_disabled_is_hidden_and_refused_at_the_last_moment_too() -> None:
    made = pipeline()
    disabled = settings(ToolSetting.DISABLED)
    assert [spec.name for spec in made.offered(OWNER, disabled.disabled)] == ["charge"]
    look = call("look", "{}")
    assert isinstance(made.prepare(look, OWNER, THREAD, ConsentSettings()), Ready)
    prepared = made.prepare(look, OWNER, THREAD, disabled)
    assert isinstance(prepared, Refused)
    assert (prepared.result.status, prepared.result.text) == (ResultStatus.DENIED, "look is disabled.")
    assert made.recheck(THREAD)(look, OWNER, ConsentSettings()) == ()
    assert made.recheck(THREAD)(look, OWNER, disabled) == "look is disabled."


def test_an_approved_call_does_not_run_after_its_tool_is_disabled() -> None:
    made = pipeline()
    agreed = approved(made, call())
    assert made.recheck(THREAD)(agreed, OWNER, ConsentSettings()) == ()
    assert isinstance(made.recheck(THREAD)(agreed, OWNER, settings(ToolSetting.DISABLED, "charge")), str)


def test_a_person_is_asked_each_time_or_never_as_they_wish() -> None:
    look = call("look", "{}")
    asked = pipeline().prepare(look, OWNER, THREAD, settings(ToolSetting.ASK_EACH_TIME))
    assert isinstance(asked, NeedsPerson)
    assert not asked.ask.allow_always
    manual = pipeline(policy=Policy(preset=Preset.MANUAL))
    assert isinstance(manual.prepare(look, OWNER, THREAD, ConsentSettings()), NeedsPerson)
    assert isinstance(manual.prepare(look, OWNER, THREAD, settings(ToolSetting.ALWAYS_ALLOW)), Ready)
    charge = manual.prepare(call(), OWNER, THREAD, settings(ToolSetting.ALWAYS_ALLOW, "charge"))
    assert isinstance(charge, NeedsPerson)


# --- without a person -----------------------------------------------------------------------------------


def autonomous(*scope: str, grants: tuple[ScopeGrant, ...] = ()) -> Autonomous:
    return Autonomous((frozenset(scope),), grants)


def test_a_run_without_a_person_is_refused_instead_of_asking() -> None:
    made = pipeline()
    refused = made.prepare(call(), OWNER, THREAD, ConsentSettings(), autonomous("charge"))
    assert isinstance(refused, Refused)
    assert refused.reason is DenyReason.AUTONOMOUS_UNAVAILABLE
    assert "needs a person's approval" in refused.result.text
    said = made.recheck(THREAD, autonomous("charge"))(call(), OWNER, ConsentSettings())
    assert said == refused.result.text


def test_an_explicit_grant_of_tool_and_pattern_lets_it_run() -> None:
    given = autonomous("charge", grants=(ScopeGrant("charge", "*"),))
    assert isinstance(pipeline().prepare(call(), OWNER, THREAD, ConsentSettings(), given), Ready)
    assert isinstance(
        pipeline().prepare(call("look", "{}"), OWNER, THREAD, ConsentSettings(), given), Refused
    )


def test_an_autonomous_run_is_offered_only_its_scope() -> None:
    made = pipeline()
    assert [spec.name for spec in made.offered(OWNER, mode=autonomous("look"))] == ["look"]
    assert [spec.name for spec in made.offered(OWNER, mode=autonomous())] == []


async def test_a_question_without_a_person_is_answered_at_once() -> None:
    made = pipeline(ask_user_tool())
    asked = call("ask_user", '{"question": "Red?"}')
    ready = made.prepare(asked, OWNER, THREAD, ConsentSettings(), autonomous("ask_user"))
    assert isinstance(ready, Ready)
    result = await made.run(asked, ready, OWNER, THREAD, no_process)
    assert result.status is ResultStatus.DENIED
    assert "no person here to ask" in result.text
