"""Values with which `Store.accept_event` judges an event and applies the result in one
transaction.

The rules on who may speak and what a text means live in a judge. It is a pure object that the
store calls twice: once to admit the sender, once to decide on the event. It answers with
values, which the store applies in order in the same transaction. The rules are therefore
written once for every database.
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
    from core.store.routine_rows import MenuView, RoutineStanding


WITHHELD = "[not kept]"
"""The text stored in place of a withheld message."""
ASKED_FOR = "credential: "
"""The prefix of the outcomes of withheld messages."""
WAITING = "waiting"
"""The outcome of an input that no turn has taken yet."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A sender who may speak. A user or identity that does not exist yet is created as given.

    `limited`: their messages count against a limit, see AcceptView.recent.
    `claims`: the channel whose pairing requests the event is about, see AcceptView.claims.
    """

    principal: Principal
    via: str
    limited: bool = False
    claims: str | None = None
    wants_status: bool = False


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A refused sender, recorded under `outcome`.

    `answer`: sent only the first time, or again once `again_after_us` have passed since the last
    time.
    `word`: the answer to each refused button press (Acceptance.answer).
    `noise`: only counted per chat, sender and reason, never stored or answered.
    `wrong_code`: the sender brought an invalid code; it is counted.
    """

    outcome: str
    answer: Message | None = None
    word: str | None = None
    noise: bool = False
    again_after_us: int | None = None
    wrong_code: bool = False


@dataclass(frozen=True, slots=True)
class PairingOffered:
    """A sender who is refused for now under `outcome` and receives a pairing code. `request` is
    stored."""

    outcome: str
    request: PairingRequest
    answer: Message


@dataclass(frozen=True, slots=True)
class AccountLinked:
    """A sender whose account joins the offer's user from now on. The offer is used up.

    `answer` is sent to the sender, `notice` to the place where the offer was made.
    """

    outcome: str
    offer: LinkOffer
    answer: Message
    notice: Message


StrangerOutcome = TurnedAway | PairingOffered | AccountLinked


@dataclass(frozen=True, slots=True)
class Stranger:
    """A sender who is not allowed yet. The outcome depends on other pending requests.

    `redeems`: they bring a code."""

    meet: Callable[[StrangerView], StrangerOutcome]
    redeems: bool = False


Admission = Admitted | TurnedAway | Stranger


@dataclass(frozen=True, slots=True)
class ThreadCandidate:
    """A thread id that may be new, loaded only if no key matches and the external id is a UUID.

    `own`: the sender's user owns a thread with this id.
    `taken`: a thread with this id exists, of any user.
    `mapped`: some key leads to it.
    """

    thread_id: str
    own: bool
    taken: bool
    mapped: bool


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A gate's card as it appears in the event's own conversation."""

    gate_id: str
    refs: tuple[MessageRef, ...]
    order_key: str


@dataclass(frozen=True, slots=True)
class AskedCredentials:
    """Credential requests that a text may answer, found by its person and channel.

    `requests`: the requests still awaited, oldest first, in any thread. A request that ended
    without an answer stays here until the person has been notified.
    `replied`: the request, open or not, whose card the text replies to.
    `cards`: the cards of `requests`, each in its own conversation.
    `joins_withheld`: another part of the text's album was withheld.
    """

    requests: tuple[GateView, ...]
    replied: GateView | None = None
    cards: tuple[ShownCard, ...] = ()
    joins_withheld: bool = False


@dataclass(frozen=True, slots=True)
class StatusSnapshot:
    """The current status of a person and of their conversation.

    `grants`: all of their grants that are in force.
    `used`: the budget used by the turn that is active in the conversation.
    `paused`: all tools are paused, for everyone.
    `timezone`: the person's own, None for the hub's."""

    standing: ConsentSettings = field(default_factory=ConsentSettings)
    grants: tuple[Grant, ...] = ()
    used: LoopUsed | None = None
    paused: bool = False
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class AcceptView:
    """The state an admitted event is judged on.

    `thread`: the thread the event's key leads to, None if it does not exist yet.
    `waiting`: the number of inputs queued there.
    `open_gates`: the open gates of that thread.
    `gate`: the gate the event names by id (None: unknown id).
    `cards`: the cards of `open_gates` that were sent to the event's address.
    `replied`: the open gate whose card the event replies to.
    `candidate`: see ThreadCandidate.
    `running_since`: when the running turn was started (microseconds UTC), None if none runs.
    `now`: the hub's time in the transaction (microseconds UTC), by which gates expire.
    `asked`: see AskedCredentials, None if there are none.
    `recent`: a limited sender's counted messages, and button presses that decided nothing, within
    RATE_WINDOW_US.
    `claims`: pairing requests, and `status`: the current status, if the admission asked for them.
    `routines`: the routines the judge asked about.
    `menu`: the menu of the routine notice on which the event is a press.
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
    status: StatusSnapshot | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's decision on an admitted event. `outcome` is its recorded reason.

    `answer`, `plain`, `form`: see Acceptance.
    `counts`: the event counts against the sender's limit, if there is one.
    `noise`: the event is only counted per chat, sender and reason, and has no effects.
    `withheld`: nothing of the message's content is stored.
    `kept_as`: the text stored in place of the message's own.
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
    """A set of pure rules, called inside the transaction. It must not block and never fails on valid
    input."""

    @property
    def gate_id(self) -> str | None:
        """The id of the gate the event names, so that the store can load it."""
        ...

    @property
    def routine_ids(self) -> Sequence[str]:
        """The ids of the routines whose patterns the event matches."""
        ...

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        """Identify the sender and decide whether they may speak."""
        ...

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        """Decide on an admitted event."""
        ...


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of the transaction.

    `started`: a turn that now runs.
    `outbox`: new rows, in order.
    `thread_id`: the event's thread, if any.
    `plain`: see Acceptance.
    """

    outcome: str
    answer: str | None
    duplicate: bool
    thread_id: str | None = None
    started: TurnStart | None = None
    outbox: tuple[OutboxRow, ...] = ()
    form: EditForm | None = None
    plain: bool = False


# Outcomes shared by several rules.


def refused(reason: str, word: str, *effects: Effect) -> Verdict:
    """Return a refusal that answers with `word` and has no effects other than `effects`."""
    return Verdict(f"refused: {reason}", (*effects, Say(plain(word))))
