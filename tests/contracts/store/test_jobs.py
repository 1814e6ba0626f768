"""Jobs in the store: the table of their states, fairness of starts, messages, cancelling and takeover."""

from dataclasses import replace

import pytest

from core.errors import IllegalChange, StaleTurn
from core.events import NO_MODELS, RunKind
from core.gates import Grant, GrantScope
from core.job import (
    MAX_QUEUED_EACH,
    JobBudget,
    JobLimits,
    JobRefused,
    JobRow,
    JobState,
    NewJob,
)
from core.jobs.worker import left_of
from core.messages import Choice, Message, Plain, plain
from core.runs.metering import OwnBudgetUsedUp
from core.store.effects import RecordGrant
from core.store.lease import LeaseTerms
from core.store.routine_rows import RunSteps
from core.store.rows import CallState, NewCall
from core.store.unattended_port import JobEnd
from core.tool import Effect
from core.transcript import AssistantSaid, Note, ResultStatus, ToolResult, UserSaid
from core.usage import CallEnd, CallKind, Payer, Reservation, Usage
from core.users import Role
from tests.contracts.store.bench import SECOND, Bench
from tests.core.runs.models_bench import unrecorded

ONE = JobLimits(1, 1)
LEGAL = {
    (JobState(before), JobState(after))
    for before, afters in {
        "pending": "in_progress failed cancelled",
        "in_progress": "completed failed stuck cancelled",
        "completed": "submitted failed",
        "submitted": "accepted failed",
        "stuck": "in_progress failed cancelled",
    }.items()
    for after in afters.split()
}
PATHS: dict[JobState, tuple[JobState, ...]] = {
    JobState.PENDING: (),
    JobState.IN_PROGRESS: (JobState.IN_PROGRESS,),
    JobState.COMPLETED: (JobState.IN_PROGRESS, JobState.COMPLETED),
    JobState.SUBMITTED: (JobState.IN_PROGRESS, JobState.COMPLETED, JobState.SUBMITTED),
    JobState.ACCEPTED: (JobState.IN_PROGRESS, JobState.COMPLETED, JobState.SUBMITTED, JobState.ACCEPTED),
    JobState.FAILED: (JobState.FAILED,),
    JobState.STUCK: (JobState.IN_PROGRESS, JobState.STUCK),
    JobState.CANCELLED: (JobState.CANCELLED,),
}


def told(job: JobRow, steps: RunSteps, menu_id: str) -> tuple[Message, str]:
    return plain(f"{job.short_id} {job.state}"), "note"


def end(state: JobState = JobState.COMPLETED, *, hears: bool = False) -> JobEnd:
    answer = AssistantSaid("done") if hears else None
    return JobEnd(((state, "so"),), told, answer=answer, result="done", hears=hears)


async def dispatched(world: Bench, name: str = "job", owner: str = "ada", **fields: object) -> JobRow:
    await world.store.people.ensure_user(owner, Role.OWNER, owner)
    new = NewJob(name, owner, name, f"do {name}", ("time",), JobBudget())
    return await world.store.jobs.save_job(replace(new, **fields))


async def called_twice(world: Bench, job_id: str) -> None:
    """A job has called its model, which counted that, and waits for the answer to another call."""
    first, second = (Reservation(world.ids.row_id(), "main", "test", 1, 100, 60) for _ in range(2))
    payer, usage = Payer(CallKind.JOB, job_id, "ada"), Usage(3, 4, cost_micro_usd=5)
    assert await world.store.usage.reserve_call(payer, first) is None
    assert await world.store.usage.reserve_call(payer, second, [CallEnd(first.id, 100, 60, usage)]) is None


async def started(world: Bench, limits: JobLimits) -> list[str]:
    return [one.job.id for one in await world.store.jobs.begin_jobs(limits)]


async def test_every_pair_of_states_is_a_recorded_change_or_changes_nothing(world: Bench) -> None:
    jobs = world.store.jobs
    for number, (before, path) in enumerate(PATHS.items()):
        for after in JobState:
            job = await dispatched(world, f"{number}-{after.value}", f"person {number} {after.value}")
            for step in path:
                await jobs.change_job(job.owner_id, job.id, step, "there", actor=None)
            events = await jobs.job_events(job.id, 0, 100)
            if (before, after) in LEGAL:
                changed = await jobs.change_job(job.owner_id, job.id, after, "why", actor="ada")
                assert changed is not None
                assert changed.state is after
                (last,) = await jobs.job_events(job.id, events[-1].seq, 100)
                assert (last.name, last.text, last.detail) == (after.value, "why", "ada")
            elif before is after is JobState.COMPLETED:
                await jobs.change_job(job.owner_id, job.id, after, "again", actor="ada")
                assert await jobs.job_events(job.id, 0, 100) == events
            else:
                with pytest.raises(IllegalChange, match=f"Cannot transition from {before} to {after}"):
                    await jobs.change_job(job.owner_id, job.id, after, "no", actor="ada")
                assert await jobs.job_events(job.id, 0, 100) == events
            now = await jobs.job(job.owner_id, job.id)
            assert now is not None
            assert now.state is (after if (before, after) in LEGAL else before)
            repaired = (before, after) == (JobState.STUCK, JobState.IN_PROGRESS)
            assert now.repair_attempts == (1 if repaired else 0)


async def test_people_take_turns_and_no_one_exceeds_the_limits(world: Bench) -> None:
    for number in range(4):
        await dispatched(world, f"a{number}", "ada", priority=number)
    await dispatched(world, "b0", "bob")
    assert await started(world, JobLimits(3, 2)) == ["a3", "b0", "a2"]
    assert await started(world, JobLimits(3, 2)) == []
    assert await started(world, JobLimits(9, 2)) == []  # ada has her two, and bob has no more
    await world.store.jobs.end_job("a3", end())
    assert await started(world, JobLimits(9, 2)) == ["a1"]


async def test_with_one_slot_people_alternate_however_many_jobs_one_of_them_starts(world: Bench) -> None:
    for number in range(4):
        await dispatched(world, f"a{number}", "ada")
    for number in range(2):
        await dispatched(world, f"b{number}", "bob")
    order: list[str] = []
    while begun := await started(world, ONE):
        order += begun
        world.clock.advance(1)
        await world.store.jobs.end_job(begun[0], end())
    assert order == ["a0", "b0", "a1", "b1", "a2", "a3"]


async def test_a_key_is_dispatched_once_and_short_ids_are_unique_within_their_owner(world: Bench) -> None:
    first = await dispatched(world, "one")
    again = await world.store.jobs.save_job(NewJob("other", "ada", "one", "do it", ()))
    assert again == first
    bens = await dispatched(world, "bens", "ben", key="one")
    assert (bens.id, bens.owner_id) == ("bens", "ben"), "another person's key is another key"
    short = {(await dispatched(world, f"n{number}")).short_id for number in range(20)}
    assert len(short | {first.short_id}) == 21


async def test_too_many_waiting_jobs_are_refused(world: Bench) -> None:
    for number in range(MAX_QUEUED_EACH):
        await dispatched(world, f"n{number}")
    with pytest.raises(JobRefused, match=f"{MAX_QUEUED_EACH} of your jobs are waiting already"):
        await dispatched(world, "more")
    assert (await dispatched(world, "other", "bob")).state is JobState.PENDING


async def test_the_job_of_another_person_is_not_found(world: Bench) -> None:
    job = await dispatched(world)
    await dispatched(world, "mine", "bob")
    jobs = world.store.jobs
    for named in (job.id, job.short_id):
        assert await jobs.job("bob", named) is None
        assert await jobs.tell_job("bob", named, "k", "hello") is None
        assert await jobs.change_job("bob", named, JobState.CANCELLED, "", actor="bob") is None


async def test_messages_join_once_in_order_and_a_late_one_keeps_the_job_running(world: Bench) -> None:
    job = await dispatched(world)
    jobs = world.store.jobs
    await jobs.tell_job("ada", job.id, "k1", "one")
    await started(world, ONE)
    for key, text in (("k2", "two"), ("k2", "two again")):
        await jobs.tell_job("ada", job.short_id, key, text)
    assert [one.text for one in await jobs.join_job_messages(job.id)] == ["one", "two"]
    assert await jobs.join_job_messages(job.id) == ()
    await jobs.tell_job("ada", job.id, "k3", "three")
    assert (await jobs.end_job(job.id, end(hears=True))).heard
    again = await jobs.job("ada", job.id)
    assert again is not None
    assert again.state is JobState.IN_PROGRESS
    assert [one.text for one in await jobs.join_job_messages(job.id)] == ["three"]
    assert not (await jobs.end_job(job.id, end(hears=True))).heard
    said = [getattr(one, "text", "") for one in (await world.store.journal.run_steps(job.id)).said]
    assert said == ["do job", "one", "two", "done", "three", "done"]
    with pytest.raises(JobRefused, match="completed; it hears nothing"):
        await jobs.tell_job("ada", job.id, "k4", "four")


async def test_a_cancelled_job_keeps_its_slot_until_its_run_has_ended(world: Bench) -> None:
    job, other = await dispatched(world), await dispatched(world, "other")
    jobs = world.store.jobs
    assert await started(world, ONE) == [job.id]
    await jobs.change_job("ada", job.id, JobState.CANCELLED, "Cancelled", actor="ada")
    assert await jobs.stopped_jobs([job.id, other.id]) == [job.id]
    assert await started(world, ONE) == []
    assert (await jobs.end_job(job.id, end())).outbox == ()
    assert await started(world, ONE) == [other.id]
    now = await jobs.job("ada", job.id)
    assert now is not None
    assert (now.state, now.result) == (JobState.CANCELLED, None)
    with pytest.raises(StaleTurn):
        await world.store.turns.record_notes(job.id, [])


async def test_an_interrupted_job_is_taken_over_and_a_cancelled_one_is_closed(world: Bench) -> None:
    job, other = await dispatched(world), await dispatched(world, "other")
    jobs = world.store.jobs
    await dispatched(world, "gone")
    await jobs.change_job("ada", "gone", JobState.CANCELLED, "Cancelled", actor="ada")
    assert await started(world, JobLimits()) == [job.id, other.id], (
        "cancelled before its start, it never runs"
    )
    await jobs.tell_job("ada", job.id, "k", "hear me")
    await called_twice(world, job.id)
    await jobs.change_job("ada", other.id, JobState.CANCELLED, "Cancelled", actor="ada")
    await world.store.leases.take_lease(LeaseTerms("host", 30 * SECOND, alone=True))
    found = await world.store.recovery.recover()
    assert [(run.run_id, run.kind) for run in found.runs] == [(job.id, RunKind.JOB)]
    resumed = await world.store.jobs.resume_job(job.id)
    assert resumed is not None
    row = resumed.job
    assert row.state is JobState.IN_PROGRESS
    assert (row.input_tokens, row.output_tokens, row.cost_micro_usd) == (3, 4, 65)
    used = (resumed.used_tokens, resumed.used_micro_usd)
    assert used == (107, 65), "a call without an answer counts with what was reserved for it"
    for budget in (
        JobBudget(tokens=107),
        JobBudget(micro_usd=65),
        JobBudget(day_tokens=107),
        JobBudget(day_micro_usd=65),
    ):
        going_on = replace(resumed, job=replace(row, budget=budget))
        meter = unrecorded().run(Payer(CallKind.JOB, job.id, "ada"))
        with pytest.raises(OwnBudgetUsedUp):
            [limit.reserve(1) for limit in left_of(going_on, meter)]
    assert [one.text for one in await world.store.jobs.join_job_messages(job.id)] == ["hear me"]
    assert await world.store.jobs.resume_job(other.id) is None


async def test_the_end_of_a_job_is_reported_in_the_conversation_and_noted_for_its_model(world: Bench) -> None:
    thread = (await world.turn("hello")).thread.id
    job = await dispatched(world, thread_id=thread)
    await started(world, ONE)
    ended = await world.store.jobs.end_job(job.id, end())
    assert [row.message for row in ended.outbox] == [plain(f"{job.short_id} completed")]
    assert (await world.store.jobs.end_job(job.id, end())).outbox == ()
    *_, last = await world.store.threads.entries(thread, 100)
    assert last.said == Note("note")


async def delegated(world: Bench, job_id: str) -> None:
    """A job delegates a part, whose subtask is in the middle of a call."""
    await dispatched(world, job_id, job_id)
    assert await started(world, JobLimits(5, 1)) == [job_id]
    for run_id, call_id, effect in ((job_id, "part", Effect.IDEMPOTENT), ("part", "inner", Effect.EFFECT)):
        if run_id == "part":
            begun = await world.store.journal.begin_subtask("part", UserSaid("some of it"))
            assert (begun.answer, begun.steps.said) == (None, (UserSaid("some of it"),))
        call = NewCall(call_id, "some", "{}", effect, 1)
        await world.store.turns.record_reply_and_intents(run_id, AssistantSaid(""), [call])
    assert await world.store.turns.mark_running("part", "inner", lambda *_: None) is None


async def test_a_subtask_resumes_where_it_was_and_ends_once(world: Bench) -> None:
    journal = world.store.journal
    await delegated(world, "job")
    again = await journal.begin_subtask("part", UserSaid("some of it"))
    last = again.steps.said[-1]
    assert isinstance(last, ToolResult)
    assert (last.call_id, last.status) == ("inner", ResultStatus.UNKNOWN)
    await journal.end_subtask("part", AssistantSaid("found"), NO_MODELS)
    assert (await journal.begin_subtask("part", UserSaid("some of it"))).answer == "found"
    assert (await journal.run_steps("job")).subtask_rounds == 2, "the subtask and its round"
    await world.store.turns.finish_calls("job", [ToolResult("part", ResultStatus.OK, "found")])
    with pytest.raises(StaleTurn):
        await journal.begin_subtask("part", UserSaid("some of it"))


@pytest.mark.parametrize("by", ["its job's end", "its call's outcome"])
async def test_a_subtask_ends_with_its_call(world: Bench, by: str) -> None:
    await delegated(world, "job")
    if by == "its job's end":
        await world.store.jobs.end_job("job", end())
    else:
        await world.store.turns.finish_calls("job", [ToolResult("part", ResultStatus.ERROR, "too late")])
    with pytest.raises(StaleTurn):
        await world.store.journal.end_subtask("part", AssistantSaid("found"), NO_MODELS)
    (inner,) = (await world.store.journal.run_steps("part")).calls
    assert inner.state is CallState.ENDED


async def test_an_end_in_quiet_hours_is_reported_once_when_they_are_over(world: Bench) -> None:
    thread = (await world.turn("hello")).thread.id
    assert await world.store.people.set_preferences("ada", lambda was: replace(was, timezone="Asia/Tokyo"))
    monitors, until, zones = world.store.job_monitors, world.clock.now() + 60 * SECOND, list[str | None]()

    def at(zone: str | None) -> int:
        zones.append(zone)
        return until

    job = await dispatched(world, thread_id=thread)
    await started(world, ONE)
    held = replace(end(JobState.COMPLETED), told_at=at)
    assert (await world.store.jobs.end_job(job.id, held)).outbox == ()
    assert zones == ["Asia/Tokyo"]
    *_, last = await world.store.threads.entries(thread, 100)
    assert last.said == Note("note"), "the conversation's model knows it at once"
    assert await monitors.next_job_notice() == until
    assert await world.store.jobs.has_waiting_jobs()
    assert await monitors.send_job_notices(until - 1) == []
    (sent,) = await monitors.send_job_notices(until)
    assert sent.message == plain(f"{job.short_id} completed")
    assert await monitors.send_job_notices(until) == []
    assert await monitors.next_job_notice() is None


async def test_a_delayed_report_has_no_buttons_once_its_job_was_decided_and_is_deleted_with_its_thread(
    world: Bench,
) -> None:
    turn, until = await world.turn("hello"), world.clock.now() + 60 * SECOND
    thread = turn.thread.id

    def asks(job: JobRow, steps: RunSteps, menu_id: str) -> tuple[Message, str]:
        return Message((Plain("done"),), (Choice("Accept"),), menu_id), "note"

    async def submitted(name: str) -> None:
        job = await dispatched(world, name, thread_id=thread)
        await started(world, ONE)
        path = ((JobState.COMPLETED, "so"), (JobState.SUBMITTED, "so"))
        await world.store.jobs.end_job(job.id, JobEnd(path, asks, told_at=lambda _: until))

    await submitted("judged")
    await submitted("waiting")
    await world.store.jobs.change_job("ada", "judged", JobState.ACCEPTED, "so", actor="ada")
    sent = await world.store.job_monitors.send_job_notices(until)
    assert [len(row.message.choices) for row in sent] == [0, 1]
    await submitted("deleted")
    await world.finish(turn)
    await world.store.threads.delete_thread(thread, "ada")
    assert await world.store.job_monitors.next_job_notice() is None


async def test_a_stuck_job_is_restarted_up_to_its_limit_and_its_usage_stays_counted(world: Bench) -> None:
    store, path = world.store, ((JobState.STUCK, "silent"), (JobState.FAILED, "silent for good"))
    await dispatched(world)
    assert await started(world, ONE) == ["job"]
    await called_twice(world, "job")
    used = (await store.jobs.jobs("ada", 1))[0].input_tokens
    stuck = JobEnd(path, told, result="so far")
    for nth in range(1, 4):
        call = NewCall(f"call{nth}", "some", "{}", Effect.EFFECT, nth)
        await store.turns.record_reply_and_intents("job", AssistantSaid(""), [call])
        assert await store.turns.mark_running("job", call.call_id, lambda *_: None) is None
        world.clock.advance(100)
        again = (await store.jobs.repair_job("job", stuck, 3)).again
        assert again is not None
        assert (again.job.state, again.job.repair_attempts) == (JobState.IN_PROGRESS, nth)
        assert again.spent_us == nth * 100 * SECOND
        assert again.used_tokens >= used > 0
        last = again.steps.said[-1]
        assert isinstance(last, ToolResult)
        assert (last.call_id, last.status) == (call.call_id, ResultStatus.UNKNOWN)
    assert (await store.jobs.repair_job("job", stuck, 3)).again is None
    (job,) = await store.jobs.jobs("ada", 1)
    assert (job.state, job.reason, job.result) == (JobState.FAILED, "silent for good", "so far")
    assert job.repair_attempts == 3
    assert (await store.jobs.repair_job("job", stuck, 3)).again is None, "it has ended"


async def test_a_job_that_was_cancelled_while_it_was_stuck_is_not_restarted(world: Bench) -> None:
    await dispatched(world)
    assert await started(world, ONE) == ["job"]
    await world.store.jobs.change_job("ada", "job", JobState.CANCELLED, "so", actor="ada")
    stuck = JobEnd(((JobState.STUCK, "silent"), (JobState.FAILED, "silent")), told)
    assert (await world.store.jobs.repair_job("job", stuck, 3)).again is None
    assert (await world.store.jobs.jobs("ada", 1))[0].state is JobState.CANCELLED


async def test_a_job_has_the_grants_given_to_it_while_they_hold(world: Bench) -> None:
    """None of another job or person, none whose time is over, and none for a whole tool."""
    await world.store.people.ensure_user("ben", Role.OWNER, "ben")
    for name in ("job", "other"):
        await dispatched(world, name)
    now = world.clock.now()
    given: dict[str | None, tuple[str, str, int | None]] = {
        "ls": ("job", "ada", None),
        "pwd": ("other", "ada", None),
        "id": ("job", "ben", None),
        "who": ("job", "ada", now),
        None: ("job", "ada", None),
    }
    for pattern, (job_id, user_id, until) in given.items():
        grant = Grant(f"g {pattern}", user_id, "shell", pattern, GrantScope.THREAD, job_id, "ada", 1, until)
        await world.rule(RecordGrant(grant))
    assert (await world.store.journal.run_standing("job", "ada", None)).own == {("shell", "ls")}


async def test_failures_of_a_tool_in_a_row_are_counted_until_a_success_or_a_reset(world: Bench) -> None:
    store, numbers = world.store, iter(range(1000))
    await dispatched(world)
    assert await started(world, ONE) == ["job"]

    async def ends(
        status: ResultStatus, fault: str = "", *, unattended: bool = True, tool: str = "some"
    ) -> tuple[int, bool]:
        call_id = f"call{next(numbers)}"
        call = NewCall(call_id, tool, "{}", Effect.NONE, 1)
        await store.turns.record_reply_and_intents("job", AssistantSaid(""), [call])
        result = ToolResult(call_id, status, "said", fault=fault)
        await store.turns.finish_calls("job", [result], started_at=1, unattended=unattended)
        found = {one.tool: one for one in await store.tool_failures.failing_tools()}.get("some")
        return (0, False) if found is None else (found.failures, found.left_out_at is not None)

    for expected in range(1, 5):
        assert await ends(ResultStatus.ERROR, "broken") == (expected, False)
    # These say nothing of the tool.
    assert await ends(ResultStatus.DENIED) == (4, False)
    assert await ends(ResultStatus.ERROR) == (4, False)
    assert await ends(ResultStatus.ERROR, "broken", unattended=False) == (4, False)
    assert await ends(ResultStatus.OK, tool="another") == (4, False)
    assert await ends(ResultStatus.ERROR, "broken", tool="another") == (4, False)
    assert await ends(ResultStatus.OK) == (0, False)
    for expected in range(1, 6):
        assert await ends(ResultStatus.ERROR, "broken") == (expected, expected == 5)
    assert (await store.journal.run_standing("run", "ada", None)).left_out == {"some"}
    # What is left out stays so until somebody resets it.
    assert await ends(ResultStatus.OK) == (5, True)
    assert await store.tool_failures.reset_tool("some", "ada")
    assert not await store.tool_failures.reset_tool("some", "ada")
    assert (await store.journal.run_standing("run", "ada", None)).left_out == frozenset()
    assert [one.tool for one in await store.tool_failures.failing_tools()] == ["another"]
