"""What may follow from an event, as values: the store does each in the transaction that accepts the event."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.approvals import ApprovalSettings
from core.gates import Answer, Gate, Grant
from core.messages import Message
from core.store.facets import SealedSecret
from core.store.pairing import LetIn

if TYPE_CHECKING:  # most events have nothing to do with routines
    from core.store.routines import NewRun


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

    gate_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class CloseGate:
    """The prompt gets its one outcome; every shown copy is changed to `card`.

    The prompt's turn goes on once it has no open prompt left.
    """

    gate_id: str
    outcome: Answer
    outcome_text: str
    card: Message


@dataclass(frozen=True, slots=True)
class EditedCall:
    """A prompt's call with other arguments (JSON text): `prompt` asks about that. Made on the call that
    `based_on` is the binding of."""

    gate: Gate
    based_on: str
    arguments: str


@dataclass(frozen=True, slots=True)
class EditRefused:
    """The arguments are none for the call; `field`: the one it is about, if it is one. `outdated`: whoever
    wrote them saw the call as it was before somebody changed it."""

    reason: str
    field: str | None = None
    outdated: bool = False


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
class ForgetCredentials:
    """The person is told that these requests for a credential are over: what they write is ordinary again."""

    gate_ids: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class GrantToRoutine:
    """A routine's definition is replaced by one with more grants. `grants`: those it did not have, each a
    tool's name, a space and a pattern; `before`, `after`: the definition as JSON text."""

    routine_id: str
    grants: tuple[str, ...]
    before: str
    after: str


Effect = (
    QueueInput
    | RebindThread
    | StopThread
    | EditCall
    | CastVote
    | CloseGate
    | RecordGrant
    | RevokeGrant
    | SetApprovals
    | KeepSecrets
    | TakeAwayMessage
    | ForgetCredentials
    | HaltTools
    | Say
    | SayAtTimes
    | OfferLink
    | NoteWrongCode
    | LetIn
    | FireRoutine
    | PauseRoutine
    | GrantToRoutine
)
