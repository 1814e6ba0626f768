"""Which thread a message belongs to: the rules, through the real front door and a real database."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.approvals import LoopLimits, NoPolicy
from core.clock import SystemClock
from core.consent.rules import EffectivePolicy, Policy
from core.ids import RandomIds
from core.inbound.judge import EventJudge
from core.inbound.rules import InboundRules, SessionManager
from core.messages import Address, InboundMessage, Sender
from core.people.access import Access, ChannelAccess, DirectMode, GroupMode
from core.store.rows import TurnState
from core.store.sql.store import SqlStore
from core.store.sqlite.store import open_store
from core.transcript import AssistantSaid
from core.users import Principal, Role
from tests.core.inbound.front import OWNER_ACCOUNT, Front
from tests.databases import lay_database

OWNER = Principal("owner", Role.OWNER, "Olivia")
IDS = RandomIds()
CHANNELS = {name: ChannelAccess(DirectMode.OPEN) for name in ("chat", "web")}
OWNERS = frozenset({("chat", "olivia"), ("web", "olivia")})
LAWS = EffectivePolicy(Policy(), LoopLimits(), NoPolicy())
RULES = InboundRules(
    Access(OWNER, OWNERS, CHANNELS),
    SessionManager(IDS),
    IDS,
    100,
    LAWS,
)


class Door:
    """Sends messages through accept and says which thread they went to."""

    def __init__(self, store: SqlStore, sent: int = 0) -> None:
        self._store = store
        self._sent = sent

    async def __call__(
        self, scope: str | None, *, person: str = "olivia", channel: str = "chat", text: str = "hi"
    ) -> str:
        self._sent += 1
        event = InboundMessage(
            key=f"k{self._sent}",
            order_key=f"{self._sent:020}",
            channel=channel,
            address=Address(f"to {scope}"),
            scope=scope,
            sender=Sender(person, person),
            text=text,
            sent_at=self._sent,
        )
        accepted = await self._store.inbound.accept_event(
            event, EventJudge(RULES, event, self._sent), send_now=False
        )
        assert accepted.thread_id is not None, accepted.outcome
        return accepted.thread_id


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    store = await open_store(lay_database(tmp_path / "hub.db"), SystemClock(), IDS)
    await store.people.ensure_user("owner", Role.OWNER, "Olivia")
    yield Door(store)
    await store.close()


async def test_the_same_key_leads_to_the_same_thread(door: Door) -> None:
    assert await door("room") == await door("room")


async def test_a_missing_an_empty_and_a_named_key_are_three_threads(door: Door) -> None:
    assert len({await door(None), await door(""), await door("ext-1")}) == 3
    assert await door(None) == await door(None)


async def test_another_channel_or_another_person_is_another_thread(door: Door) -> None:
    mine = await door("room")
    assert await door("room", channel="web") != mine
    assert await door("room", person="bob") != mine


@pytest.mark.parametrize("dashed", [True, False])
async def test_an_unknown_uuid_becomes_the_new_threads_own_id(door: Door, *, dashed: bool) -> None:
    wanted = uuid.uuid4()
    assert await door(str(wanted) if dashed else wanted.hex) == str(wanted)


async def test_a_persons_own_thread_without_a_key_is_adopted_by_its_id(door: Door) -> None:
    first = await door("room")
    second = await door("room", text="/new")
    assert second != first
    assert await door(first, channel="web") == first
    assert await door(first, channel="web") == first


async def test_a_thread_that_has_a_key_is_not_adopted_elsewhere(door: Door) -> None:
    first = await door("room")
    assert await door(first, channel="web") != first


async def test_a_thread_of_another_person_is_never_reached_by_its_id(door: Door) -> None:
    old = await door("room")
    await door("room", text="/new")
    stolen = await door(old, person="bob")
    assert stolen != old
    assert await door(old, channel="web") == old


async def test_thirty_messages_at_once_find_one_thread(door: Door) -> None:
    found = await asyncio.gather(*(door("room") for _ in range(30)))
    assert len(set(found)) == 1


async def test_every_key_is_found_again_after_a_restart(tmp_path: Path) -> None:
    keys: list[tuple[str | None, str]] = [(None, "chat"), ("", "chat"), ("room", "chat"), ("room", "web")]
    store = await open_store(lay_database(tmp_path / "hub.db"), SystemClock(), IDS)
    await store.people.ensure_user("owner", Role.OWNER, "Olivia")
    door = Door(store)
    before = [await door(scope, channel=channel) for scope, channel in keys]
    await store.close()
    store = await open_store(lay_database(tmp_path / "hub.db"), SystemClock(), IDS)
    again = Door(store, sent=len(keys))
    after = [await again(scope, channel=channel) for scope, channel in keys]
    await store.close()
    assert after == before


@pytest.mark.parametrize("direct", [True, False], ids=["in private", "in a group"])
async def test_in_a_group_a_search_finds_nothing_that_was_said_elsewhere(
    tmp_path: Path, *, direct: bool
) -> None:
    front = await Front.open(tmp_path, rules=ChannelAccess(groups=GroupMode.ALL))
    for text, privately in (
        ("the harbor is for private use", True),
        ("everybody meets at the harbor", False),
    ):
        start = (await front.says(OWNER_ACCOUNT, text, direct=privately)).started
        assert start is not None
        await front.store.turns.finish_turn_and_enqueue(
            start.turn_id, TurnState.DONE, AssistantSaid("so"), (), next_turn_id="next", send_now=False
        )
    await front.says(OWNER_ACCOUNT, "/search harbor", direct=direct)
    found = front.heard(OWNER_ACCOUNT if direct else "group")[-1]
    await front.store.close()
    assert ("everybody meets" in found, "private use" in found) == (True, direct)
