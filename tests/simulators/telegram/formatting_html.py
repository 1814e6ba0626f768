"""HTML style: https://core.telegram.org/bots/api#html-style."""

import re
from dataclasses import dataclass
from typing import Any

from tests.simulators.telegram.formatting_parts import Builder, byte_offset

Entity = dict[str, Any]
_SIMPLE = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
}
_TAGS = set(_SIMPLE) | {"a", "pre", "code", "tg-emoji", "blockquote"}
_CHARACTER = re.compile(r"&(?:(lt|gt|amp|quot)|#(?:x([0-9a-fA-F]+)|([0-9]+)));?")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_BARE_VALUE = re.compile(r"[A-Za-z0-9.-]+")


@dataclass(slots=True)
class _Tag:
    name: str
    argument: str
    offset: int
    position: int


class _Html:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._builder = Builder()
        self._open: list[_Tag] = []

    def parse(self) -> tuple[str, list[Entity]]:
        while self._at < len(self._text):
            if self._text.startswith("</", self._at):
                self._end_tag()
            elif self._text[self._at] == "<":
                self._start_tag()
            else:
                self._character()
        if self._open:
            raise ValueError(f'Can\'t find end tag corresponding to start tag "{self._open[-1].name}"')
        return self._builder.result()

    def _character(self) -> None:
        match = _CHARACTER.match(self._text, self._at)
        decoded = _decode(match) if match else ""
        if match and decoded:
            self._builder.add(decoded)
            self._at = match.end()
        else:
            self._builder.add(self._text[self._at])
            self._at += 1

    def _where(self, position: int) -> str:
        return f"at byte offset {byte_offset(self._text, position)}"

    def _start_tag(self) -> None:
        begin = self._at
        match = re.compile(r"<([^\s>]*)").match(self._text, begin)
        assert match is not None
        if match.end() >= len(self._text):
            raise ValueError(f"Unclosed start tag {self._where(begin)}")
        name = match[1].lower()
        if name not in _TAGS:
            raise ValueError(f'Unsupported start tag "{name}" {self._where(begin)}')
        self._at = match.end()
        argument = ""
        while (attribute := self._attribute(name, begin)) is not None:
            argument = _argument(name, *attribute) or argument
        if name == "span" and argument != "tg-spoiler":
            raise ValueError(f'Tag "span" must have class "tg-spoiler" {self._where(begin)}')
        self._open.append(_Tag(name, argument, self._builder.offset, begin))

    def _attribute(self, tag: str, begin: int) -> tuple[str, str] | None:
        """The next attribute of a start tag; None at its end."""
        self._skip_blanks()
        if self._text.startswith(">", self._at):
            self._at += 1
            return None
        match = re.compile(r"[^\s=>]*").match(self._text, self._at)
        assert match is not None
        name = match[0].lower()
        if not name and self._at < len(self._text):
            raise ValueError(f'Empty attribute name in the tag "{tag}" {self._where(begin)}')
        self._at = match.end()
        self._skip_blanks()
        if not self._text.startswith("=", self._at):
            if self._at >= len(self._text):
                raise ValueError(f'Unclosed start tag "{tag}" {self._where(begin)}')
            if tag == "blockquote" and name == "expandable":
                return name, "1"
            raise ValueError(
                f'Expected equal sign in declaration of an attribute of the tag "{tag}" {self._where(begin)}'
            )
        self._at += 1
        self._skip_blanks()
        return name, self._value(tag, begin)

    def _value(self, tag: str, begin: int) -> str:
        if self._at >= len(self._text):
            raise ValueError(f'Unclosed start tag "{tag}" {self._where(begin)}')
        quote = self._text[self._at]
        if quote in "\"'":
            end = self._text.find(quote, self._at + 1)
            if end < 0 or end + 1 >= len(self._text):
                raise ValueError(f"Unclosed start tag {self._where(begin)}")
            raw, self._at = self._text[self._at + 1 : end], end + 1
            return _CHARACTER.sub(lambda match: _decode(match) or match[0], raw)
        match = _BARE_VALUE.match(self._text, self._at)
        position = self._at
        self._at = match.end() if match else self._at
        following = self._text[self._at : self._at + 1]
        if not following.isspace() and following != ">":
            raise ValueError(f"Unexpected end of name token {self._where(position)}")
        return match[0].lower() if match else ""

    def _skip_blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _end_tag(self) -> None:
        begin = self._at
        if not self._open:
            raise ValueError(f"Unexpected end tag {self._where(begin)}")
        match = re.compile(r"</([^\s>]*)\s*(>?)").match(self._text, begin)
        assert match is not None
        if not match[2]:
            raise ValueError(f"Unclosed end tag {self._where(begin)}")
        name, opened = match[1].lower(), self._open[-1]
        if name and name != opened.name:
            raise ValueError(
                f'Unmatched end tag {self._where(begin)}, expected "</{opened.name}>", found "</{name}>"'
            )
        self._at = match.end()
        self._open.pop()
        self._mark(opened)

    def _mark(self, tag: _Tag) -> None:
        builder = self._builder
        if tag.name in _SIMPLE:
            builder.mark(_SIMPLE[tag.name], tag.offset)
        elif tag.name == "a":
            builder.link(tag.offset, tag.argument or builder.since(tag.offset))
        elif tag.name == "blockquote":
            builder.mark("expandable_blockquote" if tag.argument else "blockquote", tag.offset)
        elif tag.name == "tg-emoji":
            if not tag.argument.isdigit():
                raise ValueError("Invalid custom emoji identifier specified")
            builder.mark("custom_emoji", tag.offset, custom_emoji_id=tag.argument)
        elif tag.name == "code" and self._open and self._open[-1].name == "pre":
            self._open[-1].argument = tag.argument
        else:
            language = {"language": tag.argument} if tag.name == "pre" and tag.argument else {}
            builder.mark(tag.name, tag.offset, **language)


def _decode(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    code = int(match[2], 16) if match[2] else int(match[3])
    if not 0 < code <= 0x10FFFF:
        return ""
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(
            "Text contains invalid Unicode characters after decoding HTML entities,"
            " check for unmatched surrogate code units"
        )
    return chr(code)


def _argument(tag: str, name: str, value: str) -> str:
    """The one attribute that counts for a tag."""
    if tag == "code" and name == "class":
        return value.removeprefix("language-") if value.startswith("language-") else ""
    wanted = {"a": "href", "span": "class", "tg-emoji": "emoji-id", "blockquote": "expandable"}.get(tag)
    return value if name == wanted else ""


def parse_html(text: str) -> tuple[str, list[Entity]]:
    """HTML style. Raises ``ValueError`` in the platform's words."""
    return _Html(text).parse()
