"""The shapes of a thread's lines and of its turn, as the API and the streams show them.

Times are integer microseconds UTC.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, computed_field

from bot.operator.unattended_views import SentFile
from bot.web.blocks import ApprovalPage, Block, GatePage, Page, approval_page, blocks_of, lines_of
from bot.web.files import file_target
from channels.text.blocks import weight
from core.events import ContextUse
from core.gates import Gate, GateKind, GateState
from core.messages import THREAD_FILE, Attachment, File, Markdown, Message
from core.off_loop import off_loop
from core.safety.fencing import arguments_shown, unfence
from core.store.conversations import ThreadState
from core.store.feed import (
    CallShown,
    CardSettled,
    CardShown,
    FeedItem,
    GateGlance,
    HubSaid,
    PersonSaid,
    ThreadGlance,
)
from core.store.rows import TurnState
from core.transcript import AssistantSaid, OperatorSaid, Origin, Summary, ToolResult
from core.users import Principal


class Speaker(Page):
    """The author; `role` is null if it is no longer known."""

    name: str
    role: str | None


class FileView(Page):
    """An attached file."""

    name: str
    media_type: str
    size_bytes: int


class Line(Page):
    """Fields of every line. `seq`: its position in the thread, never given twice. `undone`: its turn was
    undone."""

    seq: int
    at: int
    turn: str | None
    undone: bool = False


class UserItem(Line):
    """A person wrote: a message, a command, an answer in words."""

    kind: Literal["user"] = "user"
    text: str
    sender: Speaker
    attachments: tuple[FileView, ...]
    via: str


class WaitingView(Page):
    """A queued message."""

    text: str
    sender: Speaker
    attachments: tuple[FileView, ...]


class MenuView(Page):
    """Buttons for the thread's owner: POST the position of one to `/api/chat/press`. `first`: the position of
    the first label. `reply`: the label, from 0, that is for writing a reply: send it with the line's `seq` as
    `reply_to`."""

    menu_id: str
    labels: tuple[str, ...]
    first: int = 0
    reply: int | None = None


class AssistantItem(Line):
    """Text of `model`, also next to the calls it asked for. `menu`: what it suggests to say next."""

    kind: Literal["assistant"] = "assistant"
    text: str
    blocks: tuple[Block, ...]
    menu: MenuView | None = None
    model: str = ""


class OperatorItem(Line):
    """A person wrote in the assistant's place."""

    kind: Literal["operator"] = "operator"
    text: str
    blocks: tuple[Block, ...]
    by: str


class NoticeItem(Line):
    """A message from the hub itself, or sent by a tool."""

    kind: Literal["notice"] = "notice"
    text: str
    blocks: tuple[Block, ...]
    files: tuple[SentFile, ...]
    menu: MenuView | None = None


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
    """The result of a call; `status`: ok, error, denied, cancelled, skipped or unknown."""

    kind: Literal["result"] = "result"
    call_id: str
    status: str
    text: str


class SummaryItem(Line):
    """Stands for the older part of the conversation."""

    kind: Literal["summary"] = "summary"
    text: str


class GateItem(Line, GatePage):
    """A card where it was asked; `outcome` as it stands now; `call_id`, `tool`: of the call it is about, null
    where it is about none or several."""

    kind: Literal["gate"] = "gate"
    gate_kind: str
    call_id: str | None
    tool: str | None
    title: str
    lines: tuple[str, ...]
    outcome: str | None

    @computed_field
    @property
    def prompt_kind(self) -> str:
        """The old name of `gate_kind`, sent for one version."""
        return self.gate_kind


class OutcomeItem(Line, GatePage):
    """The outcome of a card shown before. It belongs on that card: it is no message."""

    kind: Literal["outcome"] = "outcome"
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
    | GateItem
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


class ContextView(Page):
    """The tokens of a thread's newest request, with system prompt and tools, and those that it may take."""

    tokens: int
    window_tokens: int


class ThreadPage(Page):
    """A thread in a list. `own`: the reader's; `waiting`: number of open gates; `last_seq`: of its lines;
    `state`: idle, processing, awaiting, interrupted or completed; `origin`, `origin_turn`: the thread it is a
    branch of, and the last turn from there; `context`: null before the first request; `turns`,
    `tokens`, `cost_micro_usd`: of all its model calls that were counted; `active`: its person's session is
    on it."""

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
    context: ContextView | None
    state: ThreadState
    tags: tuple[str, ...]
    archived: bool
    origin: str | None
    origin_turn: int | None
    turns: int
    tokens: int
    cost_micro_usd: int
    active: bool


# Makes what the API and the streams show of what is stored: one serialiser for everything anybody reads.

SensitiveArguments = Callable[[str], Collection[str]]
"""Names of a tool's arguments that are never shown."""


def _chars(item: FeedItem) -> int:
    """Return the length of its display, in characters of plain text."""
    shown = item.shown
    match shown:
        case AssistantSaid(text) | OperatorSaid(text, _):
            return weight([Markdown(text)])
        case HubSaid(message):
            return weight(message.blocks)
        case PersonSaid():
            return len(shown.text)
        case ToolResult(_, _, text) | Summary(text):
            return len(text)
        case CallShown(call, _):
            return len(call.arguments or "")
        case CardShown() | CardSettled():
            return 0
        case _:
            assert_never(shown)


class Presenter:
    """Presenter of stored items; `sensitive` names arguments that must not be shown. `models`: the configured
    models, each with its provider's name for it; another one, or one of several, is shown by that name."""

    def __init__(self, sensitive: SensitiveArguments, models: Mapping[str, str]) -> None:
        self._sensitive = sensitive
        several = Counter(models.values())
        self._names = {known: name for name, known in models.items() if several[known] == 1}

    async def items(self, thread_id: str, items: Sequence[FeedItem]) -> tuple[Item, ...]:
        """Return lines of a thread, in order."""
        chars = sum(map(_chars, items))
        return await off_loop(chars, lambda: tuple(self.item(thread_id, item) for item in items))

    def item(self, thread_id: str, item: FeedItem) -> Item:
        """Return one line of a thread."""
        at = {"seq": item.seq, "at": item.at, "turn": item.turn_id, "undone": item.undone}
        shown = item.shown
        match shown:
            case PersonSaid():
                return UserItem(
                    **at,
                    text=shown.text,
                    sender=_speaker(shown),
                    attachments=tuple(map(_file, shown.attachments)),
                    via=shown.channel,
                )
            case AssistantSaid(text, origin, suggestions, menu_id):
                menu = MenuView(menu_id=menu_id, labels=suggestions) if suggestions else None
                said = {"blocks": blocks_of([Markdown(text)]), "model": self._model(origin)}
                return AssistantItem(**at, text=text, menu=menu, **said)
            case OperatorSaid(text, by):
                return OperatorItem(**at, text=text, blocks=blocks_of([Markdown(text)]), by=by)
            case HubSaid(message):
                text = "\n\n".join(block.text for block in message.blocks)
                files = tuple(sent_files(thread_id, item.seq, message.files))
                blocks = blocks_of(message.blocks)
                return NoticeItem(**at, text=text, blocks=blocks, files=files, menu=_menu(message))
            case CallShown(call, state, asked):
                return CallItem(
                    **at,
                    call_id=call.call_id,
                    tool=call.tool,
                    arguments=self._arguments(call.tool, call.arguments),
                    state=state.value,
                    asked=None if asked is None else self._arguments(call.tool, asked),
                )
            case ToolResult(call_id, status, text):
                return ResultItem(**at, call_id=call_id, status=status.value, text=_unfenced(text))
            case Summary(text):
                return SummaryItem(**at, text=text)
            case CardShown(gate):
                return GateItem(
                    **at,
                    gate_id=gate.id,
                    gate_kind=gate.kind.value,
                    call_id=gate.call_id,
                    tool=gate.tool,
                    title=gate.title,
                    lines=lines_of(gate),
                    outcome=gate.outcome_text,
                )
            case CardSettled(gate, by):
                return OutcomeItem(**at, gate_id=gate.id, text=gate.outcome_text or "", by=by)
            case _:
                assert_never(shown)

    def _model(self, origin: Origin | None) -> str:
        return "" if origin is None else self._names.get(origin.model, origin.model)

    def waiting(self, said: PersonSaid) -> WaitingView:
        """Return a message that no turn has taken yet."""
        return WaitingView(
            text=said.text, sender=_speaker(said), attachments=tuple(map(_file, said.attachments))
        )

    def thread(self, glance: ThreadGlance, reader: Principal) -> ThreadPage:
        """Return a thread as this person sees it."""
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
            context=_context(glance.context),
            state=glance.state,
            tags=glance.tags,
            archived=glance.archived_at is not None,
            origin=glance.origin_id,
            origin_turn=glance.origin_turn,
            turns=glance.turns,
            tokens=glance.tokens,
            cost_micro_usd=glance.micro_usd,
            active=glance.active,
        )

    def approval(self, glance: GateGlance, reader: Principal) -> ApprovalPage:
        """Return a gate as this person sees it."""
        gate, arguments = glance.gate, None
        if gate.tool is not None and glance.arguments is not None:
            arguments = self._arguments(gate.tool, glance.arguments)
        return approval_page(glance, reader, arguments, editable=self._editable(gate))

    def _editable(self, gate: Gate) -> bool:
        """Return whether its arguments may be edited: redacted ones could not be sent back."""
        wanted = gate.kind is GateKind.APPROVAL and gate.state is GateState.OPEN
        return wanted and gate.tool is not None and not self._sensitive(gate.tool)

    def _arguments(self, tool: str, text: str) -> dict[str, Any]:
        return arguments_shown(text, self._sensitive(tool))


def _unfenced(text: str) -> str:
    """Return a tool's output without the fence for models; a line before it may tell of an edit."""
    whole = unfence(text)
    head, line_break, rest = text.partition("\n")
    return whole if whole != text else f"{head}{line_break}{unfence(rest)}"


def _speaker(said: PersonSaid) -> Speaker:
    return Speaker(name=said.name, role=None if said.role is None else said.role.value)


def _menu(message: Message) -> MenuView | None:
    if not message.choices or message.gate_id is None:
        return None
    labels = tuple(choice.label for choice in message.choices)
    reply = next((place for place, choice in enumerate(message.choices) if choice.writes), None)
    return MenuView(menu_id=message.gate_id, labels=labels, first=message.first_choice, reply=reply)


def _file(attachment: Attachment) -> FileView:
    return FileView(name=attachment.name, media_type=attachment.media_type, size_bytes=attachment.size_bytes)


def sent_files(thread_id: str, seq: int, files: Sequence[File]) -> Iterator[SentFile]:
    """Return the files of a line, with the addresses that they are downloaded from: none without a thread."""
    for position, file in enumerate(files):
        url = file_target(thread_id, seq, position) if thread_id else None
        known, written_then = file.size_bytes > 0, file.path.startswith(THREAD_FILE)
        yield SentFile(
            name=file.name,
            media_type=file.media_type,
            size_bytes=file.size_bytes if known else None,
            url=url if known or written_then else None,
        )


def _context(used: ContextUse) -> ContextView | None:
    if used.window_tokens <= 0:
        return None
    return ContextView(tokens=used.tokens, window_tokens=used.window_tokens)


def _turn(glance: ThreadGlance) -> TurnView | None:
    row = glance.thread
    if row.active_turn_id is None:
        return None
    if row.active_turn_state is TurnState.WAITING:
        return TurnView(id=row.active_turn_id, state="waiting")
    return TurnView(id=row.active_turn_id, state="stopping" if glance.stopping else "running")
