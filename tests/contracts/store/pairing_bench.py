"""Access in these suites: a door, its codes, and decisions at it."""

from collections.abc import Callable, Iterator
from itertools import count

from core.ids import CODE_ALPHABET
from core.messages import Address, Sender, plain
from core.store.accept import (
    Accepted,
    AccountLinked,
    PairingOffered,
    Stranger,
    StrangerOutcome,
    TurnedAway,
    Verdict,
)
from core.store.accounts import (
    CODE_LIFE_US,
    ClaimRefused,
    ClaimView,
    Decision,
    LinkOffer,
    PairingApproved,
    PairingRequest,
    StrangerView,
)
from core.store.effects import OfferLink
from core.users import Identity, Principal, Role
from tests.contracts.store.bench import ADA, BEN, CHANNEL, SECOND, Bench, Rules

LIFE_S = CODE_LIFE_US // SECOND
EVE = Principal("eve", Role.MEMBER, "Eve")
REFUSED = "refused: not paired"

CODES: Iterator[str] = (f"AAAA{CODE_ALPHABET[n // 32 % 32]}{CODE_ALPHABET[n % 32]}22" for n in count())


class Door:
    """Strangers are met as told; remembers what that was judged on."""

    def __init__(self, world: Bench) -> None:
        self.world = world
        self.views: list[StrangerView] = []

    async def met(
        self,
        with_: Callable[[StrangerView], StrangerOutcome],
        by: Principal = BEN,
        *,
        redeems: bool = False,
        **where: object,
    ) -> Accepted:
        """A stranger writes."""

        def meet(view: StrangerView) -> StrangerOutcome:
            self.views.append(view)
            return with_(view)

        rules = Rules(lambda _event, _who: Stranger(meet, redeems), lambda _event, _view: Verdict("never"))
        event = self.world.message("who is there?", by=by, **where)  # type: ignore[arg-type]
        return await self.world.store.inbound.accept_event(event, rules, send_now=False)

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
        await self.met(lambda _: PairingOffered(REFUSED, request, plain(request.code)), by)
        return request

    async def view(self, by: Principal = BEN, *, redeems: bool = False) -> StrangerView:
        """Return what a stranger would be judged on now; they are counted as noise only."""
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
            else PairingApproved(open_now, to, "ada", plain("You are in."))
        )

    return judge


async def settle(world: Bench, judge: Callable[[ClaimView], Decision]) -> Decision:
    await world.store.people.ensure_user("ada", Role.OWNER, "Ada")
    return (await world.store.people.settle_pairing(None, "desk", judge)).decision


async def claims(world: Bench, guesser: str = "desk", channel: str | None = None) -> ClaimView:
    """Return what a decision would be judged on now."""
    seen: list[ClaimView] = []

    def judge(view: ClaimView) -> Decision:
        seen.append(view)
        return ClaimRefused("just looking", "")

    await world.store.people.settle_pairing(channel, guesser, judge)
    return seen[0]


async def identity_of(world: Bench, person: Principal) -> Identity | None:
    """Whom the account of that name belongs to."""
    rules = Rules(
        lambda _event, _who: TurnedAway("looked", noise=True), lambda _event, _view: Verdict("never")
    )
    await world.store.inbound.accept_event(world.message(by=person), rules, send_now=False)
    return rules.identities[-1]


async def offered(world: Bench, by: Principal = ADA) -> LinkOffer:
    """A known person asks for a code for another account."""
    code = next(CODES)
    await world.rule(OfferLink(code, world.clock.now() + CODE_LIFE_US), by=by)
    return next(one for one in (await Door(world).view(redeems=True)).offers if one.code == code)


async def joined(world: Bench, offer: LinkOffer, by: Principal = BEN) -> Accepted:
    """A stranger joins by that offer."""
    return await Door(world).met(
        lambda _: AccountLinked("linked", offer, plain("welcome"), plain("used")),
        by,
        redeems=True,
        address=f"to {by.user_id}",
    )
