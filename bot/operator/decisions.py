"""An operator's changes: decisions on gates, and who may speak to the hub.

Decisions are judged like everyone's, in the transaction that records them. The API stands on this, in a
running hub and in a command without one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.runtime import AdminError
from bot.views import DecisionView, PairingRequestView, UserView
from channels.webchat import WEB
from core.clock import Clock
from core.consent import card_texts
from core.gates import Gate, GateState, Options
from core.ids import Ids, normalise_gate_id
from core.lazy_module import LazyModule
from core.messages import Address, ChoiceAnswer, Sender
from core.people.access import CONSOLE
from core.people.pairing import PairAs, PairingService
from core.ports import Inbox
from core.store.effects import EditRefused
from core.store.pairing import ClaimRefused, Decision, PairingApproved
from core.store.port import Store
from core.tools.call_edits import CallEditor
from core.users import Person, Principal, Role

if TYPE_CHECKING:
    from core import timezones
else:
    timezones = LazyModule("core.timezones")


class AdminService:
    """An operator's decisions. `owner`: the person in whose name they are made.

    All methods raise AdminError, StoreUnavailable and InboxUnavailable, and then nothing has changed."""

    def __init__(
        self,
        store: Store,
        inbox: Inbox,
        pairing: PairingService,
        owner: Principal,
        clock: Clock,
        ids: Ids,
        editing: CallEditor | None = None,
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._pairing = pairing
        self._owner = owner
        self._clock = clock
        self._ids = ids
        self._editing = editing

    async def open_gate(self, gate_id: str) -> Gate:
        """Return the open gate of this id. Raises AdminError, also if it is closed."""
        found = await self._store.feed.gate_glance(normalise_gate_id(gate_id))
        if found is None:
            raise AdminError(
                "not_found", f"no open request has the ID {gate_id}; run `hubbub approvals list`"
            )
        if found.gate.state is GateState.CLOSED:
            raise AdminError("refused", f"already closed: {found.gate.outcome_text}")
        return found.gate

    async def answer(
        self, gate: Gate, choice: int, person: Principal, form: str | None = None
    ) -> DecisionView:
        """Answer what waits, in a person's name; `choice` and `form` as in ChoiceAnswer. Raises
        AdminError."""
        if form is not None and isinstance(gate.offer, Options):
            await self._check(gate, form)
        channel = CONSOLE if person.role is Role.OWNER else WEB
        answer = ChoiceAnswer(
            key=f"api:{self._ids.row_id()}",
            channel=channel,
            address=Address(channel),
            sender=Sender(person.user_id, person.name),
            gate_id=gate.id,
            choice=choice,
            sent_at=self._clock.now(),
            form=form,
        )
        accepted = await self._inbox.accept(answer)
        if not accepted.outcome.startswith("answer: "):
            raise AdminError("refused", accepted.answer or accepted.outcome)
        return DecisionView(id=gate.id, outcome=accepted.answer or accepted.outcome)

    async def _check(self, gate: Gate, form: str) -> None:
        """Refuse arguments that are none for the call, naming the one that is wrong."""
        edit = None if self._editing is None else await self._editing.prepare(gate.id, form)
        match edit:
            case EditRefused(reason, field):
                where = "arguments" if field is None else f"arguments.{field}"
                raise AdminError("invalid", reason, where)
            case None:
                raise AdminError("refused", card_texts.NOTHING_TO_EDIT, "arguments")
            case _:
                pass

    async def pairing_requests(self) -> Sequence[PairingRequestView]:
        """Return pairing requests with a valid code, oldest first."""
        return [PairingRequestView.of(request) for request in await self._pairing.requests()]

    async def approve_pairing(self, code: str, pair_as: PairAs) -> DecisionView:
        """Pair the account that has this code."""
        decision = await self._pairing.approve(code, by=self._owner, pair_as=pair_as)
        return _settled(decision)

    async def deny_pairing(self, code: str) -> DecisionView:
        """Deny the pairing request that has this code."""
        decision = await self._pairing.reject(code, by=self._owner)
        return _settled(decision)

    async def revoke(self, channel: str, platform_user_id: str) -> DecisionView:
        """Remove the access of a paired or linked account."""
        account = f"{channel}:{platform_user_id}"
        revoked = await self._pairing.revoke(channel, platform_user_id)
        if not revoked:
            raise AdminError(
                "not_found",
                f"{account} is neither paired nor linked; to remove a configured one, edit the configuration",
            )
        return DecisionView(id=account, outcome="access removed")

    async def add_user(self, name: str) -> UserView:
        """Add a member without an account."""
        user = await self._store.people.ensure_user(self._ids.row_id(), Role.MEMBER, name)
        return UserView.of(Person(user, ()))

    async def link(self, user_id: str, channel: str, platform_user_id: str) -> DecisionView:
        """Link an account to a user without a code."""
        if channel not in self._pairing.channels:
            known = ", ".join(self._pairing.channels) or "none yet"
            raise AdminError("refused", f"there is no channel named {channel}; configured: {known}")
        user = await self._pairing.link(user_id, channel, platform_user_id)
        if user is None:
            raise AdminError("not_found", f"no user has the ID {user_id}; run `hubbub users list`")
        return DecisionView(id=f"{channel}:{platform_user_id}", outcome=f"allowed as {user.name}")

    async def set_timezone(self, user_id: str, timezone: str | None) -> DecisionView:
        """Set a user's time zone; None for the hub's."""
        name = None if timezone is None else timezones.named(timezone)
        if timezone is not None and name is None:
            near = " or ".join(timezones.near(timezone)) or "a name such as Europe/Berlin"
            raise AdminError("unusable", f"no time zone is called {timezone}; write {near}", "timezone")
        known = await self._store.people.set_timezone(user_id, name)
        if not known:
            raise AdminError("not_found", f"no user has the id {user_id}; list the users", "user_id")
        return DecisionView(id=user_id, outcome=f"time zone {name or 'of the hub'}")


def _settled(decision: Decision) -> DecisionView:
    if isinstance(decision, ClaimRefused):
        raise AdminError("refused", decision.word)
    request = decision.request
    account = f"{request.channel}:{request.sender.platform_user_id}"
    if isinstance(decision, PairingApproved):
        principal = decision.principal
        return DecisionView(id=account, outcome=f"allowed as {principal.name} ({principal.role.value})")
    return DecisionView(id=account, outcome="denied")
