"""Small faults in the rules of consent, one at a time; the tests must notice.

    python -m tests.mutation [--workers 2] [--slice I/N] [--json FILE]

Each mutant is one change of one expression (a comparison, `and`/`or`, `not`, a choice, a number, a truth
value) in one of MODULES; how values are declared (decorators) is no rule and stays. It is judged by TESTS in
a process of its own, forked from one that has everything else loaded. Killed: a test fails, or they do not
end in time. Exits 1 where fewer than 90 % are killed, or where one survives that EXPLAINED does not name.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.tree import ROOT

MODULES = ("core.consent.decide", "core.consent.presses", "core.consent.rules")
RULES_END = {"core.consent.presses": "class Decisions:"}
"""The line of a module with which something else than rules begins."""
TESTS = tuple(
    f"tests/core/{name}.py"
    for name in (
        "consent/test_matrix",
        "consent/test_voting",
        "consent/test_access",
        "consent/test_grants",
        "consent/test_decide",
        "consent/test_risk",
        "consent/test_autonomous",
        "consent/test_job_scope",
        "consent/test_needs",
        "consent/test_binding",
        "consent/test_rules",
        "consent/test_changed_calls",
        "consent/test_expired_votes",
        "tools/test_ask",
        "tools/test_pipeline",
        "tools/test_registry",
        "inbound/test_approval_commands",
        "inbound/test_answers",
    )
)
"""What notices most comes first."""
UNASKED = "tests/core/consent/test_decide.py::test_ten_thousand_calls_are_judged_in_seconds"
"""Measures time, which says nothing of a mutant."""
LIMIT_S = 60
"""Of the processor: how busy the machine is kills nobody."""
GATE = 0.9
_RANKS = "_ORDER = {Requirement.NEVER: 0, Requirement.ASK: 1, Requirement.ALWAYS_ASK: 2}"
_HIGHER = "_ORDER[call.risk.requirement] > _ORDER[requirement]"
_RAISED = f"if call.risk is not None and {_HIGHER}:"
_GIVEN = "grant.tool == tool.name and pattern_fits(grant.pattern, name, rated=True) for grant in mode.grants"
EXPLAINED = {
    f"core.consent.decide: {_RANKS} [2 -> 3]": "ranks are only compared: the order is the same",
    f"core.consent.decide: {_RAISED} [{_HIGHER} -> {_HIGHER.replace('>', '>=')}]": (
        "where both are equal, one takes the place of the other"
    ),
    'core.consent.decide: requirement = requirement_of(CallFacts(tool, "", 0), tool, policy) [0 -> 1]': (
        "the time matters to grants only, and the call that stands for all calls has none"
    ),
    f"core.consent.decide: {_GIVEN} [True -> False]": (
        "matters to a grant without a pattern only, and a run's grants always have one (ScopeGrant.pattern)"
    ),
}
"""Mutants no test can tell from the product, by their name, and why."""

_SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `name`: module, line as it was written, and what it became."""

    module: str
    name: str
    source: str


def mutants_of(module: str) -> Iterator[Mutant]:
    """Every change of a module."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    text = path.read_text()
    tree = ast.parse(text)
    lines = text.splitlines()
    declared = set(_decorations(tree))
    end = lines.index(RULES_END[module]) if module in RULES_END else len(lines)
    for number, node in enumerate(ast.walk(tree)):
        if number in declared or getattr(node, "lineno", 0) > end:
            continue
        for kind in range(2):
            if not isinstance(node, ast.expr) or not _change(copy.deepcopy(node), kind):
                continue
            changed = copy.deepcopy(tree)
            place = next(one for at, one in enumerate(ast.walk(changed)) if at == number)
            _change(place, kind)
            line = lines[node.lineno - 1].strip()
            name = f"{module}: {line} [{ast.unparse(node)} -> {ast.unparse(place)}]"
            yield Mutant(module, name, ast.unparse(changed))


def _decorations(tree: ast.Module) -> Iterator[int]:
    """Numbers of the nodes that only say how something is declared."""
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        for decorator in node.decorator_list
        for part in ast.walk(decorator)
    }
    return (number for number, node in enumerate(ast.walk(tree)) if id(node) in inside)


def _change(node: ast.AST, kind: int) -> bool:
    """Change the node in place in one of its ways; False if there is no such way."""
    match node:
        case ast.Compare(ops=[operator]) if kind == 0 and type(operator) in _SWAPS:
            node.ops = [_SWAPS[type(operator)]()]
        case ast.BoolOp(op=ast.And()) if kind == 0:
            node.op = ast.Or()
        case ast.BoolOp(op=ast.Or()) if kind == 0:
            node.op = ast.And()
        case ast.BoolOp(values=[_, *rest]) if kind == 1:
            node.values = [*rest, *rest] if len(rest) == 1 else rest
        case ast.UnaryOp(op=ast.Not(), operand=operand) if kind == 0:
            node.operand = ast.UnaryOp(ast.Not(), operand)
        case ast.IfExp() if kind == 0:
            node.body, node.orelse = node.orelse, node.body
        case ast.Constant(value=bool(value)) if kind == 0:
            node.value = not value
        case ast.Constant(value=int(value)) if kind == 0 and not isinstance(value, bool):
            node.value = value + 1
        case _:
            return False
    return True


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module as the mutant says."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.source, module.__name__, "exec"), module.__dict__)  # noqa: S102


def killed(pid: int, status: int) -> bool:
    """Return whether the tests noticed; anything but green is noticing."""
    return not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0)


def start(mutant: Mutant | None) -> int:
    """Judge a mutant (None: the product) in a new process; its id."""
    pid = os.fork()
    if pid:
        return pid
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Planted(mutant))
    code = pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--deselect", UNASKED, *TESTS]
    )
    os._exit(int(code))


def judge(mutants: Sequence[Mutant], workers: int) -> list[Mutant]:
    """Those that survive."""
    survivors: list[Mutant] = []
    running: dict[int, Mutant] = {}
    waiting = list(mutants)
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop(0)
            running[start(mutant)] = mutant
        pid, status = os.wait()
        mutant = running.pop(pid)
        if not killed(pid, status):
            survivors.append(mutant)
            print(f"survived: {mutant.name}", flush=True)
    return survivors


def main(arguments: Sequence[str] | None = None) -> int:
    """Make them, judge them, say how it went."""
    parser = argparse.ArgumentParser(prog="tests.mutation", description="Mutants of the rules of consent.")
    parser.add_argument("--workers", type=int, default=2, help="how many are judged side by side")
    parser.add_argument("--slice", default="1/1", metavar="I/N", help="every N-th, beginning with the I-th")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came of it there, too")
    options = parser.parse_args(arguments)
    index, _, count = options.slice.partition("/")
    os.chdir(ROOT)
    everything = [mutant for module in MODULES for mutant in mutants_of(module)]
    chosen = everything[int(index) - 1 :: int(count)]
    pid = start(None)
    if killed(*os.waitpid(pid, 0)):
        print("without a fault the tests are not green")
        return 1
    began_s = time.monotonic()
    survivors = judge(chosen, options.workers)
    share = 1 - len(survivors) / len(chosen)
    print(f"{len(chosen)} mutants, {len(survivors)} survived, {share:.1%} killed")
    unexplained = sorted({mutant.name for mutant in survivors} - EXPLAINED.keys())
    if options.json is not None:
        page = {
            "mutants": len(chosen),
            "killed": len(chosen) - len(survivors),
            "killed_share": round(share, 4),
            "by_module": {one: sum(1 for mutant in chosen if mutant.module == one) for one in MODULES},
            "survivors": {mutant.name: EXPLAINED.get(mutant.name, "unexplained") for mutant in survivors},
            "took_s": round(time.monotonic() - began_s),
        }
        options.json.write_text(json.dumps(page, indent=2) + "\n")
    enough = share >= GATE or len(chosen) < len(everything)  # a slice is too small for a share to mean much
    return 0 if enough and not unexplained else 1


if __name__ == "__main__":
    sys.exit(main())
