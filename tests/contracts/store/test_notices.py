"""Notices in the store: one message for each key, at the first place that takes it."""

import asyncio

from core.messages import Address, plain
from core.ports import OutboxRow
from core.store.accept import AccountLinked, Stranger, Verdict
from core.store.accounts import LinkOffer
from core.store.facets import NoticeAddress
from core.store.feed import HubSaid
from core.users import Account, Via
from tests.contracts.store.bench import ADA, BEN, CHANNEL, SECOND, Bench, Rules, admit, text_of
from tests.contracts.store.conftest import Database


def place(name: str, thread_id: str | None = None, channel: str = CHANNEL) -> NoticeAddress:
    return NoticeAddress(channel, Address(name), thread_id)


async def told(world: Bench, *channels: str) -> list[tuple[str, str]]:
    """Return what waits to go out: where to, and what."""
    rows = [row for name in channels or (CHANNEL,) for row in await world.store.outbox.pending_outbox(name)]
    return [(row.address, text_of(row.message)) for row in rows]


async def test_a_notice_key_is_used_once_even_after_a_restart(database: Database) -> None:
    world = await database.open()
    (row,) = await world.store.notices.add_notice("a", plain("ready"), [place("x")])
    assert await world.store.outbox.pending_outbox(CHANNEL) == (row,)
    assert await world.store.notices.add_notice("a", plain("ready, again"), [place("y")]) == ()
    world = await database.open()
    assert await world.store.notices.add_notice("a", plain("ready, once more"), [place("y")]) == ()
    await world.store.notices.add_notice("b", plain("another"), [place("y")])
    assert await told(world) == [("x", "ready"), ("y", "another")]


async def test_of_many_simultaneous_senders_of_a_notice_one_sends_it(world: Bench) -> None:
    tries = [world.store.notices.add_notice("a", plain(str(number)), [place("x")]) for number in range(20)]
    rows: list[OutboxRow] = [row for added in await asyncio.gather(*tries) for row in added]
    assert len(rows) == 1
    assert await told(world) == [("x", text_of(rows[0].message))]


async def test_a_refused_notice_goes_to_the_next_address(world: Bench) -> None:
    addresses = [place("x"), place("y", channel="other"), place("z")]
    (row,) = await world.store.notices.add_notice("a", plain("ready"), addresses)
    (second,) = await world.store.outbox.fail_outbox(row.id, "blocked")
    assert (second.channel, second.address, text_of(second.message)) == ("other", "y", "ready")
    assert second.nonce != row.nonce
    assert await told(world, CHANNEL, "other") == [("y", "ready")]
    assert not await world.store.outbox.fail_outbox(row.id, "blocked, recorded twice")
    (third,) = await world.store.outbox.fail_outbox(second.id, "no such person")
    assert await told(world, CHANNEL, "other") == [("z", "ready")]
    assert not await world.store.outbox.fail_outbox(third.id, "nobody anywhere")
    assert await told(world, CHANNEL, "other") == []
    assert await world.store.notices.add_notice("a", plain("ready"), addresses) == ()


async def test_other_failed_messages_are_not_sent_elsewhere(world: Bench) -> None:
    row = await world.put_out()
    assert not await world.store.outbox.fail_outbox(row.id, "blocked")
    assert await told(world) == []


async def test_a_notice_is_seen_in_the_thread_of_its_address(world: Bench) -> None:
    start = await world.turn()
    await world.finish(start)
    await world.store.notices.add_notice("a", plain("ready"), [place("to room", start.thread.id)])
    last = (await world.store.feed.feed_before(start.thread.id, None, 10))[-1]
    assert last.shown == HubSaid(plain("ready"))


async def test_notice_addresses_are_found(world: Bench) -> None:
    for scope in ("first", "second"):
        await world.finish(await world.turn(scope=scope))
        world.clock.advance(1)
    await world.finish(await world.turn(scope="bens", by=BEN))
    reach = await world.store.notices.reach(ADA.user_id)
    assert [(one.channel, one.platform_user_id, one.direct_address) for one in reach.identities] == [
        (CHANNEL, "ada", "to second")
    ]
    assert [thread.scope for thread in reach.threads] == ["=second", "=first"]
    assert not (await world.store.notices.reach("nobody")).identities


async def test_a_group_is_not_a_private_address(world: Bench) -> None:
    await world.turn(scope="group", direct=False)
    (ada,) = (await world.store.notices.reach(ADA.user_id)).identities
    assert ada.direct_address is None
    for scope in ("here", "there"):
        await world.say(scope=scope)
        (ada,) = (await world.store.notices.reach(ADA.user_id)).identities
        assert ada.direct_address == f"to {scope}"


async def test_a_linked_account_stays_linked_wherever_it_is_heard(world: Bench) -> None:
    await world.turn()
    root = Account(CHANNEL, "ada", Via.CONFIG)
    offer = LinkOffer("ABCDEFGH", ADA, root, CHANNEL, Address("to room"), world.clock.now() + SECOND)
    join = AccountLinked("linked", offer, plain("welcome"), plain("used"))
    meeting = Rules(lambda _event, _who: Stranger(lambda _: join), lambda _event, _view: Verdict("never"))
    await world.store.inbound.accept_event(world.message(by=BEN, scope="first"), meeting, send_now=False)
    rules = Rules(admit(ADA, Via.LINKED), lambda _event, _view: Verdict("heard"))
    await world.store.inbound.accept_event(world.message(by=BEN, scope="second"), rules, send_now=False)
    linked = {one.platform_user_id: one for one in (await world.store.notices.reach(ADA.user_id)).identities}[
        "ben"
    ]
    assert (linked.via, linked.root, linked.direct_address) == (Via.LINKED, root, "to second")
