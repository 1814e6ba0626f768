"""The store's view of people's accounts: pairing requests, linked accounts, and sign-ins at servers.

Codes are stored in plain text: they are valid for a quarter of an hour, work once, and are
shown to the owner. Limiting the number of guesses protects them (WrongCodes). Anyone who can
read the database needs no code. SignIns is part of core.store.port.Store, with the same promises.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from core.clock import SECOND_US
from core.gates import Gate
from core.lazy import dataclass
from core.messages import Address, Message, Sender
from core.ports import OutboxRow
from core.store.facets import Expired, SealedSecret
from core.store.rows import Draft
from core.users import Account, Identity, Principal

RATE_WINDOW_US = 60 * SECOND_US
"""The window over which a sender's events are counted."""
CODE_LIFE_US = 15 * 60 * SECOND_US
"""The validity of a code; also the window for counting wrong codes and notified strangers."""

INVITATION_LIFE_US = 3 * 86_400 * SECOND_US


def invitation_hash(code: str) -> str:
    """Return the stored form of an invitation's code, which no other key has."""
    return hashlib.sha256(f"invitation: {code}".encode()).hexdigest()


class RequestState(StrEnum):
    """The state of a pairing request. A request past its time may still read `open`."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    LAPSED = "lapsed"


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A stranger's pairing request, with its code.

    `address`: where they wrote, and where they learn of the decision.
    `closed_at`: when it was approved, rejected or lapsed."""

    id: str
    code: str
    channel: str
    sender: Sender
    address: Address
    created_at: int
    expires_at: int
    state: RequestState = RequestState.OPEN
    closed_at: int | None = None

    def is_open(self, now: int) -> bool:
        """Return True if the request's code is still valid."""
        return self.state is RequestState.OPEN and now < self.expires_at


@dataclass(frozen=True, slots=True)
class LinkOffer:
    """A code with which another account joins a user.

    `root`: the account that vouches for the new one, None if it belongs to somebody else by now.
    `channel`, `address`: where to report its use.
    """

    code: str
    user: Principal
    root: Account | None
    channel: str
    address: Address
    expires_at: int
    used: bool = False


@dataclass(frozen=True, slots=True)
class WrongCodes:
    """The wrong codes of the last CODE_LIFE_US: of one guesser, and of everyone."""

    by_guesser: int
    by_all: int


@dataclass(frozen=True, slots=True)
class StrangerView:
    """The state a stranger is judged on.

    `recent`: their events recorded within RATE_WINDOW_US.
    `own`: their newest request.
    `open_here`: requests on their channel whose codes are valid.
    `told_at`: by outcome, when they were last informed of the refusal.
    `told_here`: the people on the channel informed within CODE_LIFE_US.
    `offers`: recent linking codes, loaded only if the stranger brings a code.
    """

    now: int
    recent: int
    own: PairingRequest | None
    open_here: tuple[PairingRequest, ...]
    told_at: Mapping[str, int]
    told_here: int
    offers: tuple[LinkOffer, ...]
    wrong: WrongCodes


@dataclass(frozen=True, slots=True)
class ClaimView:
    """The state a pairing decision is judged on.

    `requests`: recent ones in any state, newest first.
    `identities`: by request id, the user the account was bound to before.
    `owner_paired`: an account was paired with an owner."""

    now: int
    requests: tuple[PairingRequest, ...]
    identities: Mapping[str, Identity]
    owner_paired: bool
    wrong: WrongCodes


@dataclass(frozen=True, slots=True)
class PairingApproved:
    """An approved request. The account belongs to `principal`, created if missing, and is notified."""

    request: PairingRequest
    principal: Principal
    by: str
    message: Message


@dataclass(frozen=True, slots=True)
class MemberInvited:
    """A new member, who logs in to the console with the code that `hash` was made of, until `expires_at`.
    `channel`: of the console."""

    user_id: str
    name: str
    channel: str
    hash: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class PairingDenied:
    """A rejected request. Its sender is notified."""

    request: PairingRequest
    by: str
    message: Message


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """A decision that was not made. `reason` is for the record, `word` for the person.

    A `wrong_code` is counted."""

    reason: str
    word: str
    wrong_code: bool = False


Decision = PairingApproved | PairingDenied | ClaimRefused


@dataclass(frozen=True, slots=True)
class Settled:
    """A pairing decision and the rows to send."""

    decision: Decision
    outbox: tuple[OutboxRow, ...]


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """Events that were counted instead of stored: of one sender, in one conversation, for one reason."""

    channel: str
    address: Address
    platform_user_id: str
    reason: str
    seen: int
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class SignInRow:
    """An attempt to sign in at a server, whose link was shown. `id`: its gate's, if `gated`.

    `digest`: of its OAuth state. `attempt`, and `code` once it came back: sealed."""

    id: str
    server: str
    user_id: str
    digest: str
    attempt: SealedSecret
    expires_at: int
    code: SealedSecret | None = None
    gated: bool = True


@dataclass(frozen=True, slots=True)
class SignOut:
    """A sign-in of a person that ended here: its tokens, sealed, are still to be revoked.

    `tries`: how often that was tried; `due_at`: when it is tried next, microseconds UTC."""

    id: str
    server: str
    user_id: str
    tokens: SealedSecret
    tries: int
    due_at: int


class SignOuts(Protocol):
    """The units that end sign-ins: tokens are revoked after the person is signed out."""

    async def sign_out(self, server: str, user_id: str, tokens: SealedSecret) -> None:
        """Note tokens that are kept no longer, so that they are revoked."""
        ...

    async def sign_outs(self) -> Sequence[SignOut]:
        """Return all whose tokens are still to be revoked, the next one first."""
        ...

    async def begin_sign_out(self, sign_out: SignOut, again_at: int) -> None:
        """Count a try, before it is made. If it fails, the next one is due at `again_at`."""
        ...

    async def end_sign_out(self, sign_out_id: str) -> None:
        """Forget tokens: they are revoked, or not tried any more."""
        ...


class SignIns(SignOuts, Protocol):
    """The units for sign-ins. An attempt goes one way: its link is shown, its answer comes, once; it is
    redeemed, once; then it is over, or renewed with another link."""

    async def ask_to_sign_in(
        self, gate: Gate, cards: Sequence[Draft], attempt: SignInRow | None
    ) -> tuple[OutboxRow, ...]:
        """Open a gate for a call that waits for its person's sign-in, as Turns.ask_person does. The call
        keeps its approval. Raises StaleTurn."""
        ...

    async def show_sign_in(self, attempt: SignInRow, now: int, *, anew: bool = False) -> bool:
        """Store an attempt without a gate. Return False if one waits. `anew`: it replaces those."""
        ...

    async def sign_in(self, attempt_id: str) -> SignInRow | None:
        """Return an attempt whose link is shown and whose answer has not come."""
        ...

    async def answer_sign_in(self, attempt_id: str, code: SealedSecret) -> bool:
        """Store an attempt's answer. Return False if it had one, is over, or has expired."""
        ...

    async def answered_sign_ins(self) -> tuple[Sequence[str], Sequence[SignInRow]]:
        """Return the ids of attempts to redeem, and the attempts that an ended hub was redeeming."""
        ...

    async def redeem_sign_in(self, attempt_id: str) -> SignInRow | None:
        """Take an answered attempt in hand. Return None if another has it, or it is over."""
        ...

    async def finish_sign_in(
        self, attempt: SignInRow, sealed: Sequence[SealedSecret], text: str, card: Callable[[Gate], Message]
    ) -> Expired | None:
        """Store what the vault keeps of a sign-in, and close its gate, so that its call runs again. Return
        None if the attempt is over: its server was removed, or its gate closed. The tokens are then noted as
        those of a sign-out."""
        ...

    async def renew_sign_in(
        self, renewed: SignInRow, link: str, said: str, card: Callable[[Gate], Message]
    ) -> tuple[OutboxRow, ...]:
        """Put a new attempt in the place of one that failed: its gate's cards show the new link, and `said`
        is sent to its thread. Without a gate, the attempt is dropped."""
        ...

    async def renew_tokens(self, held: SealedSecret, renewed: SealedSecret) -> bool:
        """Store tokens in the place of `held`. Return False, and store nothing, if those are gone."""
        ...

    async def signed_in_for(self, call_id: str) -> bool:
        """Return whether a call's person signed in for it before."""
        ...
