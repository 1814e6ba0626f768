"""The store's view of pairing requests and linked accounts.

Codes are stored in plain text: they are valid for a quarter of an hour, work once, and are
shown to the owner. Limiting the number of guesses protects them (WrongCodes). Anyone who can
read the database needs no code.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum

from core.clock import SECOND_US
from core.lazy_dataclass import dataclass
from core.messages import Address, Message, Sender
from core.ports import OutboxRow
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
