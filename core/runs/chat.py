"""A chat turn as the agentic loop's delegate: it journals every step and asks people in their chat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING

from core import texts
from core.approvals import Preset
from core.errors import BudgetUsedUp
from core.events import ContextUse, TurnEvent
from core.gates import ConsentSettings, Option
from core.lazy import LazyModule
from core.model.base import ModelReply, ModelRequest, ToolSpec, prompt_tokens
from core.runs.approval_requests import ApprovalRequests
from core.runs.attempts import RoomSteps, RunModels
from core.runs.context import (
    VERBATIM_TURNS,
    Room,
    TurnPrompt,
    build_window,
    compaction_focus,
    is_due,
    split,
    tool_tokens,
    total_tokens,
)
from core.runs.loop import FAILED, STOPPED, Answered, Exhausted, LoopBudget, LoopEvents, LoopOutcome, Paused
from core.runs.model_list import Candidate
from core.runs.registry import Run
from core.runs.services import ChatServices, ChatSettings, TurnImages
from core.runs.tool_calls import CallRules, ToolCallRunner
from core.store.rows import CallRow, CallState, LoadedTurn
from core.store.units import patiently
from core.tools.pipeline import INTERACTIVE
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    Origin,
    Said,
    ToolCalled,
    UserSaid,
)
from core.usage import NOTHING_USED, CallKind, Payer

if TYPE_CHECKING:
    from core.runs import compaction, unattended, unseen_models
else:  # most turns need none
    compaction = LazyModule("core.runs.compaction")
    unattended = LazyModule("core.runs.unattended")
    unseen_models = LazyModule("core.runs.unseen_models")

SQUEEZED_TO = 0.6
"""The share that a conversation may have of one that did not fit."""


@dataclass(frozen=True, slots=True)
class _Squeeze:
    """A limit that an overflow taught: on conversations for models of that window or a smaller one."""

    window_tokens: int
    limit_tokens: int


_NO_SQUEEZE = _Squeeze(-1, 0)
_NAME = attrgetter("name")


@dataclass(frozen=True, slots=True)
class _Fixed:
    """The parts of a request other than the conversation. `tokens`: their estimate."""

    system: str
    tools: Sequence[ToolSpec]
    tokens: int


_COMPACT = "/compact"


class ChatDelegate:
    """One start of one turn. Its state other than the journal is only a copy."""

    def __init__(self, services: ChatServices, settings: ChatSettings, loaded: LoadedTurn, run: Run) -> None:
        self._services = services
        self._settings = settings
        self._loaded = loaded
        self._start = loaded.start
        self._thread = loaded.start.thread
        self._entries: list[Entry] = list(loaded.entries)
        self._asking = ApprovalRequests(services, settings, loaded.start, self._in_private, self._narrative)
        if run.models is None:
            run.earlier = loaded.models
            payer = Payer(CallKind.CHAT, run.run_id, loaded.start.principal.user_id, loaded.start.thread.id)
            meter = services.models.metering.run(
                payer, loaded.start.reserved, approved=loaded.budget is Option.CONTINUE
            )
            run.models = RunModels(
                services.models,
                services.leaks,
                run.report,
                meter,
                loaded.models.spent,
                run.keep,
                first=loaded.start.chosen.model,
            )
        self._run = run
        self._models = run.models
        self._compacts = True
        self._last_seq = self._entries[-1].seq if self._entries else 0
        self._overfull: Room | None = None
        """The room that the newest request was too long for, before anything was left out."""
        self._squeeze = _NO_SQUEEZE
        self._images = TurnImages(services.image_source, self._thread.channel, self._start.turn_id)
        self._standing: ConsentSettings | None = None
        self._offered = False
        self._called = loaded.start.resumed
        if self._called:
            run.joining.add(self._thread.id)
        self._prompted: TurnPrompt | None = None
        self._budget = LoopBudget(
            services.pipeline.effective_policy.configured.limits,
            loaded.rounds,
            loaded.tools_run,
            loaded.spent_us,
            services.clock.monotonic_s(),
        )
        self._loop = LoopEvents(self._budget, self._tell)
        start, pipeline = loaded.start, services.pipeline
        self._calls = ToolCallRunner(
            CallRules(pipeline, start.principal, start.thread.id, INTERACTIVE, self._said, self._subtask),
            services.store.turns,
            start.turn_id,
            self._asking,
            self._budget,
            self._loop,
            services.clock,
            [call for call in loaded.calls if call.state is not CallState.ENDED],
            self._append,
            self._tell,
            self._tell,
        )

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        self._standing = None  # people may have changed their settings since the last round
        self._calls.judge_in((await self._prompt()).mode)
        return await self._calls.settle()

    async def join_input(self) -> bool:
        # A new turn has just taken what waited: only what comes after its first model call joins it.
        if not self._called or not self._run.take_joining():
            return False
        services, turn_id = self._services, self._start.turn_id
        joined = await patiently(lambda: services.store.turns.join_waiting(turn_id), services.clock)
        for said in joined:
            self._append(said)
        if not joined:
            return False
        self._run.joining.add(self._thread.id)  # there may be more than join at once
        self._budget.start_over(services.clock.monotonic_s())
        self._prompted = None  # a message can activate skills
        return True

    async def _said(self) -> ConsentSettings:
        """Return the person's consent settings, loaded once per round of calls."""
        if self._standing is None:
            services, principal = self._services, self._start.principal
            self._standing = await services.store.consents.standing(principal.user_id, self._thread.id)
            held = services.pipeline.effective_policy.in_force(principal, self._standing)
            self._budget.limits, self._budget.counted = held.limits, held.preset is not Preset.AUTO
        return self._standing

    async def _subtask(self, call_id: str, task: str, tools: Sequence[str] | None) -> str:
        services, start = self._services, self._start
        hook, warmth = services.reply_hook, self._settings.temperature
        models = unseen_models.UnseenRun(self._models, services.leaks, hook, warmth)
        whole = unattended.Whole(
            start.principal, start.thread.id, self._run, models, self._budget, self.limit_reached,
            lambda tokens: tokens, self._in_force,
        )  # fmt: skip
        parts = services.store, services.pipeline, services.clock, services.ids
        stood_on = unattended.UnattendedServices(*parts)
        return await unattended.carry_out(stood_on, whole, call_id, task, tools)

    async def _in_force(self) -> "unattended.InForce":
        return (await self._prompt()).mode, await self._said()

    def _in_private(self) -> bool:
        """Return whether no one else reads the conversation. Senders are recorded only where several people
        may write."""
        return not any(one.sender for one in self._inputs())

    def _narrative(self, call_id: str) -> str:
        """Return the model's reason for a call: its own, else what it wrote with all calls."""
        text = ""
        for entry in self._entries:
            match entry.said:
                case AssistantSaid():
                    text = entry.said.text
                case ToolCalled() if entry.said.call_id == call_id:
                    return entry.said.reason or text
                case ToolCalled():
                    pass
                case _:
                    text = ""
        return ""

    def last_batch_failed(self) -> bool:
        return self._calls.all_failed

    # --- limits ----------------------------------------------------------------------------------------

    def limit_reached(self) -> Exhausted | None:
        return self._budget.exhausted(self._services.clock.monotonic_s())

    async def at_limit(self, limit: Exhausted) -> Paused | None:
        # Asks once; an answer other than "continue" leads to final words.
        if self._loaded.continued not in {None, Option.CONTINUE}:
            return None
        await self._asking.whether_to_go_on(limit.said)
        self._loop.cancelled(limit.limit.value)
        return Paused()

    def ended(self, outcome: LoopOutcome | None) -> None:
        match outcome:
            case Answered():
                self._loop.finished()
            case None:
                self._loop.cancelled(STOPPED)
            case Paused():
                pass
        del self._calls, self._asking, self._loop  # they lead back here: freed now, not by the collector

    def failed(self) -> None:
        self._loop.cancelled(FAILED)

    # --- the model -------------------------------------------------------------------------------------

    def offered_tools(self) -> bool:
        return self._offered

    async def call_model(self, *, with_tools: bool) -> ModelReply | Paused:
        if self._loaded.budget is Option.STOP:
            raise BudgetUsedUp(texts.BUDGET_STOPPED)
        self._models.meter.hold(self._calls.take_reserved())
        try:
            return await self._reply(with_tools=with_tools)
        except BudgetUsedUp as used_up:
            await self._run.keep()
            await self._asking.whether_to_spend(str(used_up))
            return Paused()

    async def _reply(self, *, with_tools: bool) -> ModelReply:
        services, hook = self._services, self._services.reply_hook
        self._called = True
        prompt = await self._prompt()
        focus = self._compaction_asked()
        if focus is not None:
            return await self._compact_now(prompt, focus)
        await services.guests.take(self._start.principal)
        images = await self._images.newest(self._entries)
        tell = self._tell if services.tells_text else None  # hooks have to check the text first
        model = self._models.candidates()[0]
        made = {model: await self._below(prompt, model, with_tools=with_tools)}

        def build(candidate: Candidate) -> ModelRequest:
            request = made.pop(candidate, None) or self._request(prompt, candidate, with_tools=with_tools)
            return replace(request, images=images) if images else request

        async def compact() -> bool:
            made.clear()
            return await self._squeezed(prompt, with_tools=with_tools)

        begun = any(entry.turn_id != self._start.turn_id for entry in self._entries)
        steps = RoomSteps(compact, reset=self._reset if begun else None)
        reply = await self._models.reply(build, tell, repeats_empty=True, steps=steps)
        if hook is None or not reply.text.strip():
            return reply
        text = await hook.transformed(reply.text, self._start.principal.user_id, self._thread.id)
        return replace(reply, text=text, suggestions=())

    async def _prompt(self) -> TurnPrompt:
        """Return the turn's prompt, made once per start of the turn."""
        if self._prompted is None:
            start, prompts = self._start, self._services.prompts
            self._prompted = await prompts.of_turn(
                start.principal, self._thread.channel, self._inputs(), start.preferences
            )
        return self._prompted

    def _inputs(self) -> list[UserSaid]:
        """Return what people said in this turn, in order."""
        own = takewhile(lambda entry: entry.turn_id == self._start.turn_id, reversed(self._entries))
        return [entry.said for entry in own if isinstance(entry.said, UserSaid)][::-1]

    def _fixed(self, prompt: TurnPrompt, model: Candidate, *, with_tools: bool) -> "_Fixed":
        """Return the part of a request that is not the conversation."""
        start, offered = self._start, self._services.pipeline.offered
        tools = offered(start.principal, start.disabled, prompt.mode) if with_tools else ()
        system = prompt.system(tuple(map(_NAME, tools)), model.name, with_tools=with_tools)
        return _Fixed(system, tools, prompt_tokens(system) + tool_tokens(tools))

    def _room(self, model: Candidate, fixed_tokens: int) -> Room:
        """Return the room for the conversation, as far as the provider's counts are known."""
        settings = self._settings
        window_tokens = min(model.context_tokens, settings.context_tokens) - settings.reserve_tokens
        limit_tokens = int(window_tokens / model.ratio.value) - fixed_tokens
        if model.context_tokens <= self._squeeze.window_tokens:
            limit_tokens = min(limit_tokens, self._squeeze.limit_tokens)
        return Room(limit_tokens, int(limit_tokens * settings.compact_at))

    def _request(self, prompt: TurnPrompt, model: Candidate, *, with_tools: bool) -> ModelRequest:
        settings = self._settings
        fixed = self._fixed(prompt, model, with_tools=with_tools)
        self._offered = bool(fixed.tools)
        room = self._room(model, fixed.tokens)
        window = build_window(self._entries, room, prompt.settings.timezone)
        self._overfull = room if window.whole_tokens > room.compact_tokens else None
        ratio, used = model.ratio.value, fixed.tokens + window.tokens
        self._run.context = ContextUse(round(used * ratio), round((fixed.tokens + room.limit_tokens) * ratio))
        return ModelRequest(
            system=fixed.system,
            conversation=window.said,
            tools=fixed.tools,
            max_output_tokens=settings.answer_tokens,
            temperature=settings.temperature,
            thinking=self._start.chosen.thinking,
            conversation_tokens=window.tokens,
        )

    # --- a conversation that is too long -----------------------------------------------------------------

    async def _below(self, prompt: TurnPrompt, model: Candidate, *, with_tools: bool) -> ModelRequest:
        """Return the request to a model, with a shorter conversation if it takes too much of its room.

        A start of a turn tries that once in vain."""
        request = self._request(prompt, model, with_tools=with_tools)
        if self._overfull is not None and self._compacts and is_due(self._entries, self._overfull):
            self._compacts = await self._compact(self._overfull) > 0
            request = self._request(prompt, model, with_tools=with_tools)
        return request

    async def _compact(self, room: Room, focus: str = "", verbatim: int = VERBATIM_TURNS) -> int:
        """Compact the conversation. Return the number of turns that were taken out."""
        done = await self._compaction().compacted(self._entries, room, focus=focus, verbatim=verbatim)
        if done is None:
            return 0
        self._entries = done.entries
        self._last_seq = max(self._last_seq, done.entries[0].seq)
        return done.turns

    async def _squeezed(self, prompt: TurnPrompt, *, with_tools: bool) -> bool:
        """Make room after an overflow: for models with the same window, the conversation stays well below the
        one that did not fit. Return whether that makes it shorter."""
        model = self._models.candidates()[0]
        fixed_tokens = self._fixed(prompt, model, with_tools=with_tools).tokens
        before_tokens = self._models.overflowed_tokens
        self._squeeze = _Squeeze(model.context_tokens, int(before_tokens * SQUEEZED_TO))
        room = self._room(model, fixed_tokens)
        await self._compact(room)
        window = build_window(self._entries, room, prompt.settings.timezone)
        return window.tokens < before_tokens

    async def _reset(self) -> bool:
        """Take the conversation out of the context. Return False: this turn asks no model any more."""
        await self._compaction().reset()
        return False

    def _compaction(self) -> "compaction.Compaction":
        return compaction.Compaction(self._services, self._settings, self._start, self._run, self._models)

    def _compaction_asked(self) -> str | None:
        """Return the focus of `/compact` if this turn began with it."""
        inputs = self._inputs()
        return compaction_focus(inputs[0].text) if inputs else None

    async def _compact_now(self, prompt: TurnPrompt, focus: str) -> ModelReply:
        """Carry out `/compact`, and return the answer to it."""
        model = self._models.candidates()[0]
        room = self._room(model, self._fixed(prompt, model, with_tools=True).tokens)
        before_tokens = total_tokens(self._entries)
        turns = await self._compact(room, focus, VERBATIM_TURNS + 1)
        after_tokens, ratio = total_tokens(self._entries), model.ratio.value
        few = len(split(self._entries)[1]) <= VERBATIM_TURNS + 1
        if not turns and self._entries[0].turn_id == self._start.turn_id and len(self._entries) > 1:
            return _own_reply(texts.COMPACTED)  # an earlier start of this turn did it
        told = texts.compacted(turns, round(before_tokens * ratio), round(after_tokens * ratio), few=few)
        return _own_reply(told)

    async def record_calls(self, reply: ModelReply) -> None:
        services = self._services
        self._budget.rounds += 1
        intents = await services.pipeline.intents(
            reply.calls, self._start.principal, self._thread.id, self._budget.rounds, services.ids
        )
        calls, refused = intents.calls, intents.refused
        ended = {result.call_id for result in refused}
        said = AssistantSaid(reply.text, reply.origin)
        turn_id, models = self._start.turn_id, self._run.trace()
        await patiently(
            lambda: services.store.turns.record_reply_and_intents(
                turn_id, said, calls, refused=refused, models=models
            ),
            services.clock,
        )
        self._run.kept(models)
        self._append(said)
        for call in calls:
            self._append(ToolCalled(call.call_id, call.tool, call.arguments, call.reason))
            if call.call_id in ended:
                continue
            self._calls.add(
                CallRow(call.call_id, turn_id, 0, call.tool, call.arguments, CallState.INTENT, call.effect)
            )
        for result in refused:
            self._calls.refused(result)

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        services, turn_id = self._services, self._start.turn_id
        if reply is not None and reply.text:
            said, models = AssistantSaid(reply.text, reply.origin), self._run.trace()
            await patiently(
                lambda: services.store.turns.record_reply_and_intents(turn_id, said, [], models=models),
                services.clock,
            )
            self._run.kept(models)
            self._append(said)
        await patiently(lambda: services.store.turns.record_notes(turn_id, [Note(note)]), services.clock)
        self._append(Note(note))

    def transcript(self) -> Sequence[Entry]:
        return self._entries

    # --- transcript and events ------------------------------------------------------------------------

    def _append(self, said: Said) -> None:
        self._last_seq += 1
        self._entries.append(Entry(self._last_seq, self._start.turn_id, self._services.clock.now(), said))

    def _tell(self, event: TurnEvent) -> None:
        self._services.turns.turn_event(self._thread.id, self._start.turn_id, event)


def _own_reply(text: str) -> ModelReply:
    """Return an answer that the hub gives in the model's place."""
    return ModelReply(text, (), NOTHING_USED, Origin("hubbub", "hubbub"))
