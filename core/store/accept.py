"""What `Store.accept_event` lets the hub see and do inside its one transaction.

The rules of who may speak and what a text means live in a judge: a pure object that is asked twice
(who is this? what follows?) and answers with values. The store applies them in order, in the same
transaction, so rules are written once for every database.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from core.gates import ConsentSettings, Grant
from core.messages import EditForm, InboundEvent, Message, MessageRef, plain
from core.ports import OutboxRow
from core.store.effects import Effect, Say
from core.store.pairing import ClaimView, LinkOffer, PairingRequest, StrangerView
from core.store.rows import GateView, LoopUsed, ThreadRow, TurnStart
from core.users import Identity, Principal

if TYPE_CHECKING:
    from core.store.routines import MenuView, RoutineStanding


WITHHELD = "[not kept]"
"""What a message says that was withheld."""
ASKED_FOR = "credential: "
"""Outcomes of messages that were withheld begin so."""
WAITING = "waiting"
"""The outcome of input until a turn takes it."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The sender may speak. A user or identity that does not exist yet is created as given.

    `limited`: what they write is counted, see AcceptView.recent; `claims`: the channel whose requests to be
    let in the event is about, see AcceptView.claims.
    """

    principal: Principal
    via: str
    limited: bool = False
    claims: str | None = None
    surveys: bool = False


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """The sender is refused: recorded under `outcome`, answered with `answer` only the first time, or again
    once `again_after_us` have passed since they were last told.

    `word`: what a refused press is answered with, each time (Acceptance.answer).
    `noise`: only counted per chat, sender and reason, never stored or answered.
    `wrong_code`: the sender brought a code that is none; it is counted.
    """

    outcome: str
    answer: Message | None = None
    word: str | None = None
    noise: bool = False
    again_after_us: int | None = None
    wrong_code: bool = False


@dataclass(frozen=True, slots=True)
class PairingOffered:
    """The sender is refused for now, recorded under `outcome`, and gets a code: `request` is kept."""

    outcome: str
    request: PairingRequest
    answer: Message


@dataclass(frozen=True, slots=True)
class AccountLinked:
    """The sender's account belongs to the offer's user from now on; the offer is used up.

    `answer` goes to the sender, `notice` to where the offer was made.
    """

    outcome: str
    offer: LinkOffer
    answer: Message
    notice: Message


StrangerOutcome = TurnedAway | PairingOffered | AccountLinked


@dataclass(frozen=True, slots=True)
class Stranger:
    """Nobody who was let in; what becomes of them depends on who else asks. `redeems`: they bring a code."""

    meet: Callable[[StrangerView], StrangerOutcome]
    redeems: bool = False


Admission = Admitted | TurnedAway | Stranger


@dataclass(frozen=True, slots=True)
class ThreadCandidate:
    """Loaded only when no key matches and the external id is a UUID: what is known of that id.

    `own`: the sender's user owns a thread with this id; `taken`: a thread of anybody has it;
    `mapped`: some key leads to it.
    """

    thread_id: str
    own: bool
    taken: bool
    mapped: bool


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A prompt's card as it stands in the event's own conversation."""

    gate_id: str
    refs: tuple[MessageRef, ...]
    order_key: str


@dataclass(frozen=True, slots=True)
class AskedCredentials:
    """Requests for a credential that a text may answer, by its person and channel.

    `requests`: those whose promise holds, oldest first, in whichever thread; one that ended without an answer
    is among them until the person was told.
    `replied`: the request, open or not, whose card the text replies to.
    `cards`: where `requests` are shown, each in its own conversation.
    `joins_withheld`: another part of the text's album was withheld.
    """

    requests: tuple[GateView, ...]
    replied: GateView | None = None
    cards: tuple[ShownCard, ...] = ()
    joins_withheld: bool = False


@dataclass(frozen=True, slots=True)
class StatusSnapshot:
    """How things stand for a person and in their conversation. `grants`: all of theirs that hold; `used`: by
    the turn that is active there; `paused`: no tool of anybody runs."""

    standing: ConsentSettings = field(default_factory=ConsentSettings)
    grants: tuple[Grant, ...] = ()
    used: LoopUsed | None = None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class AcceptView:
    """The state an admitted event is judged on.

    `thread` is the one the event's key leads to, None where it does not exist yet; `waiting`: inputs
    queued there; `open_gates`: the open ones of that thread; `prompt`: the one the event names by id
    (None: unknown id); `cards`: the cards of `open_gates` that went out to the event's address;
    `replied`: the open one whose card the event replies to; `candidate`: see ThreadCandidate;
    `running_since`: when the running turn was started (microseconds UTC), None if none runs;
    `now`: the hub's time in the transaction (microseconds UTC), by which prompts expire;
    `asked`: see AskedCredentials, None where there are none;
    `recent`: messages of a limited sender, and presses that decided nothing, that counted within
    RATE_WINDOW_US;
    `claims`: requests to be let in, and `survey`: how things stand, where the admission asked for them;
    `routines`: those the judge asked about; `menu`: of the routine's notice on which the event is a press.
    """

    principal: Principal
    thread: ThreadRow | None
    candidate: ThreadCandidate | None
    waiting: int
    running_since: int | None
    open_gates: tuple[GateView, ...]
    gate: GateView | None
    cards: tuple[ShownCard, ...]
    now: int
    asked: AskedCredentials | None = None
    recent: int = 0
    claims: ClaimView | None = None
    replied: GateView | None = None
    routines: "Sequence[RoutineStanding]" = ()
    menu: "MenuView | None" = None
    survey: StatusSnapshot | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from an admitted event. `outcome` is its recorded reason; `answer` and `plain` see
    Acceptance.

    `counts`: against the sender's limit, if there is one; `noise`: the event is only counted per chat, sender
    and reason, and nothing follows from it; `form`: see Acceptance; `withheld`: nothing of
    what the message says is kept with it; `kept_as`: what is kept in the place of what it says.
    """

    outcome: str
    effects: tuple[Effect, ...] = ()
    answer: str | None = None
    counts: bool = True
    plain: bool = False
    form: EditForm | None = None
    withheld: bool = False
    noise: bool = False
    kept_as: str | None = None


class Judge(Protocol):
    """Pure rules, called inside the transaction; must not block and never fails on valid input."""

    @property
    def gate_id(self) -> str | None:
        """The prompt the event names, so that the store can load it."""
        ...

    @property
    def routine_ids(self) -> Sequence[str]:
        """The routines whose patterns the event matches."""
        ...

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        """Who is speaking, and may they?"""
        ...

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        """What follows from the event?"""
        ...


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the transaction did.

    `started`: a turn that now runs and needs its actor; `stopped_turn_id`: a running turn to be cancelled;
    `halted`: tools were stopped (True) or let go on; `outbox`: new rows, in order; `thread_id`: where the
    event belongs, if anywhere; `wait_until`: when what waits there for the rest of an album is to be started
    (microseconds UTC); `routines`: those that were fired or paused; `plain`: see Acceptance.
    """

    outcome: str
    answer: str | None
    duplicate: bool
    thread_id: str | None = None
    started: TurnStart | None = None
    stopped_turn_id: str | None = None
    outbox: tuple[OutboxRow, ...] = ()
    wait_until: int | None = None
    form: EditForm | None = None
    routines: tuple[str, ...] = ()
    halted: bool | None = None
    plain: bool = False


# What becomes of an event, where several rules say the same.


def refused(reason: str, word: str, *effects: Effect) -> Verdict:
    """The event is answered with `word`, and nothing else comes of it but `effects`."""
    return Verdict(f"refused: {reason}", (*effects, Say(plain(word))))
