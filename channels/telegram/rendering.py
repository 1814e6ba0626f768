"""What the hub says, as Telegram messages.

Every message returned is within `limit_units` UTF-16 code units, keeps Telegram's limits on entities and has
something visible in it (Telegram refuses a blank message). Blank input gives no message.
Nothing raises because of the text, whatever it is; `channels.blocks.showable` says what becomes of control
characters and lone surrogates, `channels.telegram.entities` how mentions are disarmed.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from channels.blocks import Link, Mark, showable
from channels.chunking import split
from channels.markdown import parse, read
from channels.telegram.entities import (
    Composer,
    TelegramText,
    is_linkable,
    utf16_units,
    would_mention,
)
from channels.text_layout import FlatSpan, FlatText, Preformatted, lay_out
from core import messages

MAX_TEXT_UNITS = 4096
"""Bot API, sendMessage: "1-4096 characters after entities parsing"."""

TAB_COLUMNS = 4
"""Telegram shows a tab as one space, so tabs in code are widened."""

_BLANK = re.compile(
    r"[\s\u030a\u0333\u033f\u180e\u200b-\u200f\u2028-\u202e\u2060\u2800\ufeff\ufffc\U000e0000-\U000e007f]*"
)
"""What Telegram drops or takes for empty."""

_SPECIAL = re.compile(
    r"[\\`*_~\[\]<&|@\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
    r"|^[^\S\n]|[^\S\n]$"
    r"|^[#>+=-]|^[0-9]{1,9}[.)]"
    r"|\n{3}",
    re.MULTILINE,
)
"""What may mean something in Markdown, or may not be sent as it is."""

_BARE_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)


def render(markdown_text: str, limit_units: int = MAX_TEXT_UNITS) -> tuple[TelegramText, ...]:
    """The messages that show `markdown_text`. Raises ValueError if `limit_units` is less than 2."""
    plain = markdown_text.rstrip().lstrip("\n")
    if len(plain) <= limit_units and not _SPECIAL.search(plain) and utf16_units(plain) <= limit_units:
        return () if _BLANK.fullmatch(plain) else (TelegramText(plain),)
    return _messages(lay_out(parse(markdown_text), tab_columns=TAB_COLUMNS), limit_units)


def render_plain(text: str, limit_units: int = MAX_TEXT_UNITS) -> tuple[TelegramText, ...]:
    """The messages that show `text` as it is. Raises ValueError if `limit_units` is less than 2."""
    text = showable(text)
    paragraphs = tuple(match.end() for match in re.finditer(r"\n{2,}", text))
    return _messages(FlatText(text, block_starts=paragraphs), limit_units)


def render_blocks(
    said: Iterable[messages.Block], limit_units: int = MAX_TEXT_UNITS
) -> tuple[TelegramText, ...]:
    """The messages that show `said`, one block under the other. Raises ValueError if `limit_units` < 2."""
    match blocks := tuple(said):
        case (messages.Markdown(text),):
            return render(text, limit_units)
        case (messages.Plain(text),):
            return render_plain(text, limit_units)
        case _:
            return _messages(lay_out(read(blocks), tab_columns=TAB_COLUMNS), limit_units)


def _messages(flat: FlatText, limit_units: int) -> tuple[TelegramText, ...]:
    if limit_units < 2:
        raise ValueError(f"limit_units={limit_units}: a single character may take 2 units")
    composer = Composer(limit_units)
    chunks = split(_with_whole_urls(flat), limit_units, composer.fits)
    composed = (composer.compose(chunk) for chunk in chunks)
    return tuple(message for message in composed if not _BLANK.fullmatch(message.text))


def _with_whole_urls(flat: FlatText) -> FlatText:
    """Telegram makes links of bare addresses, but not of one with a word joiner in it (https://host/@name).

    Those become links here. Addresses inside links and code are left alone.
    """
    if not would_mention(flat.text):
        return flat
    edges = sorted({edge for span in flat.spans for edge in (span.start, span.end)})
    taken = [s for s in flat.spans if isinstance(s.style, (Link, Preformatted)) or s.style is Mark.CODE]
    reached = list(accumulate((span.end for span in taken), max))
    starts = [span.start for span in taken]
    added: list[FlatSpan] = []
    for match in _BARE_URL.finditer(flat.text):
        url = match.group().rstrip(".,:;!?)]}'*")
        start, end = match.start(), match.start() + len(url)
        before = bisect_left(starts, end)  # so many begin before the address ends
        if (
            would_mention(url)
            and is_linkable(url)
            and bisect_right(edges, start) == bisect_left(edges, end)
            and not (before and reached[before - 1] > start)
        ):
            added.append(FlatSpan(start, end, Link(url)))
    spans = sorted((*flat.spans, *added), key=lambda span: (span.start, -span.end))
    return FlatText(flat.text, tuple(spans), flat.block_starts)
