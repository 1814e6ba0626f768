"""`/verbose` in a chat: shows and sets how much people see of a conversation's runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core import texts
from core.events import Verbosity
from core.people.access import ChannelAccess, DirectMode
from tests.contracts.store.bench import text_of
from tests.core.inbound.front import OWNER_ACCOUNT, Front


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path, rules=ChannelAccess(DirectMode.OPEN))
    yield opened
    await opened.store.close()


async def told(front: Front, words: str, person: str = OWNER_ACCOUNT) -> str:
    accepted = await front.says(person, words)
    return "\n".join(text_of(row.message) for row in accepted.outbox)


async def kept(front: Front) -> list[Verbosity]:
    return [thread.verbosity for thread in await front.store.threads.threads(10)]


@pytest.mark.parametrize("chosen", Verbosity)
async def test_it_sets_what_is_shown_and_says_so(front: Front, chosen: Verbosity) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    said = await told(front, f"/verbose {chosen.value.upper()}")
    assert said == texts.verbosity(chosen)
    assert await kept(front) == [chosen]
    assert await told(front, "/verbose") == said


async def test_each_setting_says_what_is_seen_and_how_to_change_it() -> None:
    said = {chosen: texts.verbosity(chosen) for chosen in Verbosity}
    assert "answers only" in said[Verbosity.OFF]
    assert "steps" in said[Verbosity.ON]
    assert "details of failures" in said[Verbosity.FULL]
    assert all("/verbose" in one for one in said.values())
    assert "verbose" in dict(texts.COMMANDS)


async def test_it_holds_in_its_conversation_alone(front: Front) -> None:
    for person in (OWNER_ACCOUNT, "gus"):
        await front.says(person, "hello")
    await told(front, "/verbose on", "gus")
    assert sorted(await kept(front)) == [Verbosity.OFF, Verbosity.ON]
    assert await told(front, "/verbose") == texts.verbosity(Verbosity.OFF)


@pytest.mark.parametrize("words", ["loud", "on please", "1"])
async def test_other_words_change_nothing(front: Front, words: str) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    assert await told(front, f"/verbose {words}") == texts.VERBOSE_USAGE
    assert await kept(front) == [Verbosity.OFF]


async def test_before_there_is_a_conversation_nothing_is_set(front: Front) -> None:
    assert await told(front, "/verbose on") == texts.VERBOSE_NO_THREAD
    assert await told(front, "/verbose") == texts.verbosity(Verbosity.OFF)
