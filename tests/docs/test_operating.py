"""The page for operators: its unit starts what there is, and its tables name what the hub says."""

import ast
import configparser
from collections.abc import Iterator
from pathlib import Path

from bot.cli.commands import app
from bot.runtime import USAGE
from channels.manager import Phase
from tests.docs.reading import code
from tests.docs.test_statements import rows
from tests.tree import ROOT

PAGE = Path("docs/operating.md")


def test_the_unit_names_commands_that_are_there() -> None:
    (written,) = [written for language, written in code(PAGE) if language == "ini"]
    unit = configparser.ConfigParser()
    unit.read_string(written.text)
    service = unit["Service"]
    config = next(group.typer_instance for group in app.registered_groups if group.name == "config")
    assert config is not None
    assert service["ExecStart"] == f"{service['WorkingDirectory']}/.venv/bin/hubbub run"
    assert service["ExecReload"].endswith(" config reload")
    assert "reload" in {command.name for command in config.registered_commands}
    assert int(service["RestartPreventExitStatus"]) == USAGE


def timers() -> Iterator[str]:
    """Yield the name of each timer that the product sets."""
    for package in ("core", "channels", "bot"):
        for file in sorted((ROOT / package).rglob("*.py")):
            constants = dict[str, ast.expr]()
            for node in ast.walk(tree := ast.parse(file.read_text())):
                match node:
                    case ast.Assign([ast.Name(name)], value):
                        constants[name] = value
                    case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                        constants |= dict(zip(map(ast.unparse, names), values, strict=True))
                    case _:
                        pass
            for node in ast.walk(tree):
                match node:
                    case ast.Call(ast.Attribute(setter, "every" | "at"), [name, _, _]) if ast.unparse(
                        setter
                    ).endswith("timers"):
                        yield str(ast.literal_eval(constants.get(ast.unparse(name), name)))
                    case _:
                        pass


def test_the_table_lists_each_timer_once() -> None:
    assert sorted(row["timer"].strip("`") for row in rows(PAGE, "timer")) == sorted(set(timers()))


def test_every_state_of_a_channel_is_explained() -> None:
    assert [row["state"].strip("`") for row in rows(PAGE, "state")] == [phase.value for phase in Phase]


def test_every_level_of_the_log_is_explained() -> None:
    levels = [row["level"].strip("`") for row in rows(PAGE, "level")]
    assert levels == ["error", "warning", "info", "debug"]
