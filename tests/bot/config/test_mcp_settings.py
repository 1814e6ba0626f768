"""`[mcp.NAME]`: what is refused, with advice; and what doctor says of servers while no hub runs."""

from pathlib import Path

import pytest

from bot.config.load import Loaded, load
from bot.mcp.build import KnownTools, name_known_tools
from bot.ops.doctor import servers_configured
from bot.runtime import ConfigError
from core.tools.mcp.catalog import Listed
from core.tools.registry import ToolRegistry


def loaded(directory: Path, text: str) -> Loaded:
    (directory / "hubbub.toml").write_text(text)
    return load(directory / "hubbub.toml", environ={"PATH": "/usr/bin:/bin", "KEY": "k"})


@pytest.mark.parametrize(
    "text,problem",
    [
        ("[mcp.a]\n", "mcp.a.command: a server has either command or url"),
        (
            '[mcp.a]\ncommand = ["x"]\nurl = "http://x/"\n',
            "mcp.a.command: a server has either command or url",
        ),
        ('[mcp.a]\ncommand = [""]\n', "mcp.a.command: does not start with a program"),
        ('[mcp.a]\nurl = "http://x/"\nenv = { A = "b" }\n', "mcp.a.env: is only for servers with a command"),
        (
            '[mcp.a]\ncommand = ["x"]\nheaders = { A = "b" }\n',
            "mcp.a.headers: is only for servers with a url",
        ),
        ('[mcp.a]\nurl = "x"\n', "is not a web address"),
        ('[mcp.a]\ncommand = ["x"]\nusers = ["milan"]\n', 'mcp.a.users[0]: "milan" is not a user ID'),
        ('[mcp.a__b]\ncommand = ["x"]\n', "is not a valid name"),
        (f'[mcp.{"a" * 25}]\ncommand = ["x"]\n', "is too long for a server"),
        (
            '[mcp.a-b]\ncommand = ["x"]\n[mcp.a_b]\ncommand = ["x"]\n',
            "differs from mcp.a-b only in - and _",
        ),
        ('[mcp.a]\ncommand = ["x"]\n[mcp.a.tools."getIssue"]\n', "is not a tool name"),
        ("[mcp.a]\ncommand = ['x', \"y\\u0000\"]", "mcp.a.command: contains a NUL character"),
        ("[mcp.a]\ncommand = ['x']\nenv = { 'A-B' = 'c' }", "mcp.a.env.A-B: is not a variable name"),
        (
            "[mcp.a]\nurl = 'https://m.example'\nheaders = { 'X Y' = 'c' }",
            'mcp.a.headers."X Y": is not a header name',
        ),
        ("[mcp.a]\nurl = 'https://m.example'\nclient_secret = 'c'", "mcp.a.client_secret: needs client_id"),
        ("[mcp.a]\nurl = 'https://m.example'\nscopes = ['a b']", 'mcp.a.scopes[0]: "a b" is not a scope'),
        ('[mcp.a]\ncommand = ["x"]\n[mcp.a.tools.t]\neffect = "some"\n', "is not one of the choices"),
    ],
)
def test_impossible_values_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, text)
    assert problem in str(refused.value)


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    config = loaded(tmp_path, '[mcp.a]\ncommand = ["x", ""]\nenv = { TOKEN = "env:KEY" }\n').config
    assert config.mcp["a"].env["TOKEN"].get_secret_value() == "k"
    assert "'k'" not in repr(config.mcp)


def test_doctor_looks_for_the_program_and_starts_nothing(tmp_path: Path) -> None:
    text = '[mcp.a]\ncommand = ["sh"]\n[mcp.b]\ncommand = ["no-such"]\n[mcp.c]\nurl = "http://127.0.0.1:9/"\n'
    found = {one.what: (one.health.value, one.message) for one in servers_configured(loaded(tmp_path, text))}
    assert found["mcp a"][0] == "fine"
    assert found["mcp b"] == ("broken", "there is no program no-such on PATH")
    assert found["mcp c"] == ("fine", "not checked; connected when the hub runs")


def test_remembered_tools_are_those_of_the_same_command_and_address(tmp_path: Path) -> None:
    listed = [Listed("note", "Takes a note.", {"type": "object"})]
    KnownTools(tmp_path, "a", ["x", ""]).save(listed)
    assert list(KnownTools(tmp_path, "a", ["x", ""]).load()) == listed
    for name, of in (("a", ["y", ""]), ("a", ["", "https://m.example"]), ("b", ["x", ""])):
        assert list(KnownTools(tmp_path, name, of).load()) == []
    assert (tmp_path / "mcp" / "a.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("place, known", [("x", True), ("y", False)])
def test_a_changed_command_offers_nothing_of_what_the_last_one_had(
    tmp_path: Path, place: str, *, known: bool
) -> None:
    config = loaded(tmp_path, f'[mcp.a]\ncommand = ["{place}"]\n')
    listed = [Listed("note", "Takes a note.", {"type": "object"})]
    KnownTools(config.config.hub.data_dir, "a", ["x", ""]).save(listed)
    registry = ToolRegistry(())
    name_known_tools(config, registry)
    assert ("a__note" in registry.names) is known
