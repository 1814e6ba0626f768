"""Sections of `hubbub.toml` for channels, one per platform."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from bot.config.types import (
    RESTART,
    Count,
    Destination,
    Limit,
    Name,
    Seconds,
    Section,
    Text,
    ToolName,
    Unopened,
    Url,
    User,
)
from core.consent.rules import AUTONOMOUS_DENYLIST
from core.extension import NAME_CHARS

TELEGRAM_URL = "https://api.telegram.org"
SLACK_URL = "https://slack.com/api"
DISCORD_URL = "https://discord.com/api/v10"
DISCORD_GATEWAY_URL = "wss://gateway.discord.gg"
ImageName = Annotated[str, Field(min_length=1, max_length=255)]

_BOT_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_DISCORD_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")  # core.telegram.org/bots/api#setwebhook


def _bot_token(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _BOT_TOKEN.fullmatch(secret.get_secret_value()):
        raise ValueError("is not a bot token; copy it from @BotFather. It looks like 123456:ABC-DEF")
    return secret


def _webhook_secret(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _WEBHOOK_SECRET.fullmatch(secret.get_secret_value()):
        raise ValueError("is not a valid secret; use 1 to 256 letters, digits, _ and -")
    return secret


def _telegram_id(text: str) -> str:
    if not re.fullmatch(r"-?\d+", text):
        raise ValueError("is not a Telegram ID; use the account's number, not its @name")
    return text


def _slack_token(prefix: str, what: str) -> Callable[[SecretStr], SecretStr]:
    def check(secret: SecretStr) -> SecretStr:
        if isinstance(secret, Unopened):
            return secret
        if not re.fullmatch(rf"{prefix}[A-Za-z0-9-]+", secret.get_secret_value()):
            raise ValueError(f"is not {what}; copy it from api.slack.com/apps. It starts with {prefix}")
        return secret

    return check


def _slack_id(text: str) -> str:
    if not re.fullmatch(r"[UW][A-Z0-9]{2,20}", text):
        raise ValueError("is not a Slack user ID; copy it from the person's profile. It looks like U024BE7LH")
    return text


def _discord_token(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _DISCORD_TOKEN.fullmatch(secret.get_secret_value()):
        raise ValueError(
            "is not a bot token; copy it from discord.com/developers/applications (Bot). It has three parts"
        )
    return secret


def _discord_id(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,20}", text):
        raise ValueError("is not a Discord user ID; turn on developer mode and copy the person's ID")
    return text


def _websocket_url(text: str) -> str:
    if not re.fullmatch(r"wss?://[^\s/]+(/\S*)?", text):
        raise ValueError("is not a gateway address; use one that starts with wss:// or ws://")
    return text.rstrip("/")


class _ChannelSection(Section):
    """Fields of every channel."""

    direct: Literal["pairing", "allowlist", "open"] = "pairing"
    groups: Literal["off", "addressed", "all"] = "off"


class TelegramChannel(_ChannelSection):
    """One bot on Telegram. `platform` is the section's name unless it says otherwise."""

    platform: Literal["telegram"] = Field(examples=["telegram"])
    allow: tuple[Annotated[str, AfterValidator(_telegram_id)], ...] = ()
    token: Annotated[SecretStr, AfterValidator(_bot_token)] = Field(examples=["env:TELEGRAM_TOKEN"])
    mode: Literal["polling", "webhook"] = "polling"
    webhook_secret: Annotated[SecretStr, AfterValidator(_webhook_secret)] | None = Field(
        default=None, examples=["env:TELEGRAM_WEBHOOK_SECRET"]
    )
    api_base_url: Url = TELEGRAM_URL


class SlackChannel(_ChannelSection):
    """One bot in one Slack workspace. `mode` "socket" needs the app token, "http" the signing secret."""

    platform: Literal["slack"] = Field(examples=["slack"])
    allow: tuple[Annotated[str, AfterValidator(_slack_id)], ...] = ()
    bot_token: Annotated[SecretStr, AfterValidator(_slack_token("xoxb-", "a bot token"))] = Field(
        examples=["env:SLACK_BOT_TOKEN"]
    )
    app_token: Annotated[SecretStr, AfterValidator(_slack_token("xapp-", "an app-level token"))] | None = (
        Field(default=None, examples=["env:SLACK_APP_TOKEN"])
    )
    signing_secret: SecretStr | None = Field(default=None, examples=["env:SLACK_SIGNING_SECRET"])
    mode: Literal["socket", "http"] = "socket"
    api_base_url: Url = SLACK_URL


class DiscordChannel(_ChannelSection):
    """One bot on Discord."""

    platform: Literal["discord"] = Field(examples=["discord"])
    allow: tuple[Annotated[str, AfterValidator(_discord_id)], ...] = ()
    token: Annotated[SecretStr, AfterValidator(_discord_token)] = Field(examples=["env:DISCORD_TOKEN"])
    api_base_url: Url = DISCORD_URL
    gateway_url: Annotated[str, AfterValidator(_websocket_url)] = DISCORD_GATEWAY_URL


class ExtensionChannel(_ChannelSection):
    """One bot on a platform that another installed package knows: a Python extension."""

    platform: Literal["extension"] = Field(examples=["extension"])
    allow: tuple[Text, ...] = ()
    entry_point: Name = Field(examples=["example"])
    options: Mapping[Name, str] = Field(default={}, examples=[{"host": "example.org"}])
    secrets: Mapping[Name, SecretStr] = Field(default={}, examples=[{"token": "env:EXAMPLE_TOKEN"}])


class Extensions(Section):
    """What other installed packages bring, by the names of their entry points."""

    tools: tuple[Name, ...] = Field(default=(), json_schema_extra=RESTART, examples=[["example"]])
    trusted_tools: tuple[ToolName, ...] = Field(
        default=(), json_schema_extra=RESTART, examples=[["example_dice"]]
    )


ChannelSection = TelegramChannel | SlackChannel | DiscordChannel | ExtensionChannel


# What `hubbub.toml` can say of consent: when people are asked, and who.


def _approvers(text: str) -> str:
    if text not in ("requester", "owner") and not text.startswith("team:"):
        raise ValueError('must be "requester", "owner" or "team:NAME", where [teams.NAME] is a section')
    return text


def _escalate_to(text: str) -> str:
    if text != "owner" and not text.startswith("team:"):
        raise ValueError('must be "owner" or "team:NAME", where [teams.NAME] is a section')
    return text


def _ask_in(text: str) -> str:
    if text not in ("", "here", "direct") and not re.fullmatch(r"[^:\s]+:\S+", text):
        raise ValueError(
            'must be "here", "direct" or CHANNEL:ID with a conversation ID of that platform, such as'
            " slack:C024BE91L or telegram:-1001234567890"
        )
    return text


def _tool_pattern(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]*\*?|\*", text):
        raise ValueError("is not a tool; use its name, or a prefix followed by *")
    return text


class Rule(Section):
    """A rule for some calls: who is asked, and where; the first of several matching rules counts."""

    tool: Annotated[str, AfterValidator(_tool_pattern)] = "*"
    risk: Literal["ask", "always_ask"] | None = Field(default=None, examples=["always_ask"])
    role: Literal["owner", "member", "guest"] | None = Field(default=None, examples=["member"])
    approvers: Annotated[str, AfterValidator(_approvers)] = "requester"
    quorum: Count = 1
    not_requester: bool = False
    ask_in: Annotated[str, AfterValidator(_ask_in)] = ""
    escalate_after_s: Seconds | None = Field(default=None, examples=[1800.0])
    escalate_to: Annotated[str, AfterValidator(_escalate_to)] | None = Field(default=None, examples=["owner"])


class Approvals(Section):
    """Approvals: the calls that need one, and who decides."""

    preset: Literal["manual", "whitelist", "auto_loop", "auto"] = "auto_loop"
    whitelist: tuple[ToolName, ...] = (
        "time",
        "json",
        "echo",
        "ask_user",
        "memory_write",
        "memory_read",
        "memory_search",
        "thread_search",
        "memory_tree",
        "tool_list",
        "tool_info",
        "list_jobs",
        "job_status",
        "job_events",
        "message",
        "read_attachment",
    )
    max_rounds: Count = 5
    max_tools: Count = 20
    tool_timeout_s: Seconds = 30
    tool_timeouts: Mapping[ToolName, Seconds] = Field(default={})
    loop_timeout_s: Seconds = 300
    shell_per_minute: Count = 30
    shell_per_hour: Count = 300
    dangerous_tools: tuple[ToolName, ...] = ("shell", "write_file", "apply_patch", "delete_file", "http")
    dangerous_operations: tuple[Text, ...] = ("delete", "write", "execute", "modify")
    autonomous_denylist: tuple[ToolName, ...] = AUTONOMOUS_DENYLIST
    expires_after_s: Seconds = 86400
    approvers: Annotated[str, AfterValidator(_approvers)] = "requester"
    quorum: Count = 1
    rules: tuple[Rule, ...] = ()


# What `hubbub.toml` can say of hooks.

PointName = Literal[
    "before_inbound",
    "before_tool_call",
    "transform_response",
    "before_outbound",
    "session_start",
    "session_end",
]


class Hook(Section):
    """Code of one's own that has a say. `ask`: the name of an entry point, or a web address."""

    name: Name = Field(examples=["watch"], json_schema_extra=RESTART)
    on: tuple[PointName, ...] = Field(
        min_length=1, examples=[["before_tool_call", "before_outbound"]], json_schema_extra=RESTART
    )
    ask: Text = Field(examples=["https://hooks.example/hubbub"], json_schema_extra=RESTART)
    secret: SecretStr = Field(default=SecretStr(""), examples=["env:HOOK_SECRET"], json_schema_extra=RESTART)
    waits: bool = Field(default=False, json_schema_extra=RESTART)
    priority: int = Field(default=100, json_schema_extra=RESTART)
    timeout_s: Annotated[float, Field(gt=0, le=30, allow_inf_nan=False)] = Field(
        default=5, json_schema_extra=RESTART
    )
    on_failure: Literal["open", "closed"] = Field(default="open", json_schema_extra=RESTART)

    @property
    def url(self) -> str:
        """The web address of the hook; empty if it is none."""
        return self.ask if "://" in self.ask else ""


class Sessions(Section):
    """The end of a session, for hooks on `session_end`. `summary`: the built-in hook is on."""

    idle_days: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=7, json_schema_extra=RESTART
    )
    summary: bool = Field(default=False, json_schema_extra=RESTART)


# What `hubbub.toml` can say of MCP servers, whose tools the hub offers.

_TOOL = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")


def _server_name(text: str) -> str:
    if len(text) > NAME_CHARS:
        raise ValueError(f"is too long for a server name; use at most {NAME_CHARS} characters")
    return text


def _tool_name(text: str) -> str:
    if not _TOOL.fullmatch(text):
        raise ValueError(
            "is not a tool name; use the name that `/tools` shows, without the server's name and __"
        )
    return text


def _command(argv: tuple[str, ...]) -> tuple[str, ...]:
    if argv and not argv[0].strip():
        raise ValueError("does not start with a program; add one")
    if any("\0" in one for one in argv):
        raise ValueError("contains a NUL character; remove it")
    return argv


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("is not a variable name; use letters, digits and _")
    return text


def _header(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", text):
        raise ValueError("is not a header name; use letters, digits and -")
    return text


def _scope(text: str) -> str:
    if not re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]+", text):
        raise ValueError("is not a scope; use printable characters without spaces and quotes")
    return text


ServerName = Annotated[Name, AfterValidator(_server_name)]
ServerTool = Annotated[str, AfterValidator(_tool_name)]
Asks = Literal["never", "ask", "always_ask"]


class McpTool(Section):
    """One tool of a server."""

    requirement: Asks | None = Field(default=None, examples=["never"])
    effect: Literal["none", "idempotent", "effect"] = "effect"
    timeout_s: Seconds | None = Field(default=None, examples=[120.0])


class McpServer(Section):
    """One server: a command to start, or an address. `users` empty: the owner."""

    command: Annotated[tuple[str, ...], AfterValidator(_command)] = Field(
        default=(), examples=[["github-mcp-server", "stdio"]]
    )
    url: Url | None = Field(default=None, examples=["https://mcp.example/mcp"])
    users: tuple[User, ...] = Field(default=(), examples=[["owner"]])
    env: Mapping[Annotated[str, AfterValidator(_variable)], SecretStr] = Field(
        default={}, examples=[{"GITHUB_PERSONAL_ACCESS_TOKEN": "env:GITHUB_TOKEN"}]
    )
    headers: Mapping[Annotated[str, AfterValidator(_header)], SecretStr] = Field(
        default={}, examples=[{"Authorization": "env:MCP_AUTHORIZATION"}]
    )
    client_id: str = Field(default="", examples=["hubbub-at-home"])
    client_secret: SecretStr | None = Field(default=None, examples=["env:MCP_CLIENT_SECRET"])
    scopes: tuple[Annotated[str, AfterValidator(_scope)], ...] = Field(default=(), examples=[["notes.read"]])
    only: tuple[ServerTool, ...] = Field(default=(), examples=[["get_issue", "add_comment"]])
    requirement: Asks = "ask"
    timeout_s: Seconds | None = Field(default=None, examples=[60.0])
    connect_timeout_s: Seconds = 10
    tools: Mapping[ServerTool, McpTool] = Field(default={})

    @property
    def people_sign_in(self) -> bool:
        """Whether people may sign in to it: the operator's own credentials are not overridden."""
        return self.url is not None and "authorization" not in {name.lower() for name in self.headers}


# What `hubbub.toml` can say of routines.

_HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d", re.ASCII)


def _hours(text: str, example: str = "08:00-22:00", without: str = "all day") -> str:
    if text and not _HOURS.fullmatch(text):
        raise ValueError(f'is not a time range; use a range such as "{example}", or "" for {without}')
    return text


def _time_of_day(text: str) -> str:
    if text and not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text, re.ASCII):
        raise ValueError('is not a time of day such as "08:00"; use "" for an interval')
    return text


def _quiet_hours(text: str) -> str:
    return _hours(text, "22:00-07:00", "none")


class Routines(Section):
    """Things that are done when something happens."""

    enabled: bool = Field(default=True, json_schema_extra=RESTART)
    max_concurrent: Annotated[int, Field(ge=1, le=1000)] = Field(default=10, json_schema_extra=RESTART)
    default_cooldown_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 300


class Jobs(Section):
    """Work in the background that people start by name."""

    enabled: bool = Field(default=True, json_schema_extra=RESTART)
    max_parallel: Annotated[int, Field(ge=1, le=100)] = Field(default=5, json_schema_extra=RESTART)
    max_per_user: Annotated[int, Field(ge=1, le=100)] = Field(default=5, json_schema_extra=RESTART)
    max_iterations: Annotated[int, Field(ge=1, le=500)] = Field(default=50, json_schema_extra=RESTART)
    max_tokens: Limit = Field(default=0, json_schema_extra=RESTART)
    max_usd: float = Field(default=0, ge=0, json_schema_extra=RESTART)
    review: bool | Literal["in_doubt"] = Field(default=False, json_schema_extra=RESTART)
    timeout_s: Annotated[int, Field(ge=1, le=7 * 86_400)] = Field(default=3600, json_schema_extra=RESTART)
    use_planning: bool = Field(default=True, json_schema_extra=RESTART)
    quiet_hours: Annotated[str, AfterValidator(_quiet_hours)] = Field(default="", json_schema_extra=RESTART)
    max_repairs: Annotated[int, Field(ge=0, le=20)] = Field(default=3, json_schema_extra=RESTART)
    stuck_after_s: Annotated[int, Field(ge=60, le=86_400)] = Field(default=300, json_schema_extra=RESTART)


class Sandbox(Section):
    """Jobs in containers: what these are made of, and how much they may use."""

    enabled: bool = Field(default=False, json_schema_extra=RESTART)
    image: ImageName = Field(default="hubbub-worker", json_schema_extra=RESTART)
    images: tuple[ImageName, ...] = Field(default=(), json_schema_extra=RESTART)
    memory_mb: Annotated[int, Field(ge=64, le=1_000_000)] = Field(default=2048, json_schema_extra=RESTART)
    disk_mb: Annotated[int, Field(ge=1, le=1_000_000)] = Field(default=2048, json_schema_extra=RESTART)
    max_parallel: Annotated[int, Field(ge=1, le=100)] = Field(default=2, json_schema_extra=RESTART)
    max_per_user: Annotated[int, Field(ge=1, le=100)] = Field(default=2, json_schema_extra=RESTART)
    egress: tuple[Destination, ...] = Field(default=(), json_schema_extra=RESTART)
    agents: tuple[Literal["claude", "qwen"], ...] = Field(default=(), json_schema_extra=RESTART)
    chat_tools: bool = Field(default=False, json_schema_extra=RESTART)


class Heartbeat(Section):
    """The owner's list, checked at an interval, or once a day."""

    enabled: bool = Field(default=False, json_schema_extra=RESTART)
    every_s: Annotated[int, Field(ge=60, le=7 * 86_400, multiple_of=60)] = Field(
        default=1800, json_schema_extra=RESTART
    )
    at: Annotated[str, AfterValidator(_time_of_day)] = Field(default="", json_schema_extra=RESTART)
    active_hours: Annotated[str, AfterValidator(_hours)] = Field(
        default="08:00-22:00", json_schema_extra=RESTART
    )
