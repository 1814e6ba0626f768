"""The shapes of a thread's lines and of its turn, as the API and the streams show them.

Times are integer microseconds UTC.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from bot.web.blocks import Block, Page


class Speaker(Page):
    """Who wrote; `role` is null where it is not known any more."""

    name: str
    role: str | None


class FileView(Page):
    """An attached file."""

    name: str
    media_type: str
    size_bytes: int


class SentFile(Page):
    """A file that was sent, and from where it can be had; `size_bytes` and `url` are null where that was not
    kept."""

    name: str
    media_type: str
    size_bytes: int | None
    url: str | None


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


class WaitingView(Page):
    """A message that waits for its turn."""

    text: str
    sender: Speaker
    attachments: tuple[FileView, ...]


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
    """The hub itself says something, or a tool sent it."""

    kind: Literal["notice"] = "notice"
    text: str
    blocks: tuple[Block, ...]
    files: tuple[SentFile, ...]


class CallItem(Line):
    """The model asked for a tool; `arguments` as it gave them, or as a person changed them: then `asked` is
    what the model gave."""

    kind: Literal["call"] = "call"
    call_id: str
    tool: str
    arguments: dict[str, Any]
    state: str
    asked: dict[str, Any] | None = None


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
