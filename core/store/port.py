"""The port to the database: intention-named units, one method = one transaction, durable when it returns.

Cancelling a caller does not cancel its unit. Units that write to a turn raise StaleTurn when the turn no
longer runs. All raise StoreUnavailable when the database takes no writes; nothing of the unit is kept then.
Times are integer microseconds UTC.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from core.gates import Gate
from core.messages import InboundEvent, InboundMessage, Message
from core.ports import Outbox, OutboxRow, Seen
from core.store.accept import Accepted, Judge
from core.store.facets import Consents, GateTimers, HookedInputs, Kept, NoticeUnits
from core.store.feed import ChangeListener, Feeds
from core.store.pairing import ClaimView, Decision, NoiseRow, PairingRequest, Settled
from core.store.routine_port import Routines, RunJournal
from core.store.rows import (
    Draft,
    Explanation,
    GateView,
    LoadedTurn,
    NewCall,
    Recovery,
    RunCheck,
    ThreadRow,
    TurnFinished,
    TurnStart,
    TurnState,
)
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Entry, Note, ToolResult
from core.users import Person, Principal, Role

if TYPE_CHECKING:
    from core.store.rows import AuditRow


# A part of Store: the audit's chain.


class Audit(Protocol):
    """See Store for what holds of every method. Records are written by the units they tell of."""

    async def link_audit(self, limit: int) -> tuple[str | None, bool]:
        """Chain the oldest records that are not yet, at most so many; the chain's head after that (None:
        there is no chain), and whether there are more."""
        ...

    async def record_policy(self, detail: dict[str, Any]) -> bool:
        """Record what the operator laid down, unless it is what was recorded last; whether it was news."""
        ...

    async def prune_audit(self, before: int, limit: int) -> int:
        """Drop the oldest chained records from before that time, at most so many, and leave a checkpoint from
        which the rest is verified; how many."""
        ...

    async def audit_of(self, subjects: Sequence[str]) -> "Sequence[AuditRow]":
        """Records about these subjects, in order."""
        ...


# Keys to the API, as the store knows them: hashes, and whom each belongs to.


class KeyKind(StrEnum):
    """A browser's session, or a token for programs."""

    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the kind of a key, not a key


class Keys(Protocol):
    """The store as far as it knows who holds a key. `hash`: of the key, which itself is kept nowhere."""

    async def keep_key(self, hash_: str, kind: KeyKind, user_id: str, expires_at: int | None) -> None:
        """Let whoever holds the key be this user until then (microseconds UTC; None: for good)."""
        ...

    async def key_holder(self, hash_: str, kind: KeyKind) -> Principal | None:
        """Whose key this is, as they are now; None if it is nobody's or past its time."""
        ...

    async def drop_key(self, hash_: str) -> None:
        """Let the key be nobody's."""
        ...

    async def drop_keys_of(self, user_id: str, kind: KeyKind) -> int:
        """Let all keys of a kind that a user has be nobody's; how many there were."""
        ...


# A part of Store: who people are, with which accounts, and who asks to be let in.


class People(Protocol):
    """See Store for what holds of every method. `by`: a user's id, for the audit."""

    async def ensure_user(self, user_id: str, role: Role, name: str) -> Principal:
        """The user as it is now; made if missing. The role given is written."""
        ...

    async def user(self, user_id: str) -> Principal | None:
        """A user by id."""
        ...

    async def people(self) -> Sequence[Person]:
        """All users with their accounts, in order of name."""
        ...

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        """Requests to be let in whose codes are good, oldest first."""
        ...

    async def settle_pairing(
        self, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        """Have a request decided, in one transaction with what it is decided on: of several decisions at once
        one wins and the others see it. `channel`: None for requests of any; `guesser`: under which name a
        wrong code is counted."""
        ...

    async def revoke_account(self, channel: str, platform_user_id: str, *, by: str | None = None) -> bool:
        """A paired or linked account is let in no more, from its next event on; False if it is neither.
        `by`: a user's id, for the audit."""
        ...

    async def link_account(
        self, user_id: str, channel: str, platform_user_id: str, name: str, *, by: str | None = None
    ) -> Principal | None:
        """Bind an account to a user as if paired, whomever it was bound to; None if there is no such user.
        `by`: a user's id, for the audit."""
        ...


class Store(
    Outbox,
    Feeds,
    Keys,
    People,
    Consents,
    GateTimers,
    Kept,
    NoticeUnits,
    Routines,
    RunJournal,
    HookedInputs,
    Audit,
    Protocol,
):
    """The hub's memory."""

    def watch(self, listener: ChangeListener) -> None:
        """Tell of every commit from now on that changed something to be seen, in the event loop."""
        ...

    # --- coming in -------------------------------------------------------------------------------------
    async def accept_event(self, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        """Deduplicate, judge and apply an inbound event (see store.accept); all or nothing.

        `send_now`: a message this puts into the outbox may be committed as `sending` if it is the only
        one waiting for its address.
        """
        ...

    async def answer_as_operator(
        self, event: InboundMessage, by: Principal, thread_id: str, message: Message
    ) -> tuple[OutboxRow, ...]:
        """Let a person speak in the assistant's place: journalled in the thread, and `message` goes out to
        where that thread's answers go. An event that was taken before changes nothing. Raises LookupError if
        there is no such thread."""
        ...

    async def stop_thread(
        self, event: InboundMessage, by: Principal, thread_id: str, told: Callable[[int], str]
    ) -> Accepted:
        """Stop what runs or waits in a thread, as StopThread does; its people are told with `told`'s words,
        which are given how many waiting messages are dropped. Raises LookupError if there is no such
        thread."""
        ...

    async def take_up_thread(self, user_id: str, channel: str, external_id: str, thread_id: str) -> bool:
        """Let this key of the person's lead to that thread, and their session be on it; False if they own no
        such thread on the channel."""
        ...

    # --- turns -----------------------------------------------------------------------------------------
    async def load_turn(self, start: TurnStart) -> LoadedTurn:
        """Everything an actor needs to run or go on with the turn."""
        ...

    async def record_reply_and_intents(
        self,
        turn_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        """Journal a model reply with the calls it asks for; counts a round if there are any. `refused`: the
        outcome of those that go no further."""
        ...

    async def record_notes(self, turn_id: str, notes: Sequence[Note]) -> None:
        """Journal something the hub tells the model."""
        ...

    async def ask_person(
        self, gate: Gate, cards: Sequence[Draft], *, beside: Sequence[Gate] = ()
    ) -> tuple[OutboxRow, ...]:
        """Open a prompt for its turn (and the calls it is about), and those `beside` it: the turn waits until
        all are closed and is no longer ours to write; its preview is taken away.

        Raises StaleTurn also where a person asked the turn to stop.
        """
        ...

    async def mark_running(
        self, turn_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """Write-ahead mark of an effect (P5). Returns that all tools are paused, the check's refusal, or that
        one of the `limits` of the tool's use by this person is reached, and then writes nothing.

        Raises StaleTurn also where a person asked the turn to stop, or the call is not one to be run:
        denied, running, ended, or of unknown outcome without a person's "retry".
        """
        ...

    async def record_process(self, call_id: str, process: ProcessInfo) -> None:
        """Remember the child of a running call, so that a later hub can end it."""
        ...

    async def finish_calls(
        self, turn_id: str, results: Sequence[ToolResult], *, started_at: int | None = None
    ) -> None:
        """Journal outcomes of calls; each call gets exactly one, a second one raises StaleTurn.

        `started_at`: when they were begun, if they ran (those marked as running have that already).
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
        send_now: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> TurnFinished:
        """End a turn with its answer and messages; calls without outcome are recorded as cancelled.

        The first message takes the place of the turn's preview; without any the preview is taken away.
        Inputs waiting in the thread become the next turn: the oldest and up to nine following it of the
        same person (`one_by_one` configured: just the oldest).

        `meanwhile` may be called while the commit is on its way, which can still fail.
        """
        ...

    # --- starting again --------------------------------------------------------------------------------
    async def recover(self) -> Recovery:
        """What a starting hub finds unfinished; called before anything else runs.

        Changes: outbox rows that were `sending` become `ambiguous`, for good if their repeat was used up
        (changes of shown messages are queued again); running calls without an effect of their own can be run
        again; turns that were being stopped end, unless an effect was cut short in them. Turns with such a
        call are found by `running_calls`, not by `turns`.
        """
        ...

    async def resume_turn(self, turn_id: str) -> TurnStart:
        """Count one more start of an unfinished turn, before anything of it is done."""
        ...

    async def release_turns(self, turn_ids: Sequence[str]) -> None:
        """The hub stops in good order: these unfinished starts do not count as crashes."""
        ...

    async def start_waiting(self, thread_id: str, next_turn_id: str) -> TurnStart | None:
        """Start a turn on waiting inputs of a thread without an active turn."""
        ...

    async def mark_unknown(self, call_id: str, gate: Gate, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
        """A running call of a dead hub has an unknown outcome: its turn waits for a person's word.

        A stop that was asked for is overtaken by the question.
        """
        ...

    # --- looking ---------------------------------------------------------------------------------------
    async def open_gates(self) -> Sequence[GateView]:
        """All open prompts, oldest first."""
        ...

    async def thread(self, thread_id: str) -> ThreadRow | None:
        """A thread by id."""
        ...

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        """The most recently active threads."""
        ...

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        """The newest entries of a thread, in order."""
        ...

    async def explain(self, event_key: str) -> Explanation | None:
        """What happened to an inbound event."""
        ...

    async def explain_recent(self, limit: int) -> Sequence[Explanation]:
        """The newest inbound events, newest first."""
        ...

    async def last_seen(self, channel: str, since: int) -> Sequence[Seen]:
        """The newest message of each address of a channel, of those received since then."""
        ...

    async def noise(self, limit: int) -> Sequence[NoiseRow]:
        """What was counted instead of stored, the latest first."""
        ...

    async def healthy(self) -> bool:
        """Whether the last commit went through; False stops accepting (see /readyz). After a failure it tries
        one, so that asking finds out when writing works again."""
        ...

    async def close(self) -> None:
        """Finish what was handed in, then let the database go."""
        ...
