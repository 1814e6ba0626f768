"""The table of log events in the operating page names every event the product logs, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.test_statements import names, rows
from tests.tree import ROOT

PAGE = Path("docs/operating.md")
LEVELS = {"debug", "info", "warning", "error", "exception", "log"}
NAME = re.compile(r"[a-z_]+\.[a-z_]+")
FIELD = re.compile(r"(\w+)=%")


def messages() -> Iterator[tuple[str, str, str]]:
    """Yield the place, level and message of each call of a module's logger."""
    for package in ("core", "channels", "bot"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.Call(ast.Attribute(ast.Name(name), level), arguments) if (
                        name.strip("_") in {"logger", "log"} and level in LEVELS
                    ):
                        message = arguments[1 if level == "log" else 0]
                        assert isinstance(message, ast.Constant), f"{file}:{node.lineno}"
                        place = f"{file.relative_to(ROOT)}:{node.lineno}"
                        yield place, "error" if level == "exception" else level, str(message.value)
                    case _:
                        pass


def test_each_message_begins_with_a_stable_name() -> None:
    unnamed = [(place, message) for place, _, message in messages() if not NAME.match(message)]
    assert not unnamed


def test_the_table_lists_each_event_with_its_levels_and_fields() -> None:
    found = dict[str, tuple[set[str], set[str]]]()
    for _, level, message in messages():
        levels, fields = found.setdefault(message.split(" ", 1)[0], (set(), set()))
        levels |= {"info", "warning"} if level == "log" else {level}
        fields |= set(FIELD.findall(message))
    told = {
        "".join(names(row["event"])): (names(row["levels"]), names(row["fields"]))
        for row in rows(PAGE, "event")
    }
    assert told == found
    assert len(told) == len(rows(PAGE, "event")), "an event has two rows"


def test_the_table_says_what_each_event_means() -> None:
    unexplained = [row["event"] for row in rows(PAGE, "event") if not re.search(r"\w{3}", row["meaning"])]
    assert not unexplained
