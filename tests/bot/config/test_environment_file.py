"""Variables in a file beside the configuration file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config.load import load
from bot.config.place import with_file, written
from bot.runtime import ConfigError


def read(tmp_path: Path, text: str, **environ: str) -> dict[str, str]:
    (tmp_path / "hubbub.env").write_text(text)
    return dict(with_file(environ, Path("hubbub.env"), tmp_path))


def test_variables_of_the_process_override_the_file(tmp_path: Path) -> None:
    text = '# a comment\n\nONE=1\nexport TWO=a b \nTHREE=\'x y\'\nFOUR="#4"\nFIVE=\nSIX=$ONE\nSEVEN="\n'
    assert read(tmp_path, text, ONE="mine") == {
        "ONE": "mine",
        "TWO": "a b",
        "THREE": "x y",
        "FOUR": "#4",
        "FIVE": "",
        "SIX": "$ONE",
        "SEVEN": '"',
    }


@pytest.mark.parametrize("line", ["secret-value", "A B=secret-value", "=secret-value", "1A=secret-value"])
def test_an_invalid_line_is_refused_by_number_and_not_shown(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, f"ONE=1\n{line}\n")
    assert str(refused.value) == "hubbub.env:2: not NAME=value; fix this line"


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "hubbub.env").write_bytes(b"A=\xff")
    with pytest.raises(ConfigError, match="save the file as UTF-8"):
        with_file({}, Path("hubbub.env"), tmp_path)


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
values = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r\n"), max_size=12)


@given(variables=st.dictionaries(names, values, max_size=4))
def test_written_values_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]
) -> None:
    assert read(tmp_path_factory.mktemp("e"), written(variables)) == variables


def test_a_value_of_several_lines_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="the value of A has more than one line"):
        written({"A": "1\n2"})


def test_the_environment_file_is_read_next_to_the_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "my.toml").write_text(
        '[[models]]\nprovider = "openai"\nmodel="m"\napi_key = "env:K"\n'
    )
    (tmp_path / "conf" / "my.env").write_text("K=from-the-file\nHUBBUB__HTTP__PORT=99\n")
    loaded = load(Path("conf/my.toml"), environ={}, cwd=tmp_path)
    assert loaded.config.models[0].api_key.get_secret_value() == "from-the-file"
    assert loaded.config.http.port == 99
    assert loaded.environment_file == tmp_path / "conf" / "my.env"
    over = load(Path("conf/my.toml"), environ={"K": "mine"}, cwd=tmp_path)
    assert over.config.models[0].api_key.get_secret_value() == "mine"


def test_without_an_environment_file_nothing_changes(tmp_path: Path) -> None:
    loaded = load(environ={"A": "1"}, cwd=tmp_path)
    assert (dict(loaded.environment), loaded.environment_file) == ({"A": "1"}, None)
