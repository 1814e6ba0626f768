"""SQLite and PostgreSQL both read the store's statements; what is SQLite's own stays in its directory."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.test_text import findings, texts
from tests.tree import ROOT

SQLITE = Path("core/store/sqlite")
IMPORTS = re.compile(r"^\s*(?:import|from)\s+(?:aio)?sqlite3?\b")
MOST_UNITS = 12
"""Of a facet of the store."""
STATEMENT = re.compile(r"^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b")
# What differs, and a statement that has it: core/store/units.py.
FOREIGN = {
    "iif": (r"\biif\(", "SELECT iif(a, 1, 2)"),
    "scalar max and min": (r"\b(?:max|min)\([^()]*(?:\([^()]*\)[^()]*)*,", "UPDATE t SET a = max(0, b)"),
    "JSON functions": (r"\bjson_\w+\(", "SELECT json_array_length(a)"),
    "IS with a value": (r"\bIS (?:NOT )?\?", "SELECT 1 FROM t WHERE a IS ?"),
    "no LIMIT": (r"\bLIMIT -1\b", "SELECT 1 LIMIT -1"),
    "own functions": (
        r"\b(?:instr|zeroblob|last_insert_rowid|julianday|strftime|ifnull)\(",
        "SELECT instr(a, b)",
    ),
    "rowid": (r"\b(?:rowid|MATCH|PRAGMA|GLOB|INDEXED BY)\b", "SELECT rowid FROM t"),
    "upsert by word": (r"\bINSERT OR\b|\bREPLACE INTO\b", "INSERT OR IGNORE INTO t VALUES (1)"),
    "conflict without target": (
        r"\bON CONFLICT DO UPDATE\b",
        "INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 1",
    ),
    "LIKE, which ignores case in one alone": (r"\bLIKE (?!lower\()", "SELECT 1 WHERE a LIKE ?"),
    "both kinds of parameters": (r"\?\d(?s:.*)\?(?!\d)|\?(?!\d)(?s:.*)\?\d", "SELECT ?1, ?"),
}


@cache
def statements() -> tuple[tuple[str, str], ...]:
    """Each text of the product that begins as a statement, outside SQLite's own directory, and its place."""
    return tuple(_statements())


def _statements() -> Iterator[tuple[str, str]]:
    for path in texts("core", "channels", "bot", suffixes=(".py",)):
        if SQLITE in path.parents:
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            said = _text(node)
            if STATEMENT.match(said):
                yield f"{path}:{getattr(node, 'lineno', 0)}", said


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "x" for part in parts)
        case _:
            return ""


@pytest.mark.parametrize("construct", FOREIGN)
def test_no_statement_uses_syntax_of_one_database_only(construct: str) -> None:
    pattern, example = FOREIGN[construct]
    found = re.compile(pattern)
    assert found.search(example)
    every = statements()
    assert len(every) > 250
    assert [f"{place}: {text}" for place, text in every if found.search(text)] == []


def test_only_the_sqlite_store_imports_sqlite() -> None:
    product = texts("core", "channels", "bot", suffixes=(".py",))
    assert findings(IMPORTS, [path for path in product if SQLITE not in path.parents]) == []
    assert findings(IMPORTS, [path for path in product if SQLITE in path.parents])


def units_of_facets() -> dict[str, int]:
    """The number of units by facet, of the store and of the outbox; what it is made of counts by itself."""
    return {
        node.name: sum(isinstance(one, ast.AsyncFunctionDef) for one in node.body)
        for file in [*(ROOT / "core/store").glob("*.py"), ROOT / "core/ports.py"]
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and "Protocol" in {ast.unparse(base) for base in node.bases}
    }


def test_no_facet_has_more_than_twelve_units() -> None:
    found = units_of_facets()
    assert {"Turns", "Outbox", "Jobs", "ContainerJobs"} <= found.keys()
    assert {name: units for name, units in found.items() if units > MOST_UNITS} == {}
