"""A thread's lines, its turn and its prompts, as the API and the streams show them.

Times are integer microseconds UTC. One serialiser for everything that anybody reads.
"""

import json
from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field

from bot.web.approvals import ApprovalPage, approval_page, lines_of
from bot.web.blocks import Block, Page, blocks_of
from core.messages import Attachment, Markdown
from core.prompts import Prompt, PromptKind, PromptState
from core.safety.fencing import unfence
from core.store.feed import (
    CallShown,
    CardSettled,
    CardShown,
    FeedItem,
    HubSaid,
    PersonSaid,
    PromptGlance,
    ThreadGlance,
)
from core.store.rows import TurnState
from core.transcript import AssistantSaid, OperatorSaid, Summary, ToolResult
from core.users import Principal

SensitiveArguments = Callable[[str], Collection[str]]
"""Names of a tool's arguments that are never shown."""

STRUCK_OUT = "•••"
UNREADABLE = "(unreadable)"


class Speaker(Page):
    """Who wrote; `role` is null where it is not known any more."""

    name: str
    role: str | None


class FileView(Page):
    """An attached file."""

    name: str
    media_type: str
    size_bytes: int


class Line(Page):
    """What every line has. `seq`: its position in the thread, never given twice."""

    seq: int
    at: int
    turn: str | None


class UserItem(Line):
    """A person wrote: a message, a command, an answer in words."""

    kind: Literal["user"] = "user"
    text: str
    sender: Speaker
    attachments: tuple[FileView, ...]
    via: str


class AssistantItem(Line):
    """The model wrote; also beside the calls it asked for."""

    kind: Literal["assistant"] = "assistant"
    text: str
    blocks: tuple[Block, ...]


class OperatorItem(Line):
    """A person wrote in the assistant's place."""

    kind: Literal["operator"] = "operator"
    text: str
    blocks: tuple[Block, ...]
    by: str


class NoticeItem(Line):
    """The hub itself says something."""

    kind: Literal["notice"] = "notice"
    text: str
    blocks: tuple[Block, ...]


class CallItem(Line):
    """The model asked for a tool; `arguments` as it gave them, or as a person changed them."""

    kind: Literal["call"] = "call"
    call_id: str
    tool: str
    arguments: dict[str, Any]
    state: str


class ResultItem(Line):
    """What a call came to; `status`: ok, error, denied, cancelled, skipped or unknown."""

    kind: Literal["result"] = "result"
    call_id: str
    status: str
    text: str


class SummaryItem(Line):
    """Stands for the older part of the conversation."""

    kind: Literal["summary"] = "summary"
    text: str


class PromptItem(Line):
    """A card where it was asked; `outcome` as it stands now."""

    kind: Literal["prompt"] = "prompt"
    prompt_id: str
    prompt_kind: str
    title: str
    lines: tuple[str, ...]
    outcome: str | None


class OutcomeItem(Line):
    """A card shown before got its outcome. It belongs on that card: it is no message of its own."""

    kind: Literal["outcome"] = "outcome"
    prompt_id: str
    text: str
    by: str | None


Item = Annotated[
    UserItem
    | AssistantItem
    | OperatorItem
    | NoticeItem
    | CallItem
    | ResultItem
    | SummaryItem
    | PromptItem
    | OutcomeItem,
    Field(discriminator="kind"),
]


class Who(Page):
    """A person."""

    id: str
    name: str
    role: str


class TurnView(Page):
    """The thread's turn: running, waiting for a person, or stopping."""

    id: str
    state: Literal["running", "waiting", "stopping"]


class ThreadPage(Page):
    """A thread in a list. `own`: the reader's; `waiting`: how many prompts wait; `last_seq`: of its lines."""

    id: str
    channel: str
    title: str
    user: Who
    group: bool
    own: bool
    updated_at: int
    created_at: int
    preview: str
    turn: TurnView | None
    waiting: int
    last_seq: int


class Presenter:
    """Makes what is shown of what is stored; `sensitive` names what must not be."""

    def __init__(self, sensitive: SensitiveArguments) -> None:
        self._sensitive = sensitive

    def item(self, item: FeedItem) -> Item:
        """One line."""
        at = {"seq": item.seq, "at": item.at, "turn": item.turn_id}
        shown = item.shown
        match shown:
            case PersonSaid():
                role = None if shown.role is None else shown.role.value
                return UserItem(
                    **at,
                    text=shown.text,
                    sender=Speaker(name=shown.name, role=role),
                    attachments=tuple(map(_file, shown.attachments)),
                    via=shown.channel,
                )
            case AssistantSaid(text):
                return AssistantItem(**at, text=text, blocks=blocks_of([Markdown(text)]))
            case OperatorSaid(text, by):
                return OperatorItem(**at, text=text, blocks=blocks_of([Markdown(text)]), by=by)
            case HubSaid(message):
                text = "\n\n".join(block.text for block in message.blocks)
                return NoticeItem(**at, text=text, blocks=blocks_of(message.blocks))
            case CallShown(call, state):
                arguments = self._arguments(call.tool, call.arguments)
                return CallItem(
                    **at, call_id=call.call_id, tool=call.tool, arguments=arguments, state=state.value
                )
            case ToolResult(call_id, status, text):
                return ResultItem(**at, call_id=call_id, status=status.value, text=_unfenced(text))
            case Summary(text):
                return SummaryItem(**at, text=text)
            case CardShown(prompt):
                return PromptItem(
                    **at,
                    prompt_id=prompt.id,
                    prompt_kind=prompt.kind.value,
                    title=prompt.title,
                    lines=lines_of(prompt),
                    outcome=prompt.outcome_text,
                )
            case CardSettled(prompt, by):
                return OutcomeItem(**at, prompt_id=prompt.id, text=prompt.outcome_text or "", by=by)
            case _:
                assert_never(shown)

    def thread(self, glance: ThreadGlance, reader: Principal) -> ThreadPage:
        """A thread as this person sees it."""
        row, owner = glance.thread, glance.owner
        return ThreadPage(
            id=row.id,
            channel=row.channel,
            title=row.title,
            user=Who(id=owner.user_id, name=owner.name, role=owner.role.value),
            group=glance.group,
            own=owner.user_id == reader.user_id,
            updated_at=row.last_active_at,
            created_at=row.created_at,
            preview=glance.preview,
            turn=_turn(glance),
            waiting=glance.waiting,
            last_seq=glance.last_seq,
        )

    def approval(self, glance: PromptGlance, reader: Principal) -> ApprovalPage:
        """A prompt as this person sees it."""
        prompt, arguments = glance.prompt, None
        if prompt.tool is not None and glance.arguments is not None:
            arguments = self._arguments(prompt.tool, glance.arguments)
        return approval_page(glance, reader, arguments, editable=self._editable(prompt))

    def _editable(self, prompt: Prompt) -> bool:
        """Whether its arguments may be changed: what is struck out could not be given back."""
        wanted = prompt.kind is PromptKind.APPROVAL and prompt.state is PromptState.OPEN
        return wanted and prompt.tool is not None and not self._sensitive(prompt.tool)

    def _arguments(self, tool: str, text: str) -> dict[str, Any]:
        try:
            arguments = json.loads(text or "{}")
        except (ValueError, RecursionError):
            return {UNREADABLE: text}
        if not isinstance(arguments, dict):
            return {UNREADABLE: text}
        sensitive = self._sensitive(tool)
        return {name: STRUCK_OUT if name in sensitive else value for name, value in arguments.items()}


def _unfenced(text: str) -> str:
    """What a tool returned, without the fence that is for models; a line before it may tell of an edit."""
    whole = unfence(text)
    head, line_break, rest = text.partition("\n")
    return whole if whole != text else f"{head}{line_break}{unfence(rest)}"


def _file(attachment: Attachment) -> FileView:
    return FileView(name=attachment.name, media_type=attachment.media_type, size_bytes=attachment.size_bytes)


def _turn(glance: ThreadGlance) -> TurnView | None:
    row = glance.thread
    if row.active_turn_id is None:
        return None
    if row.active_turn_state is TurnState.WAITING:
        return TurnView(id=row.active_turn_id, state="waiting")
    return TurnView(id=row.active_turn_id, state="stopping" if glance.stopping else "running")
