"""What `Store.accept_event` lets the hub see and do inside its one transaction.

The rules of who may speak and what a text means live in a judge: a pure object that is asked twice
(who is this? what follows?) and answers with values. The store applies them in order, in the same
transaction, so rules are written once for every database.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from core.approvals import ApprovalSettings
from core.messages import FormField, InboundEvent, Message, MessageRef
from core.ports import OutboxRow
from core.prompts import Answer, Grant, Prompt, Standing
from core.store.pairing import ClaimView, LetIn, LinkOffer, PairingRequest, StrangerView
from core.store.rows import LoopUsed, PromptView, SealedSecret, ThreadRow, TurnStart
from core.users import Identity, Principal

if TYPE_CHECKING:  # most events have nothing to do with routines
    from core.store.routines import MenuView, NewRun, RoutineStanding

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
class Knock:
    """The sender is refused for now, recorded under `outcome`, and gets a code: `request` is kept."""

    outcome: str
    request: PairingRequest
    answer: Message


@dataclass(frozen=True, slots=True)
class Join:
    """The sender's account belongs to the offer's user from now on; the offer is used up.

    `answer` goes to the sender, `notice` to where the offer was made.
    """

    outcome: str
    offer: LinkOffer
    answer: Message
    notice: Message


Met = TurnedAway | Knock | Join


@dataclass(frozen=True, slots=True)
class Stranger:
    """Nobody who was let in; what becomes of them depends on who else asks. `redeems`: they bring a code."""

    meet: Callable[[StrangerView], Met]
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

    prompt_id: str
    refs: tuple[MessageRef, ...]
    order_key: str


@dataclass(frozen=True, slots=True)
class Survey:
    """How things stand for a person and in their conversation. `grants`: all of theirs that hold; `used`: by
    the turn that is active there."""

    standing: Standing = field(default_factory=Standing)
    grants: tuple[Grant, ...] = ()
    used: LoopUsed | None = None


@dataclass(frozen=True, slots=True)
class AcceptView:
    """The state an admitted event is judged on.

    `thread` is the one the event's key leads to, None where it does not exist yet; `waiting`: inputs
    queued there; `open_prompts`: the open ones of that thread; `prompt`: the one the event names by id
    (None: unknown id); `cards`: the cards of `open_prompts` that went out to the event's address;
    `replied`: the open one whose card the event replies to; `candidate`: see ThreadCandidate;
    `running_since`: when the running turn was started (microseconds UTC), None if none runs;
    `recent`: messages of a limited sender that counted within RATE_WINDOW_US;
    `claims`: requests to be let in, and `survey`: how things stand, where the admission asked for them;
    `routines`: those the judge asked about; `menu`: of the routine's notice on which the event is a press.
    """

    principal: Principal
    thread: ThreadRow | None
    candidate: ThreadCandidate | None
    waiting: int
    running_since: int | None
    open_prompts: tuple[PromptView, ...]
    prompt: PromptView | None
    cards: tuple[ShownCard, ...]
    recent: int = 0
    claims: ClaimView | None = None
    replied: PromptView | None = None
    routines: "Sequence[RoutineStanding]" = ()
    menu: "MenuView | None" = None
    survey: Survey | None = None


@dataclass(frozen=True, slots=True)
class QueueInput:
    """The message is input for its thread: it starts a turn, or waits for the next one.

    Where the event's key leads to no thread yet: `new_thread_id` is made and the key leads there, or, with
    `adopt`, the sender's existing thread of that id gets the key. `wait_us`: it waits so long for the rest
    of its album, see Store.start_waiting.
    """

    new_thread_id: str
    turn_id: str
    adopt: bool = False
    wait_us: int = 0


@dataclass(frozen=True, slots=True)
class RebindThread:
    """`/new`: the event's key leads to a new thread from now on."""

    new_thread_id: str


@dataclass(frozen=True, slots=True)
class StopThread:
    """`/stop`: a running turn is flagged, a waiting one is ended with its prompts, queued inputs dropped.

    `outcome_text` is written on the cards of prompts that this cancels.
    """

    outcome_text: str


@dataclass(frozen=True, slots=True)
class CastVote:
    """A person's answer to a prompt is recorded; it does not close the prompt yet."""

    prompt_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class ClosePrompt:
    """The prompt gets its one outcome; every shown copy is changed to `card`.

    The prompt's turn goes on once it has no open prompt left.
    """

    prompt_id: str
    outcome: Answer
    outcome_text: str
    card: Message


@dataclass(frozen=True, slots=True)
class EditedCall:
    """A prompt's call with other arguments (JSON text): `prompt` asks about that. Made on the call that
    `based_on` is the binding of."""

    prompt: Prompt
    based_on: str
    arguments: str


@dataclass(frozen=True, slots=True)
class EditForm:
    """What can be changed of a prompt's call."""

    fields: tuple[FormField, ...]


@dataclass(frozen=True, slots=True)
class EditRefused:
    """The arguments are none for the call; `field`: the one it is about, if it is one."""

    reason: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class EditCall:
    """A person changes what is asked: answers so far are void. `card`: what every shown copy says then; None
    where the prompt is closed by the same answer."""

    edited: EditedCall
    card: Message | None


@dataclass(frozen=True, slots=True)
class RecordGrant:
    """An "always" is kept."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class KeepSecrets:
    """Secrets that came with the event are kept in the vault."""

    sealed: tuple[SealedSecret, ...]


@dataclass(frozen=True, slots=True)
class TakeAwayMessage:
    """The message itself is taken away on its platform, where that lets us; elsewhere `hint` is said."""

    hint: str


@dataclass(frozen=True, slots=True)
class HaltTools:
    """No tool may run from now on, or all may again."""

    halted: bool


@dataclass(frozen=True, slots=True)
class RevokeGrant:
    """A grant is taken back."""

    grant_id: str


@dataclass(frozen=True, slots=True)
class SetApprovals:
    """How a person wants to be asked from now on, in that thread or (None) in all of theirs."""

    thread_id: str | None
    settings: ApprovalSettings


@dataclass(frozen=True, slots=True)
class Say:
    """A message for the event's own conversation goes to the outbox."""

    message: Message


@dataclass(frozen=True, slots=True)
class SayAtTimes:
    """Like Say, but only if the sender was not told for this `reason` within `again_after_us`."""

    message: Message
    reason: str
    again_after_us: int


@dataclass(frozen=True, slots=True)
class OfferLink:
    """A code by which another account of the sender may join them; it takes the place of their last one."""

    code: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class NoteWrongCode:
    """The sender brought a code that is none; it is counted."""


@dataclass(frozen=True, slots=True)
class FireRoutine:
    """A run is claimed, unless its guardrails stand against it."""

    run: "NewRun"


@dataclass(frozen=True, slots=True)
class PauseRoutine:
    """A routine fires no more until a person lets it go on."""

    routine_id: str
    because: str


Effect = (
    QueueInput
    | RebindThread
    | StopThread
    | EditCall
    | CastVote
    | ClosePrompt
    | RecordGrant
    | RevokeGrant
    | SetApprovals
    | KeepSecrets
    | TakeAwayMessage
    | HaltTools
    | Say
    | SayAtTimes
    | OfferLink
    | NoteWrongCode
    | LetIn
    | FireRoutine
    | PauseRoutine
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from an admitted event. `outcome` is its recorded reason; `answer` and `plain` see
    Acceptance.

    `counts`: against the sender's limit, if there is one; `form`: see Acceptance; `withheld`: nothing of
    what the message says is kept with it.
    """

    outcome: str
    effects: tuple[Effect, ...] = ()
    answer: str | None = None
    counts: bool = True
    plain: bool = False
    form: tuple[FormField, ...] | None = None
    withheld: bool = False


class Judge(Protocol):
    """Pure rules, called inside the transaction; must not block and never fails on valid input."""

    @property
    def prompt_id(self) -> str | None:
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
    form: tuple[FormField, ...] | None = None
    routines: tuple[str, ...] = ()
    halted: bool | None = None
    plain: bool = False
