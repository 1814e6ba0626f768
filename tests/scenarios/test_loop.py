"""A turn that runs tools by itself: what is told of it, its limits, and how it is stopped."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.bot.web.api_client import Client, Stream, client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import Hold, Reply, ToolCall, text, tools

LOOK = ToolCall("list_dir", {"path": "."})
SLEEP = ToolCall("shell", {"command": "sleep 20"})
FREE = "[approvals]\ndangerous_tools = []\n"


@contextlib.asynccontextmanager
async def place(directory: Path, extra: str = "") -> AsyncIterator[tuple[Hub, Client, str, Stream]]:
    """A hub, a conversation with its person, and somebody who looks on there."""
    async with open_hub(directory, extra=extra) as house, client(house.directory) as api:
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello")
        (thread,) = (await api.get("/api/threads"))["threads"]
        where = f"/api/events?thread={thread['id']}&after={thread['last_seq']}"
        async with api.stream(where) as stream:
            yield house, api, thread["id"], stream


async def loop_events(stream: Stream, last: str) -> list[tuple[str, str, int, int, str | None]]:
    """Kind, tool, depth, executed and reason of what is told of the loop, until the kind named."""
    events = await stream.until(f"auto_loop_{last}")
    told: list[dict[str, Any]] = [
        event["data"] | {"kind": event["type"].removeprefix("auto_loop_")}
        for event in events
        if event["type"].startswith("auto_loop_")
    ]
    return [(one["kind"], one["tool"], one["depth"], one["executed"], one["reason"]) for one in told]


async def test_a_simple_loop_reports_all_its_events(tmp_path: Path) -> None:
    async with place(tmp_path) as (house, api, thread_id, stream):
        house.model.enqueue(tools(LOOK, ToolCall("time", {})))
        house.model.enqueue(tools(LOOK))
        house.model.enqueue(text("nothing there"))
        house.telegram.user_sends_text(OWNER, "look around")
        first, *together, then, last = await loop_events(stream, "finished")
        assert first == ("started", "list_dir", 1, 0, None)
        # They run at the same time, and either may end first.
        assert sorted(together) == [("progress", "list_dir", 1, 2, None), ("progress", "time", 1, 2, None)]
        assert then == ("progress", "list_dir", 2, 3, None)
        assert last == ("finished", "list_dir", 2, 3, None)
        await house.telegram.wait_text(OWNER, "nothing there")
        told = (await api.get(f"/api/threads/{thread_id}/executions"))["executions"]
        assert [(one["tool"], one["status"], one["round"]) for one in told] == [
            ("list_dir", "ok", 2),
            ("time", "ok", 1),
            ("list_dir", "ok", 1),
        ]
        assert all(one["asked_at"] <= one["started_at"] <= one["ended_at"] for one in told)
        page = await api.get(f"/api/threads/{thread_id}/executions?limit=2")
        assert [one["tool"] for one in page["executions"]] == ["list_dir", "time"]
        rest = await api.get(f"/api/threads/{thread_id}/executions?before={page['next']}")
        assert ([one["tool"] for one in rest["executions"]], rest["next"]) == (["list_dir"], None)


async def test_after_five_rounds_a_person_is_asked_and_the_count_starts_over(tmp_path: Path) -> None:
    async with place(tmp_path) as (house, _, _, stream):
        house.model.rule(r".*", tools(LOOK), on="any")
        house.telegram.user_sends_text(OWNER, "go on for ever")
        told = await loop_events(stream, "cancelled")
        assert told[0] == ("started", "list_dir", 1, 0, None)
        assert told[-1] == ("cancelled", "list_dir", 5, 5, "max_rounds")
        card = await house.card(OWNER)
        assert "I have used 5 rounds of tool calls on this. Shall I continue?" in card.text
        await house.pressed(OWNER, card, 0)
        assert (await loop_events(stream, "cancelled"))[0] == ("started", "list_dir", 1, 0, None)
        await house.telegram.wait_for(lambda: house.open_cards(OWNER), LIMIT_S)
        house.model.reset()
        house.telegram.user_sends_text(OWNER, "/stop")
        await house.telegram.wait_text(OWNER, "Stopped.")


async def test_the_twenty_first_tool_of_a_turn_is_not_run(tmp_path: Path) -> None:
    async with place(tmp_path) as (house, api, thread_id, stream):
        house.model.enqueue(tools(*[LOOK] * 12))
        house.model.enqueue(tools(*[LOOK] * 12))
        house.telegram.user_sends_text(OWNER, "look 24 times")
        assert (await loop_events(stream, "cancelled"))[-1] == ("cancelled", "list_dir", 2, 20, "max_tools")
        card = await house.card(OWNER)
        assert "I have made 20 tool calls on this." in card.text
        told = (await api.get(f"/api/threads/{thread_id}/executions"))["executions"]
        assert [one["status"] for one in told] == ["skipped"] * 4 + ["ok"] * 20
        assert [one["started_at"] for one in told[:4]] == [None] * 4
        await house.pressed(OWNER, card, 1)
        await house.telegram.wait_text(OWNER, "Done:")
        assert not house.model.log[-1].body.get("tools")


async def test_the_seconds_of_a_turn_end_the_call_that_outlasts_them(tmp_path: Path) -> None:
    extra = f"{FREE}loop_timeout_s = 6"
    async with place(tmp_path, extra) as (house, _, _, stream):
        # A command is stopped when nine tenths of its time are over: then there is none for another.
        house.model.enqueue(tools(SLEEP, SLEEP, SLEEP, LOOK))
        house.telegram.user_sends_text(OWNER, "rest a while")
        told = await loop_events(stream, "cancelled")
        kind, tool, depth, _, reason = told[-1]
        assert (kind, tool, depth, reason) == ("cancelled", "shell", 1, "loop_timeout")
        card = await house.card(OWNER)
        assert "I have worked on this for 6 s." in card.text
        await house.pressed(OWNER, card, 1)
        await house.telegram.wait_for(lambda: len(house.model.log) == 3, LIMIT_S)
        results = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]
        assert "timed out" in results[0] or "Stopped after" in results[0]
        assert results[-1].endswith("the call was not run: I have worked on this for 6 s.")


async def test_the_seconds_before_a_person_was_asked_count_and_those_of_waiting_do_not(
    tmp_path: Path,
) -> None:
    extra = '[approvals]\npreset = "manual"\nloop_timeout_s = 100\n'
    async with place(tmp_path, extra) as (house, _, _, _):
        house.model.fault(Hold())
        house.model.enqueue(tools(LOOK))
        house.model.enqueue(tools(LOOK))
        house.telegram.user_sends_text(OWNER, "look twice")
        await house.model.wait_requests(state="held")
        house.clock.pass_by(60)
        house.model.release()
        asked = await house.card(OWNER)
        house.clock.pass_by(70)
        house.model.fault(Hold())
        await house.pressed(OWNER, asked, 0)
        await house.model.wait_requests(state="held")
        house.clock.pass_by(60)
        house.model.release()
        await house.telegram.wait_text(OWNER, "I have worked on this for 100 s.")


async def test_a_tool_that_takes_too_long_ends_and_the_turn_continues(tmp_path: Path) -> None:
    extra = f"{FREE}tool_timeouts = {{ shell = 0.3 }}"
    async with place(tmp_path, extra) as (house, _, _, stream):
        house.model.enqueue(tools(SLEEP))
        house.telegram.user_sends_text(OWNER, "rest a while")
        told = await loop_events(stream, "finished")
        assert [one[0] for one in told] == ["started", "progress", "finished"]
        await house.telegram.wait_text(OWNER, "Done:")


async def test_a_running_turn_follows_new_settings_from_its_next_round(tmp_path: Path) -> None:
    async with place(tmp_path, FREE) as (house, api, thread_id, _):
        house.model.enqueue(tools(LOOK))
        house.telegram.user_sends_text(OWNER, "look, rest, write")
        house.model.fault(Hold(at="before_headers"))
        await house.model.wait_requests(state="held")
        for words in ("timeout shell 1", "dangerous write_file"):
            house.telegram.user_sends_text(OWNER, f"/approvals {words}")
        await house.telegram.wait_text(OWNER, "Time limits: shell 1 s.")
        await house.telegram.wait_text(OWNER, "Dangerous tools: write_file.")
        house.model.enqueue(tools(SLEEP))
        house.model.enqueue(tools(ToolCall("write_file", {"path": "a", "content": "b"})))
        house.model.release()
        card = await house.card(OWNER)
        assert "write_file" in card.text
        shell = (await api.get(f"/api/threads/{thread_id}/executions"))["executions"][1]
        assert (shell["tool"], shell["status"]) == ("shell", "error")
        assert shell["ended_at"] - shell["started_at"] < 10_000_000
        policy = await api.get(f"/api/threads/{thread_id}/approval-policy")
        assert policy["effective"]["tool_timeouts"] == {"shell": 1}
        await house.pressed(OWNER, card, 1)
        await house.telegram.wait_text(OWNER, "Done:")


async def test_stop_ends_the_loop_and_the_next_turn_has_the_whole_budget(tmp_path: Path) -> None:
    async with place(tmp_path, FREE) as (house, _, _, stream):
        house.model.enqueue(tools(LOOK))
        house.model.enqueue(tools(SLEEP))
        house.telegram.user_sends_text(OWNER, "look, then rest")
        while (await stream.until("turn_step"))[-1]["data"]["tool"] != "shell":
            pass
        house.telegram.user_sends_text(OWNER, "/status")
        await house.telegram.wait_text(OWNER, "Round 2 of 5, ")
        house.telegram.user_sends_text(OWNER, "/stop")
        told = await loop_events(stream, "cancelled")
        assert told[-1] == ("cancelled", "list_dir", 2, 2, "stopped")
        house.model.enqueue(tools(LOOK))
        house.telegram.user_sends_text(OWNER, "look again")
        assert (await loop_events(stream, "finished"))[0] == ("started", "list_dir", 1, 0, None)


async def test_under_auto_only_time_ends_a_loop(tmp_path: Path) -> None:
    async with place(tmp_path) as (house, _, _, stream):
        house.telegram.user_sends_text(OWNER, "/approvals auto")
        await house.telegram.wait_text(OWNER, "Approvals here: auto")
        for _ in range(7):
            house.model.enqueue(tools(LOOK, LOOK, LOOK, LOOK))
        house.model.enqueue(text("that was long"))
        house.telegram.user_sends_text(OWNER, "look 28 times")
        told = await loop_events(stream, "finished")
        assert told[-1] == ("finished", "list_dir", 7, 28, None)
        await house.telegram.wait_text(OWNER, "that was long")


@pytest.mark.parametrize(
    "words, rounds, told",
    [("/approvals rounds 2", 2, "2 rounds"), ("/approvals all rounds 1", 1, "1 round")],
)
async def test_a_person_may_choose_to_be_asked_sooner(
    tmp_path: Path, words: str, rounds: int, told: str
) -> None:
    async with place(tmp_path) as (house, _, _, stream):
        house.telegram.user_sends_text(OWNER, words)
        await house.telegram.wait_text(OWNER, f"After {told}, 20 tool calls, 300 s")
        house.model.rule(r"look", Reply(calls=(LOOK,)), on="any")
        house.telegram.user_sends_text(OWNER, "look around")
        assert (await loop_events(stream, "cancelled"))[-1][2:] == (rounds, rounds, "max_rounds")
        house.model.reset()
        await house.pressed(OWNER, await house.card(OWNER), 1)
        await house.telegram.wait_text(OWNER, "Done:")
