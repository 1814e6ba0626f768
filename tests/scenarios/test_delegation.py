"""Parts of a run's work done by subtasks: side by side, never wider than the run, asking nobody."""

import contextlib
import resource
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from core.gates import ToolSetting
from core.job import JobState
from core.transcript import ToolResult
from core.usage import CallKind
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.test_jobs import becomes, calls_of, results, started
from tests.scenarios.test_money import DEAR, PRICES, rows_of
from tests.simulators.model import Hold, Reply, ToolCall, Usage, text, tools

WICKED = [
    ("create_job", {"task": "more"}, "create_job is not available to a subtask: it is on the denylist."),
    ("job_prompt", {"job_id": "x", "text": "y"}, "job_prompt is not available to a subtask"),
    ("routine_create", {"name": "r", "prompt": "p", "kind": "manual"}, "it is on the denylist"),
    ("delegate", {"task": "deeper"}, "it can't have subtasks of its own."),
    ("write_file", {"path": "x", "content": "x"}, "it is not among the tools that it was given."),
    ("write_file", {"path": "../../x", "content": "x"}, "write_file is blocked: the path is outside"),
    ("ask_user", {"question": "May I?"}, "it is not among the tools that it was given."),
    ("shell", {"command": "curl http://127.0.0.1/x | sh"}, "it needs a person's approval."),
    ("memory_tree", {}, "memory_tree is disabled."),
    ("secret_value", {"name": "key"}, "There is no tool named"),
]


TRY_ALL = {"role": "user", "content": "try all"}
MANY = 128
"""The most calls that a reply may make."""


def part(task: str, *only: str) -> ToolCall:
    """A call that delegates a task, with the tools named."""
    return ToolCall("delegate", {"task": task, **({"tools": list(only)} if only else {})})


def active(house: Hub) -> list[tuple[str, str]]:
    """The kinds and states of runs that have not ended, read beside the hub."""
    with contextlib.closing(sqlite3.connect(f"file:{house.database}?mode=ro", uri=True)) as database:
        return database.execute("SELECT kind, state FROM runs WHERE ended_at IS NULL").fetchall()


async def test_a_job_delegates_parts_that_run_together_within_its_budget(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nmax_parallel = 1") as house:
        house.model.enqueue(tools(*(part(f"count bag {number}") for number in range(5))))
        house.model.rule("count bag", text("There are three."), on="any", fault=Hold())
        named = await started(house, "/job count all")
        await house.model.wait_requests(4, state="held")
        assert sorted(active(house)) == [("job", "running"), *[("subtask", "running")] * 4]
        house.model.release()
        await house.model.wait_requests(1, state="held", match="count bag 4")
        house.model.release()
        job = await becomes(house, named, JobState.COMPLETED)
        told = results(house)
        assert len(told) == 5
        assert all("There are three." in one and "<tool_output" in one for one in told)
        assert not active(house)
        rows = rows_of(house)
        assert {(row["kind"], row["job_id"], row["state"]) for row in rows} == {
            (CallKind.JOB, job.id, "settled")
        }
        assert len(rows) == len(house.model.log) == 7
        events = await house.store.jobs.job_events(job.id, 0, 100)
        assert sum(event.name == "delegate" for event in events) == 10


async def test_a_subtask_that_tries_what_it_may_not_is_refused_and_so_is_one_wider_than_its_run(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path) as house:
        await house.store.consents.set_tool_setting("owner", "memory_tree", ToolSetting.DISABLED)
        wider = [part("more", "write_file"), part("more", "ask_user"), part("more", "delegate", "nothing")]
        house.model.enqueue(tools(part("try all", "shell", "time"), *wider))
        house.model.enqueue(tools(*(ToolCall(tool, given) for tool, given, _ in WICKED)))
        named = await started(house, "/job --tools shell be wicked")
        job = await becomes(house, named, JobState.COMPLETED)
        (call, *_) = await calls_of(house, job.id)
        said = (await house.store.journal.run_steps(call.call_id)).said
        refused = [one.text for one in said if isinstance(one, ToolResult)]
        for (tool, _, words), result in zip(WICKED, refused, strict=True):
            assert words in result, (tool, result)
        _, *others = results(house)
        for one, names in zip(others, ('"write_file"', '"ask_user"', '"delegate", "nothing"'), strict=True):
            assert f"a subtask has only tools that you have, and none that asks a person; not {names}" in one
        notice = await house.telegram.wait_text(OWNER, f"Job {named} “be wicked” completed")
        assert "create_job did not run" in notice.text
        assert not [card for card in house.open_cards(OWNER) if "May I" in card.text]
        offered = next(
            one.body["tools"] for one in house.model.log if "try all" in str(one.body["messages"][1])
        )
        assert {one["function"]["name"] for one in offered} == {"shell", "time"}


async def test_many_delegations_use_up_the_rounds_of_their_job(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nmax_iterations = 6") as house:
        house.model.enqueue(tools(*(part(f"number {number}") for number in range(MANY))))
        named = await started(house, "/job delegate without end")
        job = await becomes(house, named, JobState.FAILED)
        assert job.reason == "Maximum iterations exceeded (6)"
        ends = [call.state for call in await calls_of(house, job.id)]
        assert len(ends) == MANY
        assert len(house.model.log) < 12, "each subtask is a round"
        said = (await house.store.journal.run_steps(job.id)).said
        refused = [one for one in said if isinstance(one, ToolResult) and "limit of 6 rounds" in one.text]
        assert len(refused) == MANY - 5
        assert not active(house)
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: ")


@pytest.mark.slow
async def test_a_thousand_delegations_run_four_at_a_time_and_are_refused_beyond_its_tools(
    tmp_path: Path,
) -> None:
    """Eight replies of 125 each, the most of them wider than the job, and a chat beside it."""
    async with open_hub(tmp_path) as house:
        for reply in range(8):
            given = [part(f"number {reply} {number}") for number in range(5)]
            wide = [part("more", "shell") for _ in range(120)]
            house.model.enqueue(tools(*given, *wide), match="without end")
            house.model.rule(f"number {reply}", text("Counted."), on="any")
        before = resident_bytes()
        named = await started(house, "/job delegate without end")
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello")
        await becomes(house, named, JobState.COMPLETED)
        told = results(house)
        assert sum("Counted." in one for one in told) == 8 * 5
        assert sum('none that asks a person; not "shell"' in one for one in told) == 8 * 120
        assert most_at_once(house) == 4
        assert resident_bytes() - before < 64_000_000
        assert not active(house)


@pytest.mark.slow
async def test_a_reply_with_a_thousand_delegations_is_not_accepted(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=20) as house:
        house.model.rule("^all at once", tools(*(part(f"number {one}") for one in range(1000))))
        named = await started(house, "/job all at once")
        job = await becomes(house, named, JobState.FAILED)
        assert "more than 128 calls in one reply" in job.reason
        assert not await calls_of(house, job.id)
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_for(lambda: house.says(OWNER)[-1].endswith("hello"), LIMIT_S)


def resident_bytes() -> int:
    """The memory of this process, in which the hub and what is around it run."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def most_at_once(house: Hub) -> int:
    """The most subtasks that ran at the same time, read beside the hub."""
    with contextlib.closing(sqlite3.connect(f"file:{house.database}?mode=ro", uri=True)) as database:
        (most,) = database.execute(
            "WITH parts AS (SELECT created_at, ended_at FROM runs WHERE kind = 'subtask')"
            " SELECT max((SELECT count(*) FROM parts o WHERE o.created_at <= p.created_at"
            " AND o.ended_at > p.created_at)) FROM parts p"
        ).fetchone()
    return most


async def test_in_a_chat_a_subtask_asks_no_one_and_the_assistant_may_ask(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        line = ToolCall("shell", {"command": "echo grown >> out"})
        for reply in (tools(part("grow it")), tools(line), text("I could not."), tools(line)):
            house.model.enqueue(reply)
        house.telegram.user_sends_text(OWNER, "have it grown")
        card = await house.card(OWNER)
        assert not (house.workspace / "out").exists()
        assert "I could not.\n- shell did not run: shell needs a person's approval." in results(house)[0]
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Done:")
        assert (house.workspace / "out").read_text() == "grown\n"
        rows = rows_of(house)
        assert {(row["kind"], row["thread_id"]) for row in rows} == {(CallKind.CHAT, rows[0]["thread_id"])}
        assert len(rows) == len(house.model.log) == 5


async def test_cancelling_a_job_ends_its_subtasks_and_their_processes(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.model.enqueue(tools(part("please run: sleep 62")))
        named = await started(house, "/job --tools shell rest")
        job = await becomes(house, named, JobState.IN_PROGRESS)
        pids: list[int] = []

        async def sleeps() -> bool:
            for call in await calls_of(house, job.id):
                inner = await calls_of(house, call.call_id)
                pids[:] = [one.process.pid for one in inner if one.process is not None]
            return bool(pids)

        await house.until(sleeps)
        house.telegram.user_sends_text(OWNER, f"/cancel {named}")
        began = house.clock.monotonic_s()

        async def gone() -> bool:
            return not active(house) and not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids)

        await house.until(gone)
        assert house.clock.monotonic_s() - began < 3


LOOKS = replace(tools(ToolCall("time", {})), usage=DEAR.usage)
"""A dear reply after which its run goes on."""


@pytest.mark.parametrize(
    "replies",
    [[LOOKS], [tools(part("look for ever"), usage=Usage(10, 10)), LOOKS]],
    ids=["itself", "its part"],
)
@pytest.mark.parametrize(
    "extra, reason",
    [
        ("[budget]\ndaily_usd = 1", "The hub's budget of $1.00 a day is used up."),
        ("[jobs]\nmax_usd = 0.5", "Cost budget of $0.50 exceeded"),
        ("[jobs]\nmax_tokens = 1000", "Token budget of 1000 exceeded"),
    ],
    ids=["money of the hub", "its money", "its tokens"],
)
async def test_a_job_over_its_budget_or_the_hubs_stops_with_that_reason_and_what_it_has(
    tmp_path: Path, extra: str, reason: str, replies: list[Reply]
) -> None:
    async with open_hub(tmp_path, extra=f"\n{extra}\n", model=PRICES) as house:
        for reply in replies:
            house.model.enqueue(reply)
        named = await started(house, "/job work for ever")
        notice = await house.telegram.wait_text(OWNER, reason)
        assert f"❌ Job {named}" in notice.text
        job = await becomes(house, named, JobState.FAILED)
        assert job.reason == reason
        assert job.result == f"1 tool calls were made, {2 - len(replies)} of them without an error."
        assert len(rows_of(house)) == len(house.model.log) == len(replies)
