"""After `/pause` was answered no effect begins, however many calls race with it: judged by files on disk."""

import asyncio
import math
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.config.keys import VaultKeyRing
from bot.operator.settings import SettingsService
from core.approvals import LoopLimits, NoPolicy
from core.clock import SystemClock
from core.consent.rules import EffectivePolicy, Policy
from core.gates import ConsentSettings
from core.ids import RandomIds
from core.safety.fencing import ResultLimits
from core.store.rows import CallState, TurnStart
from core.store.sqlite.store import open_store
from core.tool import CallContext, Data, ProcessInfo, Requirement, Tool
from core.tools.definition import tool
from core.tools.execution import ToolPause
from core.tools.pipeline import CallPipeline, PipelineSettings, Ready
from core.tools.registry import ToolRegistry
from tests.contracts.store.bench import ADA, Bench, CountingIds
from tests.core.tools.support import place
from tests.databases import lay_database
from tests.plugins.profile import Profile

CALLS = 8


def writing_tool(directory: Path, *, waits: bool) -> Tool:
    @tool(name="write", requirement=Requirement.NEVER, data=Data.NONE)
    async def write(call: CallContext) -> str:
        """Writes a file, first of all, and removes another once it is over."""
        (directory / call.idempotency_key).touch()
        runs = directory.parent / f"{call.idempotency_key}.runs"
        runs.touch()
        try:
            if waits:
                await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(runs.unlink)
        return "written"

    return write


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    clock, ids = SystemClock(), CountingIds()
    store = await open_store(lay_database(tmp_path / "hub.db"), clock, ids)
    await store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    yield Bench(store, clock, ids)  # pyright: ignore[reportArgumentType] - real time and ids will do
    await store.close()


async def no_process(process: ProcessInfo) -> None:
    raise AssertionError("no process is started here")


async def carried_out(world: Bench, made: CallPipeline, start: TurnStart, call_id: str) -> None:
    """As a turn does it: marked in the transaction, then run."""
    call = await world.call_row(start, call_id)
    ready = made.prepare(call, ADA, start.thread.id, ConsentSettings())
    if not isinstance(ready, Ready):
        return
    check = made.recheck(start.thread.id)
    if await world.store.turns.mark_running(start.turn_id, call_id, check) is None:
        await made.run(call, ready, ADA, start.thread.id, no_process, math.inf)


@pytest.mark.parametrize("here", [True, False], ids=["this-hub", "another-process"])
async def test_nothing_starts_after_the_pause_was_confirmed(
    world: Bench, tmp_path: Path, profile: Profile, *, here: bool
) -> None:
    """`here`: the pause is given to this hub, which ends what runs; otherwise it is recorded only, and what
    was marked by then goes on."""
    files = tmp_path / "files"
    files.mkdir()
    pause = ToolPause()
    settings = PipelineSettings(
        effective_policy=EffectivePolicy(Policy(), LoopLimits(), NoPolicy()),
        binding_key=b"k" * 32,
        workspace=place(files),
        tool_timeout_s=30,
        result_limits=ResultLimits(),
    )
    made = CallPipeline(ToolRegistry([writing_tool(files, waits=here)]), settings, SystemClock(), pause)
    ring, switch = VaultKeyRing(tmp_path, {}), pause if here else None
    keeping = SettingsService(world.store, ring, lambda: [], SystemClock(), ADA.user_id, switch)
    chance, begun, asked, longest_s = random.Random(profile.seed), 0, 0, 0.003
    for attempt in range(profile.pick(test=50 if here else 15, proof=500)):
        start = await world.turn(scope=f"race {attempt}")
        calls = await world.call(start, *["write"] * CALLS)
        racing = [asyncio.create_task(carried_out(world, made, start, one), name=one) for one in calls]
        await asyncio.sleep(chance.random() * longest_s)
        await keeping.pause_tools(paused=True)
        there = {path.name for path in files.iterdir()}
        assert not here or not list(tmp_path.glob("*.runs")), f"attempt {attempt}"
        marked = (await world.states(start)).count(CallState.RUNNING)
        await asyncio.gather(*racing)
        before, begun, asked = begun, len(list(files.iterdir())), asked + CALLS
        longest_s *= {0: 1.5, CALLS: 0.7}.get(begun - before, 1)  # as long as it takes this machine
        assert (await world.states(start)).count(CallState.RUNNING) == marked, f"attempt {attempt}"
        assert not here or {path.name for path in files.iterdir()} == there, f"attempt {attempt}"
        await keeping.pause_tools(paused=False)
    assert 0 < begun < asked, "the race was no race"


async def test_a_pause_that_another_process_recorded_is_respected_when_calls_are_marked(
    world: Bench, tmp_path: Path
) -> None:
    """Without the hub's own switch, which is told of pauses in this process only."""
    start = await world.turn()
    (call_id,) = await world.call(start, "write")
    other = await open_store(tmp_path / "hub.db", SystemClock(), RandomIds())
    try:
        await other.kill_switch.pause_tools(ADA.user_id, paused=True)
        refusal = await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None)
        assert refusal is not None
        assert refusal.startswith("all tools are paused")
        assert [state.value for state in await world.states(start)] == ["intent"]
        await other.kill_switch.pause_tools(ADA.user_id, paused=False)
    finally:
        await other.close()
    assert await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None) is None
