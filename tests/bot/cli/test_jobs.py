"""`hubbub jobs` and `/api/jobs`: one person's jobs, beside a running hub and without one."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from core.job import JobState
from tests.bot.cli.in_process import command
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.test_jobs import becomes
from tests.simulators.model import Hold, HttpError, ToolCall, text, tools
from tests.tree import ROOT


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    extra = '[roles.member]\ntools = ["time", "create_job", "list_jobs"]'
    prices = "input_usd_per_million = 1\noutput_usd_per_million = 2\n"
    async with open_hub(tmp_path, extra=extra, model=prices) as opened:
        yield opened


async def said(house: Hub, *words: str) -> tuple[int, str]:
    done = await asyncio.to_thread(command, house.directory, *words)
    return done.code, done.out + done.err


async def page(house: Hub, *words: str) -> Any:
    code, out = await said(house, *words, "--json")
    assert code == 0, out
    return json.loads(out)


LOADED = (
    "import sys; from bot.cli import commands\n"
    "try: commands.app()\n"
    "finally: print(*sys.modules, file=sys.stderr)\n"
)


async def modules_of(directory: Path, *words: str, **variables: str) -> list[str]:
    """Return the modules that a command loads, in an interpreter of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LOADED, *words),
        cwd=directory,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), **variables},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    assert process.returncode == 0
    return told.decode().split()


@pytest.mark.parametrize("words", ["jobs list", "usage", "tools list", "chat --json"])
async def test_commands_through_the_running_hub_do_not_load_the_configuration(house: Hub, words: str) -> None:
    loaded = await modules_of(house.directory, *words.split(), HUBBUB__LOG__LEVEL="none there is")
    assert "bot.config.place" in loaded
    assert {"bot.config.schema", "bot.config.load", "httpx"} & set(loaded) == set()


async def test_the_result_of_a_job_reaches_a_person_who_never_wrote(house: Hub) -> None:
    async with client(house.directory) as api:
        _, job = await api.ask("POST", "/api/jobs", {"task": "say it"})
        await becomes(house, job["short_id"], JobState.COMPLETED)
        (thread,) = (await api.get("/api/threads"))["threads"]
        assert (thread["channel"], thread["title"]) == ("web", "Notices")
        lines = (await api.get(f"/api/threads/{thread['id']}"))["items"]
        assert any(f"Job {job['short_id']}" in one["text"] and "You said" in one["text"] for one in lines)


async def test_jobs_are_started_shown_messaged_cancelled_and_restarted(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    async with client(house.directory) as api:
        house.model.fault(Hold())
        body = {"task": "look around", "tools": ["list_dir"], "key": "once"}
        _, job = await api.ask("POST", "/api/jobs", body)
        _, again = await api.ask("POST", "/api/jobs", body)
        assert again["id"] == job["id"]
        named = job["short_id"]
        await house.model.wait_requests(state="held")
        assert [one["short_id"] for one in await page(house, "jobs", "list", "--working")] == [named]
        assert (await said(house, "jobs", "prompt", named, "twice"))[
            1
        ] == f"{named} in_progress: look around\n"
        assert (await page(house, "jobs", "cancel", named))["state"] == "cancelled"
        house.model.release()
        code, out = await said(house, "jobs", "cancel", named)
        assert (code, out) == (1, f"Job {named} is cancelled; there is nothing to cancel.\n")
        again = await page(house, "jobs", "restart", named)
        assert (again["parent"], again["task"], "list_dir" in again["tools"]) == (
            job["id"],
            "look around",
            True,
        )
        await becomes(house, again["short_id"], JobState.COMPLETED)
        asked = str(house.model.log[-1].body["messages"])
        assert "An earlier attempt at this ended as cancelled" in asked
        assert "Cancelled by owner" in asked
        code, out = await said(house, "jobs", "events", again["short_id"], "--follow")
        assert "status completed: Completed" in out
        events = await page(house, "jobs", "events", again["short_id"])
        rest = await page(house, "jobs", "events", again["short_id"], "--after", str(events[1]["seq"]))
        assert rest == events[2:]
        loaded = await modules_of(house.directory, "jobs", "show", named)
        assert ("bot.cli.unattended" in loaded, "bot.web" in loaded) == (True, False)
        member = await api.member("bob")
        others, none = [await member.refusal("GET", f"/api/jobs/{one}") for one in (named, "none")]
        assert others == none == (404, "not_found", None)
        assert await member.get("/api/jobs") == []
    await house.stop()
    assert [one["state"] for one in await page(house, "jobs", "list")] == ["completed", "cancelled"]
    assert "look around" in (await said(house, "jobs", "show", named))[1]


async def test_a_job_is_started_by_command_with_tools_or_in_a_container(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    job = await page(house, "jobs", "start", "say it aloud", "--tools", "list_dir, glob")
    assert (job["task"], {"list_dir", "glob"} <= set(job["tools"])) == ("say it aloud", True)
    await becomes(house, job["short_id"], JobState.COMPLETED)
    await house.telegram.wait_text(OWNER, "You said: say it aloud")
    code, out = await said(house, "jobs", "start", "say it", "--sandbox", ".")
    assert (code, "Jobs in containers are turned off in this hub" in out) == (1, True)
    code, out = await said(house, "jobs", "start", "say it", "--tools", "no_such_tool")
    assert (code, "no_such_tool" in out) == (1, True)
    assert len(await page(house, "jobs", "list")) == 1


async def test_events_show_previews_without_credentials(house: Hub) -> None:
    secret = "sk-" + "a1b2c3d4" * 5
    house.model.enqueue(tools(ToolCall("echo", {"text": f"{secret} {'long ' * 300}"})))
    house.model.enqueue(text("Done."))
    async with client(house.directory) as api:
        _, job = await api.ask("POST", "/api/jobs", {"task": "say it"})
        await becomes(house, job["short_id"], JobState.COMPLETED)
        events = await api.get(f"/api/jobs/{job['short_id']}/events")
    kinds = [one["kind"] for one in events]
    assert kinds == ["status", "status", "message", "tool_use", "tool_result", "message", "status", "result"]
    assert all(len(one["text"]) <= 500 for one in events)
    assert secret not in str(events)


async def test_a_stream_of_a_job_is_resumed_exactly_and_counts_what_the_model_counted(house: Hub) -> None:
    house.model.fault(Hold())
    house.model.enqueue(tools(ToolCall("time", {})), tools(ToolCall("time", {})), text("Late."))
    async with client(house.directory) as api:
        _, job = await api.ask("POST", "/api/jobs", {"task": "find out how late it is"})
        path = f"/api/jobs/{job['short_id']}/stream"
        await house.model.wait_requests(state="held")
        async with api.stream(path) as stream:
            seen = [await stream.next() for _ in range(2)]
            last = stream.last_id
        house.model.release()
        async with api.stream(path, headers={"Last-Event-ID": last}) as stream:
            seen += await stream.until("result")
        events = await api.get(f"/api/jobs/{job['short_id']}/events")
        assert [one["data"] for one in seen] == events
        assert [one["seq"] for one in seen] == [one["seq"] for one in events]
        assert (events[-1]["name"], events[-1]["text"]) == ("completed", "Late.")
        member = await api.member("bob")
        assert (await member.refusal("GET", path))[0] == 404
        shown = await page(house, "jobs", "show", job["short_id"])
        counted = [one.counted for one in house.model.log]
        used = (sum(one[0] for one in counted), sum(one[1] for one in counted))
        assert (shown["input_tokens"], shown["output_tokens"]) == used
        assert shown["cost_micro_usd"] == used[0] + 2 * used[1]
        (row,) = (await page(house, "usage", "--by", "job"))["rows"]
        assert (row["name"], row["input_tokens"], row["cost_micro_usd"]) == (
            f"{job['short_id']} find out how late it is",
            used[0],
            shown["cost_micro_usd"],
        )


async def test_the_usage_of_a_job_is_the_sum_of_its_successful_model_calls(house: Hub) -> None:
    """A call that failed costs nothing, and is repeated."""
    house.model.enqueue(tools(ToolCall("time", {})), text("Late."))
    house.model.fault(HttpError(500))
    async with client(house.directory) as api:
        _, job = await api.ask("POST", "/api/jobs", {"task": "find out how late it is"})
        await becomes(house, job["short_id"], JobState.COMPLETED)
    shown = await page(house, "jobs", "show", job["short_id"])
    refused, *answered = house.model.log
    assert refused.fault == HttpError(500)
    assert len(answered) == 2
    used = [sum(one.counted[kind] for one in answered) for kind in (0, 1)]
    assert [shown["input_tokens"], shown["output_tokens"]] == used
    assert shown["cost_micro_usd"] == used[0] + 2 * used[1]


async def test_the_files_and_subtasks_of_a_job_are_its_owners(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    (house.workspace / "report.md").write_text("blue")
    house.model.enqueue(tools(ToolCall("delegate", {"task": "look around"})), text("Looked."))
    house.model.enqueue(tools(ToolCall("finish", {"result": "Made.", "artifacts": ["report.md"]})))
    async with client(house.directory) as api:
        _, job = await api.ask("POST", "/api/jobs", {"task": "write it", "tools": ["write_file"]})
        await becomes(house, job["short_id"], JobState.COMPLETED)
        path = f"/api/jobs/{job['short_id']}/parts"
        parts = await api.get(path)
        (subtask,) = parts["subtasks"]
        assert (subtask["state"], "look around" in subtask["task"]) == ("done", True)
        assert subtask["created_at"] <= subtask["ended_at"]
        (file,) = parts["files"]
        assert (file["name"], file["size_bytes"]) == ("report.md", 4)
        key = {"Authorization": f"Bearer {api.token}"}
        async with api.http.get(api.url + file["url"], headers=key) as answer:
            assert await answer.text() == "blue"
        member = await api.member("bob")
        assert [(await member.refusal("GET", one))[0] for one in (path, file["url"])] == [404, 404]


async def test_results_are_accepted_and_rejected_by_commands(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nreview = true") as house, client(tmp_path) as api:
        for number, (action, more, state, reason) in enumerate(
            [
                ("accept", (), "accepted", "Accepted by owner"),
                ("reject", ("--reason", "too short"), "failed", "Rejected by owner: too short"),
            ]
        ):
            _, job = await api.ask("POST", "/api/jobs", {"task": f"write {number}"})
            named = job["short_id"]
            await becomes(house, named, JobState.SUBMITTED)
            done = await page(house, "jobs", action, named, *more)
            assert (done["state"], done["reason"]) == (state, reason)
            for again in ("accept", "reject"):
                status, code, _ = await api.refusal("POST", f"/api/jobs/{named}/{again}", {})
                assert (status, code) == (409, "refused")
