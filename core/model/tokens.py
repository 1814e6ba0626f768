"""Estimates of the tokens in a text, and their correction by what a model's provider counts.

The estimate is a sum over kinds of characters and the places where one kind follows another, which is where
tokens usually begin. Its weights were fitted to OpenAI's o200k tokenizer on English, Chinese, Russian, code,
JSON and logs (tests/payloads/tokens/). It is linear, and takes about 20 ns for a character.
"""

from functools import lru_cache

from core.transcript import Entry, Said, ToolCalled, UserSaid

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_NEWLINES = b"\n\r"
_SPACES = b" \t"
_OTHER_THAN_PUNCTUATION = _LETTERS + _DIGITS + _NEWLINES + _SPACES


def _marked(kind: bytes) -> bytes:
    """Return the table that marks the characters of one kind, and dots all others."""
    return bytes(ord("x") if byte in kind else ord(".") for byte in range(256))


_WORD, _NUMBER, _BREAK, _SPACE = map(_marked, (_LETTERS, _DIGITS, _NEWLINES, _SPACES))
_PUNCTUATION = _marked(bytes(byte for byte in range(128) if byte not in _OTHER_THAN_PUNCTUATION))
_CASE = bytes(
    ord("l") if chr(byte).islower() and byte < 128 else ord("U") if chr(byte).isupper() and byte < 128 else 46
    for byte in range(256)
)
_LONG_WORD = b"x" * 9

# Per thousand characters of other scripts, by the upper byte of their code point.
_SYMBOLS, _LATIN, _CYRILLIC, _ALPHABETS, _IDEOGRAPHS = 1500, 900, 330, 550, 900
_SCRIPTS = (
    (range(0x04, 0x06), _CYRILLIC),
    (range(0x01, 0x20), _ALPHABETS),
    (range(0x2E, 0xA0), _IDEOGRAPHS),
    (range(0xAC, 0xD8), _IDEOGRAPHS),
    (range(0xD8, 0xE0), 1000),  # halves of surrogate pairs, such as emoji
    (range(0xF9, 0x100), _IDEOGRAPHS),
)


def _weight_of(upper: int) -> int:
    return next((weight for uppers, weight in _SCRIPTS if upper in uppers), _SYMBOLS)


_WEIGHTS = tuple(sorted({_weight_of(upper) for upper in range(1, 256)}))
_BY_WEIGHT = bytes([0, *(_WEIGHTS.index(_weight_of(upper)) + 1 for upper in range(1, 256))])


def text_tokens(text: str) -> int:
    """Return the estimated number of tokens in a text: at least 1."""
    if text.isascii():
        return _ascii(text.encode()) // 1000 + 1
    ascii_only = text.encode("ascii", "ignore")
    scripts = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_BY_WEIGHT)
    other = sum(scripts.count(place) * weight for place, weight in enumerate(_WEIGHTS, start=1))
    latin = scripts.count(0) - len(ascii_only)
    return (_ascii(ascii_only) + latin * _LATIN + other) // 1000 + 1


def _ascii(text: bytes) -> int:
    """Return the thousandths of a token that ASCII characters take."""
    text = b" " + text
    words = text.translate(_WORD)
    letters = words.count(b"x")
    digits = len(text) - len(text.translate(None, _DIGITS))
    punctuation = len(text.translate(None, _OTHER_THAN_PUNCTUATION))
    return (
        1060 * words.count(b".x")
        + 30 * letters
        + 1170 * words.count(_LONG_WORD)
        + 2200 * text.translate(_CASE).count(b"lU")
        + 1070 * text.translate(_NUMBER).count(b".x")
        + 380 * digits
        + 550 * text.translate(_PUNCTUATION).count(b".x")
        + 115 * punctuation
        + 850 * text.translate(_BREAK).count(b".x")
        + 160 * text.translate(_SPACE).count(b"xx")
    )


MESSAGE_TOKENS = 4
"""The tokens that a message takes in addition to its text."""
TIME_NOTE_TOKENS = 32
"""The tokens of the note about the time that follows what a person said."""

prompt_tokens = lru_cache(64)(text_tokens)
"""The same for system prompts, which are the same text in all requests of a thread."""


def said_tokens(said: Said) -> int:
    """Return the estimated tokens of one line of a conversation, as the model reads it."""
    if isinstance(said, ToolCalled):
        return MESSAGE_TOKENS + text_tokens(said.tool) + text_tokens(said.arguments)
    dated = TIME_NOTE_TOKENS if isinstance(said, UserSaid) else 0
    return MESSAGE_TOKENS + dated + text_tokens(said.text)


def entry_tokens(entry: Entry) -> int:
    """Return the estimated tokens of an entry, which are counted once."""
    if not entry.tokens:
        object.__setattr__(entry, "tokens", said_tokens(entry.said))
    return entry.tokens


# The correction by the provider's own counts.

_LEAST_COUNTED_TOKENS = 200
"""Requests below that say little about the estimate."""
_LOWEST, _HIGHEST = 0.5, 8.0
_FALLS_BY = 0.1
_OVERFLOW_MARGIN = 1.05


class TokenRatio:
    """The tokens that a model's provider counts for each estimated one: 1 until it has counted.

    It rises at once and falls slowly, because too long a request is worse than one shorter than needed."""

    def __init__(self) -> None:
        self.value = 1.0
        self._known = False

    def counted(self, estimated_tokens: int, tokens: int) -> None:
        """Learn from a request that the provider counted."""
        if estimated_tokens < _LEAST_COUNTED_TOKENS or tokens <= 0:
            return
        ratio = min(max(tokens / estimated_tokens, _LOWEST), _HIGHEST)
        if not self._known or ratio > self.value:
            self.value, self._known = ratio, True
        else:
            self.value += (ratio - self.value) * _FALLS_BY

    def overflowed(self, estimated_tokens: int, room_tokens: int) -> None:
        """Learn from a request that did not fit, although `room_tokens` had been left for it.

        The ratio at most doubles, because the window may be smaller than configured."""
        if estimated_tokens > 0:
            least = _OVERFLOW_MARGIN * room_tokens / estimated_tokens
            self.value = max(self.value, min(least, 2 * self.value, _HIGHEST))
            self._known = True
