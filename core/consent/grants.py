"""Whether something a person agreed to once and for all covers a call.

Patterns: a tool that rates its arguments names each call by a pattern (see `core.tool.Risk`), and
a grant's pattern is one of
- the same text: covers calls named exactly so;
- `git *`: covers `git` and every name that begins with `git` and a space;
- `*`: covers every call of the tool, also those without a name;
- None: the whole tool, where arguments carry no risk; it never covers a call of a tool that rates them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from core.prompts import Grant, GrantScope

ANY = "*"
_ANYTHING_AFTER = " *"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call, as grants see it. `rated`: its tool rates arguments; `pattern`: the call's name then."""

    tool: str
    rated: bool
    pattern: str | None
    user_id: str
    thread_id: str


def granted(grants: Iterable[Grant], wanted: Wanted, now: int) -> bool:
    """Whether any of the grants covers the call at `now` (microseconds UTC)."""
    for grant in grants:  # noqa: SIM110 — judged for every call: a generator would double its time
        if covers(grant, wanted, now):
            return True
    return False


def covers(grant: Grant, wanted: Wanted, now: int) -> bool:
    """Whether one grant covers the call: same person, same tool, in scope, not expired, pattern fits."""
    return (
        grant.tool == wanted.tool
        and pattern_fits(grant.pattern, wanted.pattern, rated=wanted.rated)
        and grant.user_id == wanted.user_id
        and (grant.scope is GrantScope.USER or grant.thread_id == wanted.thread_id)
        and (grant.expires_at is None or now < grant.expires_at)
    )


def pattern_fits(pattern: str | None, name: str | None, *, rated: bool) -> bool:
    """Whether a grant's pattern covers a call of that name; see the module's text."""
    if pattern is None:
        return not rated
    if pattern == ANY:
        return True
    if name is None:
        return False
    if pattern.endswith(_ANYTHING_AFTER):
        beginning = pattern[: -len(_ANYTHING_AFTER)]
        return name == beginning or name.startswith(f"{beginning} ")
    return name == pattern
