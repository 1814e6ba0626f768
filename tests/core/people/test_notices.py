"""Telling people something: which places are tried, and in which order."""

import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from core.errors import NobodyToTell
from core.messages import Address, InboundMessage, Message, Plain, Sender, plain
from core.people.access import Access, ChannelAccess, DirectMode
from core.people.notices import Notices, ToAddress, ToPerson, ToThread
from core.ports import OutboxRow
from core.store.feed import HubSaid, ThreadsWanted
from core.store.sql.store import SqlStore
from core.store.sqlite.store import open_store
from core.users import Principal, Role, Via
from tests.contracts.store.bench import Bench, CountingIds, Rules, StoppedClock, admit
from tests.databases import lay_database
from tests.hostile.watched import TEXTS, Watched

OWNER = Principal("olivia", Role.OWNER, "Olivia")
SAM = Principal("sam", Role.MEMBER, "Sam")
REPORT = plain("The report is ready.")


class Channels:
    """Channels where everybody can be spoken to, and who is told of rows."""

    def __init__(self, *channels: str) -> None:
        self.channels = set(channels)
        self.rows: list[OutboxRow] = []

    def speaks(self, channel: str) -> bool:
        return channel in self.channels

    def direct(self, channel: str, platform_user_id: str) -> Address | None:
        known = channel in self.channels and platform_user_id != "not an id"
        return Address(f"private of {platform_user_id}") if known else None

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        self.rows += rows

    def may_send_now(self, channel: str, address: Address) -> bool:
        return False

    def prerender(self, channel: str, message: Message) -> None:
        pass


class Place:
    """A store, people who write, and notices; `access`: the rules of the channels."""

    def __init__(self, store: SqlStore, clock: StoppedClock, ids: CountingIds) -> None:
        self.world = Bench(store, clock, ids)
        self.town = Channels("phone", "work", "console")
        self.access = Access(OWNER)
        self.leaks = Watched()

    async def writes(
        self, by: Principal, channel: str, account: str, *, via: str = Via.PAIRED, direct: bool = True
    ) -> str:
        """Somebody writes and is answered; returns the thread."""
        world = self.world
        world.clock.advance(1)
        number = world.ids.number()
        event = InboundMessage(
            key=f"{channel}:{number}",
            order_key=f"{number:010}",
            channel=channel,
            address=Address(f"{channel} with {account}" if direct else "group"),
            scope=f"{channel}{'' if direct else ' group'}",
            sender=Sender(account, by.name),
            text="hello",
            sent_at=0,
            direct=direct,
        )
        rules = Rules(admit(by, via), world.queueing().verdict)
        start = (await world.store.inbound.accept_event(event, rules, send_now=False)).started
        assert start is not None
        await world.finish(start)
        return start.thread.id

    async def tell(self, to: ToPerson | ToThread | ToAddress, key: str = "a", text: Message = REPORT) -> bool:
        store, town, leaks = self.world.store, self.town, self.leaks
        notices = Notices(store, town, town, self.access, in_threads=["console"], leaks=leaks)
        return await notices.send(key, to, text)

    async def goes_to(self, to: ToPerson | ToThread | ToAddress) -> list[tuple[str, str]]:
        """All places that are tried, as each refuses."""
        assert await self.tell(to, key=f"key {self.world.ids.number()}")
        tried: list[tuple[str, str]] = []
        rows: Sequence[OutboxRow] = self.town.rows[-1:]
        while rows:
            (row,) = rows
            tried.append((row.channel, row.address))
            rows = await self.world.store.outbox.fail_outbox(row.id, "refused")
        return tried


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    clock, ids = StoppedClock(), CountingIds()
    store = await open_store(lay_database(tmp_path / "hub.db"), clock, ids)
    yield Place(store, clock, ids)
    await store.close()


async def test_a_person_is_notified_where_they_were_active_last_then_elsewhere(place: Place) -> None:
    await place.writes(SAM, "phone", "7")
    await place.writes(SAM, "work", "U7")
    assert await place.goes_to(ToPerson("sam")) == [("work", "work with U7"), ("phone", "phone with 7")]
    await place.writes(SAM, "phone", "7")
    assert await place.goes_to(ToPerson("sam")) == [("phone", "phone with 7"), ("work", "work with U7")]
    assert await place.goes_to(ToPerson("sam", "work")) == [("work", "work with U7")]


async def test_a_notice_key_is_used_once(place: Place) -> None:
    await place.writes(SAM, "phone", "7")
    assert await place.tell(ToPerson("sam"))
    assert not await place.tell(ToPerson("sam"))
    assert [row.message for row in place.town.rows] == [REPORT]


@pytest.mark.parametrize("texts, in_a_thread", TEXTS)
async def test_a_long_notice_is_looked_through_in_a_thread(
    place: Place, texts: tuple[str, ...], in_a_thread: bool
) -> None:
    await place.writes(SAM, "phone", "7")
    assert await place.tell(ToPerson("sam"), text=Message(tuple(map(Plain, texts))))
    assert {one != threading.get_ident() for one in place.leaks.threads} == {in_a_thread}


async def test_a_person_never_met_in_private_is_addressed_first(place: Place) -> None:
    place.access = Access(OWNER, frozenset({("phone", "1"), ("phone", "not an id"), ("gone", "2")}))
    assert await place.goes_to(ToPerson("olivia")) == [("phone", "private of 1")]
    await place.writes(SAM, "work", "U7", direct=False)
    assert await place.goes_to(ToPerson("sam")) == [("work", "private of U7")]


async def test_a_console_comes_last_and_shows_notices_in_a_conversation_of_their_own(place: Place) -> None:
    await place.world.store.people.ensure_user("olivia", Role.OWNER, "Olivia")
    place.access = Access(OWNER, frozenset({("phone", "1")}), proven=frozenset({("console", "olivia")}))
    tried = [("phone", "private of 1"), ("console", "private of olivia")]
    assert await place.goes_to(ToPerson("olivia")) == tried
    talk = await place.writes(OWNER, "console", "olivia", via=Via.CONFIG)
    place.access = Access(OWNER, proven=frozenset({("console", "olivia")}))
    assert await place.tell(ToPerson("olivia"), key="another")
    feed = place.world.store.feed
    (notices,) = await feed.thread_glances(ThreadsWanted(limit=9, text="Notices"))
    assert len(await feed.feed_before(notices.thread.id, None, 9)) == 2
    assert not [item for item in await feed.feed_before(talk, None, 9) if isinstance(item.shown, HubSaid)]


async def test_a_notice_goes_to_its_thread_then_to_its_owner(place: Place) -> None:
    thread = await place.writes(SAM, "work", "U7", direct=False)
    await place.writes(SAM, "phone", "7")
    private = [("phone", "phone with 7"), ("work", "private of U7")]
    assert await place.goes_to(ToThread(thread)) == [("work", "group"), *private]
    place.town.channels.discard("work")
    assert await place.goes_to(ToThread(thread)) == [("phone", "phone with 7")]


async def test_a_notice_to_an_address_reaches_no_one_else(place: Place) -> None:
    assert await place.goes_to(ToAddress("work", Address("C1"))) == [("work", "C1")]


async def test_removed_accounts_get_no_notices(place: Place) -> None:
    await place.writes(SAM, "phone", "7")
    await place.world.store.people.revoke_account("phone", "7")
    with pytest.raises(NobodyToTell, match="hubbub users link"):
        await place.tell(ToPerson("sam"))
    await place.writes(SAM, "work", "U7", via=Via.ALLOWLIST)
    with pytest.raises(NobodyToTell):
        await place.tell(ToPerson("sam"))
    listed = ChannelAccess(DirectMode.ALLOWLIST, allow=frozenset({"U7"}))
    place.access = Access(OWNER, channels={"work": listed})
    assert await place.goes_to(ToPerson("sam")) == [("work", "work with U7")]


@pytest.mark.parametrize(
    "to",
    [ToPerson("nobody"), ToThread("no thread"), ToAddress("gone", Address("C1")), ToPerson("sam", "gone")],
)
async def test_without_an_approver_the_request_is_refused(
    place: Place, to: ToPerson | ToThread | ToAddress
) -> None:
    await place.writes(SAM, "phone", "7")
    with pytest.raises(NobodyToTell):
        await place.tell(to)
    assert await place.tell(ToPerson("sam")), "the key was not used up"


async def test_no_credential_is_revealed(place: Place) -> None:
    await place.writes(SAM, "phone", "sam")
    token = "ghp_" + "q7Rm2XvK9bTz4NcW8dLs6HfJ3gPy5aUe1oQi"
    await place.tell(ToPerson("sam"), text=plain(f"The key is {token}."))
    assert [row.message for row in place.town.rows][-1:] == [plain("The key is [REDACTED].")]
