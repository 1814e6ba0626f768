"""Compaction: the older part of a conversation is replaced by a summary, so that the rest fits.

Nothing leaves the context before what stands in its place is stored. Everything said stays in the journal,
and the summary is used only as long as everything it covers is part of the conversation.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum

from core.clock import SECOND_US
from core.errors import AllowanceUsedUp, ContextOverflow, ModelError, ToolError
from core.lazy import dataclass
from core.messages import folded
from core.model.base import ModelReply, ModelRequest, StopReason, prompt_tokens, text_tokens
from core.runs.attempts import NO_STEPS, RunModels
from core.runs.context import (
    VERBATIM_TURNS,
    Room,
    Turn,
    cut_in_the_middle,
    newest_that_fit,
    shortened,
    split,
    total_tokens,
)
from core.runs.model_list import Candidate
from core.runs.registry import Run
from core.runs.services import ChatServices, ChatSettings
from core.safety.fencing import FENCE_RULE, fence_tool_output, sanitise, struck_out
from core.store.feed import ARCHIVES
from core.store.rows import TurnStart
from core.store.units import patiently
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    OperatorSaid,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)
from core.users import Role

logger = logging.getLogger(__name__)

SUMMARY_TOKENS_LEAST, SUMMARY_TOKENS_MOST = 256, 2_000
SUMMARY_SHARE = 0.2
"""The part of a conversation's room that its summary may take."""
ROOM_TOKENS_LEAST = 1_000
"""With less room than this, a summary would leave nothing for the conversation."""
MAX_OVERFLOWS = 4
"""The number of times that one compaction's own request may be too long. Each time it is halved."""
PART_TOKENS_LEAST = 200
ARGUMENTS_CHARS = 200
WORDS_PER_TOKEN = 0.6

LEFT_OUT = (
    "Turns before this point were left out, because the conversation is too long and no summary of them "
    "could be made."
)
RESET = "The conversation before this point was reset, because it no longer fit into the model's context."
_ARCHIVED = "\n\nThe turns summarized here stand in full in the workspace folder "

_SYSTEM = (
    "You shorten the older part of a conversation between people and an assistant, so that the assistant can "
    "continue without it. Write the text that stands in its place, in the language of the conversation. "
    "State what was decided and why, what is still open and who asked for it, and every name, number, date, "
    "path and identifier exactly as written: whatever you leave out is forgotten. Keep all of the earlier "
    "summary that still matters. Use short lines under the headings Decisions, Open points, Names and "
    "numbers. Use at most {words} words. Say nothing that the conversation does not say. {focus}{fence_rule}"
)
_FOCUS = 'The person asks to keep what concerns this above all: "{focus}". '


class Strategy(StrEnum):
    """The ways to make a conversation shorter, by how full its room is."""

    MOVE_TO_WORKSPACE = "move_to_workspace"
    """A summary, and the whole text in a file of the owner's workspace."""
    SUMMARIZE = "summarize"
    TRUNCATE = "truncate"
    """Without a summary, and only where the conversation would not fit otherwise."""


def strategy_for(tokens: int, room: Room, *, archived: bool) -> Strategy:
    """Return the strategy for a conversation of that size. Close to the limit nothing is done that takes
    longer than it must."""
    halfway = (room.compact_tokens + room.limit_tokens) // 2
    return Strategy.MOVE_TO_WORKSPACE if archived and tokens < halfway else Strategy.SUMMARIZE


@dataclass(frozen=True, slots=True)
class Compacted:
    """A conversation after compaction. `turns`: the number of turns taken out."""

    entries: list[Entry]
    turns: int
    strategy: Strategy


class Compaction:
    """The compaction of one turn's conversation. Its model calls are calls of the turn's run."""

    def __init__(
        self, services: ChatServices, settings: ChatSettings, start: TurnStart, run: Run, models: RunModels
    ) -> None:
        self._services = services
        self._settings = settings
        self._start = start
        self._run = run
        self._models = models
        self._overflows = 0
        self._part_tokens = 0
        """The most that a request for a summary hands over, after one that did not fit; 0: not known."""

    async def compacted(
        self, entries: Sequence[Entry], room: Room, *, focus: str = "", verbatim: int = VERBATIM_TURNS
    ) -> Compacted | None:
        """Return the conversation with a summary in place of its older turns. None if there are none, or if
        there is no summary to be had and all of it still fits.

        `verbatim`: the newest turns that stay, as far as they fit."""
        summary, turns = split(entries)
        older = turns[: len(turns) - _kept(turns, room, verbatim)]
        tokens = total_tokens(summary) + sum(map(total_tokens, shortened(turns, whole=1)))
        if not older or room.limit_tokens < ROOM_TOKENS_LEAST:
            return None
        strategy = strategy_for(tokens, room, archived=self._archives())
        taken = self._overflows = self._part_tokens = 0
        while taken < len(older):
            part = await self._part(summary, older[taken:], room, focus, strategy)
            if part is None:
                break
            summary, taken = (part.summary,), taken + part.turns
        if not taken and tokens > room.limit_tokens:
            taken, strategy = len(older), Strategy.TRUNCATE
            summary = (await self._left_out(summary, older[-1][-1].seq),)
        if not taken:
            return None
        logger.info(
            "conversation.compacted thread=%s strategy=%s turns=%d", self._start.thread.id, strategy, taken
        )
        kept = [*summary, *(entry for turn in turns[taken:] for entry in turn)]
        return Compacted(kept, taken, strategy)

    async def reset(self) -> Entry:
        """Take everything said so far out of the context, this turn's input too: undoing the turn brings it
        back."""
        return await self._stored(RESET, None)

    async def _left_out(self, summary: Sequence[Entry], covers_to_seq: int) -> Entry:
        return await self._stored("\n\n".join([*_texts(summary), LEFT_OUT]), covers_to_seq)

    # --- one summary ------------------------------------------------------------------------------------

    async def _part(
        self, summary: Sequence[Entry], turns: Sequence[Turn], room: Room, focus: str, strategy: Strategy
    ) -> "_Part | None":
        """Store a summary of as many of the turns as one request holds. None if no model makes one."""
        size_tokens = min(
            max(int(room.limit_tokens * SUMMARY_SHARE), SUMMARY_TOKENS_LEAST), SUMMARY_TOKENS_MOST
        )
        earlier = "\n\n".join(_texts(summary))
        while self._overflows < MAX_OVERFLOWS:
            part = self._fitting(turns, earlier, size_tokens)
            text = (
                "\n\n".join(map(_text_of, part.turns))
                if part.whole
                else _cut(part.turns[0], part.room_tokens)
            )
            try:
                reply = await self._reply(earlier, text, focus, size_tokens)
            except ContextOverflow:
                self._overflows += 1
                self._part_tokens = max(text_tokens(text) // 2, PART_TOKENS_LEAST)
                continue
            except (ModelError, AllowanceUsedUp) as error:
                logger.warning("conversation.not_compacted thread=%s error=%s", self._start.thread.id, error)
                return None
            said = sanitise(reply.text).strip()
            if not said or reply.stop is StopReason.FILTERED:
                logger.warning("conversation.not_compacted thread=%s error=no summary", self._start.thread.id)
                return None
            covered = [entry for turn in part.turns for entry in turn]
            if strategy is Strategy.MOVE_TO_WORKSPACE:
                said += await self._archived(covered)
            return _Part(await self._stored(said, covered[-1].seq), len(part.turns))
        return None

    def _fitting(self, turns: Sequence[Turn], earlier: str, size_tokens: int) -> "_Fitting":
        """Return the oldest turns that one request to the first model holds."""
        candidate = self._models.candidates()[0]
        window_tokens = min(candidate.context_tokens, self._settings.context_tokens)
        room_tokens = int((window_tokens - size_tokens) / candidate.ratio.value)
        room_tokens -= prompt_tokens(_SYSTEM) + text_tokens(earlier)
        room_tokens = self._part_tokens or max(int(room_tokens * 0.9), PART_TOKENS_LEAST)
        count = used = 0
        for turn in turns:
            used += text_tokens(_text_of(turn))
            if used > room_tokens:
                break
            count += 1
        return _Fitting(turns[: count or 1], whole=count > 0, room_tokens=room_tokens)

    async def _reply(self, earlier: str, text: str, focus: str, size_tokens: int) -> ModelReply:
        await self._services.guests.take(self._start.principal)
        system = _SYSTEM.format(
            words=int(size_tokens * WORDS_PER_TOKEN),
            focus=_FOCUS.format(focus=folded(focus)) if focus else "",
            fence_rule=FENCE_RULE,
        )
        blocks = [("earlier summary", earlier), ("conversation", text)]
        said = "\n\n".join(fence_tool_output(name, block) for name, block in blocks if block)
        request = ModelRequest(
            system,
            (UserSaid(said),),
            max_output_tokens=size_tokens,
            temperature=self._settings.temperature,
        )  # without `conversation_tokens`: its count says little about requests with tools

        def build(candidate: Candidate) -> ModelRequest:
            del candidate
            return replace(request)

        return await self._models.reply(build, None, steps=NO_STEPS)

    # --- storing ----------------------------------------------------------------------------------------

    def _archives(self) -> bool:
        """Return whether the whole text is kept in the workspace, which is the owner's."""
        return self._services.archive is not None and self._start.principal.role is Role.OWNER

    async def _archived(self, covered: Sequence[Entry]) -> str:
        """Keep the covered entries in the workspace. Return the sentence that says where, empty if they could
        not be kept. The same entries always go into the same file, so that a repetition after a crash
        replaces it."""
        archive, folder = self._services.archive, f"{ARCHIVES}/{self._start.thread.id}"
        if archive is None:
            return ""
        text = "\n\n".join(_line(self._kept(entry), whole=True) for entry in covered)
        try:
            await archive(f"{folder}/{covered[0].seq}-{covered[-1].seq}.md", text)
        except ToolError as error:
            logger.warning("conversation.not_archived thread=%s error=%s", self._start.thread.id, error)
            return ""
        return f"{_ARCHIVED}{folder}."

    def _kept(self, entry: Entry) -> Entry:
        """Return an entry as people may read it in the workspace."""
        said = entry.said
        if not isinstance(said, ToolCalled):
            return entry
        sensitive = self._services.pipeline.sensitive(said.tool)
        return replace(entry, said=replace(said, arguments=struck_out(said.arguments, sensitive)))

    async def _stored(self, text: str, covers_to_seq: int | None) -> Entry:
        services, turn_id, models = self._services, self._start.turn_id, self._run.trace()
        stored = await patiently(
            lambda: services.store.turns.record_summary(turn_id, text, covers_to_seq, models=models),
            services.clock,
        )
        self._run.kept(models)
        return stored


@dataclass(frozen=True, slots=True)
class _Part:
    """A stored summary, and the number of turns that it covers for the first time."""

    summary: Entry
    turns: int


@dataclass(frozen=True, slots=True)
class _Fitting:
    """Turns for one request. `whole`: they fit into it as they are."""

    turns: Sequence[Turn]
    whole: bool
    room_tokens: int


def _kept(turns: Sequence[Turn], room: Room, verbatim: int) -> int:
    """Return the number of newest turns that stay: all of `verbatim`, or what takes half of the room where
    these alone would fill it. The turn that runs always stays."""
    turns = shortened(turns, whole=1)
    most = min(verbatim, len(turns))
    if newest_that_fit(turns, int(room.compact_tokens * 0.7), most) == most:
        return most
    return max(newest_that_fit(turns, room.compact_tokens // 2, most), 1)


def _texts(summary: Sequence[Entry]) -> list[str]:
    """Return a summary's text without the sentence about its archive, which the next one has again."""
    return [one.said.text.partition(_ARCHIVED)[0] for one in summary if isinstance(one.said, Summary)]


def _text_of(turn: Turn) -> str:
    """Return a turn as the summary's author reads it: everything said, and the results of tools in short."""
    day = datetime.fromtimestamp(turn[0].at / SECOND_US, UTC)
    return "\n".join([f"({day:%Y-%m-%d})", *(_line(entry, whole=False) for entry in turn)])


def _cut(turn: Turn, room_tokens: int) -> str:
    """Return a turn that is too long for a request, cut in the middle to fit into it."""
    text = _text_of(turn)
    half_chars = len(text) * room_tokens // (2 * text_tokens(text) + 1)
    return cut_in_the_middle(text, half_chars, half_chars)


def _line(entry: Entry, *, whole: bool) -> str:
    match entry.said:
        case UserSaid(text, sender):
            return f"{folded(sender) if sender else 'Person'}: {text}"
        case AssistantSaid(text):
            return f"Assistant: {text}"
        case OperatorSaid(text, by):
            return f"{folded(by)}, in the assistant's place: {text}"
        case ToolCalled(_, tool, arguments):
            shown = arguments if whole else cut_in_the_middle(arguments, ARGUMENTS_CHARS, 0)
            return f"Assistant called {folded(tool)}: {shown}"
        case ToolResult(_, status, text):
            return f"Result ({status.value}): {text if whole else cut_in_the_middle(text)}"
        case Note(text) | Summary(text):
            return f"Note: {text}"
