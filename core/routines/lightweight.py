"""A lightweight run: one question to the model, with tools only inside a strict scope, and nobody to ask."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from core.clock import Clock
from core.errors import ModelReplyInvalid, ToolDenied, ToolFailed
from core.model.base import Model, ModelReply, ModelRequest
from core.routine import Lightweight
from core.routine_run import RunStatus, Spent
from core.routine_run_json import input_from_json
from core.routines.asking import Asked, Told, cut, read_reply, system_text, user_text
from core.routines.permitted import not_permitted
from core.routines.spending import SpentSoFar, one_reply
from core.routines.stored import definition_of
from core.store.routines import RunSteps, StartedRun
from core.transcript import UserSaid
from core.users import Principal, Role

logger = logging.getLogger(__name__)

RETRY_AFTER_S = (1.0, 2.0)
"""An empty or cut-off reply is asked for again after so long each; then the run has failed."""
READ_LIMIT_BYTES = 1_000_000

ReadFile = Callable[[str, int], bytes]
"""A file of the workspace by its path there, at most so many bytes.

Raises ToolDenied, ToolFailed, ValueError."""


@dataclass(frozen=True, slots=True)
class Performed:
    """How a run went, before anybody is told. `out_of_budget`: the day's budget ended it; `remarks`: what its
    owner is told beside the result, however they want to be told of that; `missing_grants`: what calls were
    refused for want of."""

    status: RunStatus
    text: str
    document: str | None
    spent: Spent
    out_of_budget: bool = False
    remarks: tuple[str, ...] = ()
    missing_grants: tuple[str, ...] = ()


class Conversation(Protocol):
    """A run's question, and all that was done for it."""

    async def reply(self) -> ModelReply:
        """The model's words; asked for anew each time. Raises ModelError, OutOfBudget, StoreError."""
        ...


class ScopedTools(Protocol):
    """Tools as a run without a person has them."""

    async def begin(
        self, asked: Asked, started: StartedRun, owner: Principal, spent: SpentSoFar
    ) -> Conversation:
        """The run's conversation, at its beginning or where it was cut off."""
        ...

    async def missing_grants(self, started: StartedRun, owner: Principal, steps: RunSteps) -> tuple[str, ...]:
        """Return the grants, as core.routine.Lightweight has them, which would have let calls that the run
        was refused. Raises StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class _WithoutTools:
    model: Model
    asked: Asked
    spent: SpentSoFar

    async def reply(self) -> ModelReply:
        """See Conversation."""
        request = ModelRequest(
            system=system_text(self.asked, with_tools=False),
            conversation=(UserSaid(user_text(self.asked)),),
            max_output_tokens=self.asked.action.max_tokens,
        )
        return await one_reply(self.model, request, self.spent)


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
        """Raises ModelError, OutOfBudget, ToolDenied where the owner is gone, and StoreError."""
        owner = await self._owner_of(started.routine.owner_id)
        if owner is None:
            raise ToolDenied("the routine's owner is no longer a user of this hub")
        # Whoever could make it once may have become somebody who can't.
        if problems := [*not_permitted(definition_of(started.routine), owner, priced=True)]:
            raise ToolDenied(f"its owner may not have it any more: {problems[0].message}")
        conversation = await self._begin(self._asked(started, action, owner), started, owner, spent)
        fault = ""
        for wait_s in (0.0, *RETRY_AFTER_S):
            if fault:
                logger.info("run %s: the reply was %s, asking again", started.run.id, fault)
                await self._clock.sleep(wait_s)
            reply = await conversation.reply()
            told = None if reply.truncated else read_reply(reply.text)
            if told is not None:
                return _performed(told, spent)
            fault = _fault(reply)
        raise ModelReplyInvalid(f"its reply was {fault} {1 + len(RETRY_AFTER_S)} times")

    async def missing_grants(self, started: StartedRun, steps: RunSteps) -> tuple[str, ...]:
        """Return what the owner may add to the routine's grants, for its next run to make the calls this
        one was refused. Raises StoreError."""
        owner = await self._owner_of(started.routine.owner_id)
        if owner is None or self._tools is None or owner.role is not Role.OWNER:
            return ()
        return await self._tools.missing_grants(started, owner, steps)

    async def _begin(
        self, asked: Asked, started: StartedRun, owner: Principal, spent: SpentSoFar
    ) -> Conversation:
        if not asked.action.use_tools:
            return _WithoutTools(self._model, asked, spent)
        if self._tools is None:
            raise ToolDenied("this hub gives runs no tools")
        return await self._tools.begin(asked, started, owner, spent)

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
            told=definition_of(started.routine).notify.on_attention,
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


def _performed(told: Told, spent: SpentSoFar) -> Performed:
    return Performed(told.status, told.text, told.document, spent.total)


def _fault(reply: ModelReply) -> str:
    return "cut off at its limit" if reply.truncated else "empty"
