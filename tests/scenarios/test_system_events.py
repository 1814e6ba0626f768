"""System events as programs and the hub itself tell them: the right routines fire, once."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from core.routine import RunStatus
from core.store.routine_rows import RoutineRow
from tests.bot.web.api_client import Client, client
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.test_routines import OLIVIA, desk_of, ended, greeted, runs_of
from tests.simulators.model.replies import text

pytestmark = pytest.mark.asyncio(loop_scope="module")


def listens(name: str, source: str = "ci", event_type: str = "done", **filters: str) -> Mapping[str, Any]:
    return {
        "name": name,
        "trigger": {"type": "system_event", "source": source, "event_type": event_type, "filters": filters},
        "action": {"type": "lightweight", "prompt": "Look into it."},
        "guardrails": {"cooldown_s": 0},
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path_factory.mktemp("hub")) as opened:
        await greeted(opened)
        yield opened


async def emitted(api: Client, **event: object) -> list[str]:
    status, page = await api.ask("POST", "/api/events/emit", event)
    assert status == 200, page
    return page["fired"]


async def made(house: Hub, page: Mapping[str, Any]) -> RoutineRow:
    return await desk_of(house).create(OLIVIA, page)


async def test_an_event_fires_the_routines_that_wait_for_it_once(house: Hub) -> None:
    plain, filtered = await made(house, listens("plain")), await made(house, listens("main", branch="main"))
    other = await made(house, listens("other", source="cd"))
    paused = await made(house, {**listens("paused"), "enabled": False})
    event: dict[str, Any] = {"source": "CI", "event_type": "Done", "event_id": "e-1"}
    async with client(house.directory) as api:
        assert await emitted(api, **event, payload={"branch": "MAIN", "n": 42}) == ["main", "plain"]
        assert await emitted(api, **event, payload={"branch": "MAIN", "n": 42}) == ["main", "plain"]
        assert await emitted(api, **{**event, "event_id": "e-2"}, payload={"branch": "dev"}) == ["plain"]
        assert await emitted(api, source="ci", event_type="failed") == []
        member = await api.member("Mia")
        assert (
            await emitted(member, **{**event, "event_id": "e-3"}) == []
        )  # other people's routines are theirs
    assert {run.state for run in await ended(house, plain, 2)} == {RunStatus.ATTENTION}
    (run,) = await ended(house, filtered)
    assert (run.key, run.kind) == ("event:e-1", "system_event")
    assert json.loads(json.loads(run.input)["payload"]) == {"branch": "MAIN", "n": 42}
    assert len(await runs_of(house, plain)) == 2
    assert await runs_of(house, other) == await runs_of(house, paused) == []
    asked = [
        call for call in house.model.log if 'The event "CI" "Done"' in call.body["messages"][-1]["content"]
    ]
    assert len(asked) == 3
    assert all("<tool_output" in str(call.body) for call in asked)


async def test_an_event_may_be_emitted_in_chat(house: Hub) -> None:
    row = await made(house, listens("spoken", source="talk", event_type="said"))
    house.telegram.user_sends_text(OWNER, 'please call: event_emit {"source": "talk", "event_type": "said"}')
    await house.telegram.wait_text(OWNER, "Fired: spoken")
    (run,) = await ended(house, row)
    assert run.state is RunStatus.ATTENTION


@pytest.mark.slow
async def test_the_hub_emits_events_about_itself_and_a_failure_fires_no_further_one(house: Hub) -> None:
    watch = await made(house, listens("watch", source="hub", event_type="routine_failed", routine="broken"))
    begun = await made(house, listens("begun", source="hub", event_type="started"))
    broken = {**listens("broken"), "trigger": {"type": "manual"}}
    broken["action"] = {"type": "lightweight", "prompt": "Say nothing."}
    house.model.rule("Say nothing.", text(" "))  # an empty reply, each of three times: the run fails
    await made(house, broken)
    round_ = {**listens("round", source="hub", event_type="routine_failed"), "action": broken["action"]}
    again = await made(house, round_)
    await desk_of(house).fire(OLIVIA, "broken", "first")
    (run,) = await ended(house, watch)
    assert "3 times" in json.loads(run.input)["payload"]
    (failed,) = await ended(house, again)
    assert failed.state is RunStatus.FAILED
    assert await runs_of(house, begun) == []
    await house.stop()
    await house.start()
    await ended(house, begun)
    assert len(await runs_of(house, again)) == 1  # its own failure was not told it
