"""The house in figures, held at their limits by `make lint`: python -m tests.architecture.house

A figure without a limit is printed only.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.tree import ROOT

PACKAGES = ("bot", "channels", "core")
JUDGES_COMMAND_LINES = Path("core/safety/shell")
"""The less code decides what a line may do, the better it can be read: its table is data."""
FEW_LINES = 15
"""An `__init__.py` shorter than this is no module to read."""
GERUNDS_OF_THE_FIELD = frozenset(
    [
        "rendering",
        "polling",
        "pairing",
        "chunking",
        "matching",
        "routing",
        "logging",
        "settings",
        "streaming",
        "planning",
        "scheduling",
        "fencing",
        "binding",
    ]
)
LIMITS = {
    "modules": 330,
    "largest_module_lines": 450,
    "imported_by_one_percent": 20,
    "imports_inside_functions": 40,
    "gerund_modules": 8,
    "docstrings_that_open_relative_percent": 2,
    "docstrings_that_refer_elsewhere": 0,
    "function_docstrings_without_a_verb_percent": 2,
    "stock_phrases_per_10k_words": 15,
    "modules_at_the_top_of_bot": 12,
    "lines_that_judge_command_lines": 900,
}
_OPENS_RELATIVE = re.compile(
    r"\W*(what|who|whom|whose|whether|where|why|how|when|whoever|which)\b", re.IGNORECASE
)
_OPENS_WITHOUT_VERB = re.compile(
    r"\W*(the|a|an|it|its|this|that|these|those|they|their|such|same|one|another|other|nothing|nobody|no|none"
    r"|any|anybody|all|each|every|everything|everybody|both|some|somebody|something|there|to|of|as|at|in|on|by|for|from"
    r"|with|without|within|before|after|behind|until|while|if|so|never|only|raises|asgi)\b",
    re.IGNORECASE,
)
_STOCK_PHRASES = re.compile(
    r"\bso (?:many|much|long|few)\b|\bwhoever\b|\bwhat (?:is|was|are|were|has|had)\b"
    r"|\bthose (?:who|that|whom)\b|\bof its own\b|\b(?:is|are|was|were) told\b|\bgoes? (?:on|out)\b"
    r"|\blooked at\b|\bnobody\b|\banybody\b|\banew\b|\bcomes? to\b|\bbeside\b|\bmeanwhile\b"
)


@dataclass(frozen=True, slots=True)
class Module:
    """A file of the product. `name`: dotted; `path`: from the root of the tree."""

    name: str
    path: Path
    tree: ast.Module
    lines: int


@dataclass(frozen=True, slots=True)
class Import:
    """`module` imports `of`, both by their dotted names, in line `line`."""

    module: str
    of: str
    line: int
    in_function: bool


def modules_of(root: Path = ROOT) -> Mapping[str, Module]:
    """Return the modules by name."""
    found: dict[str, Module] = {}
    for path in sorted(file for package in PACKAGES for file in (root / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        inside = path.relative_to(root)
        parts = inside.with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        if not is_package or text.count("\n") >= FEW_LINES:
            found[name] = Module(name, inside, ast.parse(text), text.count("\n"))
    return found


def imports_of(modules: Mapping[str, Module]) -> Iterator[Import]:
    """Yield every import of one of the modules by another one, also those that only types need."""
    for module in modules.values():
        for node, in_function in _statements(module.tree, in_function=False):
            base = node.module or ""
            for alias in node.names:
                of = next((name for name in (f"{base}.{alias.name}", base) if name in modules), None)
                if of is not None and of != module.name:
                    yield Import(module.name, of, node.lineno, in_function)


def _statements(node: ast.AST, *, in_function: bool) -> Iterator[tuple[ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield child, in_function
        else:
            within = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _statements(child, in_function=in_function or within)


def figures(root: Path = ROOT) -> Mapping[str, float]:
    """Return all figures by name."""
    modules = modules_of(root)
    importers: defaultdict[str, set[str]] = defaultdict(set)
    inside: set[tuple[str, int]] = set()
    for found in imports_of(modules):
        importers[found.of].add(found.module)
        if found.in_function:
            inside.add((found.module, found.line))
    prose = [doc for module in modules.values() for doc in _docstrings(module.tree)]
    of_functions = [doc for module in modules.values() for doc in _of_functions(module.tree)]
    words = sum(len(doc.split()) for doc in prose)
    sizes = sorted(module.lines for module in modules.values())
    return {
        "modules": len(modules),
        "lines": sum(sizes),
        "median_module_lines": sizes[len(sizes) // 2],
        "largest_module_lines": sizes[-1],
        "imported_by_one_percent": 100 * sum(len(those) == 1 for those in importers.values()) / len(modules),
        "imports_inside_functions": len(inside),
        "gerund_modules": len(gerunds(modules)),
        "modules_at_the_top_of_bot": sum(module.path.parent == Path("bot") for module in modules.values()),
        "lines_that_judge_command_lines": sum(
            module.lines for module in modules.values() if module.path.is_relative_to(JUDGES_COMMAND_LINES)
        ),
        "docstrings_that_open_relative_percent": 100
        * sum(_OPENS_RELATIVE.match(doc) is not None for doc in prose)
        / len(prose),
        "docstrings_that_refer_elsewhere": sum(doc.startswith("See ") for doc in prose),
        "function_docstrings_without_a_verb_percent": 100
        * sum(_OPENS_WITHOUT_VERB.match(doc) is not None for doc in of_functions)
        / max(len(of_functions), 1),
        "stock_phrases_per_10k_words": 10_000
        * sum(len(_STOCK_PHRASES.findall(doc.lower())) for doc in prose)
        / words,
    }


def gerunds(modules: Mapping[str, Module]) -> Sequence[str]:
    """Return the modules whose name is a gerund that the field does not use."""
    last = {name: name.rpartition(".")[2] for name in modules}
    return sorted(
        name
        for name, word in last.items()
        if word.endswith("ing") and word.rpartition("_")[2] not in GERUNDS_OF_THE_FIELD
    )


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of modules, classes, functions and, below their assignment, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if doc := ast.get_docstring(node):
                yield doc
            for before, after in pairwise(node.body):
                match before, after:
                    case ast.Assign() | ast.AnnAssign(), ast.Expr(ast.Constant(str(doc))):
                        yield doc
                    case _:
                        pass


def _of_functions(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of functions. A property is described as the attribute it looks like."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            doc = ast.get_docstring(node)
            if doc and not decorators & {"property", "cached_property"}:
                yield doc


def main() -> int:
    """Print the figures; return 1 where one is over its limit."""
    over = False
    for name, value in figures().items():
        limit = LIMITS.get(name)
        missed = limit is not None and value > limit
        over |= missed
        told = "" if limit is None else f" (limit {limit})"
        print(f"{name}: {value:.4g}{told}{' MISSED' if missed else ''}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
