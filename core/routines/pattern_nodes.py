"""What a pattern says, as a tree, and why one may be refused."""

from dataclasses import dataclass
from enum import Enum, auto

from core.routines.characters import Characters


class PatternRefused(ValueError):
    """A pattern that cannot be used. `construct`: the part of it that is to blame; `position`: where that
    begins, counted in characters from 0."""

    def __init__(self, reason: str, construct: str, position: int) -> None:
        at = f" ({construct!r} at character {position + 1})" if construct else ""
        super().__init__(f"{reason}{at}")
        self.reason = reason
        self.construct = construct
        self.position = position


class Place(Enum):
    """What an assertion asks of the place it stands at."""

    TEXT_START = auto()
    LINE_START = auto()
    LAST_LINE_END = auto()
    """`$`: at the end, or before a newline that is the end."""
    LINE_END = auto()
    TEXT_END = auto()
    WORD_EDGE = auto()


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    characters: Characters


@dataclass(frozen=True, slots=True)
class At:
    """No character: a place."""

    place: Place
    position: int


@dataclass(frozen=True, slots=True)
class Group:
    """What is in parentheses; `number` is None where it is not captured."""

    number: int | None
    body: "Node"


@dataclass(frozen=True, slots=True)
class Either:
    """Alternatives, the first that leads to a match wins."""

    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """One after the other."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """At least `least` times, at most `most` (None: as often as there is)."""

    body: "Node"
    least: int
    most: int | None
    lazy: bool
    position: int


Node = One | At | Group | Either | Chain | Repeat


@dataclass(frozen=True, slots=True)
class Syntax:
    """A pattern that was read; `names`: of its groups, by number."""

    root: Node
    groups: int
    names: dict[str, int]


def children(node: Group | Either | Chain | Repeat) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Either(options):
            return options
        case Chain(parts):
            return parts
        case Group(_, body):
            return (body,)
        case Repeat(body):
            return (body,)
