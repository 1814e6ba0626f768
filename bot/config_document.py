"""The configuration while it is put together: the parsed file, and the variables that override its keys."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.config_errors import Problem, Where, syntax
from bot.config_shape import Key, is_list, typed
from bot.errors import ConfigError
from bot.places import OVERRIDE_PREFIX
from bot.toml_lines import locate


@dataclass(slots=True)
class Document:
    """The parsed file while variables are worked into it."""

    tree: dict[str, Any]
    where: Where
    hidden: set[Key] = field(default_factory=lambda: set[Key]())
    """Keys whose value came from elsewhere by a reference: not to be shown."""


def read(source: Path, cwd: Path) -> Document:
    """The file as it is. Raises ConfigError if it cannot be read, or is not TOML."""
    try:
        text = (cwd / source).read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError([f"{source}: there is no such file; name another one or create it"]) from error
    except OSError as error:
        raise ConfigError([f"{source}: cannot be read ({error.strerror}); check its permissions"]) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError([f"{source}:{line}: is not UTF-8; save the file as UTF-8"]) from error
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([syntax(source, text, str(error))]) from error
    except (RecursionError, ValueError, OverflowError) as error:  # nested too deep; a date that is none
        raise ConfigError([f"{source}: cannot be read as TOML ({error}); simplify the file"]) from error
    return Document(tree, Where(source, locate(text.replace("\r\n", "\n"))))


def apply_overrides(document: Document, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Put the values of HUBBUB__SECTION__KEY variables where they belong."""
    given = [name for name in environ if name.startswith(OVERRIDE_PREFIX)]
    for name in sorted(given, key=lambda name: (name.count("__"), name)):  # tables before their entries
        segments = name.removeprefix(OVERRIDE_PREFIX).lower().split("__")
        key = _place(document.tree, segments, environ[name])
        if key is None:
            yield Problem((), f"{name}: does not lead to a key; write HUBBUB__SECTION__KEY", located=True)
        else:
            document.where.variables[key] = name


def _place(tree: dict[str, Any], segments: list[str], raw: str) -> Key | None:
    """Put an override where it belongs, making tables on the way; its key, or None if there is no way."""
    at: Any = tree
    key: Key = ()
    for position, segment in enumerate(segments):
        step = _step(at, segment)
        if step is None or not segment:
            return None
        key = (*key, step)
        if position == len(segments) - 1:
            value = typed(raw, key)
        else:
            value = _existing(at, step)
            if value is None:
                value = [] if is_list(key) else {}
        _put(at, step, value)
        at = value
    return key


def _step(at: Any, segment: str) -> str | int | None:
    """How a container names what a variable's segment means; None if it cannot hold it."""
    if isinstance(at, dict):
        same = [name for name in at if name.lower().replace("-", "_") == segment.replace("-", "_")]
        return same[0] if same else segment
    if isinstance(at, list) and segment.isdecimal() and int(segment) <= len(at):
        return int(segment)
    return None


def _existing(at: Any, step: Any) -> Any:
    if isinstance(at, dict):
        return at.get(step)
    return at[step] if step < len(at) else None


def _put(at: Any, step: Any, value: Any) -> None:
    if isinstance(at, list) and step == len(at):
        at.append(value)
    else:
        at[step] = value
