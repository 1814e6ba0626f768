"""Damaged configurations: whatever is in them, they load or are refused well."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config.schema import Config
from bot.runtime import ConfigError
from tests.bot.config.config_texts import SECRET, TOKEN, VARIABLES, WHOLE, load_text

pieces = st.sampled_from(
    [
        "[",
        "]",
        "[[",
        '"',
        "'",
        '"""',
        "=",
        ".",
        "#",
        "\n",
        ",",
        "{",
        "}",
        "\\",
        "\x00",
        "\ud7ff",
        "🚀",
        "env:X",
    ]
)

scalars = st.sampled_from(
    ["0", "-1", "99999999999999999999", "1e999", "nan", "true", '""', '"x"', "[]", "[[]]", "{}", '"env:GONE"',
     "2026-01-01", '"env:TELEGRAM_TOKEN"', "[1, 'a', {}]", "'" + "x" * 300 + "'"]
)  # fmt: skip

LINES = WHOLE.splitlines(keepends=True)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    lines: list[str] = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["drop", "double", "move", "piece", "value", "cut", "key"])):
            case "drop":
                lines[at] = ""
            case "double":
                lines[at] *= 2
            case "move":
                lines.insert(draw(st.integers(0, len(lines))), lines.pop(at))
            case "piece":
                column = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:column] + draw(pieces) + lines[at][column:]
            case "value":
                lines[at] = lines[at].partition("=")[0] + "= " + draw(scalars) + "\n"
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case _:
                lines[at] = draw(st.sampled_from(["x", "a.b", '"ü"', "models", "hub.owner"])) + lines[at]
    return "".join(lines)


def assert_loads_or_refuses_well(tmp_path: Path, text: str | bytes, environ: Mapping[str, str]) -> None:
    try:
        refused = None
        assert isinstance(load_text(tmp_path, text, environ).config, Config)
    except ConfigError as error:
        refused = error
    for line in refused.problems if refused else ():
        assert re.fullmatch(r"(hubbub\.toml(:\d+)?|HUBBUB__\w*): [^\n]+(; [^\n]+|\?)", line)
        assert TOKEN not in line
        assert SECRET not in line


@given(text=damaged())
def test_a_damaged_file_raises_only_config_errors(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    assert_loads_or_refuses_well(tmp_path_factory.getbasetemp(), text, VARIABLES)


@given(data=st.binary(max_size=200))
def test_random_bytes_raise_only_config_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    assert_loads_or_refuses_well(tmp_path_factory.getbasetemp(), data, VARIABLES)


sections = st.sampled_from(
    ["HTTP", "HUB", "MODELS", "CHANNELS", "TEAMS", "TELEGRAM", "0", "9", "PORT", "TOKEN", ""]
)


@given(
    names=st.lists(st.lists(sections, max_size=4).map("__".join), max_size=3),
    value=scalars
    | st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=9),
)
def test_random_overrides_raise_only_config_errors(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], value: str
) -> None:
    environ = VARIABLES | {f"HUBBUB__{name}": value for name in names}
    assert_loads_or_refuses_well(tmp_path_factory.getbasetemp(), WHOLE, environ)
