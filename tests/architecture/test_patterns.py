"""No pattern of Python's `re` meets a text from outside, unless it stands in `patterns.toml` with the reason
why it is linear there or what bounds the text. RE2 (`core/safety/linear_patterns.py`) needs no reason."""

import ast
import importlib
import re
import time
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.tree import ROOT, project_files

BACKTRACKING = frozenset({"re", "regex", "sre_compile", "fnmatch", "glob", "textwrap"})
"""Modules that look through a text by trying again; some of them use `re` inside."""
ALLOWED: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (ROOT / "tests/architecture/patterns.toml").read_text()
)
COMPILED = [
    (module, name)
    for module, names in ALLOWED.items()
    if module.endswith(".py")
    for name in names
    if name.isupper() and "." not in name
]
TRIED_CHARS = 10_000
MAX_COST_S = 0.1
"""For so many characters; what is linear takes a hundredth of it. What grows with the square takes longer."""


def product() -> Iterator[Path]:
    for path in project_files():
        if path.parts[0] in {"bot", "channels", "core"} and path.suffix == ".py":
            yield path


def uses(tree: ast.AST, within: str = "") -> Iterator[str]:
    """The names under which a module's patterns are compiled or used: of a constant, a function, a method."""
    for node in ast.iter_child_nodes(tree):
        name = within
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                name = f"{within}.{node.name}".lstrip(".")
            case ast.Assign(targets=[ast.Name(target), *_]) | ast.AnnAssign(target=ast.Name(target)):
                name = within or target
            case ast.Call(func=ast.Attribute(value=ast.Name(module))) if module in BACKTRACKING:
                yield within
            case _:
                pass
        yield from uses(node, name)


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each import of such a module, and what is taken out of it."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from ((one.name, one.asname or "") for one in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((module, one.name) for one in names)
            case _:
                pass


def found_in(path: Path) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    taken = {name for module, name in imports(tree) if module in BACKTRACKING and name}
    return {*uses(tree), *taken}


def listed_for(path: Path) -> Mapping[str, str] | None:
    """The entry of a module, or of the directory it is in."""
    places = [str(path), *(f"{parent}/" for parent in path.parents)]
    return next((ALLOWED[place] for place in places if place in ALLOWED), None)


def test_every_pattern_that_is_not_re2_says_why_it_is_linear() -> None:
    unlisted: list[str] = []
    for path in product():
        found, listed = found_in(path), listed_for(path)
        if listed is not None and "*" in listed:
            continue
        unlisted += [f"{path}: {name}" for name in sorted(found - set(listed or ()))]
    assert unlisted == []


def test_every_listed_pattern_still_exists() -> None:
    gone: list[str] = []
    for place, listed in ALLOWED.items():
        assert all(len(reason) > 5 for reason in listed.values()), place
        if place.endswith("/"):
            gone += [] if (ROOT / place).is_dir() else [place]
        elif not (ROOT / place).exists():
            gone.append(place)
        elif "*" not in listed:
            gone += [f"{place}: {name}" for name in sorted(set(listed) - found_in(Path(place)))]
    assert gone == []


def test_the_collector_finds_patterns_and_imports() -> None:
    source = "import re\nfrom fnmatch import fnmatch\nA = re.compile('a')\n"
    source += "class B:\n  def c(self):\n    C = re.sub('a', 'b', 'c')\n"
    tree = ast.parse(source)
    assert set(uses(tree)) == {"A", "B.c"}
    assert ("fnmatch", "fnmatch") in set(imports(tree))


def attacks(pattern: str) -> Iterator[str]:
    """Texts that take a pattern of this wording long, if anything does: what it is made of, over and over,
    and then what it cannot go on with."""
    words = {word for word in re.findall(r"[A-Za-z0-9]+|[^A-Za-z0-9]", pattern) if len(word) < 20}
    for unit in {*words, " ", "\n", "a", "0", "a ", "a.", "a:", ": ", " \n", "= ", "é", "\x1b["}:
        text = unit * (TRIED_CHARS // len(unit))
        yield f"{text}\x00"
        yield f"every{text}\x00"


def asked_of(module: str, name: str) -> list[Callable[[re.Pattern[str], str], object]]:
    """Return what its module does with a pattern."""
    methods = {
        node.attr
        for node in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    ways: dict[str, Callable[[re.Pattern[str], str], object]] = {
        "match": lambda pattern, text: pattern.match(text),
        "fullmatch": lambda pattern, text: pattern.fullmatch(text),
        "search": lambda pattern, text: pattern.search(text),
        "sub": lambda pattern, text: pattern.sub("", text),
        "split": lambda pattern, text: pattern.split(text),
        "findall": lambda pattern, text: pattern.findall(text),
        "finditer": lambda pattern, text: deque(pattern.finditer(text), maxlen=0),
    }
    return [way for method, way in ways.items() if method in methods]


@pytest.mark.parametrize("module, name", COMPILED)
def test_listed_patterns_without_a_bound_are_linear(module: str, name: str) -> None:
    pattern = getattr(importlib.import_module(module.removesuffix(".py").replace("/", ".")), name)
    if "at most" in ALLOWED[module][name] or not isinstance(pattern, re.Pattern):
        return  # bounded by a door, which has a test of its own
    ways = asked_of(module, name)
    for text in attacks(pattern.pattern):
        for way in ways:
            begun_s = time.thread_time()
            way(pattern, text)
            cost_s = time.thread_time() - begun_s
            assert cost_s < MAX_COST_S, f"{text[:30]!r}… takes {cost_s:.2f} s"
