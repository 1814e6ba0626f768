"""People who ask to be let in, accounts that are joined, and limits: kept, counted, decided once."""

import asyncio

from core.messages import plain
from core.ports import SendState
from core.store.accept import Admitted, TurnedAway, Verdict
from core.store.accounts import (
    ClaimRefused,
    ClaimView,
    PairingApproved,
    PairingDenied,
    RequestState,
    WrongCodes,
)
from core.store.effects import NoteWrongCode
from core.users import Identity, Principal, Role, Via
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench, Rules, text_of
from tests.contracts.store.conftest import Database
from tests.contracts.store.pairing_bench import (
    EVE,
    LIFE_S,
    REFUSED,
    Door,
    claims,
    grant,
    identity_of,
    joined,
    offered,
    settle,
)

# --- asking to be let in --------------------------------------------------------------------------------


async def test_a_request_is_kept_and_answered_and_what_the_stranger_said_is_not(world: Bench) -> None:
    door = Door(world)
    request = await door.knocks()
    assert list(await world.store.people.pairing_requests()) == [request]
    (row,) = await world.store.outbox.pending_outbox(CHANNEL)
    assert (text_of(row.message), row.address) == (request.code, "to room")
    (event,) = await world.store.explanations.explain_recent(5)
    assert (event.outcome, event.sender, event.thread_id) == (REFUSED, "Ben", None)
    assert [one.outbox_id for one in event.deliveries] == [row.id]
    assert await world.store.people.user("ben") is None


async def test_a_stranger_is_judged_together_with_other_requests(world: Bench) -> None:
    door = Door(world)
    first = await door.knocks()
    world.clock.advance(60)
    second = await door.knocks(EVE)
    view = await door.view(BEN)
    assert view.own == first
    assert set(view.open_here) == {first, second}
    assert (view.now, view.recent) == (world.clock.now(), 0)
    assert (await door.view(EVE)).recent == 1
    assert (await door.view(ADA)).own is None
    world.clock.advance(LIFE_S - 60)
    assert (await door.view(ADA)).open_here == (second,)


async def test_an_expired_code_makes_room_for_the_next_of_the_same_stranger(world: Bench) -> None:
    door = Door(world)
    lapsed = await door.knocks()
    world.clock.advance(LIFE_S)
    assert not await world.store.people.pairing_requests()
    fresh = await door.knocks()
    assert list(await world.store.people.pairing_requests()) == [fresh]
    states = {request.id: request.state for request in (await claims(world)).requests}
    assert states == {lapsed.id: RequestState.LAPSED, fresh.id: RequestState.OPEN}


async def test_requests_outlive_the_hub(database: Database) -> None:
    request = await Door(await database.open()).knocks()
    again = await database.open()
    assert list(await again.store.people.pairing_requests()) == [request]
    assert (await Door(again).view()).recent == 1


# --- deciding -------------------------------------------------------------------------------------------


async def test_an_approved_person_becomes_the_user_and_is_notified(world: Bench) -> None:
    request = await Door(world).knocks()
    await world.store.people.ensure_user("ada", Role.OWNER, "Ada")
    settled = await world.store.people.settle_pairing(CHANNEL, "desk", grant(request))
    assert isinstance(settled.decision, PairingApproved)
    assert [(row.address, text_of(row.message), row.state) for row in settled.outbox] == [
        ("to ben", "You are in.", SendState.QUEUED)
    ]
    assert await identity_of(world, BEN) == Identity(CHANNEL, "ben", EVE, Via.PAIRED)
    assert await world.store.people.user("eve") == EVE
    assert not await world.store.people.pairing_requests()


async def test_of_two_simultaneous_decisions_one_wins_and_the_other_sees_it(world: Bench) -> None:
    request = await Door(world).knocks()
    mallory = Principal("mallory", Role.MEMBER, "Mallory")
    decisions = await asyncio.gather(
        settle(world, grant(request)), settle(world, grant(request, mallory)), settle(world, grant(request))
    )
    assert sorted(type(decision).__name__ for decision in decisions) == [
        "ClaimRefused",
        "ClaimRefused",
        "PairingApproved",
    ]
    winner = next(decision for decision in decisions if isinstance(decision, PairingApproved))
    assert await identity_of(world, BEN) == Identity(CHANNEL, "ben", winner.principal, Via.PAIRED)


async def test_a_denied_person_is_notified_and_stays_out(world: Bench) -> None:
    door = Door(world)
    request = await door.knocks()
    await settle(world, lambda _view: PairingDenied(request, "ada", plain("No.")))
    assert [text_of(row.message) for row in await world.store.outbox.pending_outbox(CHANNEL)] == [
        request.code,
        "No.",
    ]
    own = (await door.view()).own
    assert own is not None
    assert (own.state, own.closed_at) == (RequestState.REJECTED, world.clock.now())
    assert await identity_of(world, BEN) is None


async def test_decisions_are_judged_on_the_channel_asked_for_and_on_who_was_known(world: Bench) -> None:
    await world.turn(by=BEN)
    request = await Door(world).knocks()
    here, elsewhere = await claims(world, channel=CHANNEL), await claims(world, channel="other")
    assert (here.requests, elsewhere.requests) == ((request,), ())
    assert here.identities == {request.id: Identity(CHANNEL, "ben", BEN, "config")}


async def test_pairing_of_an_owner_is_recorded(world: Bench) -> None:
    assert not (await claims(world)).owner_paired
    await settle(world, grant(await Door(world).knocks()))
    assert not (await claims(world)).owner_paired
    await settle(world, grant(await Door(world).knocks(EVE), ADA))
    assert (await claims(world)).owner_paired


async def test_pairing_by_a_message_is_committed_with_the_message(world: Bench) -> None:
    request = await Door(world).knocks()
    await world.store.people.ensure_user("ada", Role.OWNER, "Ada")
    views: list[ClaimView | None] = []
    event = world.message("/approve")

    def decide(_event: object, view: object) -> Verdict:
        views.append(view.claims)  # type: ignore[attr-defined]
        return Verdict("command: /approve", (PairingApproved(request, EVE, "ada", plain("You are in.")),))

    rules = Rules(lambda _event, _who: Admitted(ADA, "config", claims=CHANNEL), decide)
    accepted = await world.store.inbound.accept_event(event, rules, send_now=True)
    assert views[0] is not None
    assert views[0].requests == (request,)
    # Only of the event's own conversation is it known that a message could go out at once.
    assert [(row.address, row.state) for row in accepted.outbox] == [("to ben", SendState.QUEUED)]
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert len(explained.deliveries) == 1
    assert (await identity_of(world, BEN)) == Identity(CHANNEL, "ben", EVE, Via.PAIRED)


# --- wrong codes ----------------------------------------------------------------------------------------


async def test_wrong_codes_count_for_a_quarter_of_an_hour(world: Bench) -> None:
    door = Door(world)
    await settle(world, lambda _view: ClaimRefused("unknown code", "", wrong_code=True))
    await door.met(lambda _: TurnedAway("refused: unknown code", wrong_code=True))
    await world.rule(NoteWrongCode(), by=EVE)
    assert (await claims(world)).wrong == WrongCodes(by_guesser=1, by_all=3)
    assert (await door.view(BEN)).wrong == WrongCodes(by_guesser=1, by_all=3)
    assert (await door.view(ADA)).wrong == WrongCodes(by_guesser=0, by_all=3)
    world.clock.advance(-600)
    assert (await claims(world)).wrong == WrongCodes(0, 0), "a clock put back must not lock anybody out"
    world.clock.advance(600 + LIFE_S)
    assert (await claims(world)).wrong == WrongCodes(0, 0)


# --- revoking and looking -------------------------------------------------------------------------------


async def test_only_paired_and_linked_accounts_can_be_revoked(world: Bench) -> None:
    await world.turn(by=ADA)
    assert not await world.store.people.revoke_account(CHANNEL, "ada"), (
        "configured accounts leave with the file"
    )
    assert not await world.store.people.revoke_account(CHANNEL, "nobody")
    await joined(world, await offered(world))
    assert await world.store.people.revoke_account(CHANNEL, "ben")
    assert not await world.store.people.revoke_account(CHANNEL, "ben")
    assert await identity_of(world, BEN) == Identity(CHANNEL, "ben", ADA, Via.REVOKED)


async def test_people_are_listed_with_their_accounts(world: Bench) -> None:
    await world.turn(by=ADA)
    await joined(world, await offered(world))
    assert await world.store.people.link_account("nobody", CHANNEL, "9", "Nine") is None
    assert await world.store.people.link_account("ada", "other", "9", "Nine") == ADA
    (person,) = await world.store.people.people()
    assert person.user == ADA
    assert {(one.channel, one.platform_user_id, one.via, one.name) for one in person.accounts} == {
        (CHANNEL, "ada", "config", "Ada"),
        (CHANNEL, "ben", "linked", "Ben"),
        ("other", "9", "paired", "Nine"),
    }


async def test_noise_is_counted_by_sender_conversation_and_reason(world: Bench) -> None:
    door = Door(world)
    for _ in range(3):
        await door.met(lambda _: TurnedAway("refused: too many messages", noise=True))
    world.clock.advance(1)
    await door.met(lambda _: TurnedAway("refused: too many messages", noise=True), EVE)
    rows = await world.store.explanations.noise(10)
    assert [(row.platform_user_id, row.reason, row.seen) for row in rows] == [
        ("eve", "refused: too many messages", 1),
        ("ben", "refused: too many messages", 3),
    ]
    assert len(await world.store.explanations.noise(1)) == 1
