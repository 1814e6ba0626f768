"""Reads a message's Markdown as a person sees it, in runs of styled text.

Written from what Discord documents of its syntax
(https://support.discord.com/hc/en-us/articles/210298617, https://docs.discord.com/developers/reference
#message-formatting): fenced and inline code, bold, italics, underline, strikethrough, spoilers, headings,
subtext, quotes, lists, masked links, links, mentions, emoji, timestamps, escapes. Quotes do not nest; a
fence ends at the next three backticks wherever they stand; markers that do not pair stay visible.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

BULLET = "• "


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of visible text.

    Styles: bold, italic, underline, strike, spoiler, code, fence, heading1-3, subtext, quote, list, mention.
    ``link`` is where a click leads; ``language`` is a fence's; ``mention`` is ``(kind, id)`` with kind user,
    role, channel, everyone or here.
    """

    text: str
    styles: frozenset[str] = frozenset()
    link: str | None = None
    language: str | None = None
    mention: tuple[str, int] | None = None


Names = Callable[[str, int], str]
"""The visible name of a mentioned user, role or channel."""

_FENCE = re.compile(r"```(?:(?P<language>[A-Za-z0-9_+\-.#]+)\n)?\n*(?P<code>[^\n][\s\S]*?)\n*```")
_HEADING = re.compile(r"(?P<level>#{1,3}) +(?P<text>[^\n]*?\S)(?: +#+)? *(?:\n|$)")
_SUBTEXT = re.compile(r"-# +(?P<text>[^\n]*\S) *(?:\n|$)")
_ITEM = re.compile(r"(?P<indent> *)(?P<marker>[-*]|\d+\.) +(?P<text>[^\n]*\S[^\n]*)(?:\n|$)")
_QUOTE = re.compile(r" *> [^\n]*(?:\n *> [^\n]*)*\n?")
_QUOTE_REST = re.compile(r" *>>> (?P<text>[\s\S]*)")
_ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
_CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?P<code>[\s\S]*?[^`])(?P=ticks)(?!`)")
_AUTOLINK = re.compile(r"<(?P<url>https?://[^\s<>]+)>")
_URL = re.compile(r"https?://[^\s<]*[^\s<.,:;\"'\])*_~|]")
_MASKED = re.compile(
    r"\[(?P<label>(?:\\.|[^\[\]\\]|\[[^\[\]]*\])+)\]"
    r"\(\s*(?:<(?P<angle>https?://[^<>\s]+)>|(?P<url>https?://(?:\\.|\([^()\s]*\)|[^()\s\\])+))"
    r"(?:\s+\"[^\"]*\")?\s*\)"
)
_MENTION = re.compile(r"<(?P<kind>@!?|@&|#)(?P<id>\d+)>")
_BROADCAST = re.compile(r"@(?P<kind>everyone|here)")
_EMOJI = re.compile(r"<a?:(?P<name>\w+):\d+>")
_TIMESTAMP = re.compile(r"<t:(?P<at>-?\d+)(?::[tTdDfFRsS])?>")
_COMMAND = re.compile(r"</(?P<name>[^:>\n]+):\d+>")
_TURN = re.compile(r"[\n\\`]")
_PLAIN = re.compile(r"[^\\`*_~|<\[@h]+")
"""Text in which nothing begins: no marker, no mention, no ``http``."""
_STYLES: list[tuple[str, re.Pattern[str]]] = [
    ("bold", re.compile(r"\*\*(?P<text>(?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),
    ("underline", re.compile(r"__(?P<text>(?:\\[\s\S]|[^\\])+?)__(?!_)")),
    ("italic", re.compile(r"\*(?=\S)(?P<text>(?:\*\*|\\[\s\S]|[^*\\])+?)(?<!\s)\*(?!\*)")),
    ("italic", re.compile(r"\b_(?P<text>(?:__|\\[\s\S]|[^_\\])+?)_\b")),
    ("strike", re.compile(r"~~(?P<text>[\s\S]+?)~~(?!_)")),
    ("spoiler", re.compile(r"\|\|(?P<text>[\s\S]+?)\|\|")),
]
_KINDS = {"@": "user", "@!": "user", "@&": "role", "#": "channel"}


def _plain_names(kind: str, number: int) -> str:
    return f"unknown-{kind}" if number else kind


class Reader:
    """Reads one message; ``names`` gives what a mention shows."""

    def __init__(self, names: Names = _plain_names) -> None:
        self._names = names

    def read(self, content: str) -> list[Run]:
        """The whole content as runs, in order."""
        return self._blocks(content, frozenset(), in_quote=False)

    def _blocks(self, text: str, styles: frozenset[str], *, in_quote: bool) -> list[Run]:
        runs: list[Run] = []
        at = 0
        while at < len(text):
            found = self._block(text, at, styles, in_quote, after=runs)
            if found is None:
                end = self._end_of_plain(text, at, in_quote)
                runs += self._inline(text[at:end], styles)
            else:
                end, block = found
                runs += block
            at = end
        return runs

    def _block(
        self, text: str, at: int, styles: frozenset[str], in_quote: bool, after: list[Run]
    ) -> tuple[int, list[Run]] | None:
        """The block that begins here: where it ends and what it shows."""
        if fence := _FENCE.match(text, at):
            code = Run(fence["code"], styles | {"fence"}, language=fence["language"])
            before = [] if not after or after[-1].text.endswith("\n") else [Run("\n", styles)]
            more = fence.end() < len(text) and text[fence.end()] != "\n"
            return fence.end(), [*before, code, *([Run("\n", styles)] if more else [])]
        if at > 0 and text[at - 1] != "\n":
            return None
        if not in_quote and (rest := _QUOTE_REST.match(text, at)):
            return rest.end(), self._blocks(rest["text"], styles | {"quote"}, in_quote=True)
        if not in_quote and (quote := _QUOTE.match(text, at)):
            inner = re.sub(r"(?m)^ *> ", "", quote[0])
            return quote.end(), self._blocks(inner, styles | {"quote"}, in_quote=True)
        return self._line(text, at, styles)

    def _line(self, text: str, at: int, styles: frozenset[str]) -> tuple[int, list[Run]] | None:
        """A heading, subtext or an item of a list."""
        prefix, style = "", ""
        if found := _HEADING.match(text, at):
            style = f"heading{len(found['level'])}"
        elif found := _SUBTEXT.match(text, at):
            style = "subtext"
        elif found := _ITEM.match(text, at):
            marker = BULLET if found["marker"] in "-*" else f"{found['marker']} "
            prefix, style = found["indent"] + marker, "list"
        if found is None:
            return None
        styles = styles | {style}
        runs = ([Run(prefix, styles)] if prefix else []) + self._inline(found["text"], styles)
        return found.end(), runs + ([Run("\n", styles)] if found[0].endswith("\n") else [])

    def _end_of_plain(self, text: str, at: int, in_quote: bool) -> int:
        """Return where the next block begins; inline code and escapes are stepped over."""
        while at < len(text):
            if escape := _ESCAPE.match(text, at):
                at = escape.end()
            elif self._block(text, at, frozenset(), in_quote, after=[]) is not None:
                return at
            elif code := _CODE.match(text, at):
                at = code.end()
            else:
                at = self._next_turn(text, at + 1)
        return len(text)

    def _next_turn(self, text: str, at: int) -> int:
        """The next place where a block, code or an escape can begin: after a line's end, or at its mark."""
        if at > 0 and text[at - 1] == "\n":
            return at
        turn = _TURN.search(text, at)
        if turn is None:
            return len(text)
        return turn.end() if turn[0] == "\n" else turn.start()

    def _inline(self, text: str, styles: frozenset[str]) -> list[Run]:
        runs: list[Run] = []
        plain = ""
        at = 0
        while at < len(text):
            found = self._piece(text, at, styles)
            if found is None:
                end = _PLAIN.match(text, at + 1)
                plain += text[at] if end is None else text[at : end.end()]
                at = at + 1 if end is None else end.end()
                continue
            if plain:
                runs.append(Run(plain, styles))
                plain = ""
            at, pieces = found
            runs += pieces
        return [*runs, Run(plain, styles)] if plain else runs

    def _piece(self, text: str, at: int, styles: frozenset[str]) -> tuple[int, list[Run]] | None:
        """Return what is not plain text here."""
        if escape := _ESCAPE.match(text, at):
            return escape.end(), [Run(escape[1], styles)]
        if code := _CODE.match(text, at):
            shown = re.sub(r"^ (?= *`)|(?<=`) $", "", code["code"])
            return code.end(), [Run(shown, styles | {"code"})]
        return (
            self._link(text, at, styles) or self._mention(text, at, styles) or self._styled(text, at, styles)
        )

    def _link(self, text: str, at: int, styles: frozenset[str]) -> tuple[int, list[Run]] | None:
        if masked := _MASKED.match(text, at):
            target = masked["angle"] or re.sub(r"\\(.)", r"\1", masked["url"])
            label = self._inline(masked["label"], styles)
            return masked.end(), [Run(r.text, r.styles, target, mention=r.mention) for r in label]
        if auto := _AUTOLINK.match(text, at):
            return auto.end(), [Run(auto["url"], styles, auto["url"])]
        if url := _URL.match(text, at):
            end = url.end()
            if text[end : end + 1] == ")" and url[0].count("(") > url[0].count(")"):
                end += 1
            return end, [Run(text[at:end], styles, text[at:end])]
        return None

    def _mention(self, text: str, at: int, styles: frozenset[str]) -> tuple[int, list[Run]] | None:
        if found := _MENTION.match(text, at):
            kind, number = _KINDS[found["kind"]], int(found["id"])
            shown = ("#" if kind == "channel" else "@") + self._names(kind, number)
            return found.end(), [Run(shown, styles | {"mention"}, mention=(kind, number))]
        if found := _BROADCAST.match(text, at):
            return found.end(), [Run(found[0], styles | {"mention"}, mention=(found["kind"], 0))]
        if found := _EMOJI.match(text, at):
            return found.end(), [Run(f":{found['name']}:", styles)]
        if found := _TIMESTAMP.match(text, at):
            return found.end(), [Run(found["at"], styles)]
        if found := _COMMAND.match(text, at):
            return found.end(), [Run(f"/{found['name']}", styles | {"mention"})]
        return None

    def _styled(self, text: str, at: int, styles: frozenset[str]) -> tuple[int, list[Run]] | None:
        for style, pattern in _STYLES:
            if found := pattern.match(text, at):
                return found.end(), self._inline(found["text"], styles | {style})
        return None


def read(content: str, names: Names = _plain_names) -> list[Run]:
    """A content's runs."""
    return Reader(names).read(content)


def visible_text(content: str, names: Names = _plain_names) -> str:
    """Return what a person reads, markers gone."""
    return "".join(run.text for run in read(content, names))


def mentions(content: str) -> list[tuple[str, int]]:
    """Every mention outside code, as ``(kind, id)``, in order."""
    return [run.mention for run in read(content) if run.mention is not None]


def links(content: str) -> list[tuple[str, str]]:
    """Every link outside code: visible text and target, in order."""
    return [(run.text, run.link) for run in read(content) if run.link is not None]


def fences(content: str) -> list[tuple[str | None, str]]:
    """Every code block: language and code, in order."""
    return [(run.language, run.text) for run in read(content) if "fence" in run.styles]
