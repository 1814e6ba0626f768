"""MarkdownV2 and the older Markdown: https://core.telegram.org/bots/api#markdownv2-style."""

from dataclasses import dataclass
from typing import Any

from tests.simulators.telegram.formatting_parts import Builder, byte_offset

Entity = dict[str, Any]
_RESERVED = set("_*[]()~`>#+-=|{}.!")
_NAMES = {
    "bold": "Bold",
    "italic": "Italic",
    "underline": "Underline",
    "strikethrough": "Strikethrough",
    "spoiler": "Spoiler",
    "code": "Code",
    "pre": "Pre",
    "text_link": "TextUrl",
    "custom_emoji": "CustomEmoji",
    "blockquote": "BlockQuote",
}
_MARKS = {"*": "bold", "__": "underline", "_": "italic", "~": "strikethrough", "||": "spoiler"}
_ENDS = {kind: mark for mark, kind in _MARKS.items()} | {
    "code": "`",
    "pre": "```",
    "text_link": "]",
    "custom_emoji": "]",
}


@dataclass(slots=True)
class _Open:
    kind: str
    offset: int
    position: int
    language: str = ""


class _MarkdownV2:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._builder = Builder()
        self._open: list[_Open] = []

    def parse(self) -> tuple[str, list[Entity]]:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char == "\\" and self._at + 1 < len(text) and 0 < ord(text[self._at + 1]) <= 126:
                self._builder.add(text[self._at + 1])
                self._at += 2
            elif char == "\n" or self._starts_quote():
                self._line_edge()
            elif not self._close() and not self._verbatim(char):
                self._begin(char)
        self._end_quote()
        if self._open:
            raise self._unfinished()
        return self._builder.result()

    def _starts_quote(self) -> bool:
        return self._at == 0 and self._text.startswith(">") and not self._open

    def _in(self, *kinds: str) -> bool:
        return bool(self._open) and self._open[-1].kind in kinds

    def _line_edge(self) -> None:
        """A new line: quotations begin, go on or end here."""
        if self._text[self._at] == "\n":
            quoted = any(item.kind == "blockquote" for item in self._open)
            if quoted and self._text[self._at + 1 : self._at + 2] != ">":
                self._end_quote()
            self._builder.add("\n")
            self._at += 1
        if self._text[self._at : self._at + 1] == ">" and not self._in("code", "pre"):
            self._at += 1
            if not any(item.kind == "blockquote" for item in self._open):
                self._open.append(_Open("blockquote", self._builder.offset, self._at - 1))

    def _end_quote(self) -> None:
        if any(item.kind == "blockquote" for item in self._open):
            if not self._in("blockquote"):
                raise self._unfinished()
            opened = self._open.pop()
            self._builder.mark(opened.language or "blockquote", opened.offset)

    def _unfinished(self) -> ValueError:
        opened = self._open[-1]
        name = "PreCode" if opened.kind == "pre" and opened.language else _NAMES[opened.kind]
        return ValueError(
            f"Can't find end of {name} entity at byte offset {byte_offset(self._text, opened.position)}"
        )

    def _verbatim(self, char: str) -> bool:
        """Plain characters, and everything but backticks inside code."""
        if char in _RESERVED and not (self._in("code", "pre") and char != "`"):
            return False
        self._builder.add(char)
        self._at += 1
        return True

    def _close(self) -> bool:
        """Ends the innermost entity if its end mark is here."""
        if not self._open or self._open[-1].kind == "blockquote":
            return self._close_expandable()
        opened = self._open[-1]
        end = _ENDS[opened.kind]
        if not self._text.startswith(end, self._at):
            return False
        if end == "_" and self._text.startswith("__", self._at):
            return False
        self._open.pop()
        self._at += len(end)
        if opened.kind in {"text_link", "custom_emoji"}:
            self._close_link(opened)
        else:
            self._builder.mark(
                opened.kind, opened.offset, **({"language": opened.language} if opened.language else {})
            )
        return True

    def _close_expandable(self) -> bool:
        """``||`` at the end of a quotation makes it expandable."""
        if not self._open or not self._text.startswith("||", self._at):
            return False
        after = self._text[self._at + 2 : self._at + 4]
        if after and (not after.startswith("\n") or after[1:2] == ">"):
            return False
        self._open[-1].language = "expandable_blockquote"
        self._at += 2
        return True

    def _close_link(self, opened: _Open) -> None:
        url = self._builder.since(opened.offset)
        if self._text.startswith("(", self._at):
            url = self._url()
        elif opened.kind == "custom_emoji":
            raise ValueError("Custom emoji entity must contain a tg://emoji URL")
        if opened.kind == "custom_emoji":
            prefix = "tg://emoji?id="
            if not url.startswith(prefix) or not url[len(prefix) :].isdigit():
                raise ValueError("Invalid custom emoji URL specified")
            self._builder.mark("custom_emoji", opened.offset, custom_emoji_id=url[len(prefix) :])
        else:
            self._builder.link(opened.offset, url)

    def _url(self) -> str:
        self._at += 1
        begin, url = self._at, ""
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._text[self._at] == "\\" and self._at + 1 < len(self._text):
                self._at += 1
            url += self._text[self._at]
            self._at += 1
        if self._at >= len(self._text):
            raise ValueError(f"Can't find end of a URL at byte offset {byte_offset(self._text, begin)}")
        self._at += 1
        return url

    def _begin(self, char: str) -> None:
        text, start = self._text, self._at
        for mark in ("__", "_", "*", "~", "||"):
            if text.startswith(mark, start):
                self._open.append(_Open(_MARKS[mark], self._builder.offset, start))
                self._at += len(mark)
                return
        if text.startswith("![", start):
            self._open.append(_Open("custom_emoji", self._builder.offset, start))
            self._at += 2
        elif char == "[":
            self._open.append(_Open("text_link", self._builder.offset, start))
            self._at += 1
        elif text.startswith("```", start):
            self._at, language = _fence(text, start + 3)
            self._open.append(_Open("pre", self._builder.offset, start, language))
        elif char == "`":
            self._open.append(_Open("code", self._builder.offset, start))
            self._at += 1
        else:
            raise ValueError(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")


def _fence(text: str, at: int) -> tuple[int, str]:
    """After three backticks: the position of the code and its language."""
    end = at
    while end < len(text) and not text[end].isspace() and text[end] != "`":
        end += 1
    language = ""
    if end > at and end < len(text) and text[end] != "`":
        language, at = text[at:end], end
    if text[at : at + 2] in {"\r\n", "\n\r"}:
        return at + 2, language
    if text[at : at + 1] in {"\n", "\r"}:
        return at + 1, language
    return at, language


def parse_markdown_v2(text: str) -> tuple[str, list[Entity]]:
    """MarkdownV2. Raises ``ValueError`` in the platform's words."""
    return _MarkdownV2(text).parse()


def parse_markdown(text: str) -> tuple[str, list[Entity]]:
    """The older Markdown: no nesting. Raises ``ValueError`` in the platform's words."""
    builder, at = Builder(), 0
    while at < len(text):
        char = text[at]
        if char == "\\" and text[at + 1 : at + 2] in set("_*`["):
            builder.add(text[at + 1])
            at += 2
        elif char in "_*`[":
            at = _old_entity(text, at, builder)
        else:
            builder.add(char)
            at += 1
    return builder.result()


def _old_entity(text: str, begin: int, builder: Builder) -> int:
    char, at, language = text[begin], begin + 1, ""
    end_mark = {"[": "]"}.get(char, char)
    if text.startswith("```", begin):
        at, language = _fence(text, begin + 3)
        end_mark = "```"
    end = text.find(end_mark, at)
    if end < 0:
        raise ValueError(f"Can't find end of the entity starting at byte offset {byte_offset(text, begin)}")
    start = builder.offset
    builder.add(text[at:end])
    at = end + len(end_mark)
    if char == "[":
        url = text[begin + 1 : end]
        if text.startswith("(", at):
            close = text.find(")", at)
            close = len(text) if close < 0 else close
            url, at = text[at + 1 : close], close + 1
        builder.link(start, url)
    elif end_mark == "```":
        builder.mark("pre", start, **({"language": language} if language else {}))
    else:
        builder.mark({"_": "italic", "*": "bold", "`": "code"}[char], start)
    return at
