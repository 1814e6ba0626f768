"""Accounts that are joined: who vouches for them, and what becomes of it."""

from dataclasses import replace

from core.store.accept import Verdict
from core.store.accounts import CODE_LIFE_US, LinkOffer
from core.store.effects import OfferLink
from core.users import Account, Identity, Principal, Role, Via
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench, Rules, admit, text_of
from tests.contracts.store.pairing_bench import CODES, EVE, Door, grant, identity_of, joined, offered, settle

ZOE = Principal("zoe", Role.MEMBER, "Zoe")


async def test_an_offer_says_who_vouches_and_is_shown_only_to_people_with_a_code(world: Bench) -> None:
    offer = await offered(world)
    root = Account(CHANNEL, "ada", "config")
    assert (offer.user, offer.root, offer.address, offer.used) == (ADA, root, "to room", False)
    assert offer.expires_at == world.clock.now() + CODE_LIFE_US
    assert (await Door(world).view()).offers == ()


async def test_an_account_that_joins_is_the_same_user_and_both_are_notified(world: Bench) -> None:
    theirs, offer = await offered(world, by=ZOE), await offered(world)
    await Door(world).knocks()
    await Door(world).knocks(EVE)
    accepted = await joined(world, offer)
    assert [(row.address, text_of(row.message)) for row in accepted.outbox] == [
        ("to ben", "welcome"),
        ("to room", "used"),
    ]
    assert await identity_of(world, BEN) == Identity(
        CHANNEL, "ben", ADA, Via.LINKED, Account(CHANNEL, "ada", "config")
    )
    used = {one.code: one.used for one in (await Door(world).view(redeems=True)).offers}
    assert used == {offer.code: True, theirs.code: False}
    asking = [one.sender.platform_user_id for one in await world.store.people.pairing_requests()]
    assert asking == ["eve"], "who is in asks no more"
    (event,) = await world.store.explanations.explain_recent(1)
    assert (event.outcome, len(event.deliveries)) == ("linked", 2)


async def test_the_first_account_vouches_for_an_offer_of_a_linked_account(world: Bench) -> None:
    await joined(world, await offered(world))
    await world.store.inbound.accept_event(
        world.message(by=BEN),
        Rules(
            admit(ADA, Via.LINKED),
            lambda _e, _v: Verdict("x", (OfferLink("BBBBBBBB", world.clock.now() + CODE_LIFE_US),)),
        ),
        send_now=False,
    )
    offers = (await Door(world).view(redeems=True)).offers
    assert {offer.code: offer.root for offer in offers}["BBBBBBBB"] == Account(CHANNEL, "ada", "config")


async def test_a_new_offer_replaces_the_last(world: Bench) -> None:
    first = await offered(world)
    second = await offered(world)
    codes = {offer.code for offer in (await Door(world).view(redeems=True)).offers}
    assert second.code in codes
    assert first.code not in codes


async def test_an_account_whose_pairing_was_removed_is_shown_as_revoked(world: Bench) -> None:
    await world.turn(by=EVE)
    await settle(world, grant(await Door(world).knocks(EVE)))
    await joined(world, await offered_by_paired(world))
    offer = await offered_by_paired(world)
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert linked.root == offer.root == Account(CHANNEL, "eve", Via.PAIRED)

    assert await world.store.people.revoke_account(CHANNEL, "eve")
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert linked.root == Account(CHANNEL, "eve", Via.REVOKED)

    await world.store.people.link_account("ada", CHANNEL, "eve", "Eve")
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert (linked.user, linked.root) == (EVE, None)
    roots = {one.code: one.root for one in (await Door(world).view(redeems=True)).offers}
    assert roots[offer.code] is None


async def offered_by_paired(world: Bench) -> LinkOffer:
    """Eve, who was paired, asks for a code."""
    code = next(CODES)
    rules = Rules(
        admit(EVE, Via.PAIRED),
        lambda _event, _view: Verdict("x", (OfferLink(code, world.clock.now() + CODE_LIFE_US),)),
    )
    await world.store.inbound.accept_event(world.message(by=EVE), rules, send_now=False)
    return next(one for one in (await Door(world).view(redeems=True)).offers if one.code == code)


async def test_an_account_can_join_again_with_another_to_vouch_for_it(world: Bench) -> None:
    await settle(world, grant(await Door(world).knocks(EVE)))
    offer = await offered_by_paired(world)
    await joined(world, offer)
    other = Account(CHANNEL, "eve's other", Via.PAIRED)
    await world.store.people.link_account("eve", CHANNEL, "eve's other", "Eve")
    await joined(world, replace(offer, root=other))
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert linked.root == other
