"""A chat turn as the agentic loop's delegate: every step journalled, people asked where they are."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from core.agent.asking import Asking
from core.agent.budget import Exhausted, LoopBudget
from core.agent.loop import Answered, LoopOutcome, Paused
from core.agent.loop_telling import FAILED, STOPPED, LoopTelling
from core.agent.prompt import PromptFacts, system_prompt
from core.agent.services import ChatServices, ChatSettings
from core.agent.settling import CallSettling
from core.agent.telling import told_reply
from core.conversation.context import build_conversation
from core.events import TurnEvent
from core.model.base import ModelReply, ModelRequest, ToolSpec
from core.prompts import Option
from core.store.rows import CallRow, CallState, LoadedTurn
from core.store.units import patiently
from core.transcript import AssistantSaid, Entry, Note, Said, ToolCalled, UserSaid

_SIZE = attrgetter("size_chars")


class ChatDelegate:
    """One start of one turn. What it holds beside the journal is a copy of it."""

    def __init__(self, services: ChatServices, settings: ChatSettings, loaded: LoadedTurn) -> None:
        self._services = services
        self._settings = settings
        self._loaded = loaded
        self._start = loaded.start
        self._thread = loaded.start.thread
        self._entries: list[Entry] = list(loaded.entries)
        self._asking = Asking(services, settings, loaded.start)
        self._budget = LoopBudget(
            services.pipeline.laws.configured.limits,
            loaded.rounds,
            loaded.tools_run,
            loaded.spent_us,
            services.clock.monotonic_s(),
        )
        self._loop = LoopTelling(self._budget, self._tell)
        waiting = [call for call in loaded.calls if call.state is not CallState.ENDED]
        self._calls = CallSettling(
            services,
            loaded.start,
            self._asking,
            self._budget,
            self._loop,
            waiting,
            self._append,
            self._in_private,
        )

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        """See LoopDelegate."""
        return await self._calls.settle()

    def _in_private(self) -> bool:
        """Whether nobody reads along: who speaks is written down only where several people may."""
        said = (entry.said for entry in self._entries if entry.turn_id == self._start.turn_id)
        return not any(isinstance(one, UserSaid) and one.sender for one in said)

    def last_batch_failed(self) -> bool:
        """See LoopDelegate."""
        return self._calls.all_failed

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
        services, hook = self._services, self._services.reply_hook
        await services.guests.take(self._start.principal)
        tell = self._tell if services.tells_text else _untold
        reply = await told_reply(services.model, request, services.leaks, tell)
        if hook is None or not reply.text.strip():
            return reply
        text = await hook.transformed(reply.text, self._start.principal.user_id, self._thread.id)
        return replace(reply, text=text)

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
        intents = await services.pipeline.intents(
            reply.calls, self._start.principal, self._thread.id, self._budget.rounds, services.ids
        )
        calls, refused = intents.calls, intents.refused
        ended = {result.call_id for result in refused}
        said = AssistantSaid(reply.text, reply.origin)
        turn_id = self._start.turn_id
        await patiently(
            lambda: services.store.record_reply_and_intents(turn_id, said, calls, refused=refused),
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


def _untold(event: TurnEvent) -> None:
    """Hooks have not seen it: what people see of it meanwhile are its steps."""
    del event


def _tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """What the tools' descriptions take of the context, estimated."""
    return sum(map(_SIZE, tools)) // 4
