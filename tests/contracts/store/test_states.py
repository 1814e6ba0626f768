"""The legal changes of threads and turns: everything else raises."""

from dataclasses import replace
from itertools import product

import pytest

from core.errors import IllegalChange
from core.messages import Address
from core.store.conversations import (
    THREAD_CHANGES,
    TURN_CHANGES,
    ThreadState,
    may_become,
    require_change,
    thread_state,
)
from core.store.effects import CloseThread
from core.store.rows import ThreadRow, TurnState
from tests.contracts.store.bench import Bench

IDLE = ThreadRow("t", "ada", "chat", "-", Address("a"), "", 0, 0)
THREADS = {
    ThreadState.IDLE: IDLE,
    ThreadState.PROCESSING: replace(IDLE, active_turn_id="u", active_turn_state=TurnState.RUNNING),
    ThreadState.AWAITING: replace(IDLE, active_turn_id="u", active_turn_state=TurnState.WAITING),
    ThreadState.COMPLETED: replace(IDLE, closed_at=1),
}
LEGAL = {
    "idle": {"processing", "completed"},
    "processing": {"idle", "awaiting", "interrupted"},
    "awaiting": {"idle", "processing", "interrupted"},
    "interrupted": {"idle", "processing", "completed"},
    "completed": {"idle", "interrupted"},
}


@pytest.mark.parametrize("before, after", list(product(THREADS, ThreadState)))
def test_a_thread_changes_as_the_table_says(before: ThreadState, after: ThreadState) -> None:
    if after.value in LEGAL[before.value]:
        require_change(THREADS[before], after)
    else:
        with pytest.raises(IllegalChange):
            require_change(THREADS[before], after)


def test_the_tables_name_every_state() -> None:
    assert {state.value: set(map(str, after)) for state, after in THREAD_CHANGES.items()} == LEGAL
    assert set(TURN_CHANGES) == set(TurnState)
    assert may_become(TurnState.DONE) == "('running')"
    assert may_become(TurnState.STOPPED) == "('running', 'waiting')"
    for ended in (TurnState.DONE, TurnState.FAILED, TurnState.STOPPED, TurnState.CRASHED):
        assert not TURN_CHANGES[ended]
        interrupted = thread_state(IDLE, ended) is ThreadState.INTERRUPTED
        assert interrupted is (ended is not TurnState.DONE)


async def test_a_busy_thread_is_not_closed_and_a_closed_one_takes_no_turn(world: Bench) -> None:
    start = await world.turn()
    with pytest.raises(IllegalChange):
        await world.rule(CloseThread())
    await world.finish(start)
    await world.rule(CloseThread())
    with pytest.raises(IllegalChange):
        await world.turn("too late")
    with pytest.raises(IllegalChange):
        await world.rule(CloseThread())
