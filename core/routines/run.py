"""A lightweight run: one question to the model, with tools only inside a strict scope, and no person to
ask."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, assert_never
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.errors import ModelReplyInvalid, ToolDenied, ToolFailed
from core.lazy import dataclass
from core.messages import folded, quoted
from core.model.base import ModelReply
from core.model.visible_text import SILENT_REPLY
from core.routine import (
    Lightweight,
    ManualInput,
    MessageInput,
    RunInput,
    RunStatus,
    SlotInput,
    SystemInput,
    WebhookInput,
    kept,
)
from core.routine_json import input_from_json
from core.routines.definitions import definition_of, not_permitted
from core.runs.context import documents_parts, skills_parts
from core.runs.registry import Run
from core.runs.unseen_models import UnseenModels, UnseenRun
from core.runs.workspace_texts import Document, Skill, WorkspaceTexts, chosen
from core.safety.fencing import FENCE_RULE, fence_tool_output
from core.store.routine_rows import RunSteps, StartedRun
from core.transcript import AssistantSaid
from core.usage import CallKind, Payer
from core.users import Principal, TimeZones

# The prompts of a lightweight run, and the reading of its reply. Pure.

NOTHING = "ROUTINE_OK"
"""A reply of exactly this has nothing to report."""
SILENT = (NOTHING, "HEARTBEAT_OK", SILENT_REPLY)
"""Silent replies; lists for other heartbeats ask for the second one."""
_AROUND = re.compile(r"[\W_]+")
_SENTINEL_LIMIT_CHARS = 60
_BARE = frozenset(_AROUND.sub("", word) for word in SILENT)
STATE = "ROUTINE_STATE:"
"""Line of a reply after which the routine's memory for the next run begins."""
STATE_LIMIT_CHARS = 8_000
FILE_LIMIT_CHARS = 32_000
PATH_LIMIT_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A run's question. `files`: context by path, None for an unreadable file, with the reason in
    `unreadable`; `now`: microseconds UTC; `told`: whether a reply is sent to the owner; `documents`: the
    identity documents, in the owner's runs only; `configured`: the operator's system prompt; `skills`: those
    that the routine's own prompt activates."""

    name: str
    owner: str
    action: Lightweight
    fired_by: RunInput
    files: Mapping[str, str]
    unreadable: Mapping[str, str]
    state: str
    now: int
    timezone: str
    told: bool = True
    documents: Sequence[Document] = ()
    configured: str = ""
    skills: tuple[Skill, ...] = ()


def system_text(asked: Asked, *, with_tools: bool) -> str:
    """Return the system prompt of a run: the most stable parts first, the time last."""
    moment = datetime.fromtimestamp(asked.now / SECOND_US, ZoneInfo(asked.timezone))
    owner, zone = quoted(asked.owner), folded(asked.timezone)
    tools = (
        "Only the tools on offer are available. Don't repeat a refused call."
        if with_tools
        else "There are no tools: answer from the context given."
    )
    reply = (
        f"Your reply is sent to {owner} as it is."
        if asked.told
        else f"Your reply is stored for {owner} to look up; it is not sent."
    )
    parts = [part.text for part in documents_parts(asked.documents)]
    parts += [asked.configured] if asked.configured else []
    parts.append(
        f"You are running the routine {quoted(asked.name)} for {owner}. There is no one to answer questions. "
        f"{tools} {FENCE_RULE}"
    )
    parts += [part.text for part in skills_parts(asked.skills)]
    parts.append(
        f"{reply} If there is nothing to report, reply with exactly {NOTHING} (or {SILENT_REPLY}). "
        f"To remember something for the next run, end the reply with a line {STATE} and put the text to "
        "remember below it; it is not sent."
    )
    parts.append(f"It is {moment:%A, %Y-%m-%d %H:%M} ({zone}).")
    return "\n\n".join(parts)


def user_text(asked: Asked) -> str:
    """Return the user message of the run: the prompt, then everything from outside, fenced."""
    parts = [asked.action.prompt]
    for path, text in asked.files.items():
        parts.append(f"# Context: {_path(path)}\n{fence_tool_output(f'file {path}', text)}")
    if asked.unreadable:
        lines = "\n".join(f"- {_path(path)}: {_path(why)}" for path, why in asked.unreadable.items())
        parts.append(f"# Context files that could not be read\n{lines}")
    if asked.state:
        parts.append(f"# State from earlier runs\n{fence_tool_output('routine state', asked.state)}")
    parts.append(f"# Trigger of this run\n{_fired_by(asked.fired_by)}")
    return "\n\n".join(parts)


def _path(text: str) -> str:
    return folded(text, PATH_LIMIT_CHARS)


def _fired_by(fired: RunInput) -> str:
    match fired:
        case SlotInput(slot_at, skipped):
            moment = datetime.fromtimestamp(slot_at / SECOND_US, ZoneInfo("UTC"))
            missed = f"; {skipped} earlier times were skipped" if skipped else ""
            return f"Its schedule: {moment:%Y-%m-%d %H:%M} UTC{missed}."
        case MessageInput():
            return f"A message.\n{fence_tool_output('message', _message(fired))}"
        case SystemInput(_, source, event_type, payload):
            return f"The event {quoted(source)} {quoted(event_type)}.\n{fence_tool_output('event', payload)}"
        case WebhookInput(_, payload, event):
            told = f"event: {event}\n\n{payload}" if event else payload
            return f"A webhook.\n{fence_tool_output('webhook', told)}"
        case ManualInput():
            return "A person asked for this run."
        case _:
            assert_never(fired)


def _message(fired: MessageInput) -> str:
    lines = [f"channel: {folded(fired.channel)}", f"from: {quoted(fired.sender)}"]
    named = {found: name for name, found in fired.named_groups}
    for number, found in enumerate(fired.groups, start=1):
        name = f" ({named[found]})" if found in named else ""
        lines.append(f"group {number}{name}: {'' if found is None else found}")
    return "\n".join([*lines, "", kept(fired.text)])


@dataclass(frozen=True, slots=True)
class Told:
    """The content of a reply. `document` None: nothing to remember."""

    status: RunStatus
    text: str
    document: str | None


def read_reply(text: str) -> Told | None:
    """Return the content of a reply; None if it is empty. Only the sentinel alone is silence, also with a
    dot, quotes
    or emphasis around it."""
    lines = text.strip().split("\n")
    document: str | None = None
    for at, line in enumerate(lines):
        if line.strip() == STATE:
            document = "\n".join(lines[at + 1 :]).strip()[:STATE_LIMIT_CHARS]
            lines = lines[:at]
            break
    said = "\n".join(lines).strip()
    if _is_silent(said) or (not said and document is not None):
        return Told(RunStatus.OK, "", document)
    return Told(RunStatus.ATTENTION, said, document) if said else None


def _is_silent(said: str) -> bool:
    """Return whether there is only a sentinel; models quote it, make it bold, or end it like a sentence."""
    return len(said) <= _SENTINEL_LIMIT_CHARS and _AROUND.sub("", said) in _BARE


def cut(text: str) -> str:
    """Return the part of a context file that the model gets."""
    if len(text) <= FILE_LIMIT_CHARS:
        return text
    return f"{text[:FILE_LIMIT_CHARS]}\n[… cut; the file has {len(text)} characters in total]"


logger = logging.getLogger(__name__)

RETRY_AFTER_S = (1.0, 2.0)
"""Waits before an empty or cut-off reply is asked for again; after the last one the run has failed."""
READ_LIMIT_BYTES = 1_000_000

ReadFile = Callable[[str, int], bytes]
"""Function that reads a file of the workspace by its path there, up to a limit in bytes.

Raises ToolDenied, ToolFailed, ValueError."""


@dataclass(frozen=True, slots=True)
class Performed:
    """The end of a run, before the owner is notified.

    `reply`: the model's last reply, which the end was read from.
    `out_of_budget`: a budget ended it; `of_hub`: the hub's, not the routine's own.
    `remarks`: notes for the owner that are always sent.
    `missing_grants`: grants that refused calls would have needed.
    `changes`: its job changed a project, and its owner decides about that: it is always announced."""

    status: RunStatus
    text: str
    document: str | None
    reply: AssistantSaid | None = None
    out_of_budget: bool = False
    of_hub: bool = False
    remarks: tuple[str, ...] = ()
    missing_grants: tuple[str, ...] = ()
    changes: bool = False


class Conversation(Protocol):
    """A run's question, and all its steps so far."""

    async def reply(self) -> ModelReply:
        """Return the model's reply, requested again each time. Raises ModelError, BudgetUsedUp and
        StoreError."""
        ...


class ScopedTools(Protocol):
    """The journalled conversations of runs without a person, each with the tools of its scope or none."""

    async def begin(
        self, asked: Asked, started: StartedRun, owner: Principal, run: Run, models: UnseenRun
    ) -> Conversation:
        """Return the run's conversation, at its beginning or at the interruption."""
        ...

    async def missing_grants(self, started: StartedRun, owner: Principal, steps: RunSteps) -> tuple[str, ...]:
        """Return the grants, as in core.routine.Lightweight, that would have allowed the run's refused
        calls. Raises StoreError."""
        ...


class LightweightRuns:
    """Runner of lightweight routines. `configured`: the operator's system prompt."""

    def __init__(
        self,
        models: UnseenModels,
        read_file: ReadFile,
        owner_of: Callable[[str], Awaitable[Principal | None]],
        clock: Clock,
        timezones: TimeZones,
        tools: ScopedTools,
        texts: WorkspaceTexts | None = None,
        configured: str = "",
    ) -> None:
        self._models = models
        self._read_file = read_file
        self._owner_of = owner_of
        self._clock = clock
        self._timezones = timezones
        self._tools = tools
        self._texts = texts
        self._configured = configured

    async def perform(self, started: StartedRun, action: Lightweight, run: Run) -> Performed:
        """Perform a run. Raises ModelError, BudgetUsedUp, ToolDenied if the owner is gone, and StoreError."""
        owner = await self._owner_of(started.routine.owner_id)
        if owner is None:
            raise ToolDenied("the routine's owner is no longer a user of this hub")
        # The person who made it may have lost the right to.
        if problems := [*not_permitted(definition_of(started.routine), owner, priced=True)]:
            raise ToolDenied(f"the owner no longer has permission for it: {problems[0].message}")
        asked = await self._asked(started, action, owner)
        run.earlier = started.models
        payer = Payer(CallKind.ROUTINE, started.run.id, owner.user_id, routine_id=started.routine.id)
        models = self._models.begin(run.report, payer, started.models.spent, run.keep, started.reserved)
        run.models = models.models
        conversation = await self._tools.begin(asked, started, owner, run, models)
        fault = ""
        for wait_s in (0.0, *RETRY_AFTER_S):
            if fault:
                logger.info("run.reply_retry run=%s fault=%r", started.run.id, fault)
                await self._clock.sleep(wait_s)
            reply = await conversation.reply()
            told = None if reply.truncated else read_reply(reply.text)
            if told is not None:
                return Performed(
                    told.status,
                    told.text,
                    told.document,
                    AssistantSaid(reply.text, reply.origin),
                )
            fault = _fault(reply)
        raise ModelReplyInvalid(f"its reply was {fault} {1 + len(RETRY_AFTER_S)} times")

    async def missing_grants(self, started: StartedRun, steps: RunSteps) -> tuple[str, ...]:
        """Return the grants the owner may add to the routine, so that its next run can make the calls this
        one was refused. Raises StoreError."""
        owner = await self._owner_of(started.routine.owner_id)
        if owner is None:
            return ()
        return await self._tools.missing_grants(started, owner, steps)

    async def _asked(self, started: StartedRun, action: Lightweight, owner: Principal) -> Asked:
        files, unreadable = self._context(action)
        texts = None if self._texts is None else await self._texts.current()
        return Asked(
            name=started.routine.text.name,
            owner=owner.name,
            action=action,
            fired_by=input_from_json(started.run.input),
            files=files,
            unreadable=unreadable,
            state=started.routine.state,
            now=self._clock.now(),
            timezone=await self._timezones.of(owner.user_id),
            told=definition_of(started.routine).notify.on_attention,
            documents=() if texts is None else texts.documents_for(owner),
            configured=self._configured,
            skills=() if texts is None else chosen(texts.skills_for(owner), action.prompt),
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


def _fault(reply: ModelReply) -> str:
    return "cut off at the output limit" if reply.truncated else "empty"
