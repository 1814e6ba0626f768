"""Effects of an event, as values. The store applies each in the transaction that accepts the
event."""

from typing import TYPE_CHECKING

from core.approvals import ApprovalSettings
from core.extension import ExtensionChange
from core.gates import Answer, Gate, Grant
from core.lazy import dataclass
from core.messages import Message
from core.store.accounts import MemberInvited, PairingApproved
from core.store.conversations import MenuKind
from core.store.facets import SealedSecret
from core.users import ThreadSettings

if TYPE_CHECKING:  # imported for typing only: most events have nothing to do with routines and jobs
    from collections.abc import Callable, Sequence

    from core.extension import Extension
    from core.job import JobRow, JobState, NewJob
    from core.store.routine_rows import NewRun


@dataclass(frozen=True, slots=True)
class QueueInput:
    """A message that is input for its thread: it starts a turn or waits for the next one.

    If the event's key leads to no thread yet, `new_thread_id` is created for it. With `adopt`, the
    sender's existing thread of that id gets the key instead.
    `wait_us`: how long the message waits for the rest of its album, see Store.start_waiting.
    `steers`: if it waits, it may join the running turn, see Turns.join_waiting.
    """

    new_thread_id: str
    turn_id: str
    adopt: bool = False
    wait_us: int = 0
    steers: bool = False


@dataclass(frozen=True, slots=True)
class RebindThread:
    """The effect of `/new`: the event's key leads to a new thread from now on. `title`: empty for one made
    from the first message."""

    new_thread_id: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class SwitchThread:
    """The effect of `/thread`: the key of that scope leads to another thread of the person, which is open
    from now on."""

    thread_id: str
    scope: str | None


@dataclass(frozen=True, slots=True)
class CloseThread:
    """The effect of `/close`: the thread takes no further turn until it is opened again."""


@dataclass(frozen=True, slots=True)
class DeleteThread:
    """The effect of `/delete`, once it is confirmed: nothing that was said in the thread is kept."""


@dataclass(frozen=True, slots=True)
class RenameThread:
    """The effect of `/rename`."""

    title: str


Choosing = RebindThread | SwitchThread | CloseThread | RenameThread | DeleteThread
"""The effects on which thread is used, and what it is called."""


@dataclass(frozen=True, slots=True)
class StopThread:
    """The effect of `/stop`: a running turn is flagged, a waiting turn ends with its gates, and queued
    inputs are dropped.

    `outcome_text` is written on the cards of the gates that this cancels.
    """

    outcome_text: str


@dataclass(frozen=True, slots=True)
class UndoTurns:
    """The effect of `/undo`: the newest turns are taken back, with all that was said since."""

    turns: int


@dataclass(frozen=True, slots=True)
class RedoTurns:
    """The effect of `/redo`: what the newest undo took back is there again."""


@dataclass(frozen=True, slots=True)
class ClearThread:
    """The effect of `/clear`: the conversation is empty, and nothing of it can be brought back."""


@dataclass(frozen=True, slots=True)
class RetryTurn:
    """The effect of `/retry`: the newest turn is taken back, and its input starts a new one."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class ContinueTurn:
    """The effect of `/resume` after an interrupted turn: a new turn continues where that one ended."""

    turn_id: str
    note: str


@dataclass(frozen=True, slots=True)
class CompactThread:
    """The effect of `/compact`: a turn that asks no model for an answer, but for a summary."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class BranchThread:
    """The effect of `/branch`: the event's key leads to a new thread with the live entries up to the end of a
    turn."""

    new_thread_id: str
    title: str
    last_turn_id: str


Rewind = UndoTurns | RedoTurns | ClearThread | RetryTurn | ContinueTurn | CompactThread | BranchThread
"""The effects on the event's own thread, in which nothing runs or waits."""


@dataclass(frozen=True, slots=True)
class CastVote:
    """A person's recorded answer to a gate. It does not close the gate yet."""

    gate_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class CloseGate:
    """The one outcome of a gate. Every card of it is changed to `card`.

    The gate's turn continues once it has no open gate left.
    """

    gate_id: str
    outcome: Answer
    outcome_text: str
    card: Message


@dataclass(frozen=True, slots=True)
class EditedCall:
    """A gate's call with other arguments (JSON text).

    `gate`: the gate about the edited call.
    `based_on`: the binding of the call the edit was made on."""

    gate: Gate
    based_on: str
    arguments: str


@dataclass(frozen=True, slots=True)
class EditRefused:
    """A refused edit: the arguments are not valid for the call.

    `field`: the argument the refusal is about, if it is about one.
    `outdated`: the writer saw the call as it was before somebody else changed it."""

    reason: str
    field: str | None = None
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class EditCall:
    """A person's change to the call a gate asks about. Earlier answers no longer count.

    `card`: the new content of every card, None if the same answer closes the gate."""

    edited: EditedCall
    card: Message | None


@dataclass(frozen=True, slots=True)
class RecordGrant:
    """A new "always allow" grant to store."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class SetSecrets:
    """Secrets that came with the event, to be stored in the vault."""

    sealed: tuple[SealedSecret, ...]


@dataclass(frozen=True, slots=True)
class TakeAwayMessage:
    """The removal of the message itself from its platform. If the platform refuses, `hint` is sent
    instead."""

    hint: str


@dataclass(frozen=True, slots=True)
class ForgetCredentials:
    """The end of these credential requests, of which the person is notified. Their texts are ordinary
    again."""

    gate_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AwaitCode:
    """The person's next text is the code of the sign-in that the gate asks for."""

    gate_id: str


@dataclass(frozen=True, slots=True)
class TakeCode:
    """The answer to a sign-in, which is redeemed after the event was accepted."""

    gate_id: str
    code: SealedSecret


@dataclass(frozen=True, slots=True)
class PauseTools:
    """The kill switch: all tools are paused or unpaused."""

    paused: bool


@dataclass(frozen=True, slots=True)
class RevokeGrant:
    """A grant to revoke."""

    grant_id: str


@dataclass(frozen=True, slots=True)
class SetApprovals:
    """A person's approval settings from now on, for that thread or (None) for all of their threads."""

    thread_id: str | None
    settings: ApprovalSettings


@dataclass(frozen=True, slots=True)
class SetThread:
    """A thread's settings from now on."""

    thread_id: str
    settings: ThreadSettings


@dataclass(frozen=True, slots=True)
class SetTimezone:
    """A person's time zone from now on, as an IANA name; None for the hub's."""

    timezone: str | None


@dataclass(frozen=True, slots=True)
class OpenMenu:
    """A message to the event's own conversation with a button for each of `items`; its `gate_id` is the
    menu's id."""

    kind: MenuKind
    items: tuple[str, ...]
    message: Message


@dataclass(frozen=True, slots=True)
class SettleMenu:
    """A menu that was answered: its choices are replaced by `outcome`."""

    menu_id: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Say:
    """A message to the event's own conversation, put into the outbox."""

    message: Message


@dataclass(frozen=True, slots=True)
class SayAtTimes:
    """A message like Say, sent only if the sender got none for this `reason` within `again_after_us`."""

    message: Message
    reason: str
    again_after_us: int


@dataclass(frozen=True, slots=True)
class OfferLink:
    """A code with which another account of the sender may join them. It replaces their previous code."""

    code: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class NoteWrongCode:
    """An invalid code brought by the sender, to be counted."""


@dataclass(frozen=True, slots=True)
class FireRoutine:
    """A routine run to claim, unless the routine's guardrails forbid it."""

    run: "NewRun"


@dataclass(frozen=True, slots=True)
class PauseRoutine:
    """A routine to pause until a person unpauses it."""

    routine_id: str
    because: str


@dataclass(frozen=True, slots=True)
class GrantToRoutine:
    """A routine definition to replace by one with more grants.

    `grants`: the added grants, each a tool's name, a space and a pattern.
    `before`, `after`: the definition as JSON text."""

    routine_id: str
    grants: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class StartJob:
    """A job to dispatch in the event's conversation. `said`: the answer, as of every effect on jobs."""

    new: "NewJob"
    said: "Callable[[JobRow], Message]"


@dataclass(frozen=True, slots=True)
class CancelJob:
    """A job of the person's to cancel. `said` is given the job as it was; None: there is none."""

    named: str
    said: "Callable[[JobRow | None], str]"


@dataclass(frozen=True, slots=True)
class TellJob:
    """A message for a job of the person's; its `key` counts once."""

    named: str
    key: str
    text: str
    said: "Callable[[JobRow | None], str]"


@dataclass(frozen=True, slots=True)
class JudgeJob:
    """A job of the person's that they accept or reject. `said` is also given the id of the answer's menu."""

    named: str
    to: "JobState"
    reason: str
    said: "Callable[[JobRow, str], Message]"


@dataclass(frozen=True, slots=True)
class ShowJobs:
    """A question about the person's jobs: about the newest (None), or about one."""

    named: str | None
    said: "Callable[[Sequence[JobRow]], str]"


@dataclass(frozen=True, slots=True)
class UseExtensions:
    """A question about the person's extensions, after the change of one of them. `said` is given all of
    them, and whether there was one to change. `sign_in`: the server to which they get a link, or empty."""

    change: tuple[str, ExtensionChange] | None
    said: "Callable[[Sequence[Extension], bool], str]"
    sign_in: str = ""


Confided = SetSecrets | ForgetCredentials | AwaitCode | TakeCode

JobEffect = StartJob | CancelJob | TellJob | JudgeJob | ShowJobs
Automation = FireRoutine | PauseRoutine | GrantToRoutine | UseExtensions | JobEffect

Effect = (
    QueueInput
    | RebindThread
    | StopThread
    | Rewind
    | Choosing
    | EditCall
    | CastVote
    | CloseGate
    | RecordGrant
    | RevokeGrant
    | SetApprovals
    | SetTimezone
    | SetThread
    | Confided
    | TakeAwayMessage
    | PauseTools
    | OpenMenu
    | SettleMenu
    | Say
    | SayAtTimes
    | OfferLink
    | NoteWrongCode
    | PairingApproved
    | MemberInvited
    | Automation
)
