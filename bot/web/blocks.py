"""Blocks and gates in JSON. Browsers and terminals build their display from these, never from text that
is code to them."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal, assert_never, cast

from pydantic import BaseModel, ConfigDict, Field, computed_field, model_validator

from channels.text import blocks
from channels.text.blocks import Alignment
from channels.text.markdown import read
from core import messages
from core.consent.cards import always_line, as_seen, in_full, labels, typed_line
from core.consent.presses import may_decide
from core.gates import AskedCall, Gate, GateKind, GateState, Options, Replies
from core.store.feed import GateGlance
from core.store.rows import GateView
from core.users import Principal

Style = Literal["bold", "italic", "strike", "code"]


_STYLES: dict[blocks.Mark, Style] = {
    blocks.Mark.BOLD: "bold",
    blocks.Mark.ITALIC: "italic",
    blocks.Mark.STRIKE: "strike",
    blocks.Mark.CODE: "code",
}


class Page(BaseModel):
    """Base of the API's answers: frozen, with declared fields only."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


_OLD_NAMES = frozenset({"prompt_id", "prompt_kind"})


class FileLinkPage(Page):
    """An address that opens the file without a key, for one person and one minute."""

    url: str


class BackupLink(FileLinkPage):
    """A link to a backup, its file's name and about how many bytes it has."""

    name: str
    size_bytes: int


class GatePage(Page):
    """A page about one gate. Its old names, `prompt_id` and `prompt_kind`, are sent for one version."""

    gate_id: str

    @computed_field
    @property
    def prompt_id(self) -> str:
        """The old name of `gate_id`, sent for one version."""
        return self.gate_id

    @model_validator(mode="before")
    @classmethod
    def _without_old_names(cls, given: Any) -> Any:
        if isinstance(given, dict):
            fields = cast("dict[str, Any]", given)
            return {name: value for name, value in fields.items() if name not in _OLD_NAMES}
        return given


class Span(Page):
    """A run of text. `link`: an http, https or mailto address."""

    text: str
    styles: tuple[Style, ...]
    link: str | None = None


class Paragraph(Page):
    """Running text; a line break is a line break."""

    type: Literal["paragraph"] = "paragraph"
    spans: tuple[Span, ...]


class Heading(Page):
    """A title; 1 is the highest level."""

    type: Literal["heading"] = "heading"
    level: Annotated[int, Field(ge=1, le=6)]
    spans: tuple[Span, ...]


class Code(Page):
    """Preformatted text; `language` may be empty."""

    type: Literal["code"] = "code"
    text: str
    language: str


class Quote(Page):
    """A quotation."""

    type: Literal["quote"] = "quote"
    blocks: "tuple[Block, ...]"


class List(Page):
    """Items of blocks; numbered from `start`, or bulleted where that is null."""

    type: Literal["list"] = "list"
    items: "tuple[tuple[Block, ...], ...]"
    start: int | None
    tight: bool


class Table(Page):
    """One alignment, heading and cell per column."""

    type: Literal["table"] = "table"
    alignments: tuple[Alignment, ...]
    header: tuple[tuple[Span, ...], ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]


class Rule(Page):
    """A horizontal rule."""

    type: Literal["rule"] = "rule"


Block = Annotated[Paragraph | Heading | Code | Quote | List | Table | Rule, Field(discriminator="type")]
Quote.model_rebuild()
List.model_rebuild()


def blocks_of(said: Iterable[messages.Block]) -> tuple[Block, ...]:
    """Return the blocks of a text of the hub or a model."""
    return tuple(_block(block) for block in read(said))


def _block(block: blocks.Block) -> Block:
    match block:
        case blocks.Paragraph(content):
            return Paragraph(spans=_spans(content))
        case blocks.Heading(level, content):
            return Heading(level=level, spans=_spans(content))
        case blocks.CodeBlock(code, language):
            return Code(text=code, language=language)
        case blocks.Quote(children):
            return Quote(blocks=tuple(map(_block, children)))
        case blocks.List(items, start, tight):
            return List(items=tuple(tuple(map(_block, item)) for item in items), start=start, tight=tight)
        case blocks.Table(alignments, header, rows):
            return Table(
                alignments=alignments,
                header=tuple(map(_spans, header)),
                rows=tuple(tuple(map(_spans, row)) for row in rows),
            )
        case blocks.Rule():
            return Rule()
        case _:
            assert_never(block)


def _spans(text: blocks.Text) -> tuple[Span, ...]:
    """Return nested styles as neighboring runs."""
    return tuple(
        _run(text.text[start:end], over)
        for start, end, over in blocks.stretches(text.spans, 0, len(text.text))
    )


def _run(text: str, over: Iterable[blocks.Span]) -> Span:
    styles: tuple[Style, ...] = tuple(
        _STYLES[span.style] for span in over if isinstance(span.style, blocks.Mark)
    )
    links = [span.style.url for span in over if isinstance(span.style, blocks.Link)]
    return Span(text=text, styles=styles, link=links[-1] if links else None)


# Gates, as the API and the streams show them.


class ChoiceView(Page):
    """One answer offered. Send `option` or `index` as `action`; `index` is refused once the call was
    changed."""

    index: int
    label: str
    option: str


class NamedPerson(Page):
    """A person by id and name."""

    id: str
    name: str


class OutcomeView(Page):
    """The outcome of a gate; `by` is null without an answer; `you`: the reader gave it."""

    text: str
    by: str | None
    you: bool
    at: int


class AskedCallPage(Page):
    """One of several calls that are asked about together; `lines`: its arguments as people see them."""

    call_id: str
    tool: str
    reason: str
    lines: tuple[str, ...]


class ShownArgument(Page):
    """An argument for display, with invisible characters named."""

    name: str
    text: str


class ApprovalPage(GatePage):
    """A gate, open or decided. `title`: the question, then lines that say why and what an answer means;
    `arguments`: of the
    call, as it would run; `shown`: the same for display; `calls`: the calls of a joint gate; `always`:
    what that answer
    would grant, if it is offered; `link`: the page at which the person signs in;
    `job_id`: the job whose changes or wish are decided;
    `votes`: who has approved so far; `quorum`: how many must; `voted`:
    whether the reader
    has."""

    call_id: str | None
    job_id: str | None
    calls: tuple[AskedCallPage, ...]
    kind: str
    thread_id: str
    channel: str
    title: str
    tool: str | None
    arguments: dict[str, Any] | None
    shown: tuple[ShownArgument, ...]
    details: tuple[str, ...]
    always: str | None
    link: str | None
    choices: tuple[ChoiceView, ...]
    free_text: bool
    secret: bool
    editable: bool
    requester: NamedPerson
    opened_at: int
    expires_at: int
    state: Literal["open", "closed"]
    outcome: OutcomeView | None
    may_decide: bool
    voted: bool
    quorum: int
    votes: tuple[str, ...]


def approval_page(
    glance: GateGlance, reader: Principal, arguments: dict[str, Any] | None, *, editable: bool
) -> ApprovalPage:
    """Return a gate as this person sees it; `arguments`: of its call, without those that are never shown."""
    gate = glance.gate
    is_open = gate.state is GateState.OPEN
    view = GateView(gate, glance.votes, glance.thread)
    voted = any(vote.user_id == reader.user_id for vote in glance.votes)
    secret = isinstance(gate.offer, Replies) and gate.offer.secret is not None
    return ApprovalPage(
        gate_id=gate.id,
        call_id=gate.call_id,
        job_id=gate.turn_id if gate.kind in {GateKind.CHANGES, GateKind.CREDENTIAL} else None,
        calls=tuple(map(_asked, gate.calls)),
        kind=gate.kind.value,
        thread_id=gate.thread_id,
        channel=glance.thread.channel,
        title=f"{gate.title}\n{typed_line(gate)}" if secret and is_open else gate.title,
        tool=gate.tool,
        arguments=arguments,
        shown=tuple(_shown(name, value) for name, value in (arguments or {}).items()),
        details=lines_of(gate),
        always=always_line(gate) if is_open else None,
        link=gate.link if is_open else None,
        choices=_choices(gate),
        free_text=isinstance(gate.offer, Replies) and gate.offer.free_text,
        secret=secret,
        editable=editable,
        requester=NamedPerson(id=gate.requester_id, name=glance.requester),
        opened_at=gate.created_at,
        expires_at=gate.expires_at,
        state="open" if is_open else "closed",
        outcome=None
        if is_open
        else OutcomeView(
            text=gate.outcome_text or "",
            by=glance.closed_by,
            you=glance.closed_by_id == reader.user_id,
            at=glance.closed_at or 0,
        ),
        may_decide=is_open and not voted and may_decide(view, reader) is None,
        voted=voted,
        quorum=gate.rule.quorum,
        votes=tuple(vote.name for vote in glance.votes),
    )


def _shown(name: str, value: object) -> ShownArgument:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return ShownArgument(name=name, text=as_seen(text))


def _asked(call: AskedCall) -> AskedCallPage:
    lines = tuple(call.detail.split("\n")) if call.detail else ()
    return AskedCallPage(call_id=call.call_id, tool=call.tool, reason=call.reason, lines=lines)


def lines_of(gate: Gate) -> tuple[str, ...]:
    """Return the lines below its title."""
    whole = in_full(gate)
    return tuple(whole.split("\n")) if whole else ()


def _choices(gate: Gate) -> tuple[ChoiceView, ...]:
    match gate.offer:
        case Options(options):
            names = [option.value for option in options]
        case Replies(replies):
            names = [str(index) for index in range(len(replies))]
        case _:
            assert_never(gate.offer)
    named = zip(labels(gate), names, strict=True)
    offered = tuple(
        ChoiceView(index=position, label=label, option=name)
        for position, (label, name) in enumerate(named, gate.first_choice)
    )
    return offered if gate.link is None else offered[1:]  # a code is typed here without asking for it first
