"""Messages as a person sees them: read from Markdown's tokens on one side, from Telegram messages on the
other.

Both readers give one `Seen` for every visible character, in order. Neither shares code with the renderers:
the one walks markdown-it's tokens, the other applies entities to UTF-16 code units as Telegram's clients do.
Whitespace is not compared here, for it may be trimmed where messages are cut; layouts have tests of their
own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, combinations, pairwise

from markdown_it.token import Token

from channels.telegram.entities import TelegramEntity, TelegramText

IGNORED = re.compile("[\x01-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u2060\ufeff]|\\s")
"""Whitespace, control characters and what is invisible alone; ZWJ and combining marks count."""

JOINER = "\u200d"
INTERRUPTED_BY_CODE = {"bold", "italic", "strikethrough"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A character and how it looks.

    `dashes`: stands for the line of dashes below a table's header, however long. `bare_address`: part of a
    link that shows nothing but its own address, which Telegram's clients make a link with or without entity.
    `begins`: the first of a message.
    """

    char: str
    styles: frozenset[str]
    dashes: bool = False
    bare_address: bool = field(default=False, compare=False)
    begins: bool = field(default=False, compare=False)


def assert_same(expected: Sequence[Seen], actual: Sequence[Seen]) -> None:
    """The same characters in the same looks."""
    position = 0
    for number, wanted in enumerate(expected):
        if wanted.dashes:
            position = _skip_dashes(actual, position, expected[number + 1 :])
            continue
        got = actual[position] if position < len(actual) else None
        if wanted.char == JOINER and (got is None or (got.begins and got.char != JOINER)):
            continue  # it stood between two messages, joining nothing: alone it is a blank one
        if got != wanted and not (got and _is_bare_address(got, wanted)):
            near = "".join(seen.char for seen in actual[max(position - 30, 0) : position + 30])
            raise AssertionError(f"{wanted} expected, got {got} near {near!r}")
        position += 1
    assert position == len(actual), f"more is shown than was written: {actual[position : position + 30]}"


def _is_bare_address(got: Seen, wanted: Seen) -> bool:
    without_link = {style for style in got.styles if not style.startswith("link:")}
    return got.char == wanted.char and got.bare_address and without_link == wanted.styles


def _skip_dashes(actual: Sequence[Seen], position: int, following: Sequence[Seen]) -> int:
    """Past a run of dashes, but for those that belong to what follows it."""
    end = position
    while end < len(actual) and actual[end].char in "-+":
        end += 1
    for seen in following:
        if seen.dashes or seen.char not in "-+":
            break
        end -= 1
    return max(end, position)


# ---------------------------------------------------------------- from Markdown


def seen_in_tokens(tokens: Sequence[Token], looks: "Looks | None" = None) -> list[Seen]:
    """Return what the tokens of a document say should be seen; `looks`: how a platform shows text under all
    these
    styles, Telegram if none is given."""
    reader = _TokenReader(looks or _looks)
    reader.blocks(tokens)
    return reader.seen


def is_address(url: str) -> bool:
    """Return whether an address means something outside the document."""
    return re.match(r"https?://\S|mailto:\S", url, re.IGNORECASE) is not None


def opens_in_telegram(url: str) -> bool:
    """Return whether an address is one that Telegram's clients open from a link."""
    return re.match(r"https?://[\w.-]*\w\.[\w-]+\.?(:\d+)?([/?#]|$)", url) is not None


@dataclass(frozen=True, slots=True, eq=False)
class AnyLink:
    """One link, unlike any other; `url` is empty if it leads nowhere from a chat."""

    url: str


Style = str | AnyLink
Looks = Callable[[Iterable[Style]], frozenset[str]]
Run = tuple[str, tuple[Style, ...]]
"""A piece of text and the styles on it, outermost first."""


@dataclass
class _TokenReader:
    looks: "Looks"
    seen: list[Seen] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    numbers: list[int | None] = field(default_factory=list)

    def put(self, text: str, *styles: Style) -> None:
        shown = self.looks((*self.around, *styles))
        self.seen += [Seen(char, shown) for char in _visible(text)]

    def blocks(self, tokens: Sequence[Token]) -> None:
        rows: list[list[Token]] = []
        for token in tokens:
            match token.type:
                case "tr_open":
                    rows.append([])
                case "inline" if rows:
                    rows[-1].append(token)
                case "table_close":
                    self.table(rows)
                    rows = []
                case "bullet_list_open" | "ordered_list_open" | "list_item_open":
                    self.marker(token)
                case "bullet_list_close" | "ordered_list_close":
                    self.numbers.pop()
                case _:
                    self.block(token)

    def block(self, token: Token) -> None:
        match token.type:
            case "inline":
                for text, styles in _runs(token.children or []):
                    self.put(text, *styles)
            case "heading_open":
                self.around.append("bold")
            case "blockquote_open":
                self.around.append("blockquote")
            case "heading_close" | "blockquote_close":
                self.around.pop()
            case "fence" | "code_block":
                word = re.match(r"[\w+#./-]*", token.info.strip())
                self.put(token.content, f"pre:{word.group() if word else ''}")
            case "hr":
                self.put("———")
            case _:
                assert not token.content, f"{token.type} says something"

    def marker(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self.numbers.append(None)
            case "ordered_list_open":
                self.numbers.append(int(token.attrs.get("start", 1)))
            case _:
                number = self.numbers[-1]
                self.put("•" if number is None else f"{number}.")
                self.numbers[-1] = None if number is None else number + 1

    def table(self, rows: Sequence[Sequence[Token]]) -> None:
        labels: dict[AnyLink, str] = {}
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                runs = list(_runs(cell.children or []))
                self.put(("|" if column else "") + "".join(text for text, _ in runs), "pre:")
                for text, styles in runs:
                    for link in [style for style in styles if isinstance(style, AnyLink) and style.url][:1]:
                        labels[link] = labels.get(link, "") + text
            if number == 0:
                self.seen.append(Seen("-", frozenset(), dashes=True))
        below = [(link, label) for link, label in labels.items() if label.strip()]
        for number, (link, label) in enumerate(below):
            self.put("·" if number else "")
            self.put(label, link)


def _visible(text: str) -> str:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return IGNORED.sub("", whole.replace("\x00", "\ufffd"))


def _looks(styles: Iterable[Style]) -> frozenset[str]:
    """How text under all these styles looks in Telegram, where some of them exclude each other."""
    urls = [style.url for style in styles if isinstance(style, AnyLink) and style.url]
    shown = {style for style in styles if isinstance(style, str)}
    if urls and opens_in_telegram(urls[0]):
        shown = {*shown, f"link:{urls[0]}"} - {"code"}
    if any(style == "code" or style.startswith("pre:") for style in shown):
        shown -= INTERRUPTED_BY_CODE
    return frozenset(shown)


_STYLES = {"em_open": "italic", "strong_open": "bold", "s_open": "strikethrough"}


def _runs(tokens: Sequence[Token], outer: tuple[Style, ...] = ()) -> Iterator[Run]:
    styles = list(outer)
    for token in tokens:
        if token.nesting > 0:
            styles.append(_STYLES.get(token.type) or _link(token, "href"))
        elif token.nesting < 0:
            styles.pop()
        elif token.type == "code_inline":
            yield token.content, (*styles, "code")
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n", tuple(styles)
        elif token.type == "image":
            link = _link(token, "src")
            yield from _runs(token.children or [], (*styles, link))
            if not token.children:
                yield link.url, (*styles, link)
        else:
            yield token.content, tuple(styles)


def _link(token: Token, attribute: str) -> AnyLink:
    url = str(token.attrs[attribute])
    return AnyLink(url if is_address(url) else "")


# ---------------------------------------------------------------- from Telegram

ALLOWED = {"bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"}
NAMES_A_USER = re.compile(r"(?<!\w)@\w{2,}")
"""More than Telegram looks for: there a name is of Latin letters, digits and underscores."""


def seen_in_messages(messages: Iterable[TelegramText]) -> list[Seen]:
    """Return what a person sees of all the messages, one below the other."""
    return [
        replace(seen, begins=place == 0)
        for message in messages
        for place, seen in enumerate(_seen_in(message))
    ]


def assert_acceptable(message: TelegramText, limit_units: int) -> None:
    """Telegram takes the message as it is, shows all of its entities, and notifies nobody."""
    units = len(message.text.encode("utf-16-le")) // 2
    assert 0 < units <= limit_units
    assert message.text.strip(), "Telegram refuses blank messages"
    assert len(message.entities) <= 100, "Telegram ignores the rest"
    size_bytes = sum(20 + len(e.url or "") + len(e.language or "") for e in message.entities)
    assert size_bytes <= 9000, "ENTITIES_TOO_LONG"
    edges = _character_edges(message.text)
    for entity in message.entities:
        assert entity.type in ALLOWED
        assert entity.length > 0
        assert {entity.offset, entity.offset + entity.length} <= edges, f"{entity} cuts a character"
        assert (entity.url is not None) == (entity.type == "text_link")
        assert entity.url is None or opens_in_telegram(entity.url)
    for one, other in combinations(message.entities, 2):
        assert_get_along(one, other)
    _assert_names_nobody(message)


def assert_get_along(one: TelegramEntity, other: TelegramEntity) -> None:
    """Two entities of a message keep the Bot API's rules on nesting."""
    outer, inner = (one, other) if one.length >= other.length else (other, one)
    first, last = outer.offset, outer.offset + outer.length
    if inner.offset >= last or inner.offset + inner.length <= first:
        return
    assert first <= inner.offset, f"{outer} and {inner} overlap in part"
    assert inner.offset + inner.length <= last, f"{outer} and {inner} overlap in part"
    assert outer.type != inner.type
    assert outer.type not in ("code", "pre"), f"{outer} holds {inner}"
    if inner.type in ("code", "pre"):
        assert outer.type == "blockquote", f"{outer} holds {inner}"


def _assert_names_nobody(message: TelegramText) -> None:
    units = message.text.encode("utf-16-le")
    text = list(message.text)
    for entity in message.entities:
        if entity.type in ("code", "pre"):  # Telegram looks for no mention that touches code
            start = len(units[: entity.offset * 2].decode("utf-16-le"))
            length = len(_covered(units, entity))
            text[start : start + length] = " " * length
    assert not NAMES_A_USER.search("".join(text)), f"a mention survived in {message.text!r}"


def _character_edges(text: str) -> set[int]:
    return set(accumulate((2 if char > "\uffff" else 1 for char in text), initial=0))


def _seen_in(message: TelegramText) -> Iterator[Seen]:
    units = message.text.encode("utf-16-le")
    edges = {edge for entity in message.entities for edge in (entity.offset, entity.offset + entity.length)}
    for first, last in pairwise(sorted({0, len(units) // 2, *edges})):
        covering = [e for e in message.entities if e.offset <= first and last <= e.offset + e.length]
        looks = frozenset(_name(entity) for entity in covering)
        bare = any(_covered(units, e).replace("\u2060", "") in e.url for e in covering if e.url is not None)
        for char in IGNORED.sub("", units[first * 2 : last * 2].decode("utf-16-le")):
            yield Seen(char, looks, bare_address=bare)


def _covered(units: bytes, entity: TelegramEntity) -> str:
    return units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le")


def _name(entity: TelegramEntity) -> str:
    match entity.type:
        case "text_link":
            return f"link:{entity.url}"
        case "pre":
            return f"pre:{entity.language or ''}"
        case _:
            return entity.type
