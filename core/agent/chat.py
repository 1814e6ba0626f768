"""A chat turn as the agentic loop's delegate: every step journalled, people asked where they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from core import texts
from core.agent.budget import LoopBudget, LoopLimits
from core.agent.loop import Paused
from core.agent.prompt import PromptFacts, system_prompt
from core.agent.replies import reply_result, told_of_edit
from core.clock import SECOND_US, Clock
from core.consent.cards import open_card
from core.consent.opening import unknown_outcome_prompt
from core.conversation.context import build_conversation
from core.errors import ModelReplyInvalid
from core.events import Step, StepState, TextDelta, TurnEvent, TurnListener
from core.ids import Ids
from core.model.base import Model, ModelReply, ModelRequest, ToolSpec
from core.model.streams import closing
from core.ports import OutboxListener, OutboxRow
from core.prompts import Offer, Option, Options, Prompt, PromptKind, Standing, VoteRule
from core.store.base import Store
from core.store.rows import CallRow, CallState, Draft, LoadedTurn, NewCall
from core.store.units import committed, patiently
from core.tool import Effect, ProcessInfo
from core.tools.pipeline import CallPipeline, NeedsPerson, PutsQuestion, Ready, Refused
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    ResultStatus,
    Said,
    ToolCalled,
    ToolResult,
)


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What the configuration says about chat turns."""

    limits: LoopLimits
    system_prompt: str
    timezone: str
    context_tokens: int
    reserve_tokens: int
    prompt_expires_after_s: int
    rule: VoteRule
    owner_id: str


@dataclass(frozen=True, slots=True)
class ChatServices:
    """What every chat turn works with."""

    store: Store
    model: Model
    pipeline: CallPipeline
    outbox: OutboxListener
    turns: TurnListener
    clock: Clock
    ids: Ids


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
        self._budget = LoopBudget(
            settings.limits,
            loaded.rounds,
            loaded.tools_run,
            loaded.spent_us,
            services.clock.monotonic_s(),
        )

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        """See LoopDelegate: in the order the model gave, each to its recorded outcome."""
        self._statuses = []
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
                return await self._ask_what_happened(call)
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
                return await self._ask_about(call, prepared)
            case PutsQuestion():
                return await self._put(call, prepared)
            case Ready():
                if not self._budget.may_run_tool():
                    return _result(call, ResultStatus.SKIPPED, texts.budget_tools(self._budget.tools_run))
                return await self._run(call, prepared)
            case _:
                assert_never(prepared)

    async def _said(self) -> Standing:
        """What the person had allowed, or not, before this turn went on; asked for by its first call."""
        if self._standing is None:
            store = self._services.store
            self._standing = await store.standing(self._start.principal.user_id, self._thread.id)
        return self._standing

    async def _run(self, call: CallRow, ready: Ready) -> ToolResult:
        services = self._services
        if ready.tool.effect is Effect.EFFECT:
            refusal = await self._mark_running(call)
            if refusal is not None:
                return _result(call, ResultStatus.DENIED, f"Not run: {refusal}")
        self._tell(Step(call.call_id, ready.tool.name, StepState.STARTED))
        self._budget.tools_run += 1

        async def process_started(process: ProcessInfo) -> None:
            await services.store.record_process(call.call_id, process)

        result = await services.pipeline.run(
            call, ready, self._start.principal, self._thread.id, process_started
        )
        self._tell(Step(call.call_id, ready.tool.name, StepState.ENDED))
        return result if call.edited_by is None else replace(result, text=told_of_edit(call, result.text))

    async def _mark_running(self, call: CallRow) -> str | None:
        services = self._services
        check = services.pipeline.recheck(self._thread.id)
        return await patiently(
            lambda: services.store.mark_running(self._start.turn_id, call.call_id, check), services.clock
        )

    async def _record(self, result: ToolResult) -> None:
        services = self._services
        await patiently(lambda: services.store.finish_calls(self._start.turn_id, [result]), services.clock)
        self._append(result)
        self._statuses.append(result.status)

    def last_batch_failed(self) -> bool:
        """See LoopDelegate."""
        return bool(self._statuses) and all(status is not ResultStatus.OK for status in self._statuses)

    # --- people ----------------------------------------------------------------------------------------

    async def _ask_about(self, call: CallRow, asked: NeedsPerson) -> Paused:
        settings, ask = self._settings, asked.ask
        rule = VoteRule(approvers=(settings.owner_id,)) if ask.owner_only else settings.rule
        offer = Options(ask.options(rule.quorum))
        prompt = self._prompt(PromptKind.APPROVAL, texts.approval_title(asked.tool.name, ask.reason), offer)
        await self._open(
            replace(
                prompt,
                call_id=call.call_id,
                detail=asked.detail,
                rule=rule,
                binding=asked.binding,
                tool=asked.tool.name,
                pattern=asked.ask.pattern,
            )
        )
        self._tell(Step(call.call_id, asked.tool.name, StepState.WAITING))
        return Paused()

    async def _put(self, call: CallRow, puts: PutsQuestion) -> Paused:
        """Only who the turn is run for may answer."""
        prompt = self._prompt(PromptKind.QUESTION, puts.question.text, puts.question.replies)
        rule = VoteRule(approvers=(self._start.principal.user_id,))
        await self._open(replace(prompt, call_id=call.call_id, rule=rule, tool=puts.tool.name))
        self._tell(Step(call.call_id, puts.tool.name, StepState.WAITING))
        return Paused()

    async def _ask_what_happened(self, call: CallRow) -> Paused:
        """The call was started and its outcome never recorded: the journal could not be written."""
        services = self._services
        prompt = unknown_outcome_prompt(
            call, self._thread.id, self._start.principal.user_id, services.clock.now(), services.ids
        )

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.mark_unknown(call.call_id, prompt, [self._card(prompt)])

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)
        return Paused()

    def limit_reached(self) -> str | None:
        """See LoopDelegate."""
        return self._budget.exhausted(self._services.clock.monotonic_s())

    async def at_limit(self, reason: str) -> Paused | None:
        """See LoopDelegate: asks once; who did not say "go on" gets final words."""
        if self._loaded.continued not in {None, Option.CONTINUE}:
            return None
        offer = Options((Option.CONTINUE, Option.STOP))
        await self._open(self._prompt(PromptKind.CONTINUE, texts.continue_title(reason), offer))
        return Paused()

    def _prompt(self, kind: PromptKind, title: str, offer: Offer) -> Prompt:
        now = self._services.clock.now()
        return Prompt(
            id=self._services.ids.prompt_id(),
            kind=kind,
            thread_id=self._thread.id,
            turn_id=self._start.turn_id,
            call_id=None,
            requester_id=self._start.principal.user_id,
            title=title,
            detail="",
            offer=offer,
            rule=self._settings.rule,
            binding="",
            created_at=now,
            expires_at=now + self._settings.prompt_expires_after_s * SECOND_US,
        )

    async def _open(self, prompt: Prompt) -> None:
        services = self._services

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.ask_person(prompt, [self._card(prompt)])

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)

    def _card(self, prompt: Prompt) -> Draft:
        thread, nonce = self._thread, self._services.ids.row_id()
        return Draft(thread.channel, thread.address, open_card(prompt), nonce, prompt_id=prompt.id)

    # --- the model -------------------------------------------------------------------------------------

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        """See LoopDelegate: one model call on the journal, its text told as it comes."""
        request = self._request(with_tools=with_tools)
        told_chars = 0
        async with closing(self._services.model.reply(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    return piece
                self._tell(TextDelta(told_chars, piece.text))
                told_chars += len(piece.text)
        raise ModelReplyInvalid("the model adapter ended without a reply")

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
        calls = [
            NewCall(
                services.ids.row_id(),
                request.tool,
                request.arguments,
                services.pipeline.effect_of(request.tool),
            )
            for request in reply.calls
        ]
        said = AssistantSaid(reply.text, reply.origin)
        turn_id = self._start.turn_id
        await patiently(lambda: services.store.record_reply_and_intents(turn_id, said, calls), services.clock)
        self._budget.rounds += 1
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
