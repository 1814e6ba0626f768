"""Loader of the configuration: file, environment, defaults.

bot.config.place says where file and variables are found; without a file, the embedded defaults of
bot.config.schema are in force (a demo model, no channel). Variables HUBBUB__SECTION__KEY override it, their
values in TOML syntax (text needs no quotes; a number steps into a list: HUBBUB__MODELS__0__API_KEY). Any text
"env:NAME" stands for the environment variable NAME, a secret "vault:NAME" for the value of
`hubbub secrets set NAME`. Relative paths start at the file's directory.

Every refusal is a ConfigError whose lines read `FILE:LINE: KEY: problem; remedy` (with the variable's name in
place of FILE:LINE for a variable). Values of secrets and of references never appear in it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bot.config import errors
from bot.config.document import Document, apply_overrides, apply_references, apply_vault, read
from bot.config.errors import Problem, Where
from bot.config.place import (
    DATA_DIR,
    DATABASE_NAME,
    FILE_NAME,
    absolute,
    environment_file,
    process_environment,
    source_of,
    with_file,
)
from bot.config.schema import Config
from bot.config.sections import (
    TELEGRAM_URL,
    ChannelSection,
    DiscordChannel,
    ExtensionChannel,
    Rule,
    SlackChannel,
    TelegramChannel,
)
from bot.config.types import NO_USER, is_row_id
from bot.runtime import ConfigError
from core.lazy import dataclass
from core.model.base import known_model

if TYPE_CHECKING:
    from bot.config.schema import Config


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration.

    `source` is None on embedded defaults. `environment` is the hub's own, for passing a harmless part of
    it to programs:
    it may hold secrets. `environment_file`: the file a part of it was read from.
    """

    config: "Config"
    source: Path | None
    environment: Mapping[str, str] = field(repr=False)
    environment_file: Path | None = None
    again: "Callable[..., Loaded] | None" = field(default=None, repr=False, compare=False)
    """Loads the configuration again, from the same files and variables. `text=`: in place of the
    file's. Raises ConfigError."""

    @property
    def database(self) -> Path:
        """Return the path of the database."""
        return self.config.hub.data_dir / DATABASE_NAME

    @property
    def file(self) -> Path:
        """Return the configuration file, also if there is none yet: the next start reads it."""
        return Path(FILE_NAME) if self.source is None else self.source

    @property
    def closed(self) -> Sequence[Path]:
        """The hub's own files and directories, wherever they are: no tool may use them."""
        own = (self.file, self.environment_file, self.config.policy.file)
        return [self.config.hub.data_dir, *(file for file in own if file is not None)]


def load(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    secrets: bool = True,
    text: str | None = None,
) -> Loaded:
    """Return the configuration in force. `environ` and `cwd` default to the process's own; `text` is read in
    place of the file's.

    `secrets` False is for callers that need none: references in their places stay unopened, and need not
    lead anywhere.
    Raises ConfigError with every problem found.
    """
    again = partial(load, path, environ=environ, cwd=cwd, secrets=secrets)
    environ = process_environment() if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    source = source_of(path, environ, cwd)
    beside = environment_file(source)
    environ = with_file(environ, beside, cwd)
    named = Path(FILE_NAME) if source is None and text is not None else source
    return Loaded(
        config_of(named, environ, cwd, secrets=secrets, text=text),
        source,
        MappingProxyType(dict(environ)),
        cwd / beside if (cwd / beside).is_file() else None,
        again,
    )


# What the configuration must keep to, section by section and across them.

RESERVED_CHANNELS = frozenset({"web", "console", "terminal", "api", "cli"})
"""Names of the hub's own ways to be spoken to: the console, the terminal, programs."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def validate(document: Document) -> Config | list[Problem]:
    """Return the validated configuration, or all its problems."""
    tree = _as_tuples(document.tree)
    channels = tree.get("channels")
    if isinstance(channels, dict):
        for name, channel in channels.items():
            if isinstance(channel, dict) and name in errors.PLATFORMS:
                channel.setdefault("platform", name)
    try:
        config = Config.model_validate(tree)
    except ValidationError as refused:
        return errors.explain(refused, document.hidden)
    return list(_across_sections(config)) or config


def _as_tuples(value: Any) -> Any:
    """Return the same document with immutable lists, as the models hold them."""
    if isinstance(value, dict):
        return {name: _as_tuples(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return tuple(_as_tuples(inner) for inner in value)
    return value


def _across_sections(config: Config) -> Iterator[Problem]:
    """Yield problems across sections."""
    yield from _http(config)
    yield from _models(config)
    yield from _teams(config)
    yield from _approvers(config)
    yield from _servers(config)
    yield from _hooks(config)
    for name, channel in config.channels.items():
        yield from _channel(config, name, channel)
    if config.heartbeat.enabled and not config.routines.enabled:
        yield Problem(
            ("heartbeat", "enabled"), "needs [routines] enabled = true; set that, or turn the heartbeat off"
        )
    if config.sandbox.chat_tools and not config.sandbox.enabled:
        yield Problem(
            ("sandbox", "chat_tools"), "needs [sandbox] enabled = true; set that, or turn chat_tools off"
        )
    if config.agent.free_tokens >= config.agent.context_tokens:
        yield Problem(("agent", config.agent.free_by), "must be less than context_tokens; lower it")


def _http(config: Config) -> Iterator[Problem]:
    if config.http.host not in LOOPBACK and not config.http.public_url:
        yield Problem(
            ("http", "public_url"),
            f"missing, and [http] host {config.http.host} is reachable from other machines; set the public"
            ' address, for example public_url = "https://hub.example", or listen on 127.0.0.1',
        )


def _models(config: Config) -> Iterator[Problem]:
    if not config.models:
        yield Problem(("models",), 'must have at least one model; add [[models]] with provider = "demo"')
    names: set[str] = set()
    for index, model in enumerate(config.models):
        if model.name in names:
            yield Problem(
                ("models", index, "name"), f'"{model.name}" is used twice; give each model its own name'
            )
        names.add(model.name)
        if model.provider == "demo":
            continue
        if model.provider == "extension" and not model.entry_point:
            yield Problem(("models", index, "entry_point"), 'missing; for example entry_point = "example"')
        if not model.model and model.provider != "extension":
            example = "claude-sonnet-5-5" if model.provider in ("anthropic", "cli") else "gpt-5-mini"
            yield Problem(("models", index, "model"), f'missing; for example model = "{example}"')
        known = known_model(model.provider, model.model).abilities
        window_tokens = model.context_tokens or known.context_tokens
        if window_tokens is not None and window_tokens <= config.agent.free_tokens:
            advice = "lower that, or use a model with a larger window"
            yield Problem(
                ("models", index, "context_tokens"),
                f"{window_tokens} must be more than [agent] {config.agent.free_by}; {advice}",
            )


def _hooks(config: Config) -> Iterator[Problem]:
    names: set[str] = set()
    for index, hook in enumerate(config.hooks):
        key = ("hooks", index)
        if hook.name in names:
            yield Problem((*key, "name"), f'"{hook.name}" is used twice; give each hook its own name')
        names.add(hook.name)
        if hook.url and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", hook.url):
            yield Problem((*key, "ask"), "is not a web address; use one that starts with https://")
        if hook.url and not hook.secret:  # also where references are not opened
            yield Problem((*key, "secret"), 'missing; for example secret = "env:HOOK_SECRET"')
        if hook.url and not hook.waits and hook.on_failure == "closed":
            yield Problem(
                (*key, "on_failure"), 'the hub does not wait for its answer; set waits = true, or "open"'
            )


def _teams(config: Config) -> Iterator[Problem]:
    for name, team in config.teams.items():
        for index, user in enumerate(team.users):
            if user != config.hub.owner and not is_row_id(user):
                yield Problem(("teams", name, "users", index), f'"{user}" {NO_USER}')


def _servers(config: Config) -> Iterator[Problem]:
    """Yield problems of MCP servers: one transport each, unique names, and people that can exist."""
    folded: dict[str, str] = {}
    for name, server in config.mcp.items():
        key = ("mcp", name)
        other = folded.setdefault(name.replace("-", "_"), name)
        if other != name:
            yield Problem(key, f"differs from mcp.{other} only in - and _; give each server its own name")
        if bool(server.command) == (server.url is not None):
            example = 'for example command = ["github-mcp-server", "stdio"]'
            yield Problem((*key, "command"), f"a server has either command or url; {example}")
        elif server.env and not server.command:
            yield Problem((*key, "env"), "is only for servers with a command; use headers with a url")
        elif server.headers and server.url is None:
            yield Problem((*key, "headers"), "is only for servers with a url; use env with a command")
        elif (server.client_id or server.scopes) and not server.people_sign_in:
            yield Problem((*key, "client_id"), "is only for servers with a url and no Authorization header")
        if server.client_secret is not None and not server.client_id:
            yield Problem((*key, "client_secret"), "needs client_id")
        for index, user in enumerate(server.users):
            if user != config.hub.owner and not is_row_id(user):
                yield Problem((*key, "users", index), f'"{user}" {NO_USER}')


def _approvers(config: Config) -> Iterator[Problem]:
    approvals = config.approvals
    yield from _people(config, ("approvals",), approvals.approvers, approvals.quorum)
    for index, rule in enumerate(approvals.rules):
        yield from _rule(config, ("approvals", "rules", index), rule)


def _rule(config: Config, key: tuple[str | int, ...], rule: Rule) -> Iterator[Problem]:
    yield from _people(config, key, rule.approvers, rule.quorum, not_requester=rule.not_requester)
    if rule.not_requester and rule.approvers == "requester":
        yield Problem(
            (*key, "not_requester"),
            'leaves no one to decide; set a team in approvers, or "owner" for members\' calls',
        )
    if rule.not_requester and rule.approvers == "owner" and rule.role not in {"member", "guest"}:
        yield Problem(
            (*key, "not_requester"), 'leaves no one to decide the owner\'s own calls; set role = "member"'
        )
    if rule.escalate_to is not None:
        yield from _people(config, key, rule.escalate_to, 1, name="escalate_to")
    if (rule.escalate_to is None) != (rule.escalate_after_s is None):
        missing = "escalate_to" if rule.escalate_to is None else "escalate_after_s"
        yield Problem((*key, missing), "missing; escalate_to and escalate_after_s belong together")
    channel = rule.ask_in.partition(":")[0]
    if ":" in rule.ask_in and channel not in config.channels:
        advice = f"add [channels.{channel}], or use another channel"
        yield Problem((*key, "ask_in"), f'there is no channel "{channel}"; {advice}')


def _people(
    config: Config,
    key: tuple[str | int, ...],
    named: str,
    quorum: int,
    *,
    not_requester: bool = False,
    name: str = "approvers",
) -> Iterator[Problem]:
    """Yield a problem unless enough people are named; one of a team may be the requester."""
    available = 1
    if named.startswith("team:"):
        team = named.removeprefix("team:")
        if team not in config.teams:
            advice = f"add [teams.{team}] with users, or use another team"
            yield Problem((*key, name), f'there is no team "{team}"; {advice}')
            return
        available = len(set(config.teams[team].users)) - int(not_requester)
    if quorum > available:
        yield Problem(
            (*key, "quorum"),
            f"{quorum} approvals needed but {name} has {available}; lower it or choose another team",
        )


def _channel(config: Config, name: str, channel: ChannelSection) -> Iterator[Problem]:
    if name in RESERVED_CHANNELS:
        advice = (
            f'give this one another name, such as [channels.{name}-1] with platform = "{channel.platform}"'
        )
        yield Problem(("channels", name), f"is reserved for the hub; {advice}")
    match channel:
        case TelegramChannel():
            yield from _telegram(config, name, channel)
        case SlackChannel():
            yield from _slack(name, channel)
        case DiscordChannel():
            yield from _discord(config, name)
        case ExtensionChannel():
            pass  # its own code judges its options


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


def _discord(config: Config, name: str) -> Iterator[Problem]:
    """Yield a problem for each Discord channel with other addresses: the client library keeps one set
    for the whole process."""
    others = [other for other in config.channels.values() if isinstance(other, DiscordChannel)]
    for key in ("api_base_url", "gateway_url"):
        if len({getattr(other, key) for other in others}) > 1:
            yield Problem(
                ("channels", name, key), "differs between Discord channels; give all of them the same"
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


# The configuration as values: the file's document with variables and references worked in, then judged.


def config_of(
    source: Path | None, environ: Mapping[str, str], cwd: Path, *, secrets: bool, text: str | None = None
) -> Config:
    """Return the configuration. Raises ConfigError with every problem found."""
    base = cwd if source is None else (cwd / source).parent
    document = read(source, cwd, text) if source else Document({}, Where(None, {}))
    problems = [*apply_overrides(document, environ), *apply_references(document, environ, secrets=secrets)]
    problems += apply_vault(document, _data_dir(document, base), environ, secrets=secrets)
    config = None if problems else validate(document)
    if not isinstance(config, Config):
        raise ConfigError([document.where.line(problem) for problem in config or problems])
    return _with_absolute_paths(config, base)


def _with_absolute_paths(config: Config, base: Path) -> Config:
    return config.model_copy(
        update={
            "hub": config.hub.model_copy(update={"data_dir": absolute(config.hub.data_dir, base)}),
            "workspace": config.workspace.model_copy(update={"dir": absolute(config.workspace.dir, base)}),
            "policy": config.policy.model_copy(
                update={"file": None if config.policy.file is None else absolute(config.policy.file, base)}
            ),
        }
    )


def _data_dir(document: Document, base: Path) -> Path:
    """Return the vault's directory, before the document is known to be valid."""
    hub = document.tree.get("hub")
    written = hub.get("data_dir") if isinstance(hub, dict) else None
    return absolute(Path(written if isinstance(written, str) and written else DATA_DIR), base)
