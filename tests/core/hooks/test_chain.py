"""The hooks of one point: in which order, what each is shown, and what their failures come to."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from core.hooks.chain import (
    Chain,
    Change,
    Hook,
    HookEvent,
    Passed,
    Point,
    Registered,
    Reject,
    Rejected,
    Reply,
)
from core.safety.leaks import LeakDetector
from tests.patience import PATIENCE_S

TOKEN = "ghp_" + "q7Rm2XvK9bTz4NcW8dLs6HfJ3gPy5aUe1oQi"
SAID = HookEvent(Point.BEFORE_INBOUND, text="hello")
CALLED = HookEvent(Point.BEFORE_TOOL_CALL, tool="shell", arguments={"command": "ls", "key": "k1"})


def hook(name: str, ask: Hook, **settings: Any) -> Registered:
    return Registered(name, frozenset(Point), ask, **settings)


def says(text: str) -> Hook:
    async def ask(event: HookEvent) -> Reply:
        return Change(text=event.text + text)

    return ask


def patches(**arguments: Any) -> Hook:
    async def ask(event: HookEvent) -> Reply:
        return Change(arguments=arguments)

    return ask


async def rejects(event: HookEvent) -> Reply:
    return Reject("not here")


async def fails(event: HookEvent) -> Reply:
    raise RuntimeError("broken")


async def hangs(event: HookEvent) -> Reply:
    await asyncio.Event().wait()


def chain(*hooks: Registered) -> Chain:
    return Chain(hooks, LeakDetector())


async def test_the_lower_priority_is_called_first_and_the_next_sees_its_change() -> None:
    judged = await chain(
        hook("late", says("-LOW"), priority=200), hook("early", says("-HIGH"), priority=10)
    ).judge(SAID)
    assert isinstance(judged, Passed)
    assert (judged.event.text, judged.changed) == ("hello-HIGH-LOW", True)


async def test_of_equal_priority_the_first_named_is_called_first() -> None:
    judged = await chain(hook("one", says("1")), hook("two", says("2"))).judge(SAID)
    assert isinstance(judged, Passed)
    assert judged.event.text == "hello12"


async def test_a_rejection_ends_the_chain_under_every_failure_policy() -> None:
    asked: list[str] = []

    async def notes(event: HookEvent) -> Reply:
        asked.append(event.text)

    judged = await chain(hook("no", rejects, priority=1), hook("notes", notes)).judge(SAID)
    assert judged == Rejected("no", "not here")
    assert asked == []


async def test_an_unmodified_payload_is_unchanged() -> None:
    async def back(event: HookEvent) -> Reply:
        return Change(text="hello")

    judged = await chain(hook("there", says("!")), hook("back", back)).judge(SAID)
    assert judged == Passed(SAID, changed=False)


@pytest.mark.parametrize(
    "ask, limit_s, why", [(fails, PATIENCE_S, "it failed"), (hangs, 0.02, "no response within 0.02 s")]
)
async def test_a_failed_hook_passes_or_rejects_by_its_failure_policy(
    ask: Hook, limit_s: float, why: str
) -> None:
    assert await chain(hook("h", ask, timeout_s=limit_s)).judge(SAID) == Passed(SAID, changed=False)
    closed = chain(hook("h", ask, timeout_s=limit_s, closed=True))
    assert await closed.judge(SAID) == Rejected("h", why)


async def test_changes_of_a_call_are_patches() -> None:
    judged = await chain(hook("h", patches(command="pwd"))).judge(CALLED)
    assert isinstance(judged, Passed)
    assert judged.event.arguments == {"command": "pwd", "key": "k1"}


@pytest.mark.parametrize("ask", [patches(key="mine"), says("text for a call")])
async def test_an_invalid_change_is_a_failure(ask: Hook) -> None:
    closed = chain(hook("h", ask, closed=True))
    assert await closed.judge(CALLED, frozenset({"key"})) == Rejected("h", "it failed")
    left = await chain(hook("h", ask)).judge(CALLED, frozenset({"key"}))
    assert left == Passed(CALLED, changed=False)


async def exits(event: HookEvent) -> Reply:
    raise SystemExit(3)


async def cancels_itself(event: HookEvent) -> Reply:
    raise asyncio.CancelledError


@pytest.mark.parametrize("ask", [exits, cancels_itself])
async def test_a_hook_that_tries_to_end_the_program_has_failed(ask: Hook) -> None:
    assert await chain(hook("h", ask, closed=True)).judge(SAID) == Rejected("h", "it failed")


async def test_a_hook_that_ignores_cancellation_delays_nothing() -> None:
    let_go = asyncio.Event()

    async def stays(event: HookEvent) -> Reply:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    async with asyncio.timeout(PATIENCE_S):
        judged = await chain(hook("h", stays, timeout_s=0.02)).judge(SAID)
    assert judged == Passed(SAID, changed=False)
    let_go.set()


async def test_a_turn_that_is_stopped_does_not_wait_for_its_hook() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def waits(event: HookEvent) -> Reply:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    judging = asyncio.create_task(chain(hook("h", waits)).judge(SAID))
    await asked.wait()
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()


@pytest.mark.parametrize(
    "said", [Change(text="\ud800"), Change(text=cast("Any", 3)), cast("Any", "let it pass"), cast("Any", 7)]
)
async def test_an_invalid_reply_is_a_failure(said: Reply) -> None:
    async def ask(event: HookEvent) -> Reply:
        return said

    assert await chain(hook("h", ask, closed=True)).judge(SAID) == Rejected("h", "it failed")


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800", {1: "x", "y": object()}])
async def test_arguments_that_are_not_json_are_a_failure(value: object) -> None:
    closed = chain(hook("h", patches(command=value), closed=True))
    assert await closed.judge(CALLED) == Rejected("h", "it failed")


async def test_a_reason_is_reported_as_text_and_truncated() -> None:
    async def ask(event: HookEvent) -> Reply:
        return Reject("no " * 1_000)

    judged = await chain(hook("h", ask)).judge(SAID)
    assert isinstance(judged, Rejected)
    assert len(judged.reason) == 500


@pytest.mark.parametrize("key", [4711, 47.11, True, ["4711"], {"code": 4711}, [[{"codes": ["4711"]}]]])
async def test_no_hook_is_shown_a_secret_that_is_not_text(key: Any) -> None:
    shown: list[Mapping[str, Any] | None] = []

    async def looks(event: HookEvent) -> Reply:
        shown.append(event.arguments)

    event = HookEvent(Point.BEFORE_TOOL_CALL, tool="lock", arguments={"key": key})
    judged = await chain(hook("h", looks)).judge(event, frozenset({"key"}))
    assert shown == [{"key": "[REDACTED]"}]
    assert judged == Passed(event, changed=False)


async def test_no_hook_is_shown_a_secret() -> None:
    """Neither an argument that is never shown, nor what has the look of a credential, at any depth."""
    shown: list[Mapping[str, Any] | None] = []

    async def looks(event: HookEvent) -> Reply:
        shown.append(event.arguments)
        texts.append(event.text)

    texts: list[str] = []
    arguments = {"key": "k1", "body": {"list": [f"use {TOKEN}"], TOKEN: 1}}
    event = HookEvent(Point.BEFORE_TOOL_CALL, text=f"about {TOKEN}", tool="http", arguments=arguments)
    judged = await chain(hook("h", looks)).judge(event, frozenset({"key"}))
    assert shown == [{"key": "[REDACTED]", "body": {"list": ["use [REDACTED]"], "[REDACTED]": 1}}]
    assert texts == ["about [REDACTED]"]
    assert judged == Passed(event, changed=False)
