"""Data that outlasts a conversation: documents, the pause of all tools, and how often things were used."""

import pytest

from core.store.facets import Document
from core.store.rows import CallState
from core.tool import TOOLS_PAUSED, use_limits
from core.users import Principal
from tests.contracts.store.bench import ADA, BEN, Bench


@pytest.fixture(autouse=True)
async def people(world: Bench) -> None:
    for person in (ADA, BEN):
        await world.store.people.ensure_user(person.user_id, person.role, person.name)


# --- documents ----------------------------------------------------------------------------------------------


async def write(
    world: Bench, path: str, text: str, key: str, *, append: bool = False, by: str = "ada"
) -> Document | None:
    return await world.store.memory.write_document(by, key, path, text, append=append, most=3)


async def test_a_document_has_one_text_and_is_found_by_its_words(world: Bench) -> None:
    first = await write(world, "plans/garden", "beans and peas", "k1")
    assert first == Document("plans/garden", 14, world.clock.now())
    world.clock.advance(1)
    await write(world, "plans/garden", "only tulips", "k2")
    found = await world.store.memory.document("ada", "plans/garden")
    assert found is not None
    assert (found.text, found.created_at, found.path) == ("only tulips", world.clock.now(), "plans/garden")
    assert await world.store.memory.search_memory("ada", "beans", 9) == ()
    (note,) = await world.store.memory.search_memory("ada", "tulips", 9)
    assert note.path == "plans/garden"


async def test_text_is_added_once_however_often_the_same_call_is_repeated(world: Bench) -> None:
    await write(world, "log", "one", "k1", append=True)
    for _ in range(3):
        await write(world, "log", "two", "k2", append=True)
    found = await world.store.memory.document("ada", "log")
    assert found is not None
    assert found.text == "one\ntwo"


async def test_documents_are_listed_below_a_path_and_by_their_person_alone(world: Bench) -> None:
    for number, path in enumerate(("b", "a/x", "a")):
        await write(world, path, "text", f"k{number}")
    await write(world, "a/of-ben", "text", "k", by="ben")
    assert [one.path for one in await world.store.memory.documents("ada", "", 9)] == ["a", "a/x", "b"]
    assert [one.path for one in await world.store.memory.documents("ada", "a", 9)] == ["a", "a/x"]
    assert [one.path for one in await world.store.memory.documents("ada", "", 2)] == ["a", "a/x"]
    assert await world.store.memory.document("ada", "a/of-ben") is None


async def test_memory_entries_are_limited_per_person(world: Bench) -> None:
    for number in range(3):
        assert await write(world, f"d{number}", "text", f"k{number}") is not None
    assert await write(world, "one too many", "text", "k9") is None
    assert await write(world, "d1", "changed", "k10") is not None


# --- the halt -----------------------------------------------------------------------------------------------


async def test_tools_are_paused_until_they_are_unpaused(world: Bench) -> None:
    assert not await world.store.kill_switch.tools_paused()
    assert await world.store.kill_switch.pause_tools("ada", paused=True)
    assert not await world.store.kill_switch.pause_tools("ben", paused=True)
    assert await world.store.kill_switch.tools_paused()
    assert await world.store.kill_switch.pause_tools("ada", paused=False)
    assert not await world.store.kill_switch.pause_tools("ada", paused=False)
    assert not await world.store.kill_switch.tools_paused()


async def test_no_call_is_marked_running_while_tools_are_paused(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.kill_switch.pause_tools("ada", paused=True)
    assert await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None) == TOOLS_PAUSED
    assert await world.states(start) == [CallState.INTENT]
    await world.store.kill_switch.pause_tools("ada", paused=False)
    assert await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None) is None


# --- use ----------------------------------------------------------------------------------------------------

LIMITS = use_limits(per_minute=2, per_hour=3)


async def used(
    world: Bench, *, tool: str = "shell", refusal: str | None = None, by: Principal = ADA
) -> str | None:
    """Return what is said against one more use."""
    start = await world.turn(scope=f"use {world.clock.now()} {tool}", by=by)
    (call_id,) = await world.call(start, tool)
    said = await world.store.turns.mark_running(
        start.turn_id, call_id, lambda _call, _who, _standing: refusal, limits=LIMITS
    )
    world.clock.advance(1)
    return said


async def test_a_tool_is_used_no_more_often_than_its_limits_allow(world: Bench) -> None:
    assert [await used(world), await used(world)] == [None, None]
    assert "shell was used 2 times in the last minute" in (await used(world) or "")
    assert await used(world, tool="http") is None
    assert await used(world, by=BEN) is None, "each person has uses of their own"
    world.clock.advance(60)
    assert await used(world) is None
    assert "shell was used 3 times in the last hour" in (await used(world) or "")
    world.clock.advance(3600)
    assert await used(world) is None


async def test_a_grant_refused_for_another_reason_is_not_used(world: Bench) -> None:
    for _ in range(5):
        assert await used(world, refusal="no") == "no"
    assert await used(world) is None


# --- model calls --------------------------------------------------------------------------------------------


async def test_model_calls_are_limited_per_person_and_day(world: Bench) -> None:
    count = world.store.people.count_model_call
    assert [await count("ada", "2026-11-22", 2) for _ in range(4)] == [True, True, False, False]
    assert [await count("ben", "2026-11-22", 2) for _ in range(3)] == [True, True, False]
    assert [await count("ada", "2026-11-23", 2) for _ in range(3)] == [True, True, False]
    assert await count("ada", "2026-11-23", 3)
    assert not await count("ada", "2026-11-24", 0)
