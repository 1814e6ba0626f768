"""Text that cannot steer a terminal, nor look like other text than it is.

Terminals obey control characters, and reorder what stands between bidirectional ones: a command could be
shown as another one. People choose their names, models and tools write what they like; all of it goes through
here before it is shown.
"""

import unicodedata

from channels.blocks import showable

NOT_SHOWN = "\ufffd"
_JOINERS = "\u200c\u200d"
"""Between letters of Persian and Indian scripts, and within emoji: they change shapes, not the order."""
_DROPPED = "\u00ad\u200b\u2060\ufeff"
"""Where a line may be broken; nothing of them is to be seen."""


class _Table(dict[int, int | str]):
    """For str.translate; filled as characters come along."""

    def __missing__(self, code: int) -> int | str:
        self[code] = shown = _shown(code)
        return shown


def _shown(code: int) -> int | str:
    character = chr(code)
    if character in _DROPPED:
        return ""
    if character in "\n\t" or character in _JOINERS:
        return code
    category = unicodedata.category(character)
    return NOT_SHOWN if category in {"Cc", "Cf", "Cs", "Zl", "Zp"} else code


_TABLE = _Table()


def visible(text: str) -> str:
    """`text` as it may be written to a terminal: lines and tabs are kept; what is left of control characters
    (see `showable`), format characters that hide or reorder, and lone surrogates are U+FFFD or dropped."""
    return text if text.isascii() and text.isprintable() else showable(text).translate(_TABLE)


def visible_line(text: str) -> str:
    """The same on one line."""
    return " ".join(visible(text).split())
