"""Words of a command line, as the shell hands them to a program, as far as that can be known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Word:
    """One word with its quotes removed.

    `known`: it contains no expansion, so `text` is what the program gets; otherwise `text` holds the
    expansions as they were written. `spread`: the shell makes file names or several words of it (glob,
    brace, unquoted expansion). `substituted`: it contains the output of a command.
    """

    text: str
    known: bool = True
    spread: bool = False
    substituted: bool = False

    @property
    def plain(self) -> bool:
        """Exactly one word, exactly this text."""
        return self.known and not self.spread


_FLAGS = "fdxXqvi"
"""Letters that take no value with any program whose options may excuse it."""


class Args:
    """What follows a program's name, read the way getopt reads it.

    Which options take a value differs from program to program; where it matters the caller says so.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = tuple(words)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All words as text."""
        return tuple(word.text for word in self.words)

    @cached_property
    def _before_dashes(self) -> tuple[str, ...]:
        return self.texts[: self.texts.index("--")] if "--" in self.texts else self.texts

    @cached_property
    def positionals(self) -> tuple[str, ...]:
        """Words that are no options; values of options are among them."""
        options = len(self._before_dashes)
        first = [text for text in self._before_dashes if not text.startswith("-") or text == "-"]
        return (*first, *self.texts[options + 1 :])

    @property
    def subcommand(self) -> str:
        """The first positional; empty if there is none."""
        return self.positionals[0] if self.positionals else ""

    @cached_property
    def opaque(self) -> bool:
        """Whether some word could be an option we can't see: it begins with, or spreads, an expansion."""
        return any(not word.known and (word.spread or word.text[:1] in "$`{") for word in self.words)

    def has(self, short: str = "", *long: str) -> bool:
        """Whether one of the letters occurs in a cluster (`-xrf`), or one of the long options, possibly
        shortened (`--forc`), with a value (`--force=x`) or with one dash (`-force`)."""
        return any(self._is_option(text, short, long) for text in self._before_dashes)

    def may_have(self, short: str = "", *long: str) -> bool:
        """`has`, or it can't be known."""
        return self.opaque or self.has(short, *long)

    def surely_has(self, short: str, *long: str) -> bool:
        """`has`, and it can't be another option's value instead: nothing before it takes one."""
        flags = frozenset(f"{_FLAGS}{short}")
        before = ("", *self._before_dashes)
        return any(
            self._is_option(text, short, long)
            and (text.startswith("--") or flags.issuperset(text[1:]))
            and (not previous.startswith("-") or flags.issuperset(previous[1:]))
            for previous, text in pairwise(before)
        )

    def value_of(self, *options: str) -> str | None:
        """The value of the first of the options given: `-c x`, `-cx` (one letter), `--opt x`, `--opt=x`,
        `--op x`."""
        for index, text in enumerate(self.texts):
            for option in options:
                if text == option:
                    return self.texts[index + 1] if index + 1 < len(self.texts) else ""
                name, attached, value = text.partition("=")
                if option.startswith("--") and len(name) > 3 and option.startswith(name):
                    return value if attached else "".join(self.texts[index + 1 : index + 2])
                if len(option) == 2 and text.startswith(option) and option != "--":
                    return text[2:].removeprefix("=")
        return None

    def behind(self, letter: str) -> str | None:
        """The value of a short option that may be clustered: `-X v`, `-sX v`, `-sXv`; None: not given."""
        for index, text in enumerate(self.texts):
            if len(text) > 1 and text[0] == "-" and text[1] != "-" and letter in text:
                attached = text.partition(letter)[2]
                return attached or (self.texts[index + 1] if index + 1 < len(self.texts) else "")
        return None

    @staticmethod
    def _is_option(text: str, short: str, long: Sequence[str]) -> bool:
        if text.startswith("--"):
            name = text[2:].partition("=")[0]
            return len(name) > 1 and any(option.startswith(name) for option in long)
        if len(text) < 2 or text[0] != "-":
            return False
        return any(letter in text[1:] for letter in short) or text[1:].partition("=")[0] in long
