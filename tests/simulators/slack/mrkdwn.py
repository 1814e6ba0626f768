"""Slack's mrkdwn read back as what a person sees; shares no code with anything that writes it.

https://docs.slack.dev/messaging/formatting-message-text: every ``<…>`` is a mention, a date or a link,
``&amp;``, ``&lt;`` and ``&gt;`` are the three characters, ``*_~`` and backticks mark text only at the edges
of words, ``>`` begins a quotation, three backticks enclose code anywhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_FENCE = re.compile(r"```(?P<fence>.*?)```", re.DOTALL)
_CODE = re.compile(r"(?<![\w`])`(?P<code>[^`\n]+)`(?![\w`])")
_TOKEN = re.compile(r"<([^<>\n]+)>")
_ENTITY = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_STYLES = [
    re.compile(
        rf"(?<![\w{re.escape(mark)}]){re.escape(mark)}(?=\S)(?P<inner>[^\n]*?\S){re.escape(mark)}(?!\w)"
    )
    for mark in "*_~"
]
_QUOTE = re.compile(r"^&gt; ?", re.MULTILINE)
_KEEP = "\ue000{}\ue001"
_KEPT = re.compile(r"\ue000(\d+)\ue001")


@dataclass(slots=True)
class Seen:
    """The view of a person: the text, and in it code (language, text), links (address, text) and buttons
    (label, value)."""

    text: str = ""
    code: list[tuple[str, str]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Reader:
    """Reads one piece of mrkdwn; ``names`` says how ids are shown."""

    def __init__(self, names: Mapping[str, str], into: Seen) -> None:
        self._names = names
        self._into = into
        self._kept: list[str] = []

    def read(self, text: str) -> str:
        """The visible text; code and links are noted in ``into``."""
        text = _FENCE.sub(lambda match: self._keep(self._fenced(match["fence"])), text)
        text = _CODE.sub(lambda match: self._keep(self._inline(match["code"])), text)
        text = _TOKEN.sub(lambda match: self._keep(self._token(match[1])), text)
        text = _QUOTE.sub("", text)
        for style in _STYLES:
            text = style.sub(lambda match: match["inner"], text)
        return self._restored(_decoded(text))

    def _keep(self, shown: str) -> str:
        """A placeholder no later rule touches."""
        self._kept.append(shown)
        return _KEEP.format(len(self._kept) - 1)

    def _restored(self, text: str) -> str:
        while _KEPT.search(text):
            text = _KEPT.sub(lambda match: self._kept[int(match[1])], text)
        return text

    def _fenced(self, inner: str) -> str:
        shown = self._literal(inner.removeprefix("\n").removesuffix("\n"))
        self._into.code.append(("", shown))
        return shown

    def _inline(self, inner: str) -> str:
        shown = self._literal(inner)
        self._into.code.append(("", shown))
        return shown

    def _literal(self, text: str) -> str:
        """Code: no styles, but mentions, links and the three characters are read as everywhere."""
        parts: list[str] = []
        end = 0
        for match in _TOKEN.finditer(text):
            parts += [_decoded(text[end : match.start()]), self._token(match[1])]
            end = match.end()
        return "".join([*parts, _decoded(text[end:])])

    def _token(self, inner: str) -> str:
        target, _, label = inner.partition("|")
        if target.startswith(("@", "#")):
            return _decoded(label) or self._names.get(target[1:], target)
        if target.startswith("!date^"):
            return _decoded(label)
        if target.startswith("!"):
            return _decoded(label) or f"@{target[1:].partition('^')[0]}"
        address = _decoded(target)
        shown = _decoded(label) or address.removeprefix("mailto:")
        self._into.links.append((address, shown))
        return shown


def _decoded(text: str) -> str:
    return re.sub("&(?:amp|lt|gt);", lambda match: _ENTITY[match[0]], text)


def mentions(text: str) -> list[str]:
    """Everything in mrkdwn that notifies somebody: people, groups, ``@here`` and its like."""
    inner = [match[1].partition("|")[0] for match in _TOKEN.finditer(text)]
    loud = ("@", "!here", "!channel", "!everyone", "!group", "!subteam")
    return [token for token in inner if token.startswith(loud)]
