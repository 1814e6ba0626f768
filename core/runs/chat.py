"""A chat turn as the agentic loop's delegate: it journals every step and asks people in their chat."""

from collections.abc import Sequence
from dataclasses import replace

from core.approvals import Preset
from core.events import TurnEvent
from core.gates import ConsentSettings, Option
from core.model.base import ModelReply, ModelRequest, Usage
from core.runs.approval_requests import ApprovalRequests
from core.runs.attempts import RunModels
from core.runs.budget import FAILED, STOPPED, Exhausted, LoopBudget, LoopEvents
from core.runs.context import CHARS_PER_TOKEN, TurnPrompt, build_conversation, tool_tokens
from core.runs.images import TurnImages
from core.runs.loop import Answered, LoopOutcome, Paused
from core.runs.model_list import Candidate
from core.runs.registry import Run
from core.runs.services import ChatServices, ChatSettings
from core.runs.tool_calls import CallRules, ToolCallRunner
from core.store.rows import CallRow, CallState, LoadedTurn
from core.store.units import patiently
from core.tools.pipeline import INTERACTIVE
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    Said,
    ToolCalled,
    UserSaid,
)


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
            run.models = RunModels(
                services.models, services.leaks, run.report, _unmetered, loaded.models.spent, run.keep
            )
        self._run = run
        self._models = run.models
        self._images = TurnImages(services.images, self._thread.channel, self._start.turn_id)
        self._standing: ConsentSettings | None = None
        self._offered = False
        self._prompted: TurnPrompt | None = None
        self._budget = LoopBudget(
            services.pipeline.effective_policy.configured.limits,
            loaded.rounds,
            loaded.tools_run,
            loaded.spent_us,
            services.clock.monotonic_s(),
        )
        self._loop = LoopEvents(self._budget, self._tell)
        waiting = [call for call in loaded.calls if call.state is not CallState.ENDED]
        start, pipeline = loaded.start, services.pipeline
        self._calls = ToolCallRunner(
            CallRules(pipeline, start.principal, start.thread.id, INTERACTIVE, self._said),
            services.store.turns,
            start.turn_id,
            self._asking,
            self._budget,
            self._loop,
            services.clock,
            waiting,
            self._append,
            self._tell,
        )

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        self._calls.judge_in((await self._prompt()).mode)
        return await self._calls.settle()

    async def join_input(self) -> bool:
        """Return False: what people write while the turn runs waits for the next one."""
        return False

    async def _said(self) -> ConsentSettings:
        """Return the person's consent settings, loaded once per start of the turn."""
        if self._standing is None:
            services, principal = self._services, self._start.principal
            self._standing = await services.store.consents.standing(principal.user_id, self._thread.id)
            held = services.pipeline.effective_policy.in_force(principal, self._standing)
            self._budget.limits, self._budget.counted = held.limits, held.preset is not Preset.AUTO
        return self._standing

    def _in_private(self) -> bool:
        """Return whether no one else reads the conversation. Senders are recorded only where several people
        may write."""
        said = (entry.said for entry in self._entries if entry.turn_id == self._start.turn_id)
        return not any(isinstance(one, UserSaid) and one.sender for one in said)

    def _narrative(self, call_id: str) -> str:
        """Return what the model wrote beside a call."""
        text = ""
        for entry in self._entries:
            match entry.said:
                case AssistantSaid():
                    text = entry.said.text
                case ToolCalled() if entry.said.call_id == call_id:
                    return text
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

    def failed(self) -> None:
        self._loop.cancelled(FAILED)

    # --- the model -------------------------------------------------------------------------------------

    def offered_tools(self) -> bool:
        return self._offered

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        # One model call on the journal; its text is streamed as it comes.
        services, hook = self._services, self._services.reply_hook
        await services.guests.take(self._start.principal)
        images = await self._images.newest(self._entries)
        tell = self._tell if services.tells_text else None  # hooks have to check the text first

        prompt = await self._prompt()

        def build(candidate: Candidate) -> ModelRequest:
            return replace(self._request(prompt, candidate, with_tools=with_tools), images=images)

        reply = await self._models.reply(build, tell, repeats_empty=True)
        if hook is None or not reply.text.strip():
            return reply
        text = await hook.transformed(reply.text, self._start.principal.user_id, self._thread.id)
        return replace(reply, text=text)

    async def _prompt(self) -> TurnPrompt:
        """Return the turn's prompt, made once per start of the turn."""
        if self._prompted is None:
            start, prompts = self._start, self._services.prompts
            said = [entry.said for entry in self._entries if entry.turn_id == start.turn_id]
            inputs = [one for one in said if isinstance(one, UserSaid)]
            self._prompted = await prompts.of_turn(start.principal, self._thread.channel, inputs)
        return self._prompted

    def _request(self, prompt: TurnPrompt, model: Candidate, *, with_tools: bool) -> ModelRequest:
        settings, start = self._settings, self._start
        offered = self._services.pipeline.offered
        tools = offered(start.principal, start.disabled, prompt.mode) if with_tools else ()
        self._offered = bool(tools)
        system = prompt.system(tuple(tool.name for tool in tools), model.name, with_tools=with_tools)
        limit_tokens = min(model.context_tokens, settings.context_tokens)
        limit_tokens -= settings.reserve_tokens + tool_tokens(tools) + len(system) // CHARS_PER_TOKEN
        return ModelRequest(
            system=system,
            conversation=build_conversation(self._entries, limit_tokens, prompt.settings.timezone),
            tools=tools,
            max_output_tokens=settings.reserve_tokens,
            temperature=settings.temperature,
        )

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
        self._append(said)
        for call in calls:
            self._append(ToolCalled(call.call_id, call.tool, call.arguments))
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
            said = AssistantSaid(reply.text, reply.origin)
            await patiently(
                lambda: services.store.turns.record_reply_and_intents(turn_id, said, []), services.clock
            )
            self._append(said)
        await patiently(lambda: services.store.turns.record_notes(turn_id, [Note(note)]), services.clock)
        self._append(Note(note))

    def transcript(self) -> Sequence[Entry]:
        return self._entries

    # --- transcript and events ------------------------------------------------------------------------

    def _append(self, said: Said) -> None:
        seq = self._entries[-1].seq + 1 if self._entries else 1
        self._entries.append(Entry(seq, self._start.turn_id, self._services.clock.now(), said))

    def _tell(self, event: TurnEvent) -> None:
        self._services.turns.turn_event(self._thread.id, self._start.turn_id, event)


def _unmetered(usage: Usage) -> None:
    """Count nothing: tokens of chats have no budget."""
    del usage
