"""Reads the configuration: file, environment, defaults. The only module that reads the environment.

Which file: the path given (`--config`), else HUBBUB_CONFIG, else ./hubbub.toml if it exists, else none: the
embedded defaults of bot.settings (a demo model, no channel). Over it go variables HUBBUB__SECTION__KEY, their
values in TOML syntax (text needs no quotes; a number steps into a list: HUBBUB__MODELS__0__API_KEY). Any text
"env:NAME" stands for the environment variable NAME. Relative paths start at the file's directory.

Every refusal is a ConfigError whose lines read `FILE:LINE: KEY: problem; what to do` (the variable's name in
place of FILE:LINE where a variable said it). Values of secrets and of "env:" variables never appear in it.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from bot import config_errors
from bot.config_errors import ConfigError, Key, Problem, Where
from bot.settings import TELEGRAM_URL, ChannelSection, Config, SlackChannel, TelegramChannel
from bot.toml_lines import locate

FILE_NAME = "hubbub.toml"
DATABASE_NAME = "hub.db"
OVERRIDE_PREFIX = "HUBBUB__"
_REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")

__all__ = ["DATABASE_NAME", "Config", "ConfigError", "Loaded", "load", "secret_values"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration. `source` is None on embedded defaults; `environment` is the hub's own, for
    those who hand a harmless part of it to programs they start: it may hold secrets."""

    config: Config
    source: Path | None
    environment: Mapping[str, str] = field(repr=False)

    @property
    def database(self) -> Path:
        """Where the hub keeps everything."""
        return self.config.hub.data_dir / DATABASE_NAME


def load(
    path: Path | None = None, *, environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Loaded:
    """The configuration in force. `environ` and `cwd` default to the process's own.

    Raises ConfigError with every problem found.
    """
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    source = _source(path, environ, cwd)
    document = _read(source, cwd) if source else _Document({}, Where(None, {}))
    problems = [*_apply_overrides(document, environ), *_apply_references(document, environ)]
    config = None if problems else _validate(document)
    if not isinstance(config, Config):
        raise ConfigError([document.where.line(problem) for problem in config or problems])
    base = cwd if source is None else (cwd / source).parent
    return Loaded(_with_absolute_paths(config, base), source, MappingProxyType(dict(environ)))


def secret_values(config: BaseModel) -> frozenset[str]:
    """The text of every secret set, for redaction."""
    found: set[str] = set()
    for value in _leaves(config):
        if isinstance(value, SecretStr) and value.get_secret_value():
            found.add(value.get_secret_value())
    return frozenset(found)


def _leaves(value: object) -> Iterator[object]:
    match value:
        case BaseModel():
            for _, inner in value:
                yield from _leaves(inner)
        case Mapping():
            for inner in value.values():
                yield from _leaves(inner)
        case tuple():
            for inner in value:
                yield from _leaves(inner)
        case _:
            yield value


# ------------------------------------------------------------------------------------------ the file


@dataclass(slots=True)
class _Document:
    """The parsed file while variables are worked into it."""

    tree: dict[str, Any]
    where: Where
    hidden: set[Key] = field(default_factory=lambda: set[Key]())
    """Keys whose value came from an "env:" variable: not to be shown."""


def _source(path: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    if path is not None:
        return path
    if environ.get("HUBBUB_CONFIG"):
        return Path(environ["HUBBUB_CONFIG"])
    return Path(FILE_NAME) if (cwd / FILE_NAME).is_file() else None


def _read(source: Path, cwd: Path) -> _Document:
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
        raise ConfigError([config_errors.syntax(source, text, str(error))]) from error
    except (RecursionError, ValueError, OverflowError) as error:  # nested too deep; a date that is none
        raise ConfigError([f"{source}: cannot be read as TOML ({error}); simplify the file"]) from error
    return _Document(tree, Where(source, locate(text.replace("\r\n", "\n"))))


# ------------------------------------------------------------------------- the environment's say in it


def _apply_overrides(document: _Document, environ: Mapping[str, str]) -> Iterator[Problem]:
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
            value = config_errors.typed(raw, key)
        else:
            value = _existing(at, step)
            if value is None:
                value = [] if config_errors.is_list(key) else {}
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


def _apply_references(document: _Document, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Replace each "env:NAME" by the variable's value."""

    def visit(value: Any, key: Key) -> Iterator[Problem]:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for step, inner in list(entries):
            here = (*key, step)
            if isinstance(inner, dict | list):
                yield from visit(inner, here)
            elif isinstance(inner, str) and (found := _REFERENCE.fullmatch(inner)):
                name = found.group(1)
                if name not in environ:
                    yield Problem(
                        here, f"the environment variable {name} is not set; set it or write the value here"
                    )
                else:
                    value[step] = config_errors.typed(environ[name], here)
                    document.hidden.add(here)

    return visit(document.tree, ())


# ---------------------------------------------------------------------------------------- what it says


def _validate(document: _Document) -> Config | list[Problem]:
    tree = _as_tuples(document.tree)
    channels = tree.get("channels")
    if isinstance(channels, dict):
        for name, channel in channels.items():
            if isinstance(channel, dict) and name in config_errors.PLATFORMS:
                channel.setdefault("platform", name)
    try:
        config = Config.model_validate(tree)
    except ValidationError as refused:
        return config_errors.explain(refused, document.hidden)
    return list(_across_sections(config)) or config


def _as_tuples(value: Any) -> Any:
    """The same document with immutable lists, as the models hold them."""
    if isinstance(value, dict):
        return {name: _as_tuples(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return tuple(_as_tuples(inner) for inner in value)
    return value


def _across_sections(config: Config) -> Iterator[Problem]:
    """What no single section can judge."""
    yield from _models(config)
    yield from _approvers(config)
    for name, channel in config.channels.items():
        yield from _channel(config, name, channel)
    if config.agent.reserve_tokens >= config.agent.context_tokens:
        yield Problem(("agent", "reserve_tokens"), "must be less than context_tokens; lower it")


def _models(config: Config) -> Iterator[Problem]:
    if not config.models:
        yield Problem(("models",), 'must name at least one model; write [[models]] with provider = "demo"')
    names: set[str] = set()
    for index, model in enumerate(config.models):
        if model.name in names:
            yield Problem(("models", index, "name"), f'"{model.name}" is taken; give each model its own name')
        names.add(model.name)
        if model.provider != "demo" and not model.model:
            yield Problem(("models", index, "model"), 'missing; for example model = "gpt-5-mini"')


def _approvers(config: Config) -> Iterator[Problem]:
    approvals = config.approvals
    if approvals.approvers.startswith("team:"):
        team = approvals.approvers.removeprefix("team:")
        if team not in config.teams:
            advice = f"add [teams.{team}] with users, or name another"
            yield Problem(("approvals", "approvers"), f'there is no team "{team}"; {advice}')
            return
        available = len(set(config.teams[team].users))
    else:
        available = 1
    if approvals.quorum > available:
        yield Problem(
            ("approvals", "quorum"),
            f"{approvals.quorum} people must agree but approvers has {available}; lower it or name a team",
        )


def _channel(config: Config, name: str, channel: ChannelSection) -> Iterator[Problem]:
    match channel:
        case TelegramChannel():
            yield from _telegram(config, name, channel)
        case SlackChannel():
            yield from _slack(name, channel)


def _slack(name: str, channel: SlackChannel) -> Iterator[Problem]:
    if channel.mode == "socket" and channel.app_token is None:
        yield Problem(
            ("channels", name, "app_token"),
            'missing; Socket Mode needs one, for example app_token = "env:SLACK_APP_TOKEN"',
        )
    if channel.mode == "http" and channel.signing_secret is None:
        yield Problem(
            ("channels", name, "signing_secret"),
            'missing; mode "http" needs one, for example signing_secret = "env:SLACK_SIGNING_SECRET"',
        )


def _telegram(config: Config, name: str, channel: TelegramChannel) -> Iterator[Problem]:
    if channel.mode != "webhook":
        return
    if channel.webhook_secret is None:
        yield Problem(
            ("channels", name, "webhook_secret"),
            'missing; a webhook needs one, for example webhook_secret = "env:TELEGRAM_WEBHOOK_SECRET"',
        )
    # Only a Bot API server of one's own calls plain http (https://core.telegram.org/bots/api#setwebhook).
    its_own = channel.api_base_url != TELEGRAM_URL and config.http.public_url
    if not its_own and not config.http.public_url.startswith("https://"):
        yield Problem(
            ("channels", name, "mode"),
            'a webhook needs the https:// address in [http] public_url; set that, or use "polling"',
        )


def _with_absolute_paths(config: Config, base: Path) -> Config:
    def absolute(path: Path) -> Path:
        return Path(os.path.normpath(base / path.expanduser()))

    return config.model_copy(
        update={
            "hub": config.hub.model_copy(update={"data_dir": absolute(config.hub.data_dir)}),
            "workspace": config.workspace.model_copy(update={"dir": absolute(config.workspace.dir)}),
        }
    )
