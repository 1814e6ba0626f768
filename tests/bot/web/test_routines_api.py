"""Routines over the API: lists by pieces, drafts, the calendar, and who is told of runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from tests.bot.web.api_client import Client, client
from tests.harness.telegram_hub import open_hub
from tests.patience import PATIENCE_S

WATCH: dict[str, Any] = {
    "name": "watch",
    "trigger": {"type": "event", "pattern": "deploy (\\w+)"},
    "action": {"type": "lightweight", "prompt": "Look into it."},
}


@pytest_asyncio.fixture
async def api(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_hub(tmp_path) as house, client(house.directory) as opened:
        yield opened


async def made(api: Client, name: str, **other: Any) -> Any:
    status, page = await api.ask("POST", "/api/routines", {**WATCH, "name": name, **other})
    assert status == 200, page
    return page


async def test_routines_are_paged_and_searched(api: Client) -> None:
    for name in ("alpha", "beta", "gamma"):
        await made(api, name)
    first = await api.get("/api/routines?limit=2")
    assert [one["name"] for one in first] == ["alpha", "beta"]
    assert first[0]["fires_on"] == "A message in which “deploy (\\w+)” matches"
    assert [one["name"] for one in await api.get("/api/routines?limit=2&after=beta")] == ["gamma"]
    assert [one["name"] for one in await api.get("/api/routines?query=ETA")] == ["beta"]
    assert await api.refusal("GET", "/api/routines?limit=201") == (400, "invalid", "limit")


async def test_a_draft_is_checked_and_tried_without_being_saved(api: Client) -> None:
    body = {"definition": WATCH, "text": "deploy it"}
    _, well = await api.ask("POST", "/api/routine-drafts", body)
    assert (well["problems"], well["trial"]["fires"]) == ([], True)
    assert "group 1: it" in well["trial"]["input"]
    wrong = {"definition": {**WATCH, "trigger": {"type": "cron", "schedule": "61 * * * *"}}}
    _, told = await api.ask("POST", "/api/routine-drafts", wrong)
    assert [one["field"] for one in told["problems"]] == ["trigger.schedule"]
    assert await api.get("/api/routines") == []


async def test_a_list_tells_the_newest_run_of_each_that_has_one(api: Client) -> None:
    for name in ("idle", "busy"):
        await made(api, name, trigger={"type": "manual"})
    await api.ask("POST", "/api/routines/busy/fire")

    async def listed() -> dict[str, Any]:
        return {one["name"]: one for one in await api.get("/api/routines")}

    async with asyncio.timeout(PATIENCE_S):
        while (found := await listed())["busy"]["run_count"] == 0:  # noqa: ASYNC110 - read as a page reads it
            await asyncio.sleep(0.05)
    assert found["busy"]["last_run_at"] is not None
    assert (found["idle"]["last_run_at"], found["idle"]["run_count"]) == (None, 0)
    assert found["idle"]["status"] != found["busy"]["status"]


async def test_the_prompt_names_tools_and_readers_only_if_present(api: Client) -> None:
    async def system(notify: Any = None, **action: Any) -> str:
        page = {**WATCH, "action": {**WATCH["action"], **action}, "notify": notify}
        _, told = await api.ask("POST", "/api/routine-drafts", {"definition": page, "text": "deploy it"})
        return str(told["trial"]["system"])

    assert "There are no tools" in await system()
    assert "There are no tools" not in await system(use_tools=True, allowed_tools=["time"])
    assert "Your reply is sent to" in await system()
    assert "Your reply is sent to" not in await system({"on_attention": False})


async def test_the_calendar_lists_upcoming_slots(api: Client) -> None:
    await made(api, "daily", trigger={"type": "cron", "schedule": "0 9 * * *"})
    await made(api, "paused", trigger={"type": "cron", "schedule": "0 9 * * *"}, enabled=False)
    page = await api.get("/api/routine-calendar?days=3&timezone=Europe/Berlin")
    assert (page["timezone"], page["more"]) == ("Europe/Berlin", False)
    assert {one["name"] for day in page["days"] for one in day["routines"]} == {"daily"}
    assert 2 <= len(page["days"]) <= 3
    refused = await api.refusal("GET", "/api/routine-calendar?timezone=Mars/Base")
    assert refused == (422, "unusable", "timezone")


async def test_runs_are_shown_to_their_owner_only(api: Client) -> None:
    mia = await api.member("Mia")
    async with api.stream() as stream, mia.stream() as hers:
        await stream.until("hello")
        await hers.until("hello")
        row = await made(api, "watch", trigger={"type": "manual"})
        events = await stream.until("routine_changed")
        assert events[-1]["data"] == {"routine_id": row["id"]}
        await api.ask("POST", "/api/routines/watch/fire")
        told: list[Any] = []
        async with asyncio.timeout(PATIENCE_S):
            while not told or told[-1]["status"] != "attention":
                told.append((await stream.until("routine_run"))[-1]["data"])
        assert {one["routine_id"] for one in told} == {row["id"]}
        assert {one["name"] for one in told} == {"watch"}
        await api.get("/api/routines/watch/runs")
        mias = await made(mia, "hers", trigger={"type": "manual"})
        seen = await hers.until("routine_changed")
        assert seen[-1]["data"] == {"routine_id": mias["id"]}
        assert not any(event["type"] == "routine_run" for event in seen)
        assert [one["name"] for one in await mia.get("/api/routines")] == ["hers"]


async def test_an_event_needs_an_object_and_somebody_who_listens(api: Client) -> None:
    await made(api, "all", trigger={"type": "system_event", "source": "s", "event_type": "t"})
    filters = {"a": "1"}
    await made(
        api, "some", trigger={"type": "system_event", "source": "s", "event_type": "t", "filters": filters}
    )

    async def fired(payload: Any, source: str = "s") -> Any:
        page = {"source": source, "event_type": "t", "payload": payload}
        return (await api.ask("POST", "/api/events/emit", page))[1]["fired"]

    assert await fired({}) == ["all"]
    assert await fired({"a": 1}) == ["some"]  # the other one rests
    assert await fired({"a": 1}, "nobody listens") == []
    for payload in ([1], "a", 7, None):
        page = {"source": "s", "event_type": "t", "payload": payload}
        assert await api.refusal("POST", "/api/events/emit", page) == (400, "invalid", "payload")
    page = {"source": "hub", "event_type": "started"}
    assert await api.refusal("POST", "/api/events/emit", page) == (422, "unusable", "source")
