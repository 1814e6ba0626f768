"""What a parsed command line is made of."""

from dataclasses import dataclass

from core.safety.shell.words import Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` as written (`>`, `>>`, `<`, `2>&1` is `>&`); a here document has no target.

    `words`: the simple command it belongs to, () if none does; None: something longer.
    """

    operator: str
    target: Word | None
    words: tuple[Word, ...] | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, before a command, alone, or in `export`."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program's name and its arguments, in order; without words it is only assignments.

    `fed_by`: the words of the command before it in a pipeline, () for something longer, None for none.
    """

    words: tuple[Word, ...]
    fed_by: tuple[Word, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """Everything a line may do. `problems`: why it can't be known; `bomb`: a function multiplies itself.

    `alone`: the line is one simple command, without assignments. `loose`: words in other places: values
    of loops, assignments, arrays. `here`: the texts of here documents and strings.
    """

    commands: tuple[SimpleCommand, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    loose: tuple[Word, ...] = ()
    here: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    bomb: bool = False
    alone: bool = False
