"""`/timezone` in a chat: shows, sets, refuses and clears a person's time zone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.people.access import ChannelAccess, DirectMode
from tests.contracts.store.bench import text_of
from tests.core.inbound.front import OWNER, OWNER_ACCOUNT, Front


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path, rules=ChannelAccess(DirectMode.OPEN))
    yield opened
    await opened.store.close()


async def told(front: Front, words: str, person: str = OWNER_ACCOUNT) -> str:
    accepted = await front.says(person, words)
    return "\n".join(text_of(row.message) for row in accepted.outbox)


async def test_the_command_alone_shows_the_zones_of_the_person_and_of_the_hub(front: Front) -> None:
    assert await told(front, "/timezone") == (
        "You use the hub's time zone, UTC. Set your own with /timezone Europe/Berlin."
    )
    await told(front, "/timezone Europe/Berlin")
    assert await told(front, "/timezone") == (
        "Your time zone is Europe/Berlin. The hub's is UTC; /timezone default switches back to it."
    )


@pytest.mark.parametrize("words", ["America/New_York", "america/new_york", "America/New York"])
async def test_the_command_sets_a_zone_in_any_case(front: Front, words: str) -> None:
    assert "Your time zone is America/New_York." in await told(front, f"/timezone {words}")
    assert (await front.store.people.preferences(OWNER.user_id)).timezone == "America/New_York"


async def test_the_command_sets_only_the_zone_of_its_writer(front: Front) -> None:
    await told(front, "/timezone Asia/Tokyo", "gus")
    assert (await front.store.people.preferences(OWNER.user_id)).timezone is None
    guest = await front.user_of("gus")
    assert guest is not None
    assert (await front.store.people.preferences(guest)).timezone == "Asia/Tokyo"


@pytest.mark.parametrize(
    "words,near",
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("Mars/Olympus Mons", "Write a name such as Europe/Berlin or America/New_York."),
        ("../../etc/passwd", "I don't know the time zone ../../etc/passwd."),
        ("Europe", "I don't know the time zone Europe."),
    ],
)
async def test_an_unknown_zone_is_refused_with_similar_names(front: Front, words: str, near: str) -> None:
    await told(front, "/timezone Asia/Tokyo")
    accepted = await front.says(OWNER_ACCOUNT, f"/timezone {words}")
    (row,) = accepted.outbox
    assert accepted.outcome == "refused: no such time zone"
    assert near in text_of(row.message)
    assert (await front.store.people.preferences(OWNER.user_id)).timezone == "Asia/Tokyo"


async def test_default_clears_it(front: Front) -> None:
    await told(front, "/timezone Asia/Tokyo")
    assert "You use the hub's time zone, UTC." in await told(front, "/timezone Default")
    assert (await front.store.people.preferences(OWNER.user_id)).timezone is None


async def test_the_help_lists_it(front: Front) -> None:
    assert "/timezone — show your time zone" in await told(front, "/help")
