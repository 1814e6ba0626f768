"""Blocks in JSON. Browsers and terminals build their display from these, never from text that is code to
them."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, assert_never, cast

from pydantic import BaseModel, ConfigDict, Field, computed_field, model_validator

from channels.text import blocks
from channels.text.blocks import Alignment
from channels.text.markdown import read
from core import messages

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
