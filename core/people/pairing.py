"""Pairing: rules for strangers, decisions by the owner in a chat, on the command line and in the console, and
the texts about both.

A stranger who writes in private gets one explanation: with a code for the owner if the channel
pairs, at most three codes at a time and one each. In groups they get no answer. A stranger who
brings a known person's linking code joins that person. Events beyond the limits are counted
instead of stored. Strangers are judged purely, in the transaction that records the event.
"""

import hmac
from collections.abc import Sequence
from enum import StrEnum

from core.consent import card_texts
from core.ids import Ids, is_code, normalise_code
from core.lazy import dataclass
from core.messages import ChoiceAnswer, InboundMessage, plain
from core.people.access import Access, ChannelAccess, DirectMode
from core.ports import OutboxListener
from core.store.accept import AccountLinked, PairingOffered, StrangerOutcome, TurnedAway
from core.store.accounts import (
    CODE_LIFE_US,
    ClaimRefused,
    ClaimView,
    Decision,
    LinkOffer,
    PairingApproved,
    PairingDenied,
    PairingRequest,
    RequestState,
    Settled,
    StrangerView,
    WrongCodes,
)
from core.store.port import People
from core.store.units import committed
from core.users import Principal, Role, Via

NOT_PAIRED_SAID = "This assistant is private. Ask its owner for access."
TRY_LATER = "This assistant is private, and too many access requests are open. Please try again later."
ACCESS_GRANTED = "You now have access. Send me a message and I will answer. Type /help for the commands."
REQUEST_DENIED = "The owner of this assistant denied your request."
ONLY_OWNER_PAIRS = "Only the owner of this assistant can pair people."
UNKNOWN_CODE_SAID = "Unknown code. A code works once and expires after 15 minutes."
CODE_USED_SAID = "This code has already been used. Ask for a new one."
CODE_EXPIRED_SAID = "This code has expired. Ask for a new one."
TOO_MANY_CODES_SAID = "Too many wrong codes. Please try again in 15 minutes."
NO_SUCH_REQUEST = "No pairing request has that ID."
OWNER_EXISTS = "There is already an owner. Pair this account as a member, or as yourself."
KNOWN_ALREADY = (
    "This account already belongs to a user, and a code can't change that. "
    "Send the code from the account you want to add."
)
GUESTS_CANNOT_LINK = "Guests can't link accounts. Ask the owner to pair you first."
CODES_IN_PRIVATE = "Codes work in private conversations only. Send me /link in a direct message."

ONLY_OWNER_INVITES = "Only the owner of this assistant can invite people."
INVITE_IN_PRIVATE = "Invitations are made in private conversations only. Send me /invite in a direct message."
INVITE_USAGE = "Type /invite and the name of the new member."
INVITE_NEEDS_ADDRESS = (
    "Only the hub's machine can open the console. Set public_url in [http] first, or run there: "
    "hubbub users invite NAME"
)


def invitation(name: str, url: str) -> str:
    """Return the message to the owner with a new member's link."""
    return f"This link lets {name} into the console. It works once and expires in 3 days.\n{url}"


def ask_owner(channel: str, code: str) -> str:
    """Return the reply to a stranger: their code, and instructions for the owner."""
    return (
        "This assistant is private. Its owner can give you access with this code:\n"
        f"{code}\n"
        f"The owner sends me: /approve {channel} {code}\n"
        f"or runs: hubbub pair approve {code}\n"
        "The code expires in 15 minutes."
    )


def approved(name: str, role: str) -> str:
    """Return the confirmation to the owner who paired somebody, or an account of their own."""
    if role == "owner":
        return f"{name} is now one of your accounts."
    return f"{name} now has access as a member."


def link_code(code: str) -> str:
    """Return the message with a person's code for another account of theirs."""
    return (
        f"Send me this from your other account: /link {code}\n"
        "The code works once and expires in 15 minutes. Anyone who sends it can act as you. Don't share it."
    )


def linked(name: str) -> str:
    """Return the notice to an account that was linked to a person."""
    return f"This account is now linked: you are {name} here."


def link_used(name: str, channel: str) -> str:
    """Return the notice to the account that made the code."""
    return f"Your code was used: {name} on {channel} is now one of your accounts."


def unknown_channel(name: str) -> str:
    """Return the answer to an owner who names a channel that does not exist."""
    return f"There is no channel named {name}."


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
            return TurnedAway(refusal, plain(NOT_PAIRED_SAID))
        return self._offer_pairing(event, view)

    def _offer_pairing(self, event: InboundMessage, view: StrangerView) -> StrangerOutcome:
        if view.own is not None and _was_answered(view.own, view.now):
            return TurnedAway(NOT_PAIRED)
        if len(view.open_here) >= OPEN_CODES:
            told_at = view.told_at.get(CROWDED)
            told = told_at is not None and 0 <= view.now - told_at < CODE_LIFE_US
            return TurnedAway(CROWDED, plain(TRY_LATER), noise=told, again_after_us=CODE_LIFE_US)
        request = PairingRequest(
            id=self.ids.row_id(),
            code=self.ids.code(),
            channel=event.channel,
            sender=event.sender,
            address=event.address,
            created_at=view.now,
            expires_at=view.now + CODE_LIFE_US,
        )
        return PairingOffered(NOT_PAIRED, request, plain(ask_owner(event.channel, request.code)))

    def _redeem(self, code: str, view: StrangerView) -> StrangerOutcome:
        if not may_guess(view.wrong):
            return TurnedAway(TOO_MANY_CODES, plain(TOO_MANY_CODES_SAID), again_after_us=CODE_LIFE_US)
        found: LinkOffer | None = None
        for offer in view.offers:  # all of them, so that the time taken reveals nothing
            if same_code(offer.code, code):
                found = offer
        if found is None:
            return TurnedAway(UNKNOWN_CODE, plain(UNKNOWN_CODE_SAID), again_after_us=0, wrong_code=True)
        if found.used:
            return TurnedAway(CODE_USED, plain(CODE_USED_SAID), again_after_us=0)
        if view.now >= found.expires_at or not self.access.vouches(found.root, found.user):
            return TurnedAway(CODE_EXPIRED, plain(CODE_EXPIRED_SAID), again_after_us=0)
        sender = self.event.sender
        answer, notice = (
            linked(found.user.name),
            link_used(sender.name, self.event.channel),
        )
        return AccountLinked(JOINED, found, plain(answer), plain(notice))


def _was_answered(request: PairingRequest, now: int) -> bool:
    """Return True if the stranger needs no further answer for now."""
    if request.state is RequestState.REJECTED and request.closed_at is not None:
        return 0 <= now - request.closed_at < REJECTED_FOR_US
    return request.is_open(now)


class PairAs(StrEnum):
    """The user an account is paired as.

    `MEMBER`: a person of their own; `ME`: another account of the owner who decides; `OWNER`: the
    owner's first account. Only the console and the command line may use `OWNER`, and only while
    there is no owner account.
    """

    MEMBER = "member"
    ME = "me"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Claim:
    """A requested pairing decision.

    `wanted`: a code, or a request's id.
    `by`: the person who decides.
    `at_home`: made on the command line or in the console.
    `pair_as`: None rejects the request."""

    wanted: str
    by: Principal
    pair_as: PairAs | None = PairAs.MEMBER
    at_home: bool = False


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """A judge of pairing decisions on the current state. Pure except for new users' ids."""

    access: Access
    ids: Ids

    def judge(self, claim: Claim, view: ClaimView) -> Decision:
        """Return the user the account is paired with, or why it is refused."""
        if claim.by.role is not Role.OWNER:
            return ClaimRefused("only the owner can pair people", ONLY_OWNER_PAIRS)
        found = _find(claim, view)
        if isinstance(found, ClaimRefused):
            return found
        if found.state in {RequestState.APPROVED, RequestState.REJECTED}:
            return ClaimRefused("code already used", CODE_USED_SAID)
        if not found.is_open(view.now):
            return ClaimRefused("code expired", CODE_EXPIRED_SAID)
        if claim.pair_as is None:
            return PairingDenied(found, claim.by.user_id, plain(REQUEST_DENIED))
        if claim.pair_as is PairAs.OWNER and not (claim.at_home and self._without_owner(view)):
            return ClaimRefused("there is already an owner", OWNER_EXISTS)
        principal = self._member(found, view) if claim.pair_as is PairAs.MEMBER else claim.by
        return PairingApproved(found, principal, claim.by.user_id, plain(ACCESS_GRANTED))

    def _without_owner(self, view: ClaimView) -> bool:
        return not self.access.owner_identities and not view.owner_paired

    def _member(self, request: PairingRequest, view: ClaimView) -> Principal:
        """Return a new person, or the member the account belonged to until it was revoked."""
        known = view.identities.get(request.id)
        if known is not None and known.via == Via.REVOKED and known.user.role is Role.MEMBER:
            return known.user
        return Principal(self.ids.row_id(), Role.MEMBER, request.sender.name)


def _find(claim: Claim, view: ClaimView) -> PairingRequest | ClaimRefused:
    code = normalise_code(claim.wanted)
    if not is_code(code):
        request = next((one for one in view.requests if one.id == claim.wanted), None)
        return request or ClaimRefused("no such request", NO_SUCH_REQUEST)
    if not may_guess(view.wrong):
        return ClaimRefused("too many wrong codes", TOO_MANY_CODES_SAID)
    # All are compared; a valid code takes precedence over an old one with the same letters.
    same = [one for one in view.requests if same_code(one.code, code)]
    same.sort(key=lambda one: one.is_open(view.now), reverse=True)
    return same[0] if same else ClaimRefused("unknown code", UNKNOWN_CODE_SAID, wrong_code=True)


class PairingService:
    """The pairing operations of the console and the command line. `by` is always an owner's user.

    Raises StoreUnavailable as the store does.
    """

    def __init__(self, people: People, rules: ClaimRules, listener: OutboxListener) -> None:
        self._people = people
        self._rules = rules
        self._listener = listener

    async def requests(self) -> Sequence[PairingRequest]:
        """Return the open pairing requests, oldest first."""
        return await self._people.pairing_requests()

    async def approve(
        self, wanted: str, *, by: Principal, pair_as: PairAs = PairAs.MEMBER, channel: str | None = None
    ) -> Decision:
        """Approve the request with this code or id. Its account is notified at once.

        `channel`: None for any. Returns PairingApproved, or ClaimRefused with the reason.
        """
        return await self._settle(Claim(wanted, by, pair_as, at_home=True), channel)

    async def reject(self, wanted: str, *, by: Principal) -> Decision:
        """Reject a request. Its sender is notified and gets no code for a day. Returns PairingDenied, or
        ClaimRefused."""
        return await self._settle(Claim(wanted, by, None, at_home=True), None)

    async def revoke(self, channel: str, platform_user_id: str, by: str | None = None) -> str | None:
        """Remove the access of a paired or linked account, and of accounts linked by it, from their next
        event on. Return the id of the undo, None if it is neither: to remove a configured account, change the
        configuration. `by`: a user's id."""
        return await self._people.revoke_account(channel, platform_user_id, by=by)

    async def restore(self, undo: str, by: str | None = None) -> str | None:
        """Undo a removal and return the account; None if it is too late, or it has changed since."""
        return await self._people.restore_account(undo, by=by)

    @property
    def channels(self) -> Sequence[str]:
        """The channels on which accounts can be paired."""
        return sorted(self._rules.access.channels)

    async def link(
        self, user_id: str, channel: str, platform_user_id: str, name: str = ""
    ) -> Principal | None:
        """Link an account to a user without a code. Return None if there is no such user."""
        return await self._people.link_account(user_id, channel, platform_user_id, name or platform_user_id)

    async def _settle(self, claim: Claim, channel: str | None) -> Decision:
        settled = await committed(
            self._people.settle_pairing(
                channel, f"desk:{claim.by.user_id}", lambda view: self._rules.judge(claim, view)
            ),
            self._follow,
        )
        return settled.decision

    def _follow(self, settled: Settled) -> None:
        if settled.outbox:
            self._listener.outbox_ready(settled.outbox)
