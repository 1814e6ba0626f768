"""How many calls a second are judged: `decide()` as chats and runs without a person ask it.

    python -m benchmarks.decide [--calls 200000] [--json FILE]

Each figure is the best of five rounds, in calls per second of CPU time, of one kind of call. Exits 1 where
one is below 100,000.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from core.approvals import AdminPolicy, Preset
from core.consent.decide import decide
from core.consent.rules import (
    Autonomous,
    CallFacts,
    Interactive,
    Mode,
    Policy,
    RolePolicy,
    ScopeGrant,
    ToolFacts,
)
from core.gates import Grant, GrantScope
from core.tool import Data, Requirement, Risk
from core.users import Principal, Role

GATE_PER_S = 100_000
ROUNDS = 5
OWNER = Principal("owner", Role.OWNER, "Olivia")
MEMBER = Principal("member", Role.MEMBER, "Mia")
TOOLS = tuple(f"tool_{number}" for number in range(20))
POLICY = Policy(
    preset=Preset.WHITELIST,
    whitelist=frozenset(TOOLS),
    roles=RolePolicy(member=(*TOOLS, "memory_*")),
    admin=AdminPolicy(disabled=frozenset({"gone"}), disabled_for={"member": frozenset({"lost"})}),
)
SCOPE = frozenset({*TOOLS, "shell"})
GIVEN = tuple(
    Grant(f"g{number}", "owner", "shell", f"git {number}", GrantScope.USER, None, "owner", 0)
    for number in range(10)
)
PLAIN = ToolFacts("tool_19", Requirement.NEVER, Data.OWN)
SHELL = ToolFacts("shell", Requirement.ASK, Data.SHARED, rated=True)

CASES: dict[str, tuple[CallFacts, Principal, Mode]] = {
    "listed tool, owner": (CallFacts(PLAIN, "t", 1), OWNER, Interactive()),
    "listed tool, member": (CallFacts(PLAIN, "t", 1), MEMBER, Interactive()),
    "tenth of ten grants fits": (
        CallFacts(SHELL, "t", 1, risk=Risk(Requirement.ASK, "git 9"), grants=GIVEN),
        OWNER,
        Interactive(),
    ),
    "none of ten grants fits": (
        CallFacts(SHELL, "t", 1, risk=Risk(Requirement.ASK, "rm x"), grants=GIVEN),
        OWNER,
        Interactive(),
    ),
    "without a person, three scopes": (
        CallFacts(SHELL, "t", 1, risk=Risk(Requirement.ALWAYS_ASK, "rm x")),
        OWNER,
        Autonomous((SCOPE, SCOPE, SCOPE), (ScopeGrant("shell", "rm *"),)),
    ),
    "not in the role": (CallFacts(SHELL, "t", 1), MEMBER, Interactive()),
}


def measured(call: CallFacts, principal: Principal, mode: Mode, calls: int) -> float:
    """Calls per second of CPU time."""
    best_s = float("inf")
    for _ in range(ROUNDS):
        started_s = time.process_time()
        for _ in range(calls):
            decide(call, principal, mode, POLICY)
        best_s = min(best_s, time.process_time() - started_s)
    return calls / best_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge by the gate."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.decide", description="How many calls a second are judged."
    )
    parser.add_argument("--calls", type=int, default=200_000, help="in each of five rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args(arguments)
    figures = {name: measured(*case, options.calls) for name, case in CASES.items()}
    for name, per_s in figures.items():
        print(f"{name:<32} {per_s:>12,.0f} calls/s")
    if options.json is not None:
        page = {
            "gate_per_s": GATE_PER_S,
            "calls_per_s": {name: round(value) for name, value in figures.items()},
        }
        options.json.write_text(json.dumps(page, indent=2) + "\n")
    return 0 if min(figures.values()) >= GATE_PER_S else 1


if __name__ == "__main__":
    sys.exit(main())
