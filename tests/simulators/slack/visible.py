"""A whole message as a person reads it: its blocks in order, or its text where it has none."""

import re
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.simulators.slack.blocks import interactive_elements
from tests.simulators.slack.mrkdwn import Reader, Seen, mentions

Json = dict[str, Any]
_BROADCAST = re.compile(r"@(?:here|channel|everyone)\b")
_COMMONMARK = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def seen(body: Json, names: Mapping[str, str]) -> Seen:
    """Return what a message's text and blocks show; ``names`` says how ids are shown."""
    into = Seen()
    view = _View(names, into)
    blocks = body.get("blocks")
    lines = [view.block(block) for block in blocks] if blocks else [view.mrkdwn(body.get("text", ""))]
    lines += [f"[{file.get('name') or 'This file was deleted.'}]" for file in body.get("files", [])]
    into.text = "\n".join(line for line in lines if line)
    return into


class _View:
    """Reads blocks one by one."""

    def __init__(self, names: Mapping[str, str], into: Seen) -> None:
        self._names = names
        self._into = into

    def mrkdwn(self, text: str) -> str:
        return Reader(self._names, self._into).read(text)

    def block(self, block: Json) -> str:
        self._note_buttons(block)
        match block["type"]:
            case "section":
                texts = [block["text"]] if "text" in block else []
                return "\n".join(self._text(text) for text in [*texts, *block.get("fields", [])])
            case "header":
                return self._text(block["text"])
            case "context":
                return " ".join(self._text(element) for element in block["elements"])
            case "markdown":
                return self._markdown(block["text"])
            case "rich_text":
                return "\n".join(self._rich_part(part) for part in block["elements"])
            case "table":
                return "\n".join("\t".join(self._cell(cell) for cell in row) for row in block["rows"])
            case "image":
                return self._text(block["title"]) if "title" in block else str(block["alt_text"])
            case "input":
                return self._text(block["label"])
            case "task_card" | "plan":
                return str(block["title"])
            case _:
                return ""

    def _note_buttons(self, block: Json) -> None:
        for element in interactive_elements(block):
            if element["type"] == "button":
                self._into.buttons.append((element["text"]["text"], element.get("value", "")))

    def _text(self, text: Json) -> str:
        if text["type"] == "mrkdwn":
            return self.mrkdwn(text["text"])
        return str(text.get("text", text.get("alt_text", "")))

    def _cell(self, cell: Json) -> str:
        if cell["type"] == "rich_text":
            return " ".join(self._rich_part(part) for part in cell["elements"])
        return str(cell.get("text", cell.get("value", "")))

    def _rich_part(self, part: Json) -> str:
        if part["type"] == "rich_text_list":
            return "\n".join(self._rich_part(item) for item in part["elements"])
        text = "".join(self._rich_inline(element) for element in part["elements"])
        if part["type"] == "rich_text_preformatted":
            self._into.code.append((part.get("language", ""), text))
        return text

    def _rich_inline(self, element: Json) -> str:
        match element["type"]:
            case "text":
                text = str(element["text"])
                if element.get("style", {}).get("code"):
                    self._into.code.append(("", text))
                return text
            case "link":
                text = element.get("text") or element["url"]
                self._into.links.append((element["url"], text))
                return str(text)
            case "user":
                return self._names.get(element["user_id"], f"@{element['user_id']}")
            case "channel":
                return self._names.get(element["channel_id"], f"#{element['channel_id']}")
            case "broadcast":
                return f"@{element['range']}"
            case "emoji":
                return f":{element['name']}:"
            case _:
                return str(element.get("fallback", ""))

    def _markdown(self, source: str) -> str:
        """Standard Markdown, which the platform itself reads."""
        lines: list[str] = []
        for token in _COMMONMARK.parse(source):
            if token.type in {"fence", "code_block"}:
                self._into.code.append((token.info.strip(), token.content.removesuffix("\n")))
                lines.append(token.content.removesuffix("\n"))
            elif token.children is not None:
                lines.append(self._inline(token.children))
        return "\n".join(lines)

    def _inline(self, tokens: list[Token]) -> str:
        text = ""
        opened: list[tuple[str, int]] = []
        for token in tokens:
            if token.type == "link_open":
                opened.append((str(token.attrs.get("href", "")), len(text)))
            elif token.type == "link_close":
                address, start = opened.pop()
                self._into.links.append((address, text[start:]))
            elif token.type in {"softbreak", "hardbreak"}:
                text += "\n"
            else:
                text += token.content
            if token.type == "code_inline":
                self._into.code.append(("", token.content))
        return text


def pings(body: Json) -> list[str]:
    """Everything in a message that may notify people, also where it is only probable.

    https://docs.slack.dev/reference/block-kit/composition-objects/text-object: unless ``verbatim`` is true,
    "certain mentions will be automatically parsed", so a bare ``@channel`` counts in such a text.
    """
    return mentions(body.get("text", "")) + _pings_in(body.get("blocks", []))


def _pings_in(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for item in value for found in _pings_in(item)]
    if not isinstance(value, dict):
        return []
    match value:
        case {"type": "mrkdwn", "text": str(text)}:
            bare = [] if value.get("verbatim") else _BROADCAST.findall(text)
            return mentions(text) + bare
        case {"type": "markdown", "text": str(text)}:
            return mentions(text) + _BROADCAST.findall(text)
        case {"type": "user", "user_id": str(name)} | {"type": "usergroup", "usergroup_id": str(name)}:
            return [f"@{name}"]
        case {"type": "broadcast", "range": str(name)}:
            return [f"!{name}"]
    return [found for item in value.values() for found in _pings_in(item)]
