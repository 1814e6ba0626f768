"""Accounts on the platforms: requests for pairing, links, and their end, for the API."""

from pydantic import Field

from bot.runtime import AdminError
from bot.views import DecisionView, PairingRequestView
from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Given, ShortText, decision_endpoint
from core.people.pairing import PairAs, PairingService
from core.store.pairing import ClaimRefused, Decision, PairingApproved
from core.users import Principal


class PairingApproval(Given):
    """The code of the pairing request to approve."""

    code: ShortText
    pair_as: PairAs = Field(default=PairAs.MEMBER, alias="as")


class PairingDenial(Given):
    """The code of the pairing request to deny."""

    code: ShortText


class AccountOf(Given):
    """An account on a channel."""

    channel: ShortText
    platform_user_id: ShortText


class Link(AccountOf):
    """An account, and the user to link it to."""

    user_id: ShortText


class PairingPage(Page):
    """Pairing requests, oldest first."""

    requests: tuple[PairingRequestView, ...]


class Accounts:
    """One method per endpoint. `owner`: the person in whose name it is decided."""

    def __init__(self, pairing: PairingService, owner: Principal) -> None:
        self._pairing = pairing
        self._owner = owner

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/pairing", self.pairing, PairingPage, owner_only=True),
            decision_endpoint("/pairing/approve", self.approve_pairing, PairingApproval),
            decision_endpoint("/pairing/reject", self.deny_pairing, PairingDenial),
            decision_endpoint("/pairing/revoke", self.revoke, AccountOf),
            decision_endpoint("/users/link", self.link, Link),
        ]

    async def pairing(self, call: Call) -> PairingPage:
        """Return pairing requests, oldest first."""
        del call
        found = await self._pairing.requests()
        return PairingPage(requests=tuple(map(PairingRequestView.of, found)))

    async def approve_pairing(self, call: Call) -> DecisionView:
        """Approve the pairing request with this code."""
        body: PairingApproval = call.body
        return _settled(await self._pairing.approve(body.code, by=self._owner, pair_as=body.pair_as))

    async def deny_pairing(self, call: Call) -> DecisionView:
        """Deny the pairing request with this code."""
        body: PairingDenial = call.body
        return _settled(await self._pairing.reject(body.code, by=self._owner))

    async def revoke(self, call: Call) -> DecisionView:
        """Remove the access of a paired or linked account."""
        body: AccountOf = call.body
        account = f"{body.channel}:{body.platform_user_id}"
        if not await self._pairing.revoke(body.channel, body.platform_user_id):
            raise AdminError(
                "not_found",
                f"{account} is neither paired nor linked; to remove a configured one, edit the configuration",
            )
        return DecisionView(id=account, outcome="access removed")

    async def link(self, call: Call) -> DecisionView:
        """Link an account to a user without a code."""
        body: Link = call.body
        if body.channel not in self._pairing.channels:
            known = ", ".join(self._pairing.channels) or "none yet"
            raise AdminError("refused", f"there is no channel named {body.channel}; configured: {known}")
        user = await self._pairing.link(body.user_id, body.channel, body.platform_user_id)
        if user is None:
            raise AdminError("not_found", f"no user has the ID {body.user_id}; run `hubbub users list`")
        return DecisionView(id=f"{body.channel}:{body.platform_user_id}", outcome=f"allowed as {user.name}")


def _settled(decision: Decision) -> DecisionView:
    if isinstance(decision, ClaimRefused):
        raise AdminError("refused", decision.word)
    request = decision.request
    account = f"{request.channel}:{request.sender.platform_user_id}"
    if isinstance(decision, PairingApproved):
        principal = decision.principal
        return DecisionView(id=account, outcome=f"allowed as {principal.name} ({principal.role.value})")
    return DecisionView(id=account, outcome="denied")
