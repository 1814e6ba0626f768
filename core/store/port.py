"""The port to the database: units named by intention. One method is one transaction, durable on return.

Cancelling a caller does not cancel its unit. Units that write to a turn raise StaleTurn if the turn no
longer runs. All raise StoreUnavailable if the database cannot be written; nothing of the unit is kept then.
Times are integer microseconds UTC.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from core.events import NO_MODELS, ModelTrace
from core.extension import Extensions
from core.gates import Gate
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Message
from core.ports import Outbox, OutboxRow
from core.store.accept import Accepted, Judge
from core.store.accounts import ClaimView, Decision, PairingRequest, Settled, SignIns
from core.store.facets import (
    Consents,
    Gates,
    HeldInputs,
    KillSwitch,
    Memory,
    ModelUsage,
    Notices,
    Secrets,
    ToolFailures,
)
from core.store.feed import ChangeListener, Explanations, Feeds, Threads
from core.store.lease import Leases
from core.store.rows import (
    Draft,
    LoadedTurn,
    NewCall,
    Recovery,
    RunCheck,
    TurnFinished,
    TurnStart,
    TurnState,
)
from core.store.unattended_port import RoutineRuns, Routines, RunJournal, RunViews
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Entry, Note, ToolResult, UserSaid
from core.usage import Reservation
from core.users import Person, Preferences, Principal, Role

if TYPE_CHECKING:
    from core.store.container_port import ContainerJobs
    from core.store.rows import AuditRow
    from core.store.unattended_port import JobMonitors, Jobs


class KeyKind(StrEnum):
    """The kind of a key: a browser session, a token for programs, or an invitation to begin a session."""

    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the kind of a key, not a key
    INVITATION = "invitation"


class Inbound(Protocol):
    """The units for inbound events, and for what operators do in their place."""

    async def accept_event(self, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        """Deduplicate, judge and apply an inbound event (see store.accept), all or nothing.

        `send_now`: a message this puts into the outbox may be committed as `sending` if it is the only
        one waiting for its address."""
        ...

    async def spoken(self, event: ChoiceAnswer) -> InboundMessage | None:
        """Return the message that a press on a menu is; None for other presses, and for other people's."""
        ...

    async def answer_as_operator(
        self, event: InboundMessage, by: Principal, thread_id: str, message: Message
    ) -> tuple[OutboxRow, ...]:
        """Let a person speak in the assistant's place. The text is journalled in the thread, and `message`
        is sent to the thread's address.

        An event that was accepted before changes nothing. Raises LookupError without such a thread."""
        ...

    async def stop_thread(
        self, event: InboundMessage, by: Principal, thread_id: str, told: Callable[[int], str]
    ) -> Accepted:
        """Stop running and waiting work in a thread, as StopThread does.

        `told`: makes the notice from the number of dropped waiting messages. Raises LookupError."""
        ...

    async def take_up_thread(self, user_id: str, channel: str, external_id: str, thread_id: str) -> bool:
        """Bind this key of the person to that thread; their session stays as it is. Return False if
        they own no such thread on the channel."""
        ...


class Turns(Protocol):
    """The units of a running turn. All raise StaleTurn if the turn no longer runs."""

    async def load_turn(self, start: TurnStart) -> LoadedTurn:
        """Load everything an actor needs to run or continue the turn."""
        ...

    async def record_reply_and_intents(
        self,
        turn_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        *,
        refused: Sequence[ToolResult] = (),
        models: ModelTrace = NO_MODELS,
    ) -> None:
        """Journal a model reply with the calls it asks for. Counts a round if there are any.

        `refused`: the outcomes of calls that are not run."""

    async def record_notes(self, turn_id: str, notes: Sequence[Note]) -> None:
        """Journal notes from the hub to the model."""

    async def join_waiting(self, turn_id: str) -> Sequence[UserSaid]:
        """Journal the inputs that wait to join the turn, of its person and from where it answers: the oldest
        and up to nine following it (just the oldest if `one_by_one` is configured).

        The turn's budget is counted from here. Raises StaleTurn also if a person asked the turn to stop."""
        ...

    async def record_summary(
        self, turn_id: str, text: str, covers_to_seq: int | None, *, models: ModelTrace = NO_MODELS
    ) -> Entry:
        """Journal a summary that stands in for all live entries up to a position, from now on.

        `covers_to_seq`: None for all that was said so far, also in this turn."""
        ...

    async def ask_person(
        self, gate: Gate, cards: Sequence[Draft], *, beside: Sequence[Gate] = ()
    ) -> tuple[OutboxRow, ...]:
        """Open a gate for its turn (and the calls it is about), together with any further gates given.

        The turn waits until all are closed and can no longer be written to; its preview is removed.
        Raises StaleTurn also if a person asked the turn to stop.
        """
        ...

    async def mark_running(
        self, turn_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """Mark a call as running, ahead of its effect (P5). Return a refusal and write nothing if the call
        may not run.

        The reason is that all tools are paused, that the check refuses, or that one of the `limits` of
        the tool's use by this person is reached. Raises StaleTurn also if a person asked the turn to
        stop, or if the call is not to be run: denied, running, ended, or of unknown outcome without a
        person's "retry".
        """
        ...

    async def hold_lease(self) -> None:
        """Return once this hub surely still has what it has in hand. Raises LeaseLost.

        Call it after `mark_running` and before the effect: the process may have been suspended."""

    async def record_process(self, call_id: str, process: ProcessInfo) -> None:
        """Record the child process of a running call, so that a later hub can end it."""
        ...

    async def finish_calls(
        self,
        turn_id: str,
        results: Sequence[ToolResult],
        *,
        started_at: int | None = None,
        unattended: bool = False,
    ) -> Reservation | None:
        """Journal the outcomes of calls. Each call gets exactly one; a second one raises StaleTurn.

        After the last open call, return the reservation of the next model call, if one was made.

        `started_at`: when the calls began, if they ran (calls marked as running have it already).
        `unattended`: failures of their tools are counted (see ToolFailures).
        """
        ...

    async def finish_turn_and_enqueue(
        self,
        turn_id: str,
        state: TurnState,
        answer: AssistantSaid | None,
        messages: Sequence[Draft],
        *,
        next_turn_id: str,
        error: str | None = None,
        models: ModelTrace = NO_MODELS,
        send_now: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> TurnFinished:
        """End a turn with its answer and messages. Calls without an outcome are recorded as cancelled.

        The first message replaces the turn's preview; without messages the preview is removed. Waiting
        inputs of the thread become the next turn: the oldest and up to nine following it of the same
        person (just the oldest if `one_by_one` is configured).

        `models`: those the turn called, for `why`.

        The callback may run while the commit is in progress; the commit can still fail.
        """
        ...


class UnfinishedRuns(Protocol):
    """The units for runs that a hub left unfinished."""

    async def recover(self) -> Recovery:
        """Take over what no hub has in hand: the leases of others that have lapsed end here. Of several hubs
        one gets each run.

        Changes: outbox rows that were `sending` become `ambiguous`, finally so if their repeat was used
        up (changes of shown messages are queued again). Running calls without an effect can be run
        again. Turns that were being stopped end, unless a call with an effect was interrupted in them.
        """
        ...

    async def resume_turn(self, turn_id: str) -> TurnStart:
        """Count one more start of an unfinished turn, before any of its work is done. Raises StaleTurn if
        this hub does not have it in hand."""
        ...

    async def release_runs(self, run_ids: Sequence[str]) -> None:
        """Release unfinished runs at an orderly shutdown, so that their starts do not count as crashes."""

    async def start_waiting(self, thread_id: str, next_turn_id: str) -> TurnStart | None:
        """Start a turn on the waiting inputs of a thread that has no active turn."""
        ...

    async def mark_unknown(self, call_id: str, gate: Gate, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
        """Mark a crashed hub's running call as of unknown outcome. Its turn waits for a person's decision.

        The new gate overrides an earlier request to stop.
        """
        ...


class People(Protocol):
    """The units for people: users, accounts and pairing requests. `by`: a user's id, for the audit."""

    async def ensure_user(self, user_id: str, role: Role, name: str) -> Principal:
        """Return the user as it is now, created if missing. The given role is written."""
        ...

    async def user(self, user_id: str) -> Principal | None:
        """Return a user by id."""
        ...

    async def people(self) -> Sequence[Person]:
        """Return all users with their accounts, ordered by name."""
        ...

    async def preferences(self, user_id: str) -> Preferences:
        """Return a user's preferences; none for a user that is not known."""
        ...

    async def set_preferences(self, user_id: str, changed: Callable[[Preferences], Preferences]) -> bool:
        """Change a user's preferences as they are now. Return False if there is no such user."""
        ...

    async def set_role(self, user_id: str, role: Role, *, by: str) -> Role | None:
        """Set a member's or guest's role. Return the one before; None if there is no such user."""
        ...

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        """Return the pairing requests whose codes are valid, oldest first."""
        ...

    async def settle_pairing(
        self, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        """Decide a pairing request in the transaction that reads its state. Of several simultaneous
        decisions, one wins and the others see it.

        `channel`: None for requests of any channel.
        `guesser`: the name under which a wrong code is counted."""
        ...

    async def revoke_account(
        self, channel: str, platform_user_id: str, *, by: str | None = None
    ) -> str | None:
        """Remove a paired or linked account's access from its next event on. Return the id by which that
        can be undone within `UNDO_US`; None if it is neither. `by`: a user's id, for the audit."""
        ...

    async def restore_account(self, undo: str, *, by: str | None = None) -> str | None:
        """Undo a removal of access, with the keys it ended, and return the account. None if it is too
        late, or the account has changed since."""
        ...

    async def link_account(
        self, user_id: str, channel: str, platform_user_id: str, name: str, *, by: str | None = None
    ) -> Principal | None:
        """Bind an account to a user as if paired, even if it was bound to another. Return None if there is
        no such user. `by`: a user's id, for the audit."""
        ...

    async def count_model_call(self, user_id: str, day: str, most: int) -> bool:
        """Count a person's model call before it is made.

        Return False and count nothing if `most` were made for them on that `day`, which has any name."""
        ...


class Keys(Protocol):
    """The units for API keys and their holders. `hash`: the key's hash; the key itself is never stored."""

    async def keep_key(
        self, hash_: str, kind: KeyKind, user_id: str, expires_at: int | None, by: str | None = None
    ) -> None:
        """Store a key for a user, valid until then (microseconds UTC; None: no expiry). `by`: the person who
        made it; None: the user."""

    async def key_holder(self, hash_: str, kind: KeyKind) -> Principal | None:
        """Return the key's user, as they are now. None if the key is unknown or expired."""

    async def redeem_invitation(self, hash_: str, session: str, expires_at: int) -> bool:
        """Use up an invitation: its user's session with the hash `session` begins. Return False if the
        invitation is unknown, used or expired."""
        ...

    async def drop_key(self, hash_: str) -> None:
        """Delete a key."""

    async def drop_keys_of(self, user_id: str, kind: KeyKind) -> int:
        """Delete all of a user's keys of a kind. Return how many there were."""
        ...


class Audit(Protocol):
    """The units for the audit chain. Records are written by the units they tell of; each hub numbers its own.
    One hub chains and drops them: the one whose lease is the oldest of those in force."""

    async def link_audit(self, limit: int) -> tuple[str | None, bool]:
        """Chain the oldest unchained records of all hubs, at most `limit`, unless another hub does. Return
        the chain's head after that (None: there is no chain), and whether there are more."""
        ...

    async def record_policy(self, detail: dict[str, Any]) -> bool:
        """Record the admin policy, unless the last record has it, too. Return whether it was new."""
        ...

    async def note_download(self, what: str, by: str) -> None:
        """Record that a person downloads a copy of the database, or the audit."""
        ...

    async def prune_audit(self, before: int, limit: int) -> int:
        """Drop the oldest chained records from before that time, at most `limit`, unless another hub does.
        Return how many.

        Leaves a checkpoint from which the rest can be verified."""
        ...

    async def audit_of(self, subjects: Sequence[str]) -> "Sequence[AuditRow]":
        """Return the records about these subjects, in order."""
        ...


class Store(Protocol):
    """The hub's persistent storage, by subject. A service takes the facets it uses."""

    @property
    def inbound(self) -> Inbound: ...
    @property
    def held(self) -> HeldInputs: ...
    @property
    def turns(self) -> Turns: ...
    @property
    def recovery(self) -> UnfinishedRuns: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def gates(self) -> Gates: ...
    @property
    def notices(self) -> Notices: ...
    @property
    def consents(self) -> Consents: ...

    @property
    def people(self) -> People: ...

    @property
    def keys(self) -> Keys: ...

    @property
    def secrets(self) -> Secrets: ...

    @property
    def memory(self) -> Memory: ...

    @property
    def kill_switch(self) -> KillSwitch: ...
    @property
    def extensions(self) -> Extensions: ...
    @property
    def tool_failures(self) -> ToolFailures: ...

    @property
    def usage(self) -> ModelUsage: ...

    @property
    def sign_ins(self) -> SignIns: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def feed(self) -> Feeds: ...
    @property
    def threads(self) -> Threads: ...
    @property
    def explanations(self) -> Explanations: ...

    @property
    def routines(self) -> Routines: ...
    @property
    def runs(self) -> RoutineRuns: ...
    @property
    def run_views(self) -> RunViews: ...

    @property
    def journal(self) -> RunJournal: ...

    @property
    def jobs(self) -> "Jobs": ...
    @property
    def job_monitors(self) -> "JobMonitors": ...

    @property
    def containers(self) -> "ContainerJobs": ...

    def watch(self, listener: ChangeListener) -> None:
        """Report every later commit that changed something visible, in the event loop."""

    async def healthy(self) -> bool:
        """Return True if the last commit succeeded. False stops accepting events (see /readyz). After a
        failure it tries a commit, so that calling it detects when writing works again."""
        ...

    async def close(self) -> None:
        """Finish all units already submitted, then close the database."""
