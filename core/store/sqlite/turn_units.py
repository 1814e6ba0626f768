"""Turns from their start to their end, and over restarts, as units of the store."""

from collections.abc import Callable, Sequence

from core.ports import OutboxRow
from core.prompts import Prompt
from core.store.rows import Draft, LoadedTurn, NewCall, Recovery, RunCheck, TurnFinished, TurnStart, TurnState
from core.store.sqlite import opening, recovery, steps, turn_ends, turns
from core.store.sqlite.onlooking import Onlooking
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, ToolResult


class TurnUnits(Onlooking):
    """The part of core.store.base.Store about turns; every method is described there."""

    async def load_turn(self, start: TurnStart) -> LoadedTurn:
        """See Store."""
        return await self._reader.run(lambda tx: steps.load_turn(tx, start))

    async def record_reply_and_intents(
        self,
        turn_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.record_reply(tx, turn_id, reply, calls, refused))

    async def record_notes(self, turn_id: str, notes: Sequence[Note]) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.record_notes(tx, turn_id, notes))

    async def ask_person(
        self, prompt: Prompt, cards: Sequence[Draft], *, beside: Sequence[Prompt] = ()
    ) -> tuple[OutboxRow, ...]:
        """See Store."""
        return await self._writer.run(lambda tx: opening.ask_person(tx, (prompt, *beside), cards))

    async def mark_running(
        self, turn_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """See Store."""
        return await self._writer.run(
            lambda tx: steps.mark_running(tx, turn_id, call_id, check, limits=limits)
        )

    async def record_process(self, call_id: str, process: ProcessInfo) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.record_process(tx, call_id, process))

    async def finish_calls(
        self, turn_id: str, results: Sequence[ToolResult], *, started_at: int | None = None
    ) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.finish_calls(tx, turn_id, results, started_at))

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
        """See Store."""
        return await self._writer.run(
            lambda tx: turn_ends.finish(
                tx, turn_id, state, answer, messages, next_turn_id, error, send_now=send_now
            ),
            meanwhile=meanwhile,
        )

    # --- starting again --------------------------------------------------------------------------------

    async def recover(self) -> Recovery:
        """See Store."""
        return await self._writer.run(recovery.recover)

    async def resume_turn(self, turn_id: str) -> TurnStart:
        """See Store."""
        return await self._writer.run(lambda tx: recovery.resume_turn(tx, turn_id))

    async def release_turns(self, turn_ids: Sequence[str]) -> None:
        """See Store."""
        await self._writer.run(lambda tx: recovery.release_turns(tx, turn_ids))

    async def start_waiting(self, thread_id: str, next_turn_id: str) -> TurnStart | None:
        """See Store."""
        return await self._writer.run(lambda tx: turns.start_next(tx, thread_id, next_turn_id))

    async def mark_unknown(
        self, call_id: str, prompt: Prompt, cards: Sequence[Draft]
    ) -> tuple[OutboxRow, ...]:
        """See Store."""
        return await self._writer.run(lambda tx: opening.mark_unknown(tx, call_id, prompt, cards))
