"""Jobs in containers in the store: their claims, each request once, and the changes that a person accepts."""

from dataclasses import replace

import pytest

from core.consent.cards import secret_gate
from core.errors import StaleTurn
from core.events import NO_MODELS
from core.gates import Gate, GateKind, Option
from core.job import JobBudget, JobLimits, JobRefused, JobRow, JobState, NewJob
from core.messages import Address, Message, plain
from core.people.notices import Recipient
from core.routine import RunStatus
from core.routines.notices import MAX_AN_HOUR, NoticeThreads, RoutineNotifier
from core.store.container_port import (
    AskedForCredential,
    AskedForMessages,
    CallEnded,
    ContainerEnd,
    Noted,
    OutOfOrder,
    Replied,
    SaidComplete,
    StoredChanges,
    Told,
)
from core.store.effects import CloseGate
from core.store.facets import NoticeAddress
from core.store.routine_rows import RunEnd
from core.store.rows import NewCall
from core.store.sql.job_containers import MAX_ASKED
from core.store.sql.store import SqlStore
from core.store.unattended_port import JobEnd
from core.tool import Effect
from core.transcript import AssistantSaid, Note, ResultStatus, ToolResult
from tests.contracts.store.bench import ADA, BEN, SECOND, Bench
from tests.contracts.store.test_jobs import dispatched, end, started, told
from tests.contracts.store.test_routines import kept
from tests.contracts.store.test_routines import started as run_started

TWO = JobLimits(2, 2)
SUBMITTED = JobEnd(((JobState.COMPLETED, "done"), (JobState.SUBMITTED, "waits")), told, result="done")
CHANGES = StoredChanges("[]", "d1", "+line", "changed a.py")


async def contained(world: Bench, name: str = "job", owner: str = "ada") -> JobRow:
    return await dispatched(world, name, owner, project="app", scope=())


async def begun(world: Bench, limits: JobLimits = TWO) -> list[str]:
    return [one.job.id for one in await world.store.containers.begin_container_jobs(limits)]


async def test_the_host_claims_no_job_of_a_container_and_each_kind_has_its_own_limits(world: Bench) -> None:
    for number in range(3):
        await contained(world, f"c{number}")
        await dispatched(world, f"h{number}")
    assert await started(world, JobLimits(2, 2)) == ["h0", "h1"]
    assert await begun(world) == ["c0", "c1"]
    assert (await started(world, JobLimits(2, 2)), await begun(world)) == ([], [])
    await world.store.jobs.end_job("h0", end())
    assert (await begun(world), await started(world, JobLimits(2, 2))) == ([], ["h2"])
    (c0, c1) = [await world.store.containers.container_row(name) for name in ("c0", "c1")]
    assert c0 is not None
    assert c1 is not None
    assert c0.number != c1.number
    assert await world.store.containers.container_row("h0") is None


async def test_a_repeated_request_has_one_effect_and_gets_the_first_answer(world: Bench) -> None:
    job = await contained(world)
    await begun(world)
    answer = world.store.containers.answer_request
    call = NewCall("call", "shell", "{}", Effect.NONE, 1)
    reply = Replied(AssistantSaid("hm"), (call,), NO_MODELS, '{"calls":1}')
    result = CallEnded(ToolResult("call", ResultStatus.OK, "out"))
    for _ in range(2):
        assert (await answer(job.id, 1, AskedForMessages())).answer == '{"joined":0}'
        assert (await answer(job.id, 2, reply)).answer == '{"calls":1}'
        assert (await answer(job.id, 3, result)).answer == "{}"
        assert (await answer(job.id, 4, Noted("n"))).answer == "{}"
    for seq in (6, 7):
        with pytest.raises(OutOfOrder):
            await answer(job.id, seq, Noted("n"))
    said = (await world.store.journal.run_steps(job.id)).said
    assert [one.kind for one in said] == ["user", "assistant", "call", "result", "note"]
    assert said[-1] == Note("n")
    assert await world.store.containers.answer_to(job.id, 3) == "{}"
    assert await world.store.containers.answer_to(job.id, 5) is None
    row = await world.store.containers.container_row(job.id)
    assert row is not None
    assert (row.last_seq, row.complete) == (4, False)


async def test_a_job_completes_unless_a_message_waits_and_takes_none_afterwards(world: Bench) -> None:
    job = await contained(world)
    await begun(world)
    answer = world.store.containers.answer_request
    await world.store.jobs.tell_job("ada", job.id, "k", "make it green")
    assert (await answer(job.id, 1, SaidComplete())).answer == '{"over":false}'
    assert [one.text for one in (await answer(job.id, 2, AskedForMessages())).joined] == ["make it green"]
    assert (await answer(job.id, 3, SaidComplete())).answer == '{"over":true}'
    with pytest.raises(JobRefused, match="is done; it hears nothing any more"):
        await world.store.jobs.tell_job("ada", job.id, "k2", "and blue")


async def test_a_job_gets_no_answers_after_its_end(world: Bench) -> None:
    job = await contained(world)
    await begun(world)
    containers = world.store.containers
    await containers.arm_container(job.id, "hash")
    call = NewCall("call", "shell", "{}", Effect.NONE, 1)
    await containers.answer_request(job.id, 1, Replied(AssistantSaid(""), (call,), NO_MODELS, "{}"))
    await containers.end_container_job(job.id, ContainerEnd(end(JobState.FAILED)))
    row = await containers.container_row(job.id)
    assert row is not None
    assert row.token_hash is None
    with pytest.raises(StaleTurn):
        await containers.answer_request(job.id, 2, Noted("n"))
    (only,) = (await world.store.journal.run_steps(job.id)).calls
    assert only.state.value == "ended"
    assert await containers.changes_of(job.id) is None


async def test_accepted_changes_make_a_job_accepted_only_once_they_are_settled(world: Bench) -> None:
    job = await contained(world)
    await begun(world)
    containers, jobs = world.store.containers, world.store.jobs
    await containers.end_container_job(job.id, ContainerEnd(SUBMITTED, CHANGES))
    assert await containers.changes_of(job.id) == replace(CHANGES, listed="")
    for problem, state in (("changed since", JobState.SUBMITTED), (None, JobState.ACCEPTED)):
        assert await containers.accepted_changes() == []
        accepted = await jobs.change_job("ada", job.id, JobState.ACCEPTED, "Accepted by Ada", actor="ada")
        assert accepted is not None
        assert accepted.state is JobState.SUBMITTED
        assert await jobs.has_waiting_jobs()
        (one,) = await containers.accepted_changes()
        assert (one.project, one.digest, one.changes) == ("app", "d1", "[]")
        await containers.settle_changes(job.id, problem)
        now = await jobs.job("ada", job.id)
        assert now is not None
        assert now.state is state
        assert now.reason == (problem or "Accepted by Ada")


async def test_beyond_the_hourly_notices_only_waiting_changes_are_announced(world: Bench) -> None:
    await world.store.people.ensure_user("ada", ADA.role, ADA.name)
    routine, sent, run_id, waits = await kept(world), list[str](), "", ""

    async def send(key: str, to: Recipient, message: Message) -> bool:
        sent.append(key)
        return True

    async def nowhere(channel: str, at: Address, title: str, nonce: str) -> Address | None:
        return None

    async def at_no_address(to: Recipient) -> tuple[NoticeAddress, ...]:
        return ()

    threads = NoticeThreads(world.store.run_views, at_no_address, nowhere)
    notifier = RoutineNotifier(world.store.run_views, send, threads, world.clock)
    for number in range(MAX_AN_HOUR + 3):
        if number == MAX_AN_HOUR:
            world.clock.advance(59 * 60)  # the hour is not over
        if number == MAX_AN_HOUR + 2:
            world.clock.advance(2 * 60)
        run_id = await run_started(world, routine, f"event:{number}")
        if number == MAX_AN_HOUR + 1:
            waits = f"routine:{run_id}"
            new = NewJob("job", "ada", "job", "do it", (), JobBudget(), project="app", run_id=run_id)
            await world.store.runs.dispatch_job(run_id, new)
            await begun(world)
            await world.store.containers.end_container_job("job", ContainerEnd(SUBMITTED, CHANGES))
        await world.store.runs.finish_run(run_id, RunEnd(RunStatus.ATTENTION, "done", notice="It is done."))
        await notifier.tell_due()
    assert len(sent) == MAX_AN_HOUR + 2
    assert sent[-2:] == [waits, f"routine:{run_id}"]


async def waiting(world: Bench) -> list[Gate]:
    return [view.gate for view in await world.store.gates.open_gates()]


async def test_a_decision_on_the_gate_of_changes_or_on_the_job_settles_both(world: Bench) -> None:
    assert isinstance(world.store, SqlStore)
    containers, jobs = world.store.containers, world.store.jobs
    outcomes: list[tuple[str, str]] = []
    for name in ("approved", "denied", "accepted", "rejected", "forgotten", "another"):
        job = await contained(world, name)
        await begun(world)
        await containers.end_container_job(job.id, ContainerEnd(SUBMITTED, CHANGES))
        (gate,) = await waiting(world)
        assert (gate.kind, gate.requester_id, gate.rule.named) == (GateKind.CHANGES, "ada", ("ada",))
        assert (gate.binding, gate.detail) == ("d1", "changed a.py")
        if name == "another":  # as if the row of the job were changed by other means than a decision
            await world.store.facet_engine.write(lambda tx: tx.run("UPDATE job_containers SET digest = 'd2'"))
        match name:
            case "accepted" | "rejected":
                to = JobState.ACCEPTED if name == "accepted" else JobState.FAILED
                await jobs.change_job("ada", job.id, to, f"{name} by Ada", actor="ada")
            case "forgotten":
                world.clock.advance(31 * 86_400)
                await world.store.gates.expire_gates(
                    world.clock.now(), lambda _: "no answer", lambda _: plain("late")
                )
            case _:
                answer = Option.DENY if name == "denied" else Option.APPROVE
                await world.rule(CloseGate(gate.id, answer, f"{name} by Ada", plain("done")))
        assert await waiting(world) == []
        accepted = [one.job_id for one in await containers.accepted_changes()]
        if accepted:
            assert accepted == [job.id]
            await containers.settle_changes(job.id, "add.py has changed since")
            (again,) = await waiting(world)
            assert (again.binding, again.detail) == ("d1", "changed a.py")
            assert again.title.endswith("add.py has changed since")
            await world.rule(CloseGate(again.id, Option.APPROVE, f"{name} by Ada", plain("done")))
            await containers.settle_changes(job.id, None)
        now = await jobs.job("ada", job.id)
        assert now is not None
        outcomes.append((now.state.value, now.reason))
    assert outcomes == [
        ("accepted", "approved by Ada"),
        ("failed", "denied by Ada"),
        ("accepted", "accepted by Ada"),
        ("failed", "rejected by Ada"),
        ("failed", "no answer"),
        ("submitted", "waits"),
    ]


async def test_a_secret_is_asked_about_once_and_is_for_that_job_alone(world: Bench) -> None:
    containers = world.store.containers
    await world.store.people.ensure_user(BEN.user_id, BEN.role, BEN.name)
    of_ben = NewJob("of-ben", "ben", "of-ben", "do it", (), JobBudget(), project="app")
    jobs = {name: await contained(world, name) for name in ("approved", "denied", "expired", "ended")}
    jobs["of-ben"] = await world.store.jobs.save_job(of_ben)
    await begun(world, JobLimits(5, 5))
    outcomes: dict[str, tuple[str, bool, tuple[str, ...]]] = {}
    for name, job in jobs.items():
        for _ in range(2):
            gate = secret_gate(job, "key", "", (), world.clock.now(), 60 * SECOND, world.ids)
            await containers.ask_for_credential(gate, plain("card"))
        asked = await waiting(world)
        assert [(one.turn_id, one.rule.named) for one in asked] == [(name, ("ada",))] * (name != "of-ben")
        match name:
            case "approved" | "denied":
                answer = Option.APPROVE if name == "approved" else Option.DENY
                await world.rule(CloseGate(asked[0].id, answer, f"{name} by Ada", plain("done")))
            case "expired":
                late = world.clock.now() + 61 * SECOND
                await world.store.gates.expire_gates(late, lambda _: "no answer", lambda _: plain("late"))
            case _:
                pass
        answered = await containers.answer_request(job.id, 1, AskedForCredential("key"))
        given = await containers.granted_credentials(job.id) == {"key"}
        await containers.end_container_job(job.id, ContainerEnd(end()))
        assert await waiting(world) == []
        now = await world.store.jobs.job(job.owner_id, job.id)
        assert now is not None
        outcomes[name] = (answered.answer, given, now.missing_grants)
    no, wanted = '{"credential":"key","granted":false', ("credential key",)
    assert outcomes == {
        "approved": ('{"credential":"key","granted":true}', True, ()),
        "denied": (f'{no},"denied":true}}', False, ()),
        **dict.fromkeys(("expired", "ended", "of-ben"), (f"{no}}}", False, wanted)),
    }


async def test_a_job_can_request_only_a_few_secrets(world: Bench) -> None:
    job = await contained(world)
    await begun(world)
    for number in range(MAX_ASKED + 1):
        gate = secret_gate(job, f"key-{number}", "", (), world.clock.now(), SECOND, world.ids)
        await world.store.containers.ask_for_credential(gate, plain("card"))
    assert len(await waiting(world)) == MAX_ASKED


async def test_a_reply_to_an_agent_counts_as_a_round_before_the_agent_reports_it(world: Bench) -> None:
    job = await contained(world)
    await begun(world)
    answer = world.store.containers.answer_request
    await answer(job.id, 1, Told('{"text":"what to do"}'))
    await answer(job.id, 2, Told('{"text":"","calls":[{"id":"c"}]}', NO_MODELS, calls=True))
    await answer(
        job.id, 3, Replied(AssistantSaid(""), (NewCall("c", "Bash", "{}", Effect.NONE, 1),), NO_MODELS, "{}")
    )
    await answer(job.id, 4, Told('{"text":"","calls":[{"id":"d"}]}', NO_MODELS, calls=True))
    adopted = await world.store.containers.adopt_container_job(job.id)
    assert adopted is not None
    assert adopted.job.rounds == 2


async def test_the_notice_of_a_routine_offers_the_changes_and_their_outcome_follows(
    world: Bench,
) -> None:
    await world.store.people.ensure_user("ada", ADA.role, ADA.name)
    run_id = await run_started(world, await kept(world))
    new = NewJob("job", "ada", "job", "do it", (), JobBudget(), project="app", run_id=run_id)
    job = await world.store.runs.dispatch_job(run_id, new)
    await begun(world)
    await world.store.containers.end_container_job(job.id, ContainerEnd(SUBMITTED, CHANGES))
    notice = RunEnd(RunStatus.ATTENTION, "done", notice="It is done.", menu_id="menu")
    assert await world.store.runs.finish_run(run_id, notice)
    (due,) = await world.store.run_views.due_notices(world.clock.now())
    assert due.changes
    (row,) = await world.store.notices.add_notice(
        f"routine:{run_id}", plain("It is done."), [NoticeAddress("telegram", Address("7"))]
    )
    await world.store.jobs.change_job("ada", job.id, JobState.ACCEPTED, "Accepted by Ada", actor="ada")
    (told_of,) = await world.store.containers.settle_changes(job.id, None)
    assert (told_of.channel, told_of.address) == (row.channel, row.address)
