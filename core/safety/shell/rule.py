"""What a rule on subcommands and options says, and whether it applies."""

from dataclasses import dataclass

from core.safety.shell.words import Args

_LOOK_AT = 4
"""A subcommand is looked for among so many positionals: global options may take values before it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """High if the subcommand `path` is given, with one of the options (if any is named) and without any
    of the excusing ones. `short` are letters, `long` and `unless_long` names without dashes."""

    path: tuple[str, ...]
    reason: str
    short: str = ""
    long: tuple[str, ...] = ()
    unless_short: str = ""
    unless_long: tuple[str, ...] = ()

    def applies(self, args: Args) -> bool:
        """Whether the rule matches; what can't be seen is taken for the worst."""
        if not _names(args.positionals[:_LOOK_AT], self.path):
            return False
        if (self.unless_short or self.unless_long) and args.surely_has(self.unless_short, *self.unless_long):
            return False
        return not (self.short or self.long) or args.may_have(self.short, *self.long)


def _names(positionals: tuple[str, ...], path: tuple[str, ...]) -> bool:
    size = len(path)
    return any(positionals[start : start + size] == path for start in range(len(positionals) - size + 1))


def rule(
    path: str, reason: str, short: str = "", long: str = "", *, unless_short: str = "", unless_long: str = ""
) -> Rule:
    """`a:b` is subcommand b of a; names of long options are separated by blanks."""
    words = tuple(path.split(":")) if path else ()
    return Rule(words, reason, short, tuple(long.split()), unless_short, tuple(unless_long.split()))


def each(words: str, reason: str) -> tuple[Rule, ...]:
    """One rule for each subcommand; `a:b` is subcommand b of a."""
    return tuple(rule(word, reason) for word in words.split())
