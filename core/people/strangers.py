"""Rules for strangers, judged purely, in the transaction that records the event.

A stranger who writes in private gets one explanation: with a code for the owner if the channel
pairs, at most three codes at a time and one each. In groups they get no answer. A stranger who
brings a known person's linking code joins that person. Events beyond the limits are counted
instead of stored.
"""

import hmac

from core.consent import card_texts
from core.ids import Ids
from core.lazy_dataclass import dataclass
from core.messages import ChoiceAnswer, InboundMessage, plain
from core.people import pairing_texts
from core.people.access import Access, ChannelAccess, DirectMode
from core.store.accept import AccountLinked, PairingOffered, StrangerOutcome, TurnedAway
from core.store.accounts import (
    CODE_LIFE_US,
    LinkOffer,
    PairingRequest,
    RequestState,
    StrangerView,
    WrongCodes,
)

NOT_PAIRED = "refused: not paired"
NOT_LISTED = "refused: no access"
UNKNOWN_CODE = "refused: unknown code"
TOO_MANY_CODES = "refused: too many wrong codes"
CODE_USED = "refused: code already used"
CODE_EXPIRED = "refused: code expired"
CROWDED = "refused: too many access requests"
TOO_MANY_MESSAGES = "refused: too many messages"
JOINED = "linked"

OPEN_CODES = 3
"""Maximum number of valid pairing codes on one channel."""
KEPT_PER_MINUTE = 10
"""Maximum number of one stranger's events recorded in a minute; more are noise."""
TOLD_LIMIT = 30
"""Maximum number of strangers of one channel who get an explanation within a code's lifetime; more
are noise."""
REJECTED_FOR_US = 24 * 4 * CODE_LIFE_US
"""The time after a rejection in which a stranger gets no new code: a day."""
GUESSES_EACH = 5
GUESSES_IN_ALL = 60
"""Maximum number of wrong codes within a code's lifetime: of one guesser, and of everyone.

A code is one of 2^40, so a thousand strangers who guess together find one of a hundred valid
codes once in some million years."""


def may_guess(wrong: WrongCodes) -> bool:
    """Return True if another code may be tried, right or wrong."""
    return wrong.by_guesser < GUESSES_EACH and wrong.by_all < GUESSES_IN_ALL


def same_code(code: str, other: str) -> bool:
    """Compare two codes in a time that does not reveal where they differ."""
    return hmac.compare_digest(code.encode(), other.encode())


@dataclass(frozen=True, slots=True)
class StrangerRules:
    """A judge of one stranger's event. `code`: the code they bring, normalized."""

    access: Access
    ids: Ids
    event: InboundMessage | ChoiceAnswer
    code: str | None = None

    def meet(self, view: StrangerView) -> StrangerOutcome:
        """Decide to refuse the stranger, give them a code, or link them to a known person."""
        event = self.event
        rules = self.access.channels.get(event.channel, ChannelAccess())
        refusal = NOT_PAIRED if rules.direct is DirectMode.PAIRING else NOT_LISTED
        if view.recent >= KEPT_PER_MINUTE:
            return TurnedAway(TOO_MANY_MESSAGES, word=card_texts.NOT_ALLOWED_HERE, noise=True)
        if isinstance(event, ChoiceAnswer) or not event.direct:
            return TurnedAway(refusal, word=card_texts.NOT_ALLOWED_HERE)
        if self.code is not None:
            return self._redeem(self.code, view)
        if refusal not in view.told_at and view.told_here >= TOLD_LIMIT:
            return TurnedAway(CROWDED, noise=True)
        if rules.direct is not DirectMode.PAIRING:
            return TurnedAway(refusal, plain(pairing_texts.NOT_PAIRED))
        return self._offer_pairing(event, view)

    def _offer_pairing(self, event: InboundMessage, view: StrangerView) -> StrangerOutcome:
        if view.own is not None and _was_answered(view.own, view.now):
            return TurnedAway(NOT_PAIRED)
        if len(view.open_here) >= OPEN_CODES:
            told_at = view.told_at.get(CROWDED)
            told = told_at is not None and 0 <= view.now - told_at < CODE_LIFE_US
            return TurnedAway(
                CROWDED, plain(pairing_texts.TRY_LATER), noise=told, again_after_us=CODE_LIFE_US
            )
        request = PairingRequest(
            id=self.ids.row_id(),
            code=self.ids.code(),
            channel=event.channel,
            sender=event.sender,
            address=event.address,
            created_at=view.now,
            expires_at=view.now + CODE_LIFE_US,
        )
        return PairingOffered(
            NOT_PAIRED, request, plain(pairing_texts.ask_owner(event.channel, request.code))
        )

    def _redeem(self, code: str, view: StrangerView) -> StrangerOutcome:
        if not may_guess(view.wrong):
            return TurnedAway(
                TOO_MANY_CODES, plain(pairing_texts.TOO_MANY_CODES), again_after_us=CODE_LIFE_US
            )
        found: LinkOffer | None = None
        for offer in view.offers:  # all of them, so that the time taken reveals nothing
            if same_code(offer.code, code):
                found = offer
        if found is None:
            return TurnedAway(
                UNKNOWN_CODE, plain(pairing_texts.UNKNOWN_CODE), again_after_us=0, wrong_code=True
            )
        if found.used:
            return TurnedAway(CODE_USED, plain(pairing_texts.CODE_USED), again_after_us=0)
        if view.now >= found.expires_at or not self.access.vouches(found.root, found.user):
            return TurnedAway(CODE_EXPIRED, plain(pairing_texts.CODE_EXPIRED), again_after_us=0)
        sender = self.event.sender
        answer, notice = (
            pairing_texts.linked(found.user.name),
            pairing_texts.link_used(sender.name, self.event.channel),
        )
        return AccountLinked(JOINED, found, plain(answer), plain(notice))


def _was_answered(request: PairingRequest, now: int) -> bool:
    """Return True if the stranger needs no further answer for now."""
    if request.state is RequestState.REJECTED and request.closed_at is not None:
        return 0 <= now - request.closed_at < REJECTED_FOR_US
    return request.is_open(now)
