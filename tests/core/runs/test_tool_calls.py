"""A run's calls, brought to their outcomes: what runs side by side, and what waits for what."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, cast

import pytest

from core.approvals import LoopLimits
from core.clock import SystemClock
from core.consent.rules import Autonomous, Mode
from core.errors import SignInRequired, StaleTurn, ToolFailed
from core.gates import ConsentSettings
from core.runs.loop import LoopBudget, LoopEvents, Paused
from core.runs.tool_calls import Asked, CallRules, ToolCallRunner
from core.store.port import Turns
from core.store.rows import CallRow, CallState
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from core.tools.pipeline import INTERACTIVE, PutsQuestion
from core.transcript import AssistantSaid, ResultStatus, Said, ToolCalled, ToolResult, in_call_order
from tests.core.tools.test_pipeline import OWNER, THREAD, pipeline
from tests.patience import PATIENCE_S

MODES: Sequence[Mode] = (INTERACTIVE, Autonomous((frozenset({"look", "note", "pay"}),)))


@dataclass
class Floor:
    """The calls in progress. None ends before `needed` were in progress at once; then the newest ends first,
    so that the results come in the opposite order."""

    needed: int = 1
    inside: list[str] = field(default_factory=list[str])
    log: list[str] = field(default_factory=list[str])
    most: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def pass_by(self, name: str) -> str:
        async with self._changed:
            self.inside.append(name)
            self.most = max(self.most, len(self.inside))
            self.log.append(f"+{name}")
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self.most >= self.needed and self.inside[-1] == name)
            self.inside.remove(name)
            self.log.append(f"-{name}")
            self._changed.notify_all()
        return name


def tools_on(floor: Floor) -> Sequence[Tool]:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def look(call: CallContext, name: Annotated[str, "whose"]) -> str:
        """Look around."""
        del call
        return await floor.pass_by(name)

    @tool(requirement=Requirement.NEVER, effect=Effect.IDEMPOTENT, data=Data.NONE)
    async def note(call: CallContext, name: Annotated[str, "whose"]) -> str:
        """Keep a note under a fixed name."""
        del call
        return await floor.pass_by(name)

    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.NONE, data=Data.SHARED)
    async def pay(call: CallContext, name: Annotated[str, "whose"]) -> str:
        """Pay for a look."""
        del call
        return await floor.pass_by(name)

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def fall(call: CallContext, name: Annotated[str, "whose"]) -> str:
        """Fail."""
        raise ToolFailed(f"{name} fell")

    return look, note, pay, fall


@dataclass
class Book:
    """The journal, and the people who are asked."""

    recorded: list[ToolResult] = field(default_factory=list[ToolResult])
    asked: list[str] = field(default_factory=list[str])
    stale_at: str = ""

    async def hold_lease(self) -> None:
        """It is never lost."""

    async def mark_running(self, *asked: object, **named: object) -> str | None:
        raise AssertionError(f"a call without effect is marked: {asked}, {named}")

    async def record_process(self, *asked: object) -> None:
        raise AssertionError(f"a process was started: {asked}")

    async def finish_calls(
        self,
        run_id: str,
        results: Sequence[ToolResult],
        *,
        started_at: int | None = None,
        unattended: bool = False,
    ) -> None:
        (result,) = results
        assert (started_at is None) is (result.status in {ResultStatus.DENIED, ResultStatus.SKIPPED})
        if result.call_id == self.stale_at:
            raise StaleTurn(f"{run_id} was stopped")
        self.recorded.append(result)

    async def decided(self, call: CallRow) -> CallRow | ToolResult | Paused:
        return call

    async def question(self, call: CallRow, puts: PutsQuestion) -> ToolResult | Paused:
        raise AssertionError(f"{call} asks nothing: {puts}")

    async def approval(self, asked: Sequence[Asked]) -> Paused:
        self.asked += [one.call.call_id for one in asked]
        return Paused()

    async def sign_in(self, call: CallRow, tool: str, needed: SignInRequired) -> ToolResult | Paused:
        raise AssertionError(f"{call} needs no sign-in: {tool}, {needed}")

    async def what_happened(self, call: CallRow) -> Paused:
        raise AssertionError(f"{call} has no effect")


async def settled(
    floor: Floor,
    book: Book,
    *names: str,
    mode: Mode = INTERACTIVE,
    most: int = 20,
    edited_by: str | None = None,
) -> Paused | None:
    """Settle calls of those tools; each call's id is its name, the tool's with a number."""
    clock = SystemClock()
    budget = LoopBudget(LoopLimits(max_tools=most), 1, 0, 0, clock.monotonic_s())

    async def standing() -> ConsentSettings:
        return ConsentSettings()

    calls = [
        CallRow(
            name,
            "n1",
            at,
            name.rstrip("0123456789"),
            json.dumps({"name": name}),
            CallState.INTENT,
            Effect.NONE,
            edited_by=edited_by,
        )
        for at, name in enumerate(names)
    ]
    runner = ToolCallRunner(
        CallRules(pipeline(*tools_on(floor)), OWNER, THREAD, mode, standing),
        cast("Turns", book),
        "run",
        book if mode is INTERACTIVE else None,
        budget,
        LoopEvents(budget, lambda _: None),
        clock,
        calls,
        lambda _: None,
        lambda _: None,
    )
    async with asyncio.timeout(PATIENCE_S):
        return await runner.settle()


@pytest.mark.parametrize("mode", MODES, ids=["chat", "unattended"])
async def test_adjacent_calls_without_effect_run_at_once_and_are_recorded_as_they_end(mode: Mode) -> None:
    floor, book = Floor(needed=3), Book()
    assert await settled(floor, book, "look1", "look2", "look3", mode=mode) is None
    assert floor.log == ["+look1", "+look2", "+look3", "-look3", "-look2", "-look1"]
    assert [result.call_id for result in book.recorded] == ["look3", "look2", "look1"]


async def test_no_more_than_eight_run_at_once() -> None:
    floor, book = Floor(needed=8), Book()
    await settled(floor, book, *(f"look{n}" for n in range(1, 10)))
    assert floor.most == 8
    assert floor.log[-2:] == ["+look9", "-look9"]


@pytest.mark.parametrize("mode", MODES, ids=["chat", "unattended"])
async def test_every_other_call_runs_alone(mode: Mode) -> None:
    floor, book = Floor(needed=2), Book()
    await settled(floor, book, "look1", "look2", "note1", "note2", "look3", mode=mode)
    both = {"+look1", "+look2", "-look1", "-look2"}
    assert set(floor.log[:4]) == both
    assert floor.log[4:] == ["+note1", "-note1", "+note2", "-note2", "+look3", "-look3"]


async def test_nothing_runs_past_an_open_gate() -> None:
    floor, book = Floor(needed=2), Book()
    assert await settled(floor, book, "look1", "look2", "pay1", "look3", "pay2", "note1") == Paused()
    assert {result.call_id for result in book.recorded} == {"look1", "look2"}
    assert book.asked == ["pay1", "pay2"]
    assert "+look3" not in floor.log


async def test_autonomous_runs_deny_calls_that_need_a_person() -> None:
    floor, book = Floor(needed=2), Book()
    assert await settled(floor, book, "look1", "look2", "pay1", "look3", mode=MODES[1]) is None
    statuses = {result.call_id: result.status for result in book.recorded}
    assert statuses.pop("pay1") is ResultStatus.DENIED
    assert set(statuses.values()) == {ResultStatus.OK}


async def test_the_budget_is_spent_in_call_order() -> None:
    floor, book = Floor(needed=2), Book()
    await settled(floor, book, "look1", "look2", "look3", most=2)
    assert {result.call_id: result.status for result in book.recorded} == {
        "look1": ResultStatus.OK,
        "look2": ResultStatus.OK,
        "look3": ResultStatus.SKIPPED,
    }


async def test_a_run_that_has_been_stopped_ends_its_other_calls() -> None:
    floor, book = Floor(needed=2), Book(stale_at="look2")
    with pytest.raises(StaleTurn):
        await settled(floor, book, "look1", "look2")
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("call ")] == []


async def test_the_model_learns_of_an_edit_whatever_the_outcome_of_the_call() -> None:
    book = Book()
    await settled(Floor(), book, "look1", edited_by="Ada")
    await settled(Floor(), book, "fall1", edited_by="Ada")
    assert [result.status for result in book.recorded] == [ResultStatus.OK, ResultStatus.ERROR]
    for result in book.recorded:
        assert result.text.startswith('["Ada" changed the arguments before approving; the call ran with: {')


def test_the_model_is_given_results_in_call_order() -> None:
    def called(*names: str) -> list[Said]:
        return [AssistantSaid(""), *(ToolCalled(name, "look", "{}") for name in names)]

    def result(name: str) -> ToolResult:
        return ToolResult(name, ResultStatus.OK, name)

    came = [*called("a", "b", "c"), *map(result, "cab"), *called("d", "e"), *map(result, "ed")]
    given = [*called("a", "b", "c"), *map(result, "abc"), *called("d", "e"), *map(result, "de")]
    assert in_call_order(came) == given
    assert in_call_order(given) == given
