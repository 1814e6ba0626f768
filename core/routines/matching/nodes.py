"""The syntax tree of a pattern, and the reasons to refuse one."""

from enum import Enum, auto

from core.lazy_dataclass import dataclass
from core.routines.matching.characters import Characters


class PatternRefused(ValueError):
    """Error for an unusable pattern. `construct`: the part at fault; `position`: where it begins, in
    characters from 0."""

    def __init__(self, reason: str, construct: str, position: int) -> None:
        at = f" ({construct!r} at character {position + 1})" if construct else ""
        super().__init__(f"{reason}{at}")
        self.reason = reason
        self.construct = construct
        self.position = position


class Place(Enum):
    """A condition an assertion puts on its place."""

    TEXT_START = auto()
    LINE_START = auto()
    LAST_LINE_END = auto()
    """`$`: at the end, or before a newline at the end."""
    LINE_END = auto()
    TEXT_END = auto()
    WORD_EDGE = auto()


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    characters: Characters


@dataclass(frozen=True, slots=True)
class At:
    """A place, without a character."""

    place: Place
    position: int


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses; `number` is None for a group that captures nothing."""

    number: int | None
    body: "Node"


@dataclass(frozen=True, slots=True)
class Either:
    """Alternatives; the first that leads to a match wins."""

    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A sequence of nodes."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Repetition, at least `least` times, at most `most` (None: no limit)."""

    body: "Node"
    least: int
    most: int | None
    lazy: bool
    position: int


Node = One | At | Group | Either | Chain | Repeat


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed pattern; `names`: of its groups, by number."""

    root: Node
    groups: int
    names: dict[str, int]


def children(node: Group | Either | Chain | Repeat) -> tuple[Node, ...]:
    """Return the direct children."""
    match node:
        case Either(options):
            return options
        case Chain(parts):
            return parts
        case Group(_, body):
            return (body,)
        case Repeat(body):
            return (body,)


# Patterns that are refused: RE2 would read them differently, or they match nothing.

MAX_MARKS = 3
r"""Limit at one place; more `\b` than that are a mistake."""


def judge(syntax: Syntax) -> int:
    r"""Return the number of `\b` that can meet at one place. Raises PatternRefused."""
    if _may_be_empty(syntax.root):
        raise PatternRefused("would match every message, as it matches the empty text", "", 0)
    _judge_ends(syntax.root, last=True)
    _judge_repeats(syntax.root)
    counter = _EdgeCounter()
    counter.after(syntax.root, 0)
    return counter.most


def _may_be_empty(node: Node) -> bool:
    match node:
        case One():
            return False
        case At():
            return True
        case Either(options):
            return any(map(_may_be_empty, options))
        case Chain(parts):
            return all(map(_may_be_empty, parts))
        case Group(_, body):
            return _may_be_empty(body)
        case Repeat(body, least):
            return least == 0 or _may_be_empty(body)


def _judge_ends(node: Node, *, last: bool) -> None:
    match node:
        case At(Place.LAST_LINE_END, position) if not last:
            raise PatternRefused("continues after its end", "$", position)
        case Chain(parts):
            for index, part in enumerate(parts):
                _judge_ends(part, last=last and index == len(parts) - 1)
        case Repeat(body):
            _judge_ends(body, last=False)
        case One() | At():
            pass
        case Group() | Either():
            for child in children(node):
                _judge_ends(child, last=last)


class _EdgeCounter:
    r"""Counter of the `\b` at one place: each needs a mark there (matching.pattern)."""

    def __init__(self) -> None:
        self.most = 0

    def after(self, node: Node, taken: int) -> int:
        """Return how many may have asked where the node ends, if `taken` have where it begins. Raises
        PatternRefused
        where that cannot be counted."""
        match node:
            case One():
                return 0
            case At():
                return self._after_place(node, taken)
            case Chain(parts):
                for part in parts:
                    taken = self.after(part, taken)
                return taken
            case Either(options):
                return max(self.after(option, taken) for option in options)
            case Group(_, body):
                return self.after(body, taken)
            case Repeat(body, least):
                after = self.after(body, taken)
                if after > taken and node.most != 1:
                    after = self.after(body, after)
                return max(after, taken if least == 0 else 0)

    def _after_place(self, node: At, taken: int) -> int:
        match node.place:
            case Place.WORD_EDGE:
                if taken >= MAX_MARKS:
                    raise PatternRefused("has too many word boundaries", r"\b", node.position)
                self.most = max(self.most, taken + 1)
                return taken + 1
            case Place.TEXT_START | Place.LINE_START:
                if taken:
                    raise PatternRefused(
                        "has a word boundary before the start of the text", "^", node.position
                    )
                return 0
            case Place.LINE_END | Place.LAST_LINE_END | Place.TEXT_END:
                return MAX_MARKS  # it steps over all marks


def _judge_repeats(node: Node) -> None:
    match node:
        case One() | At():
            return
        case Repeat(body, _, most, _, position) if most != 1 and _may_be_empty(body):
            raise PatternRefused("repeats something that may be empty", "", position)
        case _:
            for child in children(node):
                _judge_repeats(child)
