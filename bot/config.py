"""Reads the configuration: file, environment, defaults. The only module that reads the environment.

Which file: the path given (`--config`), else HUBBUB_CONFIG, else ./hubbub.toml if it exists, else none: the
embedded defaults of bot.settings (a demo model, no channel). Over it go variables HUBBUB__SECTION__KEY, their
values in TOML syntax (text needs no quotes; a number steps into a list: HUBBUB__MODELS__0__API_KEY). Any text
"env:NAME" stands for the environment variable NAME, a secret "vault:NAME" for what `hubbub secrets set NAME`
kept. Variables may also stand in a file beside the configuration file (hubbub.env beside hubbub.toml); the
process's own environment goes first. Relative paths start at the file's directory.

Every refusal is a ConfigError whose lines read `FILE:LINE: KEY: problem; what to do` (the variable's name in
place of FILE:LINE where a variable said it). Values of secrets and of references never appear in it.
"""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bot.environment_file import with_file
from bot.places import DATA_DIR, DATABASE_NAME, FILE_NAME, OVERRIDE_PREFIX, absolute

if TYPE_CHECKING:
    from bot.settings import Config


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration.

    `source` is None on embedded defaults. `environment` is the hub's own, for those who hand a harmless part
    of it to programs they start: it may hold secrets. `environment_file`: where a part of that was read.
    """

    config: "Config"
    source: Path | None
    environment: Mapping[str, str] = field(repr=False)
    environment_file: Path | None = None
    again: "Callable[[], Loaded] | None" = field(default=None, repr=False, compare=False)
    """Reads what is written now, from the same places. Raises ConfigError."""

    @property
    def database(self) -> Path:
        """Where the hub keeps everything."""
        return self.config.hub.data_dir / DATABASE_NAME

    @property
    def closed(self) -> Sequence[Path]:
        """The hub's own files and directories, wherever the operator put them: no tool has them."""
        own = (self.source, self.environment_file, self.config.policy.file)
        return [self.config.hub.data_dir, *(file for file in own if file is not None)]


def load(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    secrets: bool = True,
) -> Loaded:
    """The configuration in force. `environ` and `cwd` default to the process's own.

    `secrets` False is for those who need none of them: references in their places stay unopened, and need not
    lead anywhere. Raises ConfigError with every problem found.
    """
    again = partial(load, path, environ=environ, cwd=cwd, secrets=secrets)
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    source = _source(path, environ, cwd)
    beside = environment_file(source)
    environ = with_file(environ, beside, cwd)
    # Everything that judges values, for those who need no more than to know where the database is.
    from bot.config_loading import config_of

    return Loaded(
        config_of(source, environ, cwd, secrets=secrets),
        source,
        MappingProxyType(dict(environ)),
        cwd / beside if (cwd / beside).is_file() else None,
        again,
    )


def database_of(path: Path | None) -> Path:
    """Where the database lies, for commands that only read it.

    Nothing else in the configuration is looked at where that can be told from the file alone, so they work
    (and cost a third less) whatever else is wrong with it. Raises ConfigError as `load` does elsewhere.
    """
    cwd = Path.cwd()
    source = _source(path, os.environ, cwd)
    environ = with_file(os.environ, environment_file(source), cwd)
    written = _written_data_dir(source, cwd)
    if written is None or any(name.startswith(OVERRIDE_PREFIX) for name in environ):
        return load(path, secrets=False).database
    return absolute(Path(written), cwd if source is None else (cwd / source).parent) / DATABASE_NAME


def _written_data_dir(source: Path | None, cwd: Path) -> str | None:
    """As the file has it in so many words, else the default; None if there is more to it."""
    if source is None:
        return DATA_DIR
    try:
        tree: dict[str, Any] = tomllib.loads((cwd / source).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    hub = tree.get("hub", {})
    written = hub.get("data_dir", DATA_DIR) if isinstance(hub, dict) else None
    return written if isinstance(written, str) and written and not written.startswith("env:") else None


def environment_file(source: Path | None) -> Path:
    """Where variables may stand beside the configuration file: `hubbub.env` beside `hubbub.toml`."""
    return Path(FILE_NAME if source is None else source).with_suffix(".env")


def process_environment() -> Mapping[str, str]:
    """The process's own variables, for those who make a configuration."""
    return dict(os.environ)


def _source(path: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    if path is not None:
        return path
    if environ.get("HUBBUB_CONFIG"):
        return Path(environ["HUBBUB_CONFIG"])
    return Path(FILE_NAME) if (cwd / FILE_NAME).is_file() else None
