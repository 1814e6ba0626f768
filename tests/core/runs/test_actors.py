"""One turn at a time in a thread, threads side by side, and stops that reach only their turn."""

import asyncio

import pytest

from core.messages import Address
from core.off_loop import LeftRunning
from core.runs.actors import ThreadActors
from core.store.rows import ThreadRow, TurnStart
from core.users import Principal, Role
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S
ANN = Principal("ann", Role.MEMBER, "Ann")


def start(turn: str, thread: str = "t1") -> TurnStart:
    row = ThreadRow(thread, "ann", "chat", "=1", Address("1"), "", 0, 0)
    return TurnStart(turn, 1, row, ANN, 1, 1, 1, resumed=False)


class Turns:
    """Runs turns that wait until they are let go; keeps what happened."""

    def __init__(self, followers: dict[str, TurnStart] | None = None) -> None:
        self.followers = followers or {}
        self.running: set[str] = set()
        self.events: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()

    async def run(self, start: TurnStart) -> TurnStart | None:
        await self._note(f"begin {start.turn_id}", add=start.turn_id)
        try:
            await self._gate(start.turn_id).wait()
        except asyncio.CancelledError:
            if start.turn_id.startswith("stubborn"):
                raise LeftRunning("shell") from None
            raise
        finally:
            self.running.discard(start.turn_id)
        await self._note(f"end {start.turn_id}")
        if start.turn_id.startswith("broken"):
            raise RuntimeError("defect")
        return self.followers.get(start.turn_id)

    async def end_stopped(self, start: TurnStart, left_running: str | None = None) -> TurnStart | None:
        left = "" if left_running is None else f", {left_running} left running"
        await self._note(f"stopped {start.turn_id}{left}")
        return self.followers.get(start.turn_id)

    def let_go(self, turn: str) -> None:
        self._gate(turn).set()

    async def until(self, *lines: str) -> None:
        async with asyncio.timeout(LIMIT_S), self._changed:
            await self._changed.wait_for(lambda: set(lines) <= set(self.events))

    async def _note(self, line: str, add: str | None = None) -> None:
        async with self._changed:
            if add is not None:
                self.running.add(add)
            self.events.append(line)
            self._changed.notify_all()

    def _gate(self, turn: str) -> asyncio.Event:
        return self._gates.setdefault(turn, asyncio.Event())


async def test_a_thread_runs_one_turn_at_a_time_in_order() -> None:
    stage = Turns()
    async with ThreadActors(stage, 8) as actors:
        actors.start(start("one"))
        await stage.until("begin one")
        actors.start(start("two"))
        assert stage.running == {"one"}
        stage.let_go("one")
        await stage.until("begin two")
        assert stage.events == ["begin one", "end one", "begin two"]


async def test_threads_run_side_by_side() -> None:
    stage = Turns()
    async with ThreadActors(stage, 8) as actors:
        for thread in ("t1", "t2", "t3"):
            actors.start(start(f"turn {thread}", thread))
        await stage.until("begin turn t1", "begin turn t2", "begin turn t3")


async def test_the_follower_a_turn_returns_runs_next() -> None:
    stage = Turns({"one": start("two")})
    async with ThreadActors(stage, 8) as actors:
        actors.start(start("one"))
        stage.let_go("one")
        await stage.until("begin two")


async def test_a_stop_ends_its_turn_only_and_the_thread_continues() -> None:
    stage = Turns({"one": start("two")})
    async with ThreadActors(stage, 8) as actors:
        actors.start(start("one"))
        actors.start(start("other", "t2"))
        await stage.until("begin one", "begin other")
        actors.stop("one", "t1")
        await stage.until("stopped one", "begin two")
        assert stage.running == {"two", "other"}
        actors.stop("one", "t1")
        stage.let_go("two")
        await stage.until("end two")


async def test_a_turn_stopped_twice_or_before_it_begins_does_not_end_its_thread() -> None:
    class Slow(Turns):
        """Ends a stopped turn only when it is let go."""

        async def end_stopped(self, start: TurnStart, left_running: str | None = None) -> TurnStart | None:
            await self._note(f"ending {start.turn_id}")
            await self._gate(start.turn_id).wait()
            return await super().end_stopped(start, left_running)

    stage = Slow({"one": start("two"), "two": start("three")})
    async with ThreadActors(stage, 8) as actors:
        actors.start(start("one"))
        await stage.until("begin one")
        actors.stop("one", "t1")
        await stage.until("ending one")
        actors.stop("one", "t1")
        actors.stop("two", "t1")  # it is in the store, and the actor has yet to hear of it
        stage.let_go("one")
        await stage.until("ending two")
        stage.let_go("two")
        await stage.until("begin three")
        assert "begin two" not in stage.events


async def test_an_unstoppable_call_is_handed_over_and_the_next_turn_runs() -> None:
    stage = Turns({"stubborn": start("next")})
    async with ThreadActors(stage, 8) as actors:
        actors.start(start("stubborn"))
        await stage.until("begin stubborn")
        actors.stop("stubborn", "t1")
        await stage.until("stopped stubborn, shell left running", "begin next")
        actors.stop("next", "t1")
        await stage.until("stopped next")


async def test_a_defect_in_one_turn_leaves_its_thread_and_the_others_alive() -> None:
    stage = Turns()
    async with ThreadActors(stage, 8) as actors:
        actors.start(start("broken"))
        actors.start(start("other", "t2"))
        await stage.until("begin broken", "begin other")
        stage.let_go("broken")
        await actors.join("t1", LIMIT_S)
        actors.start(start("next"))
        await stage.until("begin next")
        assert "other" in stage.running


async def test_a_shutdown_cancels_turns_and_says_which_were_interrupted() -> None:
    stage = Turns()
    actors = ThreadActors(stage, 8)
    async with asyncio.timeout(LIMIT_S):
        async with actors:
            actors.start(start("one"))
            actors.start(start("two"))
            await stage.until("begin one")
            assert set(actors.unfinished()) == {"one", "two"}
    assert stage.events == ["begin one"]


@pytest.mark.parametrize("limit", [1, 2])
async def test_no_more_turns_run_at_once_than_allowed(limit: int) -> None:
    stage = Turns()
    async with ThreadActors(stage, limit) as actors:
        for number in range(4):
            actors.start(start(f"n{number}", f"t{number}"))
        for number in range(4):
            await stage.until(f"begin n{number}")
            assert len(stage.running) <= limit
            stage.let_go(f"n{number}")


async def test_a_thousand_busy_threads_are_logged_and_every_further_hundred(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Turns()
    async with ThreadActors(stage, 8) as actors:
        for number in range(1_150):
            actors.start(start(f"turn {number}", f"t{number}"))
            stage.let_go(f"turn {number}")
        assert actors.at_work == 1_150
        await stage.until(*(f"end turn {number}" for number in range(1_150)))
        for number in range(2_000, 3_000):
            actors.start(start(f"turn {number}", f"t{number}"))
    told = [record.getMessage() for record in caplog.records if "many_at_work" in record.getMessage()]
    assert told == [f"conversation.many_at_work count={count}" for count in (1_000, 1_100, 1_000)]
