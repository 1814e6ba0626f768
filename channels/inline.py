"""What stands within a paragraph of Markdown, as text with spans; see channels.markdown."""

import re
from collections.abc import Sequence

from markdown_it.token import Token

from channels.blocks import (
    Link,
    Mark,
    Span,
    Style,
    Text,
    showable,
)

_OPENABLE = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)


def inline_text(token: Token) -> Text:
    """The content of the parser's token for all that stands in one paragraph, heading or cell."""
    reader = _InlineReader()
    reader.read(token.children or [])
    return reader.text()


class _InlineReader:
    """Collects text and spans of one leaf block; a span takes its place in the order when it opens."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[Span | None] = []
        self._open: list[tuple[int, int, Style | None]] = []

    def text(self) -> Text:
        return Text("".join(self._parts), tuple(span for span in self._spans if span is not None))

    def read(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            match token.type:
                case "strong_open":
                    self._enter(Mark.BOLD)
                case "em_open":
                    self._enter(Mark.ITALIC)
                case "s_open":
                    self._enter(Mark.STRIKE)
                case "link_open":
                    self._enter_link(_link(token.attrs.get("href")))
                case "strong_close" | "em_close" | "s_close" | "link_close":
                    self._leave()
                case "softbreak" | "hardbreak":
                    self._write("\n")
                case "code_inline":
                    self._enter(Mark.CODE)
                    self._write(token.content)
                    self._leave()
                case "image":
                    self._image(token)
                case _:
                    self._write(token.content)

    def _image(self, token: Token) -> None:
        """A picture is a link to it under its description, or under its address if it has none."""
        link = _link(token.attrs.get("src"))
        self._enter_link(link)
        if token.children:
            self.read(token.children)
        elif link is not None:
            self._write(link.url)
        self._leave()

    def _enter_link(self, link: Link | None) -> None:
        """Text is part of one link: the outermost (a picture's description may hold another)."""
        inside_link = any(isinstance(style, Link) for _, _, style in self._open)
        self._enter(None if inside_link else link)

    def _enter(self, style: Style | None) -> None:
        self._open.append((len(self._spans), self._length, style))
        self._spans.append(None)

    def _leave(self) -> None:
        place, start, style = self._open.pop()
        if style is not None and start < self._length:
            self._spans[place] = Span(start, self._length, style)

    def _write(self, text: str) -> None:
        text = showable(text)
        self._parts.append(text)
        self._length += len(text)


def _link(url: object) -> Link | None:
    return Link(url) if isinstance(url, str) and _OPENABLE.match(url) else None
