"""Undo, redo, retry and clear on the journal: what a model is shown afterwards."""

from collections.abc import Sequence

from core.gates import Grant, GrantScope
from core.store.accept import Admitted, Verdict
from core.store.effects import (
    BranchThread,
    ClearThread,
    ContinueTurn,
    RecordGrant,
    RedoTurns,
    RetryTurn,
    UndoTurns,
)
from core.store.rows import TurnStart
from core.tool import Effect
from core.transcript import AssistantSaid, Entry, Note, ResultStatus, Said, ToolCalled, ToolResult, UserSaid
from tests.contracts.store.bench import ADA, Bench, Rules
from tests.contracts.store.calls import go


async def exchange(world: Bench, *texts: str) -> TurnStart:
    """Return the last of the turns."""
    starts: list[TurnStart] = []
    for text in texts:
        starts.append(await world.turn(text))
        await world.finish(starts[-1], f"re: {text}")
    return starts[-1]


def words(said: Said) -> str:
    return said.arguments if isinstance(said, ToolCalled) else said.text


async def live(world: Bench, start: TurnStart) -> list[str]:
    return [words(entry.said) for entry in await world.store.threads.entries(start.thread.id, 1000)]


def both(*texts: str) -> list[str]:
    return [said for text in texts for said in (text, f"re: {text}")]


async def test_undone_turns_leave_the_conversation_and_come_back(world: Bench) -> None:
    start = await exchange(world, "a", "b", "c")
    await world.rule(UndoTurns(1))
    await world.rule(UndoTurns(1))
    assert await live(world, start) == both("a")
    await world.rule(RedoTurns())
    assert await live(world, start) == both("a", "b")
    await world.rule(UndoTurns(2))
    assert await live(world, start) == []
    await world.rule(RedoTurns())
    await world.rule(RedoTurns())
    assert await live(world, start) == both("a", "b", "c")
    await world.rule(RedoTurns())
    assert await live(world, start) == both("a", "b", "c")


async def test_a_new_turn_builds_on_live_entries_and_ends_redo(world: Bench) -> None:
    start = await exchange(world, "a", "b")
    await world.rule(UndoTurns(1))
    after = await world.turn("c")
    assert [words(said) for said in await world.said(after) if not isinstance(said, Note)] == [
        *both("a"),
        "c",
    ]
    assert after.inputs[0].seq > start.last_seq + 2  # no cached transcript is followed by this
    await world.finish(after, "re: c")
    await world.rule(RedoTurns())
    assert await live(world, start) == both("a", "c")
    await world.rule(UndoTurns(1))
    await world.rule(RedoTurns())
    assert await live(world, start) == both("a", "c")


async def test_undone_messages_stay_visible_to_people(world: Bench) -> None:
    start = await exchange(world, "a", "b")
    await world.rule(UndoTurns(1))
    everything: Sequence[Entry] = await world.store.threads.all_entries(start.thread.id, 1000)
    assert [(words(entry.said), entry.undone) for entry in everything] == [
        ("a", False),
        ("re: a", False),
        ("b", True),
        ("re: b", True),
    ]
    feed = await world.store.feed.feed_after(start.thread.id, 0, 100)
    assert [item.undone for item in feed if isinstance(item.shown, AssistantSaid)] == [False, True]
    glance = await world.store.feed.thread_glance(start.thread.id)
    assert glance is not None
    assert glance.preview == "re: a"


async def test_a_retry_sends_the_same_request_again(world: Bench) -> None:
    start = await exchange(world, "a")
    first = await world.turn("b")
    asked = [(entry.said, entry.at) for entry in (await world.store.turns.load_turn(first)).entries]
    await world.finish(first, "no")
    world.clock.advance(3600)
    again = (await world.rule(RetryTurn(world.ids.row_id()))).started
    assert again is not None
    assert again.turn_id != first.turn_id
    assert [(entry.said, entry.at) for entry in (await world.store.turns.load_turn(again)).entries] == asked
    await world.finish(again, "yes")
    assert await live(world, start) == [*both("a"), "b", "yes"]


async def test_a_turn_continues_after_an_interruption(world: Bench) -> None:
    await exchange(world, "a")
    on = (await world.rule(ContinueTurn(world.ids.row_id(), "go on"))).started
    assert on is not None
    assert await world.said(on) == [UserSaid("a"), AssistantSaid("re: a"), Note("go on")]
    await world.finish(on, "done")
    await world.rule(RetryTurn(world.ids.row_id()))
    assert await live(world, on) == [*both("a"), "go on"]


async def test_a_cleared_conversation_stays_cleared(world: Bench) -> None:
    start = await exchange(world, "a", "b", "c")
    await world.rule(UndoTurns(1))
    await world.rule(ClearThread())
    await world.rule(RedoTurns())
    assert await live(world, start) == []
    assert len(await world.store.threads.all_entries(start.thread.id, 1000)) == 6


async def test_a_branch_has_the_live_entries_and_no_undone_ones(world: Bench) -> None:
    await exchange(world, "a", "b")
    await world.rule(UndoTurns(1))
    last = await exchange(world, "c")
    grant = Grant("g", "ada", "shell", "ls", GrantScope.THREAD, last.thread.id, "ada", 1)
    await world.rule(RecordGrant(grant), BranchThread("branch", "a branch", last.turn_id))
    copied = await world.store.threads.all_entries("branch", 1000)
    assert [words(entry.said) for entry in copied] == both("a", "c")
    branch = await world.store.feed.thread_glance("branch")
    assert branch is not None
    assert (branch.origin_id, branch.origin_turn) == (last.thread.id, last.number)
    assert (branch.thread.active_turn_id, branch.turns) == (None, 0), "nothing runs"
    assert (await world.store.consents.standing("ada", "branch")).grants == ()
    assert (await world.store.consents.standing("ada", last.thread.id)).grants == (grant,)


async def test_twenty_turns_can_be_undone_and_no_more(world: Bench) -> None:
    start = await exchange(world, *(f"m{number}" for number in range(23)))
    await world.rule(UndoTurns(20))
    assert await live(world, start) == both("m0", "m1", "m2")
    (row,) = [row for row in await world.store.threads.threads(10) if row.id == start.thread.id]
    rules = looking()
    await world.store.inbound.accept_event(world.message("/undo"), rules, send_now=False)
    assert rules.view.thread == row
    assert rules.view.checkpoints is not None
    assert (rules.view.checkpoints.undoable, rules.view.checkpoints.redoable) == (0, 20)
    await world.rule(RedoTurns())
    after = await world.turn("m23")
    await world.finish(after)
    await world.store.inbound.accept_event(world.message("/undo"), rules, send_now=False)
    assert rules.view.checkpoints.undoable == 20


async def test_a_checkpoint_lists_every_call_that_may_have_had_an_effect(world: Bench) -> None:
    start = await world.turn("a")
    kinds = [*ResultStatus]
    ids = await world.call(start, *(kind.value for kind in kinds))
    (idle,) = await world.call(start, "idle", effect=Effect.NONE)
    for call_id, kind in [*zip(ids, kinds, strict=True), (idle, ResultStatus.OK)]:
        if kind in {ResultStatus.OK, ResultStatus.ERROR, ResultStatus.UNKNOWN}:
            await world.store.turns.mark_running(start.turn_id, call_id, go)
        await world.store.turns.finish_calls(start.turn_id, [ToolResult(call_id, kind, "")])
    await world.finish(start)
    rules = looking()
    await world.store.inbound.accept_event(world.message("/undo"), rules, send_now=False)
    assert rules.view.checkpoints is not None
    (turn,) = rules.view.checkpoints.newest
    assert [effect.tool for effect in turn.effects] == ["ok", "error", "unknown"]


def looking() -> Rules:
    """A judge that is shown the checkpoints and does nothing."""
    admitted = Admitted(ADA, "config", wants_turn=0)
    return Rules(lambda _event, _identity: admitted, lambda _event, _view: Verdict("looked"))


async def test_a_summary_is_used_while_what_it_covers_is_live(world: Bench) -> None:
    await exchange(world, "a", "b")
    start = await world.turn("c")
    covered = (await world.store.turns.load_turn(start)).entries[1].seq
    kept = await world.store.turns.record_summary(start.turn_id, "about a", covered)
    assert [
        words(one.said)
        for one in (await world.store.turns.load_turn(start)).entries
        if not isinstance(one.said, Note)
    ] == [*("about a", "b", "re: b", "c")]
    assert kept.turn_id == start.turn_id
    await world.finish(start, "re: c")
    await world.rule(UndoTurns(2))
    after = await world.turn("d")
    assert [words(one) for one in await world.said(after) if not isinstance(one, Note)] == ["about a", "d"]
    await world.finish(after, "re: d")
    await world.rule(UndoTurns(2))
    after = await world.turn("e")
    assert [words(one) for one in await world.said(after) if not isinstance(one, Note)] == ["e"]


async def test_a_reset_covers_its_own_turn_and_is_undone_with_it(world: Bench) -> None:
    await exchange(world, "a")
    start = await world.turn("b")
    await world.store.turns.record_summary(start.turn_id, "reset", None)
    assert [words(one.said) for one in (await world.store.turns.load_turn(start)).entries] == ["reset"]
    await world.finish(start, "re: b")
    await world.rule(UndoTurns(1))
    after = await world.turn("c")
    assert [words(one) for one in await world.said(after) if not isinstance(one, Note)] == [*both("a"), "c"]
