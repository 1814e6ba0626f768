"""Notes are found by all the words they hold, in any script, by their owner alone."""

import pytest

from tests.contracts.store.bench import ADA, BEN, Bench


@pytest.fixture(autouse=True)
async def people(world: Bench) -> None:
    for person in (ADA, BEN):
        await world.store.people.ensure_user(person.user_id, person.role, person.name)


async def found(world: Bench, query: str, *, by: str = "ada", limit: int = 10) -> list[str]:
    return [note.text for note in await world.store.memory.search_memory(by, query, limit)]


async def test_a_query_finds_notes_with_all_its_words_newest_first(world: Bench) -> None:
    for number, text in enumerate(("Tea is green", "green grass", "Green TEA, at five", "greenhouse tea")):
        await world.store.memory.write_memory("ada", f"k{number}", text)
    assert await found(world, "tea GREEN") == ["Green TEA, at five", "Tea is green"]
    assert await found(world, "coffee") == []
    assert await found(world, "green", limit=1) == ["Green TEA, at five"]


async def test_an_empty_query_finds_all_notes(world: Bench) -> None:
    for text in ("one", "two"):
        await world.store.memory.write_memory("ada", text, text)
    assert await found(world, "") == ["two", "one"]
    assert await found(world, " ?! ") == ["two", "one"]
    assert await found(world, "", limit=1) == ["two"]


async def test_memory_search_finds_only_own_notes(world: Bench) -> None:
    await world.store.memory.write_memory("ada", "k", "tea of Ada")
    await world.store.memory.write_memory("ben", "k", "tea of Ben")
    assert await found(world, "tea") == ["tea of Ada"]
    assert await found(world, "tea", by="ben") == ["tea of Ben"]


async def test_a_note_with_the_same_key_is_stored_once(world: Bench) -> None:
    await world.store.memory.write_memory("ada", "call-1", "first")
    await world.store.memory.write_memory("ada", "call-1", "again")
    await world.store.memory.write_memory("ben", "call-1", "of Ben")
    assert await found(world, "") == ["first"]
    assert await found(world, "again") == []
    assert await found(world, "", by="ben") == ["of Ben"]


@pytest.mark.parametrize("query", ["部署", "部署服务器", "服务", "服务器在周五", "器", "部署 周五"])
async def test_words_of_scripts_without_spaces_are_found(world: Bench, query: str) -> None:
    await world.store.memory.write_memory("ada", "k", "我们要部署服务器在周五deploy完成。")
    assert await found(world, query) == ["我们要部署服务器在周五deploy完成。"]


@pytest.mark.parametrize("query", ["部服", "器服", "署部", "机", "部署 周六", "周五完成"])
async def test_characters_that_are_not_adjacent_are_not_found(world: Bench, query: str) -> None:
    await world.store.memory.write_memory("ada", "k", "我们要部署服务器在周五deploy完成。")
    assert await found(world, query) == []


@pytest.mark.parametrize("query", ["東京タワー", "タワー", "서울", "Ünïcode", "ＵＮＩＣＯＤＥ２", "deploy"])
async def test_other_scripts_and_forms_are_found(world: Bench, query: str) -> None:
    text = "東京タワー 서울에서 ünïcode unicode2 在deploy前"
    await world.store.memory.write_memory("ada", "k", text)
    assert await found(world, query) == [text]


@pytest.mark.parametrize(
    "query", ['"', "tea OR coffee", "tea*", "NEAR(tea)", "tea -coffee", "terms:tea", "(", "te'a"]
)
async def test_a_query_is_words_and_never_syntax(world: Bench, query: str) -> None:
    await world.store.memory.write_memory("ada", "k", "no such words")
    assert isinstance(await found(world, query), list)
    await world.store.memory.write_memory("ada", "k2", f"it says {query} here")
    assert f"it says {query} here" in await found(world, query)
