"""Variables in a file: `NAME=value` a line, as service managers and containers read it as well.

A value may stand in single or double quotes, which are taken off and mean nothing else; nothing is expanded.
Empty lines and lines that begin with # say nothing.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.errors import ConfigError

_LINE = re.compile(r"(?:export )?([A-Za-z_][A-Za-z0-9_]*)=(.*)")


def with_file(environ: Mapping[str, str], path: Path, cwd: Path) -> Mapping[str, str]:
    """The variables given, and those of the file that are not among them; without a file just those given.

    Raises ConfigError naming the line; never shows a value.
    """
    try:
        text = (cwd / path).read_bytes().decode()
    except FileNotFoundError:
        return environ
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read ({error.strerror}); check its permissions"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: is not UTF-8; save the file as UTF-8"]) from error
    return dict(_variables(path, text)) | dict(environ)


def written(variables: Mapping[str, str]) -> str:
    """The text of a file that holds these. Raises ValueError where a value has several lines."""
    for name, value in variables.items():
        if "\n" in value or "\r" in value:
            raise ValueError(f"the value of {name} has several lines")
    return "".join(f"{name}={_quoted(value)}\n" for name, value in variables.items())


def _quoted(value: str) -> str:
    plain = value == value.strip() and not value.startswith(("'", '"', "#"))
    if plain:
        return value
    return f"'{value}'" if value.endswith('"') else f'"{value}"'


def _variables(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        found = _LINE.fullmatch(said)
        if found is None:
            raise ConfigError([f"{path}:{number}: is not NAME=value; correct this line"])
        name, value = found.groups()
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        yield name, value
