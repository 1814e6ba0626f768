"""What was said is found again, and by whom it may be."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.store.conversations import SearchHit, parse_search
from core.store.feed import ThreadsWanted
from tests.contracts.store.bench import ADA, BEN, SECOND, START, Bench

DAY = 24 * 3600


async def talk(world: Bench, said: str, answer: str = "noted", **where: object) -> str:
    """A turn of somebody's; returns its thread."""
    start = await world.turn(said, **where)  # type: ignore[arg-type]
    await world.finish(start, answer)
    await world.store.threads.index_said(10)
    return start.thread.id


async def find(world: Bench, query: str, **narrowed: object) -> Sequence[SearchHit]:
    return await world.store.threads.search(replace(parse_search(query), **narrowed))


QUERIES = [
    ("staging", True),
    ("STAGING deploy", True),
    ("stag", True),  # the last word may be a beginning
    ("stag deploy", False),
    ("stag* deploy", True),
    ("taging", False),
    ("部署", True),
    ("署服", True),
    ("服", True),
    ("部服", False),
    ("done", True),  # the answer of the same turn
    ("done staging 部署", True),
    ("staging production", False),
    ("naïve", True),
    ("naive", False),
    ('"staging" OR production', False),
    ('sta" NEAR(x', False),
    ("terms:staging", False),
    ("-staging", True),
    ("*", False),
    ("channel:chat staging", True),
    ("channel:other staging", False),
    ("person:ADA staging", True),
    ("person:ben staging", False),
    ("after:2023-11-14 staging", True),
    ("after:2023-11-15 staging", False),
    ("before:2023-11-15 staging", True),
    ("before:2023-11-14 staging", False),
    ("after:soon staging", False),  # no day, so it is words
    ("Where was the staging?", True),  # small words of a question
    ("where was it", False),  # which count without others
]


async def test_a_turn_is_found_by_its_words(world: Bench) -> None:
    thread_id = await talk(world, "Deploy 部署服务 to staging, naïve as it is", "Done.")
    await talk(world, "something else", scope="elsewhere")
    for query, found in QUERIES:
        assert [hit.thread_id for hit in await find(world, query)] == [thread_id] * found, query


async def test_the_newest_match_comes_first_with_its_surrounding_text(world: Bench) -> None:
    first = await talk(world, "x " * 200 + "needle one" + " y" * 200)
    world.clock.advance(DAY)
    second = await talk(world, "second", "a needle\nin the answer", scope="elsewhere")
    newest, oldest = await find(world, "needle")
    assert (newest.thread_id, newest.kind, newest.excerpt) == (second, "assistant", "a needle in the answer")
    assert (oldest.thread_id, oldest.kind, oldest.owner, oldest.at) == (first, "user", "Ada", START)
    assert "needle one" in oldest.excerpt
    assert len(oldest.excerpt) < 200
    assert [hit.thread_id for hit in await find(world, "needle", limit=1)] == [second]


async def test_a_person_finds_their_own_messages_and_in_a_group_those_of_the_group(world: Bench) -> None:
    mine = await talk(world, "needle of Ada")
    group = await talk(world, "needle in the group", scope="group", direct=False)
    await talk(world, "needle of Ben", by=BEN, scope="room of Ben")
    assert [hit.thread_id for hit in await find(world, "needle", owner_id=ADA.user_id)] == [group, mine]
    here = await find(world, "needle", owner_id=ADA.user_id, asked_in=group)
    assert [hit.thread_id for hit in here] == [group]
    at_home = await find(world, "needle", owner_id=ADA.user_id, asked_in=mine)
    assert [hit.thread_id for hit in at_home] == [group, mine]


async def test_a_running_turn_is_not_searched_and_a_stopped_one_is(world: Bench) -> None:
    start = await world.turn("needle")
    await world.store.threads.index_said(10)
    assert await find(world, "needle") == ()
    await world.finish(start, None)
    await world.store.threads.index_said(10)
    assert [hit.seq for hit in await find(world, "needle")] == [start.first_seq]


async def test_earlier_messages_are_found_while_a_turn_runs(world: Bench) -> None:
    ended = await world.turn("needle of before")
    await world.finish(ended, "noted")
    running = await world.turn("needle of now")
    assert running.thread.id == ended.thread.id
    await world.store.threads.index_said(10)
    assert [hit.seq for hit in await find(world, "needle")] == [ended.first_seq]
    await world.finish(running, "noted")
    await world.store.threads.index_said(10)
    assert [hit.seq for hit in await find(world, "needle")] == [running.first_seq, ended.first_seq]


async def test_threads_are_listed_by_what_was_said_in_them(world: Bench) -> None:
    thread_id = await talk(world, "the title\nand a needle")
    await talk(world, "something else", scope="elsewhere")

    async def listed(text: str) -> list[str]:
        glances = await world.store.feed.thread_glances(ThreadsWanted(limit=10, text=text))
        return [glance.thread.id for glance in glances]

    assert await listed("need") == await listed("he tit") == [thread_id]
    assert await listed("channel:chat needle") == [thread_id]
    assert await listed("channel:other needle") == await listed("nothing") == []


async def test_deleted_text_leaves_no_words_behind(world: Bench) -> None:
    thread_id = await talk(world, "needle 部署服务")
    kept = await talk(world, "needle 部署服务", scope="elsewhere")
    await world.store.threads.delete_thread(thread_id, ADA.user_id)
    assert [hit.thread_id for hit in await find(world, "needle 部署")] == [kept]
    await world.store.threads.delete_thread(kept, ADA.user_id)
    assert await find(world, "needle") == ()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=300) | st.text('"*():^-+ANDORNEAR 部署\x00\ud800', max_size=60))
async def test_any_query_is_answered(world: Bench, query: str) -> None:
    wanted = parse_search(query)
    assert len(wanted.phrases) <= 16
    await world.store.threads.search(wanted)


def test_days_are_counted_in_utc() -> None:
    wanted = parse_search("after:2023-11-14")
    assert wanted.after == START - START % (DAY * SECOND)
