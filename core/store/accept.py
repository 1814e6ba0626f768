"""Values with which `Store.accept_event` judges an event and applies the result in one
transaction.

The rules on who may speak and what a text means live in a judge. It is a pure object that the
store calls twice: once to admit the sender, once to decide on the event. It answers with
values, which the store applies in order in the same transaction. The rules are therefore
written once for every database.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from core.events import UNKNOWN_USE, ContextUse
from core.gates import ConsentSettings, Grant
from core.lazy import dataclass
from core.messages import EditForm, InboundEvent, Message, MessageRef, plain
from core.ports import OutboxRow
from core.store.accounts import ClaimView, LinkOffer, PairingRequest, StrangerView
from core.store.conversations import Checkpoints, ListMenu, SearchHit, SearchWanted, ThreadChoice
from core.store.effects import Effect, Say
from core.store.rows import GateView, LoopUsed, ThreadRow, TurnStart
from core.users import NO_PREFERENCES, Identity, Preferences, Principal

if TYPE_CHECKING:
    from core.job import JobRow
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
    `wants_status`, `wants_queue`, `search`: see AcceptView.status, AcceptView.queued and AcceptView.found.
    `wants_turn`: the number of the turn that a command on checkpoints names, 0 if it names none; None: the
    event is no such command.
    `wants_threads`: the id or title of the threads that the command is about, empty for all of the person's.
    `wants_deletion`: see AcceptView.sending.
    """

    principal: Principal
    via: str
    limited: bool = False
    claims: str | None = None
    wants_status: bool = False
    wants_queue: bool = False
    search: SearchWanted | None = None
    wants_turn: int | None = None
    wants_threads: str | None = None
    wants_deletion: bool = False


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
    `preferences`: the person's own. `context`: how full the conversation's newest request was."""

    standing: ConsentSettings = field(default_factory=ConsentSettings)
    grants: tuple[Grant, ...] = ()
    used: LoopUsed | None = None
    paused: bool = False
    preferences: Preferences = NO_PREFERENCES
    context: ContextUse = UNKNOWN_USE


@dataclass(frozen=True, slots=True)
class QueuedInput:
    """An input that waits: the beginning of its text, and the album it is a part of."""

    beginning: str
    album: str | None


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
    `claims`: pairing requests, `status`: the current status, and `queued`: the inputs counted by
    `waiting`, in order, if the admission asked for them.
    `found`: the result of the admission's search, in the sender's own threads.
    `routines`: the routines the judge asked about.
    `menu_answer`: what was said before with the menu on which the event is a press.
    `menu`: the menu of the routine notice on which the event is a press; `job`: the job whose newest message
    it is on, or whose message it replies to.
    `checkpoints`: those of the thread, if the admission asked for them, or a press in a list is about them.
    `list_menu`: the list in which the event is a press.
    `threads`: the person's threads that the admission or a press in a list of threads asked for, the most
    recently active first.
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
    menu_answer: str | None = None
    job: "JobRow | None" = None
    status: StatusSnapshot | None = None
    queued: tuple[QueuedInput, ...] = ()
    found: tuple[SearchHit, ...] = ()
    checkpoints: Checkpoints | None = None
    list_menu: ListMenu | None = None
    threads: Sequence[ThreadChoice] = ()
    sending: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's decision on an admitted event. `outcome` is its recorded reason.

    `answer`, `plain`, `form`: see Acceptance.
    `counts`: the event counts against the sender's limit, if there is one.
    `noise`: the event is only counted per chat, sender and reason, and has no effects.
    `withheld`: nothing of the message's content is stored.
    `kept_as`: the text stored in place of the message's own.
    `pauses`: tools are paused in a transaction before the one that keeps the event, see Accepted.
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
    pauses: bool = False


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

    `started`: a turn that now runs and needs its actor.
    `stopped_turn_id`: a running turn to be cancelled.
    `paused`: tools were paused (True) or unpaused (False).
    `again`: they were paused and nothing else was kept: once what ran is over, the event is brought again.
    `outbox`: new rows, in order.
    `thread_id`: the event's thread, if any.
    `wait_until`: when to start the input that waits for the rest of an album (microseconds UTC).
    `routines`: routines that were fired or paused.
    `steers`: the event's input waits to join the running turn.
    `plain`: see Acceptance.
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
    paused: bool | None = None
    steers: bool = False
    plain: bool = False
    again: bool = False


# Outcomes shared by several rules.


def refused(reason: str, word: str, *effects: Effect) -> Verdict:
    """Return a refusal that answers with `word` and has no effects other than `effects`."""
    return Verdict(f"refused: {reason}", (*effects, Say(plain(word))))
