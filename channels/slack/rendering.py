"""What the hub says, as Slack's rich text blocks (Block Kit reference, rich text block).

In rich text every piece of text is shown as it is: nothing has to be escaped, and nothing that a model writes
can become a mention. `text`, shown in notices and by clients without blocks, is escaped as Slack asks for
(`&`, `<`, `>`), which takes its meaning from mentions too.
Every message is within `limit_chars` characters. Blank input gives no message; nothing raises because of the
text, whatever it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from channels.blocks import Mark, showable
from channels.chunking import Chunk, split
from channels.markdown import parse, read
from channels.runs import Code, Line, Part, Run, parts_of
from channels.text_layout import FlatText, lay_out
from core import messages

MAX_TEXT_CHARS = 3000
"""A section's limit; Slack names none for rich text, but refuses messages whose blocks hold far more."""
FALLBACK_CHARS = 480
"""chat.update takes at most 4,000 characters of text, each of ours may become five when it is escaped, and an
outcome comes behind them. Only notices show this text: the message itself is in its blocks."""
MAX_URL_CHARS = 3000

Json = Mapping[str, object]

_BLANK = re.compile(r"[\s\u200b-\u200f\u2028-\u202e\u2060\u2800\ufeff\u180e]*")
_STYLES = {Mark.BOLD: "bold", Mark.ITALIC: "italic", Mark.STRIKE: "strike", Mark.CODE: "code"}


@dataclass(frozen=True, slots=True)
class SlackText:
    """One message: `text` for notices, `elements` of its rich text block."""

    text: str
    elements: tuple[Json, ...]


def render(said: Iterable[messages.Block], limit_chars: int = MAX_TEXT_CHARS) -> tuple[SlackText, ...]:
    """The messages that show `said`, one block under the other. Raises ValueError if `limit_chars` < 1."""
    match blocks := tuple(said):
        case (messages.Markdown(text),):
            return _messages(lay_out(parse(text)), limit_chars)
        case (messages.Plain(text),):
            return render_plain(text, limit_chars)
        case _:
            return _messages(lay_out(read(blocks)), limit_chars)


def render_plain(text: str, limit_chars: int = MAX_TEXT_CHARS) -> tuple[SlackText, ...]:
    """The messages that show `text` as it is."""
    text = showable(text)
    paragraphs = tuple(match.end() for match in re.finditer(r"\n{2,}", text))
    return _messages(FlatText(text, block_starts=paragraphs), limit_chars)


def escaped(text: str) -> str:
    """Text without meaning in mrkdwn's angle brackets."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _messages(flat: FlatText, limit_chars: int) -> tuple[SlackText, ...]:
    if limit_chars < 1:
        raise ValueError(f"limit_chars={limit_chars}: nothing fits")
    chunks = split(flat, limit_chars, lambda chunk: len(chunk.text) <= limit_chars)
    return tuple(compose(chunk) for chunk in chunks if not _BLANK.fullmatch(chunk.text))


def compose(chunk: Chunk) -> SlackText:
    """The chunk as one message."""
    elements: list[Json] = []
    for kind, parts in groupby(parts_of(chunk), key=_kind):
        if kind == "code":
            elements += [_preformatted(part) for part in parts if isinstance(part, Code)]
        else:
            lines = [part for part in parts if isinstance(part, Line)]
            elements.append({"type": f"rich_text_{kind}", "elements": list(_inline(_filled(lines)))})
    return SlackText(escaped(chunk.text[:FALLBACK_CHARS]), tuple(e for e in elements if e["elements"]))


def _filled(lines: Sequence[Line]) -> Sequence[Line]:
    """Without empty lines at the edges: Slack puts room between the elements of a message itself."""
    filled = [at for at, line in enumerate(lines) if line.runs]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


def _kind(part: Part) -> str:
    match part:
        case Code():
            return "code"
        case Line(_, quoted):
            return "quote" if quoted else "section"


def _preformatted(code: Code) -> Json:
    shown: dict[str, object] = {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": code.text}] if code.text else [],
    }
    if code.language:
        shown["language"] = code.language
    return shown


def _inline(lines: Iterable[Line]) -> Iterator[Json]:
    """The lines' runs; those of one style that follow each other as one."""
    runs: list[Run] = []
    for number, line in enumerate(lines):
        runs += [Run("\n")] if number else []
        runs += line.runs
    for (marks, url, is_title), group in groupby(runs, key=_look):
        text = "".join(run.text for run in group)
        styled = {_STYLES[mark]: True for mark in marks} | ({"bold": True} if is_title else {})
        style = {"style": styled} if styled else {}
        if url is not None and len(url) <= MAX_URL_CHARS:
            yield {"type": "link", "url": url, "text": text, **style}
        else:
            yield {"type": "text", "text": text, **style}


def _look(run: Run) -> tuple[frozenset[Mark], str | None, bool]:
    return run.marks, run.url, run.level is not None
