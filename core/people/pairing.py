"""Pairing decisions by the owner: in a chat, on the command line, in the console."""

from collections.abc import Sequence
from enum import StrEnum

from core.ids import Ids, is_code, normalise_code
from core.lazy_dataclass import dataclass
from core.messages import plain
from core.people import pairing_texts
from core.people.access import Access
from core.people.strangers import may_guess, same_code
from core.ports import OutboxListener
from core.store.accounts import (
    ClaimRefused,
    ClaimView,
    Decision,
    PairingApproved,
    PairingDenied,
    PairingRequest,
    RequestState,
    Settled,
)
from core.store.port import People
from core.store.units import committed
from core.users import Principal, Role, Via


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
            return ClaimRefused("only the owner can pair people", pairing_texts.ONLY_OWNER_PAIRS)
        found = _find(claim, view)
        if isinstance(found, ClaimRefused):
            return found
        if found.state in {RequestState.APPROVED, RequestState.REJECTED}:
            return ClaimRefused("code already used", pairing_texts.CODE_USED)
        if not found.is_open(view.now):
            return ClaimRefused("code expired", pairing_texts.CODE_EXPIRED)
        if claim.pair_as is None:
            return PairingDenied(found, claim.by.user_id, plain(pairing_texts.REQUEST_DENIED))
        if claim.pair_as is PairAs.OWNER and not (claim.at_home and self._without_owner(view)):
            return ClaimRefused("there is already an owner", pairing_texts.OWNER_EXISTS)
        principal = self._member(found, view) if claim.pair_as is PairAs.MEMBER else claim.by
        return PairingApproved(found, principal, claim.by.user_id, plain(pairing_texts.ACCESS_GRANTED))

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
        return request or ClaimRefused("no such request", pairing_texts.NO_SUCH_REQUEST)
    if not may_guess(view.wrong):
        return ClaimRefused("too many wrong codes", pairing_texts.TOO_MANY_CODES)
    # All are compared; a valid code takes precedence over an old one with the same letters.
    same = [one for one in view.requests if same_code(one.code, code)]
    same.sort(key=lambda one: one.is_open(view.now), reverse=True)
    return same[0] if same else ClaimRefused("unknown code", pairing_texts.UNKNOWN_CODE, wrong_code=True)


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
