"""A lightweight run: one question to the model, with tools only inside a strict scope, and nobody to ask."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from core.clock import Clock
from core.errors import ModelReplyInvalid, ToolDenied, ToolFailed
from core.model.base import Model, ModelReply, ModelRequest
from core.model.streams import closing
from core.routine import Lightweight
from core.routine_run import RunStatus, Spent
from core.routine_run_json import input_from_json
from core.routines.asking import Asked, Told, cut, read_reply, system_text, user_text
from core.store.routines import StartedRun
from core.transcript import Said, UserSaid
from core.users import Principal

logger = logging.getLogger(__name__)

RETRY_AFTER_S = (1.0, 2.0)
"""An empty or cut-off reply is asked for again after so long each; then the run has failed."""
READ_LIMIT_BYTES = 1_000_000

ReadFile = Callable[[str, int], bytes]
"""A file of the workspace by its path there, at most so many bytes.

Raises ToolDenied, ToolFailed, ValueError."""


@dataclass(frozen=True, slots=True)
class Performed:
    """How a run went, before anybody is told."""

    status: RunStatus
    text: str
    document: str | None
    spent: Spent


class SpentSoFar:
    """What a run used up to now, also where it fails after that."""

    def __init__(self) -> None:
        self.total = Spent()

    def add(self, reply: ModelReply) -> None:
        """Count a reply."""
        usage, total = reply.usage, self.total
        self.total = Spent(
            total.tokens_in + usage.input_tokens,
            total.tokens_out + usage.output_tokens,
            total.cost_micro_usd,
        )


class ScopedTools(Protocol):
    """Tools as a run without a person has them."""

    async def answer(
        self, asked: Asked, started: StartedRun, owner: Principal, request: ModelRequest, spent: SpentSoFar
    ) -> ModelReply:
        """The model's final words, after at most the action's rounds of calls."""
        ...


class LightweightRuns:
    """Carries such runs out."""

    def __init__(
        self,
        model: Model,
        read_file: ReadFile,
        owner_of: Callable[[str], Awaitable[Principal | None]],
        clock: Clock,
        timezone: str,
        tools: ScopedTools | None = None,
    ) -> None:
        self._model = model
        self._read_file = read_file
        self._owner_of = owner_of
        self._clock = clock
        self._timezone = timezone
        self._tools = tools

    async def perform(self, started: StartedRun, action: Lightweight, spent: SpentSoFar) -> Performed:
        """Raises ModelError, ToolDenied where the owner is gone, and StoreError."""
        owner = await self._owner_of(started.routine.owner_id)
        if owner is None:
            raise ToolDenied("the routine's owner is no longer a user of this hub")
        asked = self._asked(started, action, owner)
        fault = ""
        for wait_s in (0.0, *RETRY_AFTER_S):
            if fault:
                logger.info("run %s: the reply was %s, asking again", started.run.id, fault)
                await self._clock.sleep(wait_s)
            reply = await self._reply(asked, started, owner, spent)
            told = None if reply.truncated else read_reply(reply.text)
            if told is not None:
                return _performed(told, spent)
            fault = _fault(reply)
        raise ModelReplyInvalid(f"its reply was {fault} {1 + len(RETRY_AFTER_S)} times")

    async def _reply(
        self, asked: Asked, started: StartedRun, owner: Principal, spent: SpentSoFar
    ) -> ModelReply:
        with_tools = self._tools is not None and asked.action.use_tools
        conversation: list[Said] = [UserSaid(user_text(asked))]
        request = ModelRequest(
            system=system_text(asked, with_tools=with_tools),
            conversation=conversation,
            max_output_tokens=asked.action.max_tokens,
        )
        if self._tools is not None and with_tools:
            return await self._tools.answer(asked, started, owner, request, spent)
        return await one_reply(self._model, request, spent)

    def _asked(self, started: StartedRun, action: Lightweight, owner: Principal) -> Asked:
        files, unreadable = self._context(action)
        return Asked(
            name=started.routine.text.name,
            owner=owner.name,
            action=action,
            fired_by=input_from_json(started.run.input),
            files=files,
            unreadable=unreadable,
            state=started.routine.state,
            now=self._clock.now(),
            timezone=self._timezone,
        )

    def _context(self, action: Lightweight) -> tuple[Mapping[str, str], Mapping[str, str]]:
        files: dict[str, str] = {}
        unreadable: dict[str, str] = {}
        for path in action.context_paths:
            try:
                files[path] = cut(self._read_file(path, READ_LIMIT_BYTES).decode("utf-8", "replace"))
            except (ToolDenied, ToolFailed, ValueError) as error:
                unreadable[path] = str(error)
        return files, unreadable


async def one_reply(model: Model, request: ModelRequest, spent: SpentSoFar) -> ModelReply:
    """One model call, counted. Raises ModelError."""
    async with closing(model.reply(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, ModelReply):
                spent.add(piece)
                return piece
    raise ModelReplyInvalid("the model adapter ended without a reply")


def _performed(told: Told, spent: SpentSoFar) -> Performed:
    return Performed(told.status, told.text, told.document, spent.total)


def _fault(reply: ModelReply) -> str:
    return "cut off at its limit" if reply.truncated else "empty"
