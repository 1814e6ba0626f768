"""What the store shows and keeps about people who ask to be let in, and about accounts that are joined.

Codes are kept as they are: they live for a quarter of an hour, work once, and are shown to the owner. What
protects them is that guesses are few (WrongCodes); who can read the database needs none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.clock import SECOND_US
from core.messages import Address, Message, Sender
from core.ports import OutboxRow
from core.users import Account, Identity, Principal

RATE_WINDOW_US = 60 * SECOND_US
"""Over which a sender's events are counted."""
CODE_LIFE_US = 15 * 60 * SECOND_US
"""How long a code is good; wrong codes, and people told why they are refused, are counted over it too."""


class RequestState(StrEnum):
    """A wish to be let in; a request past its time may still read `open`."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    LAPSED = "lapsed"


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A stranger who was given a code. `address`: where they wrote, and hear of the decision; `closed_at`:
    when it was approved or rejected, or when it lapsed."""

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
        """Whether its code is good."""
        return self.state is RequestState.OPEN and now < self.expires_at


@dataclass(frozen=True, slots=True)
class LinkOffer:
    """A code by which another account joins a user.

    `root`: the account that vouches for whoever brings it, None where that one belongs to somebody else by
    now; word of its use goes to `channel`, `address`.
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
    """Wrong codes of the last CODE_LIFE_US: of one guesser, and of all."""

    by_guesser: int
    by_all: int


@dataclass(frozen=True, slots=True)
class StrangerView:
    """The state a stranger is judged on.

    `recent`: events of theirs that were recorded within RATE_WINDOW_US; `own`: their newest request;
    `open_here`: requests of their channel whose codes are good; `told_at`: by outcome, when they were last
    told why they are refused; `told_here`: people of the channel told so within CODE_LIFE_US; `offers`:
    linking codes of late, loaded only for those who bring a code.
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
    """The state a decision about a request is judged on. `requests`: those of late in any state, newest
    first; `identities`: by request id, whom the account was bound to before; `owner_paired`: an account was
    paired with an owner."""

    now: int
    requests: tuple[PairingRequest, ...]
    identities: Mapping[str, Identity]
    owner_paired: bool
    wrong: WrongCodes


@dataclass(frozen=True, slots=True)
class LetIn:
    """The request is granted: the account belongs to `principal`, made if missing, and is told."""

    request: PairingRequest
    principal: Principal
    by: str
    message: Message


@dataclass(frozen=True, slots=True)
class TurnDown:
    """The request is rejected, and its sender told."""

    request: PairingRequest
    by: str
    message: Message


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """Nothing is decided. `reason` is for the record, `word` for the person; a `wrong_code` is counted."""

    reason: str
    word: str
    wrong_code: bool = False


Decision = LetIn | TurnDown | ClaimRefused


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a request, and the rows that now go out."""

    decision: Decision
    outbox: tuple[OutboxRow, ...]


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """Events that were counted, not stored: of one sender, in one conversation, for one reason."""

    channel: str
    address: Address
    platform_user_id: str
    reason: str
    seen: int
    first_at: int
    last_at: int
