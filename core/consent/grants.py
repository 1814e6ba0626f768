"""Whether something a person agreed to once and for all covers a call.

Patterns: a tool that rates its arguments names what each call needs (see `core.tool.Risk`), and a grant's
pattern is one of
- the same text: covers what is named exactly so;
- the name of a row, where the need has one: covers all of that row;
- `git *`: covers `git` and every name that begins with `git` and a space;
- `*`: covers every call of the tool, also those without a name;
- None: the whole tool, where arguments carry no risk; it never covers a call of a tool that rates them.
A call with several needs is covered where each of them is. A need marked `exactly` is covered by its own name
alone, and by no pattern.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.prompts import Grant, GrantScope
from core.tool import Need, Risk

ANY = "*"
_ANYTHING_AFTER = " *"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call, as grants see it. `rated`: its tool rates arguments; `needs`: what it is called then, () for
    what has no name."""

    tool: str
    rated: bool
    needs: tuple[Need, ...]
    user_id: str
    thread_id: str


def granted(grants: Iterable[Grant], wanted: Wanted, now: int) -> bool:
    """Whether the grants together cover the call at `now` (microseconds UTC)."""
    patterns = [grant.pattern for grant in grants if holds(grant, wanted, now)]
    return bool(patterns) and covered(patterns, wanted.needs, rated=wanted.rated)


def holds(grant: Grant, wanted: Wanted, now: int) -> bool:
    """Whether a grant speaks of the call at all: same person, same tool, in scope, not expired."""
    return (
        grant.tool == wanted.tool
        and grant.user_id == wanted.user_id
        and (grant.scope is GrantScope.USER or grant.thread_id == wanted.thread_id)
        and (grant.expires_at is None or now < grant.expires_at)
    )


def covered(patterns: Sequence[str | None], needs: Sequence[Need], *, rated: bool) -> bool:
    """Whether each need is covered by one of the patterns; see the module's text."""
    if not rated:
        return None in patterns
    if not needs:
        return ANY in patterns
    return all(any(pattern_fits(pattern, need) for pattern in patterns) for need in needs)


def needs_of(risk: Risk | None) -> tuple[Need, ...]:
    """What a call's grants must cover."""
    if risk is None:
        return ()
    return risk.needs or (() if risk.pattern is None else (Need(risk.pattern),))


def pattern_fits(pattern: str | None, need: Need) -> bool:
    """Whether a grant's pattern covers the need of a call whose arguments carry risk."""
    if pattern is None:
        return False
    if need.exactly:
        return pattern == need.name
    if pattern in (ANY, need.name, need.row):
        return True
    if pattern.endswith(_ANYTHING_AFTER):
        beginning = pattern[: -len(_ANYTHING_AFTER)]
        return need.name == beginning or need.name.startswith(f"{beginning} ")
    return False
