"""The texts a message must contain for a pattern to match: they find candidates among thousands of patterns.

Texts and messages are compared folded: characters that differ by case alone become the same, and what stands
next to one another stays so. What a literal text of the pattern becomes is thus part of what the message
becomes; more may be part of it, which the pattern itself then decides.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from core.routines.characters import Characters
from core.routines.pattern_nodes import At, Chain, Either, Group, Node, One, Repeat

MAX_ALTERNATIVES = 16
"""A pattern that would need more is found by a shorter part of it, or asked every time."""
MAX_SETS = 4
GOOD_LENGTH = 4
"""In bytes; a longer text finds hardly better."""

Texts = frozenset[str]
_NOTHING: Texts = frozenset({""})


def folded(text: str) -> str:
    """Character by character: lower case, and one form for what `re` takes for the same when it ignores case;
    the dot above, which belongs to a folded İ, goes."""
    if text.isascii():
        return text.lower()
    return text.casefold().replace("\u0307", "").replace("ı", "i")


def needed(node: Node) -> tuple[Texts, ...]:
    """Sets of folded texts: every match contains a text of each set. The set that says most comes first."""
    found = _facts(node)
    return tuple(sorted(found.sets, key=_worth, reverse=True))[:MAX_SETS]


@dataclass(frozen=True, slots=True)
class _Facts:
    """`whole`: all texts the node can match, if they are few; `needs`: sets as `needed` gives them."""

    whole: Texts | None
    needs: tuple[Texts, ...] = ()

    @property
    def sets(self) -> tuple[Texts, ...]:
        """All that is known, where it says anything."""
        whole = () if self.whole is None or "" in self.whole else (self.whole,)
        return (*whole, *self.needs)


def _facts(node: Node) -> _Facts:
    match node:
        case One(characters):
            return _Facts(_few(characters))
        case At():
            return _Facts(_NOTHING)
        case Group(_, body):
            return _facts(body)
        case Either(options):
            return _either([_facts(option) for option in options])
        case Chain(parts):
            return _chain([_facts(part) for part in parts])
        case Repeat():
            return _repeat(node)


@lru_cache(maxsize=1024)
def _few(characters: Characters) -> Texts | None:
    size = sum(high - low + 1 for low, high in characters.ranges)
    if characters.kinds or characters.negated or not 0 < size <= MAX_ALTERNATIVES:
        return None
    return frozenset(folded(chr(code)) for low, high in characters.ranges for code in range(low, high + 1))


def _either(options: list[_Facts]) -> _Facts:
    wholes = [option.whole for option in options]
    whole = frozenset[str]().union(*(texts for texts in wholes if texts is not None))
    if None not in wholes and len(whole) <= MAX_ALTERNATIVES:
        return _Facts(whole)
    best = [max(option.sets, key=_worth, default=None) for option in options]
    together = frozenset[str]().union(*(texts for texts in best if texts is not None))
    return _Facts(None, (together,) if None not in best and len(together) <= MAX_ALTERNATIVES else ())


def _chain(parts: list[_Facts]) -> _Facts:
    """Joins what follows one another until that becomes too much."""
    needs: list[Texts] = []
    run = _NOTHING
    unbroken = True
    for part in parts:
        joined = None if part.whole is None else _joined(run, part.whole)
        if joined is not None:
            run = joined
            continue
        unbroken = False
        needs += [run, *part.needs]
        run = part.whole or _NOTHING
    if unbroken:
        return _Facts(run)
    return _Facts(None, tuple(texts for texts in (*needs, run) if "" not in texts))


def _joined(first: Texts, second: Texts) -> Texts | None:
    if len(first) * len(second) > MAX_ALTERNATIVES:
        return None
    return frozenset(one + other for one, other in product(first, second))


def _repeat(node: Repeat) -> _Facts:
    body = _facts(node.body)
    if node.least == 0:
        optional = node.most == 1 and body.whole is not None and len(body.whole) < MAX_ALTERNATIVES
        return _Facts(_NOTHING | (body.whole or frozenset()) if optional else None)
    if node.most == node.least == 1:
        return body
    return _Facts(None, body.sets)


def _worth(texts: Texts) -> tuple[int, int, int]:
    """The shortest text decides; of equals, fewer texts say more."""
    shortest = min(len(text.encode("utf-8", "replace")) for text in texts)
    return min(shortest, GOOD_LENGTH), -len(texts), shortest
