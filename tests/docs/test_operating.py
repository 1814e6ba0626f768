"""The page for operators: its unit starts what there is, and its tables name what the hub says."""

import configparser
from pathlib import Path

from bot.cli.commands import app
from bot.runtime import USAGE
from channels.manager import Phase
from tests.docs.reading import code
from tests.docs.test_statements import rows

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


def test_every_state_of_a_channel_is_explained() -> None:
    assert [row["state"].strip("`") for row in rows(PAGE, "state")] == [phase.value for phase in Phase]


def test_every_level_of_the_log_is_explained() -> None:
    levels = [row["level"].strip("`") for row in rows(PAGE, "level")]
    assert levels == ["error", "warning", "info", "debug"]
