"""A chat turn as the agentic loop's delegate: every step journalled, people asked where they are."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from core.agent.asking import Asking
from core.agent.budget import Exhausted, LoopBudget
from core.agent.loop import Answered, LoopOutcome, Paused
from core.agent.loop_telling import FAILED, STOPPED, LoopTelling
from core.agent.prompt import PromptFacts, system_prompt
from core.agent.replies import reply_result, told_of_edit
from core.agent.services import ChatServices, ChatSettings
from core.agent.telling import told_reply
from core.approvals import Preset
from core.conversation.context import build_conversation
from core.events import Step, StepState, TurnEvent
from core.model.base import ModelReply, ModelRequest, ToolSpec
from core.prompts import Option, Standing
from core.store.rows import CallRow, CallState, LoadedTurn, NewCall
from core.store.units import patiently
from core.tool import Effect, ProcessInfo, UseLimit
from core.tools.pipeline import NeedsPerson, PutsQuestion, Ready, Refused
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    ResultStatus,
    Said,
    ToolCalled,
    ToolResult,
)


class ChatDelegate:
    """One start of one turn. What it holds beside the journal is a copy of it."""

    def __init__(self, services: ChatServices, settings: ChatSettings, loaded: LoadedTurn) -> None:
        self._services = services
        self._settings = settings
        self._loaded = loaded
        self._start = loaded.start
        self._thread = loaded.start.thread
        self._entries: list[Entry] = list(loaded.entries)
        self._open_calls = [call for call in loaded.calls if call.state is not CallState.ENDED]
        self._statuses: list[ResultStatus] = []
        self._standing: Standing | None = None
        self._asking = Asking(services, settings, loaded.start)
        self._budget = LoopBudget(
            services.pipeline.laws.configured.limits,
            loaded.rounds,
            loaded.tools_run,
            loaded.spent_us,
            services.clock.monotonic_s(),
        )
        self._loop = LoopTelling(self._budget, self._tell)
        self._ran_since: int | None = None

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        """See LoopDelegate: in the order the model gave, each to its recorded outcome."""
        self._statuses = []
        if self._budget.rounds:
            await self._said()  # who goes on does so within limits that hold now
        while self._open_calls:
            settled = await self._settle(self._open_calls[0])
            if isinstance(settled, Paused):
                return settled
            await self._record(settled)
            self._open_calls.pop(0)
        return None

    async def _settle(self, call: CallRow) -> ToolResult | Paused:
        replied = reply_result(call)
        if replied is not None:
            return replied
        match call.state:
            case CallState.DENIED:
                return _result(
                    call, ResultStatus.DENIED, f"Not run: denied by {call.answered_by or 'nobody'}."
                )
            case CallState.RUNNING:
                await self._asking.what_happened(call)
                return Paused()
            case CallState.UNKNOWN if call.answer is not Option.RETRY:
                return _unknown(call)
            case CallState.ENDED:
                return _result(call, ResultStatus.CANCELLED, "Not run.")
            case _:
                return await self._prepare_and_run(call)

    async def _prepare_and_run(self, call: CallRow) -> ToolResult | Paused:
        prepared = self._services.pipeline.prepare(
            call, self._start.principal, self._thread.id, await self._said()
        )
        match prepared:
            case Refused(result):
                return result
            case NeedsPerson():
                await self._asking.about(call, prepared)
                return Paused()
            case PutsQuestion():
                await self._asking.put(call, prepared)
                return Paused()
            case Ready():
                limit = self._budget.no_more_tools(self._services.clock.monotonic_s())
                if limit is not None:
                    return _result(call, ResultStatus.SKIPPED, limit.said)
                return await self._run(call, prepared)
            case _:
                assert_never(prepared)

    async def _said(self) -> Standing:
        """What the person had allowed, or not, before this turn went on; asked for by its first call."""
        if self._standing is None:
            services, principal = self._services, self._start.principal
            self._standing = await services.store.standing(principal.user_id, self._thread.id)
            held = services.pipeline.laws.in_force(principal, self._standing)
            self._budget.limits, self._budget.counted = held.limits, held.preset is not Preset.AUTO
        return self._standing

    async def _run(self, call: CallRow, ready: Ready) -> ToolResult:
        services = self._services
        if ready.tool.effect is Effect.EFFECT:
            refusal = await self._mark_running(call, ready.tool.limits)
            if refusal is not None:
                return _result(call, ResultStatus.DENIED, f"Not run: {refusal}")
        self._tell(Step(call.call_id, ready.tool.name, StepState.STARTED))
        started_at, started_s = services.clock.now(), services.clock.monotonic_s()
        self._loop.begins(ready.tool.name)
        self._budget.tools_run += 1

        async def process_started(process: ProcessInfo) -> None:
            await services.store.record_process(call.call_id, process)

        result = await services.pipeline.run(
            call,
            ready,
            self._start.principal,
            self._thread.id,
            process_started,
            self._budget.remaining_s(started_s),
        )
        self._tell(Step(call.call_id, ready.tool.name, StepState.ENDED))
        self._loop.goes_on(ready.tool.name)
        self._ran_since = started_at
        return result if call.edited_by is None else replace(result, text=told_of_edit(call, result.text))

    async def _mark_running(self, call: CallRow, limits: Sequence[UseLimit]) -> str | None:
        services, turn_id = self._services, self._start.turn_id
        check = services.pipeline.recheck(self._thread.id)
        return await patiently(
            lambda: services.store.mark_running(turn_id, call.call_id, check, limits=limits), services.clock
        )

    async def _record(self, result: ToolResult) -> None:
        services = self._services
        started_at, self._ran_since = self._ran_since, None
        await patiently(
            lambda: services.store.finish_calls(self._start.turn_id, [result], started_at=started_at),
            services.clock,
        )
        self._append(result)
        self._statuses.append(result.status)

    def last_batch_failed(self) -> bool:
        """See LoopDelegate."""
        return bool(self._statuses) and all(status is not ResultStatus.OK for status in self._statuses)

    # --- limits ----------------------------------------------------------------------------------------

    def limit_reached(self) -> Exhausted | None:
        """See LoopDelegate."""
        return self._budget.exhausted(self._services.clock.monotonic_s())

    async def at_limit(self, limit: Exhausted) -> Paused | None:
        """See LoopDelegate: asks once; who did not say "go on" gets final words."""
        if self._loaded.continued not in {None, Option.CONTINUE}:
            return None
        await self._asking.whether_to_go_on(limit.said)
        self._loop.cancelled(limit.limit.value)
        return Paused()

    def ended(self, outcome: LoopOutcome | None) -> None:
        """See LoopDelegate."""
        match outcome:
            case Answered():
                self._loop.finished()
            case None:
                self._loop.cancelled(STOPPED)
            case Paused():
                pass

    def failed(self) -> None:
        """See LoopDelegate."""
        self._loop.cancelled(FAILED)

    # --- the model -------------------------------------------------------------------------------------

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        """See LoopDelegate: one model call on the journal, its text told as it comes."""
        request = self._request(with_tools=with_tools)
        return await told_reply(self._services.model, request, self._services.leaks, self._tell)

    def _request(self, *, with_tools: bool) -> ModelRequest:
        settings, principal = self._settings, self._start.principal
        tools = self._services.pipeline.offered(principal, self._start.disabled) if with_tools else ()
        facts = PromptFacts(
            configured=settings.system_prompt,
            speaker=principal,
            channel=self._thread.channel,
            now=self._services.clock.now(),
            timezone=settings.timezone,
            tools=[tool.name for tool in tools],
        )
        limit_tokens = settings.context_tokens - settings.reserve_tokens - _tool_tokens(tools)
        return ModelRequest(
            system=system_prompt(facts, with_tools=with_tools),
            conversation=build_conversation(self._entries, limit_tokens),
            tools=tools,
            max_output_tokens=settings.reserve_tokens,
        )

    async def record_calls(self, reply: ModelReply) -> None:
        """See LoopDelegate."""
        services = self._services
        self._budget.rounds += 1
        calls = [
            NewCall(
                services.ids.row_id(),
                request.tool,
                request.arguments,
                services.pipeline.effect_of(request.tool),
                self._budget.rounds,
            )
            for request in reply.calls
        ]
        said = AssistantSaid(reply.text, reply.origin)
        turn_id = self._start.turn_id
        await patiently(lambda: services.store.record_reply_and_intents(turn_id, said, calls), services.clock)
        self._append(said)
        for call in calls:
            self._append(ToolCalled(call.call_id, call.tool, call.arguments))
            self._open_calls.append(
                CallRow(call.call_id, turn_id, 0, call.tool, call.arguments, CallState.INTENT, call.effect)
            )

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        """See LoopDelegate."""
        services, turn_id = self._services, self._start.turn_id
        if reply is not None and reply.text:
            said = AssistantSaid(reply.text, reply.origin)
            await patiently(
                lambda: services.store.record_reply_and_intents(turn_id, said, []), services.clock
            )
            self._append(said)
        await patiently(lambda: services.store.record_notes(turn_id, [Note(note)]), services.clock)
        self._append(Note(note))

    def transcript(self) -> Sequence[Entry]:
        """See LoopDelegate."""
        return self._entries

    # --- what is kept ----------------------------------------------------------------------------------

    def _append(self, said: Said) -> None:
        seq = self._entries[-1].seq + 1 if self._entries else 1
        self._entries.append(Entry(seq, self._start.turn_id, self._services.clock.now(), said))

    def _tell(self, event: TurnEvent) -> None:
        self._services.turns.turn_event(self._thread.id, self._start.turn_id, event)


def _result(call: CallRow, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call.call_id, status, text)


def _unknown(call: CallRow) -> ToolResult:
    """The model is told what is known: that the call was interrupted, and what a person said about it."""
    interrupted = f"The hub was interrupted while {call.tool} ran; whether it took effect was not recorded."
    match call.answer:
        case Option.HAPPENED:
            said = f"{call.answered_by} looked and says: it happened. Its output is lost."
            return _result(call, ResultStatus.UNKNOWN, f"{interrupted} {said}")
        case Option.SKIP:
            said = f"{call.answered_by} decided not to run it again."
            return _result(call, ResultStatus.SKIPPED, f"{interrupted} {said}")
        case _:
            return _result(call, ResultStatus.UNKNOWN, f"{interrupted} Nobody has looked yet.")


def _tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """What the tools' descriptions take of the context, estimated."""
    return sum(len(tool.name) + len(tool.description) + tool.schema_chars for tool in tools) // 4
