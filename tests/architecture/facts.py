"""Every fact in docs names a test that exists (`make lint`): python -m tests.architecture.facts"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.tree import ROOT

PAGES = (Path("docs/facts.md"), Path("docs/first-ten-minutes.md"))
_NODE_ID = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[[^`]*\])?`")


@cache
def _tests_of(file: Path) -> frozenset[str]:
    if not file.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(file.read_text()))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(one.name for one in functions if one.name.startswith("test_"))


def problems(page: str, root: Path = ROOT, name: Path = PAGES[0]) -> Iterator[str]:
    """A line for each fact without a test, and for each test that pytest would not collect."""
    facts, pictures = 0, False
    for number, line in enumerate(page.splitlines(), 1):
        pictures = line.startswith("| Before |") or (pictures and line.startswith("|"))
        if pictures or not line.startswith("| ") or line.startswith(("| Fact", "|---", "| ---")):
            continue
        facts += 1
        named = _NODE_ID.findall(line)
        if not named:
            yield f"{name}:{number}: no test is named: {line[:60]}"
        for file, test in named:
            if test not in _tests_of(root / file):
                yield f"{name}:{number}: there is no {file}::{test}"
    if not facts:
        yield f"{name}: no facts"


def main() -> int:
    """Print the problems; 1 if there are any."""
    found = [told for page in PAGES for told in problems((ROOT / page).read_text(), name=page)]
    print("\n".join(found) or "facts: each has its test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
