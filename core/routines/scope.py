"""What a run may do, as it was fixed when it began."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from core.consent.facts import Autonomous, ScopeGrant
from core.routine import Lightweight


@dataclass(frozen=True, slots=True)
class Scope:
    """`tools`: all there are for it; `grants`: see core.routine.Lightweight; `rounds`: of calls."""

    tools: tuple[str, ...]
    grants: tuple[str, ...]
    rounds: int

    @property
    def mode(self) -> Autonomous:
        """What its calls are judged by."""
        pairs = (grant.partition(" ") for grant in self.grants)
        grants = tuple(ScopeGrant(tool, pattern) for tool, _, pattern in pairs)
        return Autonomous((frozenset(self.tools),), grants)


def scope_of(action: Lightweight) -> Scope:
    """What a routine's action gives its runs."""
    return Scope(action.allowed_tools, action.grants, action.max_tool_rounds)


def scope_to_json(scope: Scope) -> str:
    """As the store keeps it."""
    return json.dumps({"tools": scope.tools, "grants": scope.grants, "rounds": scope.rounds})


def scope_from_json(text: str) -> Scope:
    """Reads `scope_to_json`."""
    kept = cast("Mapping[str, list[str]]", json.loads(text))
    return Scope(tuple(kept["tools"]), tuple(kept["grants"]), int(cast("int", kept["rounds"])))
