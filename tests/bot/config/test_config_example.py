"""config.example.toml names every option, and says of each exactly what the program does."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.config.document import KeyPath as Key
from bot.config.document import locate
from bot.config.load import load
from bot.config.schema import Config
from bot.config.sections import ChannelSection, McpServer, TelegramChannel
from bot.operator.settings import EXPLAINED

EXAMPLE = Path(__file__).parents[3] / "config.example.toml"
VARIABLES = {
    "TELEGRAM_TOKEN": "1:a",
    "TELEGRAM_WEBHOOK_SECRET": "s",
    "OPENAI_API_KEY": "k",
    "OPENAI_KEY_A": "a",
    "OPENAI_KEY_B": "b",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "HOOK_SECRET": "h",
    "SLACK_SIGNING_SECRET": "s",
    "DISCORD_TOKEN": "a.b.c",
    "GITHUB_TOKEN": "g",
    "MCP_AUTHORIZATION": "Bearer m",
    "MCP_CLIENT_SECRET": "s",
    "EXAMPLE_TOKEN": "t",
}
ALL_OPTIONS = re.sub(r"(?m)^#(?=[a-z\[])", "", EXAMPLE.read_text())


def fields(model: type[BaseModel], above: Key = ()) -> Iterator[tuple[Key, FieldInfo]]:
    """Every option with the key it has in the example."""
    examples: dict[str, Key] = {
        "teams": ("ops",),
        "models": (0,),
        "rules": (0,),
        "mcp": ("github",),
        "hooks": (0,),
    }
    if model is McpServer:
        examples["tools"] = ("get_issue",)
    for name, field in model.model_fields.items():
        annotation: Any = field.annotation
        if model is McpServer and name in ("url", "headers"):  # not beside a command
            yield ("mcp", "search", name), field
            continue
        if model is McpServer and name in ("client_id", "client_secret", "scopes"):
            yield ("mcp", "notes", name), field
            continue
        if name == "channels":
            for section in get_args(ChannelSection):
                platform = get_args(section.model_fields["platform"].annotation)[0]
                yield from fields(section, (name, platform))
            continue
        if get_origin(annotation) is Mapping and name in examples:
            annotation = get_args(annotation)[1]
        elif get_origin(annotation) is tuple and name in examples:
            annotation = get_args(annotation)[0]
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from fields(annotation, (*above, name, *examples.get(name, ())))
        else:
            yield (*above, name), field


OPTIONS = dict(fields(Config))


def written(key: Key) -> Any:
    value: Any = tomllib.loads(ALL_OPTIONS)
    for step in key:
        value = value[step]
    return value


def dumped(value: object) -> object:
    """A default as TOML would hold it."""
    match value:
        case Path():
            return f"./{value}"
        case tuple():
            return list(value)
        case _:
            return value


def test_the_unedited_example_gives_the_defaults(tmp_path: Path) -> None:
    without = load(environ={}, cwd=tmp_path).config
    (tmp_path / "hubbub.toml").write_text(EXAMPLE.read_text())
    assert load(environ={}, cwd=tmp_path).config == without


def test_the_example_with_every_option_uncommented_is_valid(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text(ALL_OPTIONS)
    config = load(environ=VARIABLES, cwd=tmp_path).config
    telegram = config.channels["telegram"]
    assert isinstance(telegram, TelegramChannel)
    assert telegram.token.get_secret_value() == "1:a"
    assert config.models[0].provider == "openai"
    assert config.models[0].keys == ("k", "a", "b")
    assert config.approvals.model_copy(update={"rules": ()}) == Config().approvals


def test_the_example_names_exactly_the_existing_options() -> None:
    tables = {key[:length] for key in OPTIONS for length in range(1, len(key))}
    named = {key for key in locate(ALL_OPTIONS) if key not in tables}
    inside = {key for key in named if any(key[:length] in OPTIONS for length in range(1, len(key)))}
    assert named - inside - {("mcp", "notes", "url")} == set(OPTIONS)


@pytest.mark.parametrize("key", OPTIONS, ids=lambda key: ".".join(map(str, key)))
def test_each_value_in_the_example_is_the_default_or_the_documented_example(key: Key) -> None:
    field = OPTIONS[key]
    expected = field.examples if field.examples else [dumped(field.default)]
    assert written(key) in expected


@pytest.mark.parametrize("key", OPTIONS, ids=lambda key: ".".join(map(str, key)))
def test_exactly_the_options_that_need_a_restart_are_marked(key: Key) -> None:
    lines = ALL_OPTIONS.splitlines()
    extra = OPTIONS[key].json_schema_extra
    fixed = isinstance(extra, dict) and extra.get("restart") is True
    assert ("(restart)" in lines[locate(ALL_OPTIONS)[key] - 2]) == fixed


@pytest.mark.parametrize("key", EXPLAINED)
def test_the_console_explains_an_option_in_the_same_words(key: str) -> None:
    lines = ALL_OPTIONS.splitlines()[: locate(ALL_OPTIONS)[tuple(key.split("."))] - 1]
    above = [line.removeprefix("# ") for line in lines[_last_without(lines) :]]
    assert EXPLAINED[key][1] in " ".join(above)


def _last_without(lines: list[str]) -> int:
    """Return where the comment that ends the lines begins."""
    return max(place for place, line in enumerate(lines, start=1) if not line.startswith("# "))
