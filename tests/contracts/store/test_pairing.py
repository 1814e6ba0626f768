"""People who ask to be let in, accounts that are joined, and limits: kept, counted, decided once."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from core.ids import CODE_ALPHABET
from core.messages import Address, Sender, plain
from core.ports import SendState
from core.store.accept import (
    Accepted,
    Admitted,
    Join,
    Knock,
    Met,
    Stranger,
    TurnedAway,
    Verdict,
)
from core.store.effects import NoteWrongCode, OfferLink, SayAtTimes
from core.store.pairing import (
    CODE_LIFE_US,
    ClaimRefused,
    ClaimView,
    Decision,
    LetIn,
    LinkOffer,
    PairingRequest,
    RequestState,
    StrangerView,
    TurnDown,
    WrongCodes,
)
from core.users import Account, Identity, Principal, Role, Via
from tests.contracts.store.conftest import Database
from tests.contracts.store.world import ADA, BEN, CHANNEL, SECOND, Rules, World, admit, text_of

LIFE_S = CODE_LIFE_US // SECOND
EVE = Principal("eve", Role.MEMBER, "Eve")
REFUSED = "refused: not paired"
CODES: Iterator[str] = (f"AAAA{CODE_ALPHABET[n // 32 % 32]}{CODE_ALPHABET[n % 32]}22" for n in count())


class Door:
    """Strangers are met as told; remembers what that was judged on."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.views: list[StrangerView] = []

    async def met(
        self,
        with_: Callable[[StrangerView], Met],
        by: Principal = BEN,
        *,
        redeems: bool = False,
        **where: object,
    ) -> Accepted:
        """A stranger writes."""

        def meet(view: StrangerView) -> Met:
            self.views.append(view)
            return with_(view)

        rules = Rules(lambda _event, _who: Stranger(meet, redeems), lambda _event, _view: Verdict("never"))
        event = self.world.message("who is there?", by=by, **where)  # type: ignore[arg-type]
        return await self.world.store.accept_event(event, rules, send_now=False)

    async def knocks(self, by: Principal = BEN) -> PairingRequest:
        """A stranger writes and gets a code."""
        now = self.world.clock.now()
        request = PairingRequest(
            id=self.world.ids.row_id(),
            code=next(CODES),
            channel=CHANNEL,
            sender=Sender(by.user_id, by.name),
            address=Address(f"to {by.user_id}"),
            created_at=now,
            expires_at=now + CODE_LIFE_US,
        )
        await self.met(lambda _: Knock(REFUSED, request, plain(request.code)), by)
        return request

    async def view(self, by: Principal = BEN, *, redeems: bool = False) -> StrangerView:
        """What a stranger would be judged on now; they are counted as noise only."""
        await self.met(lambda _: TurnedAway("looked", noise=True), by, redeems=redeems)
        return self.views[-1]


def grant(request: PairingRequest, to: Principal = EVE) -> Callable[[ClaimView], Decision]:
    """Lets in, if nobody decided before."""

    def judge(view: ClaimView) -> Decision:
        open_now = next(
            (one for one in view.requests if one.id == request.id and one.is_open(view.now)), None
        )
        return (
            ClaimRefused("too late", "too late")
            if open_now is None
            else LetIn(open_now, to, "ada", plain("You are in."))
        )

    return judge


async def settle(world: World, judge: Callable[[ClaimView], Decision]) -> Decision:
    await world.store.ensure_user("ada", Role.OWNER, "Ada")
    return (await world.store.settle_pairing(None, "desk", judge)).decision


async def claims(world: World, guesser: str = "desk", channel: str | None = None) -> ClaimView:
    """What a decision would be judged on now."""
    seen: list[ClaimView] = []

    def judge(view: ClaimView) -> Decision:
        seen.append(view)
        return ClaimRefused("just looking", "")

    await world.store.settle_pairing(channel, guesser, judge)
    return seen[0]


async def identity_of(world: World, person: Principal) -> Identity | None:
    """Whom the account of that name belongs to."""
    rules = Rules(
        lambda _event, _who: TurnedAway("looked", noise=True), lambda _event, _view: Verdict("never")
    )
    await world.store.accept_event(world.message(by=person), rules, send_now=False)
    return rules.identities[-1]


# --- asking to be let in --------------------------------------------------------------------------------


async def test_a_request_is_kept_and_answered_and_what_the_stranger_said_is_not(world: World) -> None:
    door = Door(world)
    request = await door.knocks()
    assert list(await world.store.pairing_requests()) == [request]
    (row,) = await world.store.pending_outbox(CHANNEL)
    assert (text_of(row.message), row.address) == (request.code, "to room")
    (event,) = await world.store.explain_recent(5)
    assert (event.outcome, event.sender, event.thread_id) == (REFUSED, "Ben", None)
    assert [one.outbox_id for one in event.deliveries] == [row.id]
    assert await world.store.user("ben") is None


async def test_a_stranger_is_judged_on_who_else_asks(world: World) -> None:
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


async def test_a_lapsed_code_makes_room_for_the_next_of_the_same_stranger(world: World) -> None:
    door = Door(world)
    lapsed = await door.knocks()
    world.clock.advance(LIFE_S)
    assert not await world.store.pairing_requests()
    fresh = await door.knocks()
    assert list(await world.store.pairing_requests()) == [fresh]
    states = {request.id: request.state for request in (await claims(world)).requests}
    assert states == {lapsed.id: RequestState.LAPSED, fresh.id: RequestState.OPEN}


async def test_requests_outlive_the_hub(database: Database) -> None:
    request = await Door(await database.open()).knocks()
    again = await database.open()
    assert list(await again.store.pairing_requests()) == [request]
    assert (await Door(again).view()).recent == 1


# --- deciding -------------------------------------------------------------------------------------------


async def test_who_is_let_in_is_that_user_from_now_on_and_is_told(world: World) -> None:
    request = await Door(world).knocks()
    await world.store.ensure_user("ada", Role.OWNER, "Ada")
    settled = await world.store.settle_pairing(CHANNEL, "desk", grant(request))
    assert isinstance(settled.decision, LetIn)
    assert [(row.address, text_of(row.message), row.state) for row in settled.outbox] == [
        ("to ben", "You are in.", SendState.QUEUED)
    ]
    assert await identity_of(world, BEN) == Identity(CHANNEL, "ben", EVE, Via.PAIRED)
    assert await world.store.user("eve") == EVE
    assert not await world.store.pairing_requests()


async def test_of_two_decisions_at_once_one_wins_and_the_other_sees_it(world: World) -> None:
    request = await Door(world).knocks()
    mallory = Principal("mallory", Role.MEMBER, "Mallory")
    decisions = await asyncio.gather(
        settle(world, grant(request)), settle(world, grant(request, mallory)), settle(world, grant(request))
    )
    assert sorted(type(decision).__name__ for decision in decisions) == [
        "ClaimRefused",
        "ClaimRefused",
        "LetIn",
    ]
    winner = next(decision for decision in decisions if isinstance(decision, LetIn))
    assert await identity_of(world, BEN) == Identity(CHANNEL, "ben", winner.principal, Via.PAIRED)


async def test_who_is_turned_down_is_told_and_stays_out(world: World) -> None:
    door = Door(world)
    request = await door.knocks()
    await settle(world, lambda _view: TurnDown(request, "ada", plain("No.")))
    assert [text_of(row.message) for row in await world.store.pending_outbox(CHANNEL)] == [
        request.code,
        "No.",
    ]
    own = (await door.view()).own
    assert own is not None
    assert (own.state, own.closed_at) == (RequestState.REJECTED, world.clock.now())
    assert await identity_of(world, BEN) is None


async def test_decisions_are_judged_on_the_channel_asked_for_and_on_who_was_known(world: World) -> None:
    await world.turn(by=BEN)
    request = await Door(world).knocks()
    here, elsewhere = await claims(world, channel=CHANNEL), await claims(world, channel="other")
    assert (here.requests, elsewhere.requests) == ((request,), ())
    assert here.identities == {request.id: Identity(CHANNEL, "ben", BEN, "config")}


async def test_whether_an_owner_was_paired_is_known(world: World) -> None:
    assert not (await claims(world)).owner_paired
    await settle(world, grant(await Door(world).knocks()))
    assert not (await claims(world)).owner_paired
    await settle(world, grant(await Door(world).knocks(EVE), ADA))
    assert (await claims(world)).owner_paired


async def test_letting_in_by_a_message_is_one_with_the_message(world: World) -> None:
    request = await Door(world).knocks()
    await world.store.ensure_user("ada", Role.OWNER, "Ada")
    views: list[ClaimView | None] = []
    event = world.message("/approve")

    def decide(_event: object, view: object) -> Verdict:
        views.append(view.claims)  # type: ignore[attr-defined]
        return Verdict("command: /approve", (LetIn(request, EVE, "ada", plain("You are in.")),))

    rules = Rules(lambda _event, _who: Admitted(ADA, "config", claims=CHANNEL), decide)
    accepted = await world.store.accept_event(event, rules, send_now=True)
    assert views[0] is not None
    assert views[0].requests == (request,)
    # Only of the event's own conversation is it known that a message could go out at once.
    assert [(row.address, row.state) for row in accepted.outbox] == [("to ben", SendState.QUEUED)]
    explained = await world.store.explain(event.key)
    assert explained is not None
    assert len(explained.deliveries) == 1
    assert (await identity_of(world, BEN)) == Identity(CHANNEL, "ben", EVE, Via.PAIRED)


# --- wrong codes ----------------------------------------------------------------------------------------


async def test_wrong_codes_count_for_a_quarter_of_an_hour(world: World) -> None:
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


# --- joining accounts -----------------------------------------------------------------------------------


async def offered(world: World, by: Principal = ADA) -> LinkOffer:
    """A known person asks for a code for another account."""
    code = next(CODES)
    await world.rule(OfferLink(code, world.clock.now() + CODE_LIFE_US), by=by)
    return next(one for one in (await Door(world).view(redeems=True)).offers if one.code == code)


async def joined(world: World, offer: LinkOffer, by: Principal = BEN) -> Accepted:
    """A stranger joins by that offer."""
    return await Door(world).met(
        lambda _: Join("linked", offer, plain("welcome"), plain("used")),
        by,
        redeems=True,
        address=f"to {by.user_id}",
    )


async def test_an_offer_says_who_vouches_and_is_only_shown_to_those_who_bring_a_code(world: World) -> None:
    offer = await offered(world)
    root = Account(CHANNEL, "ada", "config")
    assert (offer.user, offer.root, offer.address, offer.used) == (ADA, root, "to room", False)
    assert offer.expires_at == world.clock.now() + CODE_LIFE_US
    assert (await Door(world).view()).offers == ()


async def test_an_account_that_joins_is_the_same_user_and_both_are_told(world: World) -> None:
    offer = await offered(world)
    await Door(world).knocks()
    accepted = await joined(world, offer)
    assert [(row.address, text_of(row.message)) for row in accepted.outbox] == [
        ("to ben", "welcome"),
        ("to room", "used"),
    ]
    assert await identity_of(world, BEN) == Identity(
        CHANNEL, "ben", ADA, Via.LINKED, Account(CHANNEL, "ada", "config")
    )
    assert [one.used for one in (await Door(world).view(redeems=True)).offers] == [True]
    assert not await world.store.pairing_requests(), "who is in asks no more"
    (event,) = await world.store.explain_recent(1)
    assert (event.outcome, len(event.deliveries)) == ("linked", 2)


async def test_an_offer_of_a_linked_account_is_vouched_for_by_the_first(world: World) -> None:
    await joined(world, await offered(world))
    await world.store.accept_event(
        world.message(by=BEN),
        Rules(
            admit(ADA, Via.LINKED),
            lambda _e, _v: Verdict("x", (OfferLink("BBBBBBBB", world.clock.now() + CODE_LIFE_US),)),
        ),
        send_now=False,
    )
    offers = (await Door(world).view(redeems=True)).offers
    assert {offer.code: offer.root for offer in offers}["BBBBBBBB"] == Account(CHANNEL, "ada", "config")


async def test_a_new_offer_takes_the_place_of_the_last(world: World) -> None:
    first = await offered(world)
    second = await offered(world)
    codes = {offer.code for offer in (await Door(world).view(redeems=True)).offers}
    assert second.code in codes
    assert first.code not in codes


async def test_what_vouched_for_an_account_is_seen_to_be_gone(world: World) -> None:
    await world.turn(by=EVE)
    await settle(world, grant(await Door(world).knocks(EVE)))
    await joined(world, await offered_by_paired(world))
    offer = await offered_by_paired(world)
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert linked.root == offer.root == Account(CHANNEL, "eve", Via.PAIRED)

    assert await world.store.revoke_account(CHANNEL, "eve")
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert linked.root == Account(CHANNEL, "eve", Via.REVOKED)

    await world.store.link_account("ada", CHANNEL, "eve", "Eve")
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert (linked.user, linked.root) == (EVE, None)
    roots = {one.code: one.root for one in (await Door(world).view(redeems=True)).offers}
    assert roots[offer.code] is None


async def offered_by_paired(world: World) -> LinkOffer:
    """Eve, who was paired, asks for a code."""
    code = next(CODES)
    rules = Rules(
        admit(EVE, Via.PAIRED),
        lambda _event, _view: Verdict("x", (OfferLink(code, world.clock.now() + CODE_LIFE_US),)),
    )
    await world.store.accept_event(world.message(by=EVE), rules, send_now=False)
    return next(one for one in (await Door(world).view(redeems=True)).offers if one.code == code)


async def test_an_account_can_join_again_with_another_to_vouch_for_it(world: World) -> None:
    await settle(world, grant(await Door(world).knocks(EVE)))
    offer = await offered_by_paired(world)
    await joined(world, offer)
    other = Account(CHANNEL, "eve's other", Via.PAIRED)
    await world.store.link_account("eve", CHANNEL, "eve's other", "Eve")
    await joined(world, replace(offer, root=other))
    linked = await identity_of(world, BEN)
    assert linked is not None
    assert linked.root == other


# --- revoking and looking -------------------------------------------------------------------------------


async def test_only_paired_and_linked_accounts_can_be_revoked(world: World) -> None:
    await world.turn(by=ADA)
    assert not await world.store.revoke_account(CHANNEL, "ada"), "configured accounts leave with the file"
    assert not await world.store.revoke_account(CHANNEL, "nobody")
    await joined(world, await offered(world))
    assert await world.store.revoke_account(CHANNEL, "ben")
    assert not await world.store.revoke_account(CHANNEL, "ben")
    assert await identity_of(world, BEN) == Identity(CHANNEL, "ben", ADA, Via.REVOKED)


async def test_people_are_listed_with_their_accounts(world: World) -> None:
    await world.turn(by=ADA)
    await joined(world, await offered(world))
    assert await world.store.link_account("nobody", CHANNEL, "9", "Nine") is None
    assert await world.store.link_account("ada", "other", "9", "Nine") == ADA
    (person,) = await world.store.people()
    assert person.user == ADA
    assert {(one.channel, one.platform_user_id, one.via, one.name) for one in person.accounts} == {
        (CHANNEL, "ada", "config", "Ada"),
        (CHANNEL, "ben", "linked", "Ben"),
        ("other", "9", "paired", "Nine"),
    }


async def test_noise_is_counted_by_sender_conversation_and_reason(world: World) -> None:
    door = Door(world)
    for _ in range(3):
        await door.met(lambda _: TurnedAway("refused: too many messages", noise=True))
    world.clock.advance(1)
    await door.met(lambda _: TurnedAway("refused: too many messages", noise=True), EVE)
    rows = await world.store.noise(10)
    assert [(row.platform_user_id, row.reason, row.seen) for row in rows] == [
        ("eve", "refused: too many messages", 1),
        ("ben", "refused: too many messages", 3),
    ]
    assert len(await world.store.noise(1)) == 1


# --- limits ---------------------------------------------------------------------------------------------


def limited(*, counts: bool = True) -> Rules:
    verdict = Verdict("waiting" if counts else "refused: too many messages", counts=counts)
    return Rules(lambda _event, _who: Admitted(BEN, "paired", limited=True), lambda _event, _view: verdict)


async def recent(world: World) -> int:
    """What a message that is refused would be judged on."""
    rules = limited(counts=False)
    await world.store.accept_event(world.message(by=BEN), rules, send_now=False)
    return rules.view.recent


async def test_messages_of_the_last_minute_count_once_each(world: World) -> None:
    event = world.message(by=BEN)
    for _ in range(3):
        await world.store.accept_event(event, limited(), send_now=False)
    assert await recent(world) == 1, "what is delivered again counts once"
    assert await recent(world) == 1, "what was refused does not count"
    world.clock.advance(59)
    await world.store.accept_event(world.message(by=BEN), limited(), send_now=False)
    assert await recent(world) == 2
    world.clock.advance(1)
    assert await recent(world) == 1
    world.clock.advance(60)
    assert await recent(world) == 0


async def test_presses_and_unlimited_people_do_not_count(world: World) -> None:
    start = await world.turn(by=BEN)
    prompt = await world.ask(start, *await world.call(start))
    await world.store.accept_event(world.press(prompt, 0, by=BEN), limited(), send_now=False)
    assert await recent(world) == 0


async def test_messages_from_a_time_to_come_do_not_count(world: World) -> None:
    await world.store.accept_event(world.message(by=BEN), limited(), send_now=False)
    world.clock.advance(-600)
    assert await recent(world) == 0


async def test_something_is_said_at_times(world: World) -> None:
    once_a_minute = SayAtTimes(plain("slower"), "too fast", 60 * SECOND)
    said: list[int] = []
    for _ in range(5):
        said.append(len((await world.rule(once_a_minute, by=BEN)).outbox))
        world.clock.advance(20)
    assert said == [1, 0, 0, 1, 0]
    world.clock.advance(-600)
    assert len((await world.rule(once_a_minute, by=BEN)).outbox) == 1, "a clock put back silences nobody"


async def test_a_refusal_is_told_again_after_its_time(world: World) -> None:
    door = Door(world)

    async def told(again_after_us: int | None) -> bool:
        refusal = TurnedAway("refused: try later", plain("later"), again_after_us=again_after_us)
        return bool((await door.met(lambda _: refusal)).outbox)

    assert [await told(None), await told(None), await told(0), await told(CODE_LIFE_US)] == [
        True,
        False,
        True,
        False,
    ]
    assert (await door.view()).told_at == {"refused: try later": world.clock.now()}
    assert (await door.view(EVE)).told_here == 1
    world.clock.advance(LIFE_S)
    assert (await door.view(EVE)).told_here == 0
    assert await told(CODE_LIFE_US)


async def test_who_was_let_in_is_told_anew_when_turned_away_later(world: World) -> None:
    door = Door(world)
    refusal = TurnedAway("refused: not let in", plain("no"))
    assert (await door.met(lambda _: refusal)).outbox
    await settle(world, grant(await door.knocks()))
    assert (await door.met(lambda _: refusal)).outbox
