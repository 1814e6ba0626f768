"""Where a command finds things: the configuration file, the variables, the hub's data. The only module that
reads the environment.

The file is the path given (`--config`), else HUBBUB_CONFIG, else ./hubbub.toml if it exists, else none.
Variables may also stand in a file next to it (hubbub.env next to hubbub.toml); the process's own environment
has priority. Needs nothing that judges a configuration: that takes longer than most commands do.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.runtime import ConfigError

FILE_NAME = "hubbub.toml"
DATA_DIR = "./data"
DATABASE_NAME = "hub.db"
OVERRIDE_PREFIX = "HUBBUB__"


def absolute(path: Path, base: Path) -> Path:
    """Return a path of the configuration as absolute, relative to the configuration file's directory."""
    return Path(os.path.normpath(base / path.expanduser()))


def source_of(path: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """Return the configuration file; None if there is none. `path`: the one that was asked for."""
    if path is not None:
        return path
    if environ.get("HUBBUB_CONFIG"):
        return Path(environ["HUBBUB_CONFIG"])
    return Path(FILE_NAME) if (cwd / FILE_NAME).is_file() else None


def data_dir_in(path: Path | None) -> Path | None:
    """Return the hub's data directory, for commands that need nothing else of the configuration; None if it
    takes the whole configuration to tell.

    If the file alone gives it, these commands work, at half the cost, whatever else is wrong with the
    configuration. Raises ConfigError for a file of variables that can't be read.
    """
    cwd, environ = Path.cwd(), process_environment()
    source = source_of(path, environ, cwd)
    variables = with_file(environ, environment_file(source), cwd)
    written = _written_data_dir(source, cwd)
    if written is None or any(map(_is_of_the_hub, variables)):
        return None
    return absolute(Path(written), cwd if source is None else (cwd / source).parent)


def _is_of_the_hub(variable: str) -> bool:
    """Return whether a variable overrides something of the section that names the data directory."""
    return f"{variable.lower()}__".startswith(f"{OVERRIDE_PREFIX}hub__".lower())


def _written_data_dir(source: Path | None, cwd: Path) -> str | None:
    """Return the directory as written in the file, else the default; None if it takes more than that."""
    if source is None:
        return DATA_DIR
    try:
        tree: dict[str, Any] = tomllib.loads((cwd / source).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    hub = tree.get("hub", {})
    written = hub.get("data_dir", DATA_DIR) if isinstance(hub, dict) else None
    return (
        written if isinstance(written, str) and written.strip() and not written.startswith("env:") else None
    )


def environment_file(source: Path | None) -> Path:
    """Return the path of the environment file: `hubbub.env` next to `hubbub.toml`."""
    return Path(FILE_NAME if source is None else source).with_suffix(".env")


def process_environment() -> Mapping[str, str]:
    """Return the process's own variables, for code that makes a configuration."""
    return dict(os.environ)


# Variables in a file: `NAME=value` a line, as service managers and containers read it as well.
#
# A value may stand in single or double quotes, which are taken off and mean nothing else; nothing is
# expanded. Empty lines and lines that begin with # say nothing.

_LINE = re.compile(r"(?:export )?([A-Za-z_][A-Za-z0-9_]*)=(.*)")


def with_file(environ: Mapping[str, str], path: Path, cwd: Path) -> Mapping[str, str]:
    """Return the variables given, and those of the file that are not among them; without a file, only
    those given.

    Raises ConfigError naming the line; never shows a value.
    """
    try:
        text = (cwd / path).read_bytes().decode()
    except FileNotFoundError:
        return environ
    except OSError as error:
        raise ConfigError([f"{path}: not readable ({error.strerror}); check its permissions"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8; save the file as UTF-8"]) from error
    return dict(_variables(path, text)) | dict(environ)


def written(variables: Mapping[str, str]) -> str:
    """Return the text of a file with these variables. Raises ValueError for a value of several lines."""
    for name, value in variables.items():
        if "\n" in value or "\r" in value:
            raise ValueError(f"the value of {name} has more than one line")
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
            raise ConfigError([f"{path}:{number}: not NAME=value; fix this line"])
        name, value = found.groups()
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        yield name, value
