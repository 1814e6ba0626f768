"""The port to the database: intention-named units, one method = one transaction, durable when it returns.

Cancelling a caller does not cancel its unit. Units that write to a turn raise StaleTurn when the turn no
longer runs. All raise StoreUnavailable when the database takes no writes; nothing of the unit is kept then.
Times are integer microseconds UTC.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from core.messages import InboundEvent, InboundMessage, Message
from core.ports import Outbox, OutboxRow, Seen
from core.prompts import Prompt
from core.store.accept import Accepted, Judge
from core.store.audit import Audit
from core.store.changes import ChangeListener
from core.store.consents import Consents
from core.store.feed import Feeds
from core.store.hooking import Hooking
from core.store.kept import Kept
from core.store.keys import Keys
from core.store.notices import NoticeUnits
from core.store.pairing import NoiseRow
from core.store.people import People
from core.store.routine_port import Routines
from core.store.rows import (
    Draft,
    Explanation,
    LoadedTurn,
    NewCall,
    PromptView,
    Recovery,
    RunCheck,
    ThreadRow,
    TurnFinished,
    TurnStart,
    TurnState,
)
from core.store.run_journal import RunJournal
from core.store.tending import Tending
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Entry, Note, ToolResult
from core.users import Principal


class Store(
    Outbox,
    Feeds,
    Keys,
    People,
    Consents,
    Tending,
    Kept,
    NoticeUnits,
    Routines,
    RunJournal,
    Hooking,
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
        self, prompt: Prompt, cards: Sequence[Draft], *, beside: Sequence[Prompt] = ()
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

    async def mark_unknown(
        self, call_id: str, prompt: Prompt, cards: Sequence[Draft]
    ) -> tuple[OutboxRow, ...]:
        """A running call of a dead hub has an unknown outcome: its turn waits for a person's word.

        A stop that was asked for is overtaken by the question.
        """
        ...

    # --- looking ---------------------------------------------------------------------------------------
    async def open_prompts(self) -> Sequence[PromptView]:
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
