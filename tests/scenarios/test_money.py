"""What model calls cost: their rows, and the budgets at which a person is asked or a run stops."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bot.cli.in_process import command
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.scenarios.routine_house import fired
from tests.simulators.model import Drop, Reply, ToolCall, Usage, text, tools

GUEST = 100
PRICES = "input_usd_per_million = 1\noutput_usd_per_million = 2\n"
DEAR = Reply("That was dear.", usage=Usage(985_000, 5_000))
"""It costs 0.995 USD at these prices, which leaves less of a dollar than one more call is reserved."""
STOPPED = "Stopped: The hub's budget of $1.00 a day is used up."
LOOK = ToolCall("list_dir", {"path": "."})


@contextlib.asynccontextmanager
async def house_with(directory: Path, budget: str, **options: Any) -> AsyncIterator[Hub]:
    async with open_hub(directory, extra=f"\n[budget]\n{budget}\n", model=PRICES, **options) as house:
        house.telegram.add_user(GUEST, first_name="Gus")
        yield house


def rows_of(house: Hub) -> list[dict[str, Any]]:
    """Every row of a call, in order, read beside the hub."""
    with contextlib.closing(sqlite3.connect(f"file:{house.database}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM usage ORDER BY id")]


async def says(house: Hub, person: int, said: str, answer: str) -> None:
    house.telegram.user_sends_text(person, said)
    await house.telegram.wait_text(person, answer)
    await house.settled_sends()


async def restarted(house: Hub) -> None:
    await house.stop()
    await house.start()
    await house.telegram.wait_polling(TOKEN, LIMIT_S)


@pytest.mark.parametrize("restarts", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("dear", [DEAR, replace(DEAR, calls=(LOOK,))], ids=["between turns", "within a turn"])
async def test_at_a_budget_the_turn_waits_for_the_owner_and_continues(
    tmp_path: Path, dear: Reply, *, restarts: bool
) -> None:
    async with house_with(tmp_path, "daily_usd = 1") as house:
        await says(house, OWNER, "hello", "You said: hello")
        house.model.enqueue(dear)
        house.telegram.user_sends_text(OWNER, "something dear")
        if not dear.calls:
            await house.telegram.wait_text(OWNER, "That was dear.")
            house.telegram.user_sends_text(OWNER, "one more")
        card = await house.card(OWNER)
        assert "The hub's budget of $1.00 a day is used up. Continue with this request?" in card.text
        asked = len(house.model.log)
        assert asked == 2, "nothing is asked before somebody allows it"
        if restarts:
            await restarted(house)
        house.model.enqueue(tools(LOOK))
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Done:")
        assert len(house.model.log) == asked + 2, "the approval holds for the whole turn"
        house.telegram.user_sends_text(OWNER, "and one more")
        second = await house.card(OWNER)
        await house.pressed(OWNER, second, 1)
        await house.telegram.wait_text(OWNER, "Stopped: a budget for model calls is used up")
        assert len(house.model.log) == asked + 2


async def test_a_budget_per_person_asks_the_owner_about_others_and_does_not_limit_the_owner(
    tmp_path: Path,
) -> None:
    async with house_with(tmp_path, "per_user_daily_usd = 1") as house:
        await says(house, OWNER, "hello", "You said: hello")
        house.model.enqueue(DEAR)
        await says(house, GUEST, "something dear", "That was dear.")
        await says(house, OWNER, "I still may", "You said: I still may")
        house.telegram.user_sends_text(GUEST, "one more")
        card = await house.card(OWNER)
        assert "The budget of $1.00 a day for each person is used up." in card.text
        shown = await house.card(GUEST)
        assert "not allowed" in await house.pressed(GUEST, shown, 0)
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(GUEST, "You said: one more")


async def test_calls_of_an_hour_are_limited_and_a_cut_reply_counts_with_what_was_reserved(
    tmp_path: Path,
) -> None:
    async with house_with(tmp_path, "hourly_model_calls = 2\ndaily_usd = 1", speed=50) as house:
        house.model.fault(Drop("mid_stream", after_events=2))
        await says(house, OWNER, "hello", "You said: hello")
        cut, whole = rows_of(house)
        assert [row["state"] for row in (cut, whole)] == ["estimated", "settled"]
        assert (cut["attempt"], whole["attempt"]) == (1, 2)
        assert cut["input_tokens"] is None
        assert cut["reserved_tokens"] >= whole["input_tokens"] + whole["output_tokens"]
        assert cut["micro_usd"] == cut["reserved_micro_usd"] > whole["micro_usd"] > 0
        async with client(house.directory) as api:
            (listed,) = (await api.get("/api/usage?by=model"))["rows"]
        assert (listed["calls"], listed["estimated_calls"]) == (2, 1)
        assert listed["estimated_cost_micro_usd"] == cut["micro_usd"]
        table = await asyncio.to_thread(command, house.directory, "usage", "--by", "model")
        head, row, *_ = table.out.splitlines()
        assert "estimated calls" in head
        assert row.split()[0] == "main"
        assert f"{cut['reserved_tokens']:,}" in row
        house.telegram.user_sends_text(OWNER, "one more")
        card = await house.card(OWNER)
        assert "The limit of 2 model calls per hour is reached." in card.text
        await house.pressed(OWNER, card, 1)
        await house.telegram.wait_text(OWNER, "Stopped: ")


async def test_a_routine_stops_at_the_hubs_budget_with_that_reason(tmp_path: Path) -> None:
    async with house_with(tmp_path, "daily_usd = 1") as house:
        await says(house, OWNER, "hello", "You said: hello")
        house.model.enqueue(DEAR)
        dear = await fired(house, "dear", {"prompt": "Look."})
        assert (dear.input_tokens, dear.output_tokens, dear.cost_micro_usd) == (985_000, 5_000, 995_000)
        asked = len(house.model.log)
        run = await fired(house, "next", {"prompt": "Look again."})
        assert run.error == STOPPED
        assert len(house.model.log) == asked
        await house.telegram.wait_text(OWNER, "stopped before it was done")
        assert await house.store.gates.open_gates() == (), "an autonomous run asks nobody"


async def test_a_routine_that_reaches_the_hubs_budget_stops_in_its_middle(tmp_path: Path) -> None:
    async with house_with(tmp_path, "daily_usd = 1") as house:
        house.model.enqueue(replace(DEAR, calls=(LOOK,)))
        tools_given = {"use_tools": True, "allowed_tools": ["list_dir"]}
        run = await fired(house, "dear", {"prompt": "Look.", **tools_given})
        assert (run.error, run.cost_micro_usd) == (STOPPED, 995_000)
        assert len(house.model.log) == 1


async def test_a_turn_reserves_with_its_own_commits_and_its_rows_are_what_was_counted(tmp_path: Path) -> None:
    async with house_with(tmp_path, "daily_usd = 1000") as house:
        house.model.enqueue(tools(LOOK), tools(LOOK, ToolCall("time", {})), text("Nothing."))
        await says(house, OWNER, "look around", "Nothing.")
        alone: list[str] = []
        reserve = house.store.usage.reserve_call

        async def counted(*arguments: Any, **named: Any) -> str | None:
            alone.append("reserved by itself")
            return await reserve(*arguments, **named)

        house.store.usage.reserve_call = counted
        house.model.enqueue(tools(LOOK), tools(LOOK, ToolCall("time", {})), text("Still nothing."))
        await says(house, OWNER, "look again", "Still nothing.")
        assert alone == []
        rows = rows_of(house)
        assert len(rows) == len(house.model.log) == 6
        assert {row["state"] for row in rows} == {"settled"}
        for row, asked in zip(rows, house.model.log.all(), strict=True):
            assert row["id"] == asked.headers["x-client-request-id"]
            of_row = row["input_tokens"], row["output_tokens"], row["cached_input_tokens"]
            assert of_row == asked.counted[:3]
            assert row["reserved_tokens"] >= row["input_tokens"] + row["output_tokens"]
            assert row["micro_usd"] == row["input_tokens"] + 2 * row["output_tokens"]
        async with client(house.directory) as api:
            by_day = (await api.get("/api/usage?by=day"))["rows"]
            (model,) = (await api.get("/api/usage?by=model"))["rows"]
            (user,) = (await api.get("/api/usage?by=user"))["rows"]
        assert model["cost_micro_usd"] == sum(row["micro_usd"] for row in rows)
        assert (model["name"], model["calls"], user["calls"]) == ("main", 6, 6)
        assert not any(row["free"] for row in (model, user, *by_day))
        assert sum(day["output_tokens"] for day in by_day) == model["output_tokens"]
        assert json.dumps(model).count("estimated") == 3
