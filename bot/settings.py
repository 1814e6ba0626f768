"""What `hubbub.toml` can say: one frozen model per section, with defaults, units in the names, limits.

The models judge single values; what spans sections is judged in bot.config_rules. Every refusal becomes one
line with file, line, key and advice (bot.config_errors). Refusals raised here have the form "problem; what
to do". `examples` are what an error offers for a key without a default; `restart` marks what only a new start
reads.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from bot.places import DATA_DIR
from bot.routine_settings import Routines
from core.safety.addresses import Exemption

RESTART: dict[str, Any] = {"restart": True}
"""In the data directory."""
TELEGRAM_URL = "https://api.telegram.org"
SLACK_URL = "https://slack.com/api"
DISCORD_URL = "https://discord.com/api/v10"
DISCORD_GATEWAY_URL = "wss://gateway.discord.gg"
NO_USER = "is nobody's id; write the owner's or another that `hubbub users list` shows"

_IDENTITY = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_NAME = re.compile(r"[a-z][a-z0-9-]*(?:_[a-z0-9-]+)*")
_BOT_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_DISCORD_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")  # core.telegram.org/bots/api#setwebhook


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # not found; not a zone's name; a directory of zones
        raise ValueError(
            "is not a known time zone; write an IANA name such as Europe/Berlin or UTC"
        ) from error
    return name


def _identity(text: str) -> str:
    if not _IDENTITY.fullmatch(text):
        raise ValueError("is not an identity; write channel:id, such as telegram:12345")
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("is not a name; use small letters, digits, - and single _, beginning with a letter")
    return text


def is_row_id(text: str) -> bool:
    """Whether it is an id the store made, dashed or plain."""
    return re.fullmatch(r"[0-9a-fA-F]{32}", text.replace("-", "")) is not None


def _user(text: str) -> str:
    if is_row_id(text):
        return str(UUID(text.replace("-", "")))
    if not _NAME.fullmatch(text):
        raise ValueError(NO_USER)
    return text


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        raise ValueError("is not a web address; write one that begins with https:// or http://")
    return text.rstrip("/")


def _url_or_nothing(text: str) -> str:
    return _url(text) if text else text


def _websocket_url(text: str) -> str:
    if not re.fullmatch(r"wss?://[^\s/]+(/\S*)?", text):
        raise ValueError("is not a gateway's address; write one that begins with wss:// or ws://")
    return text.rstrip("/")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty; write a value or remove the key")
    return text


def _path(value: object) -> object:
    return Path(_not_blank(value)) if isinstance(value, str) else value


class Unopened(SecretStr):
    """A reference in the place of a secret that nobody needed."""

    def get_secret_value(self) -> str:
        """Nobody may ask."""
        raise LookupError("the configuration was read without its secrets")


def _bot_token(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _BOT_TOKEN.fullmatch(secret.get_secret_value()):
        raise ValueError("is not a bot token; copy it from @BotFather, it looks like 123456:ABC-DEF")
    return secret


def _webhook_secret(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _WEBHOOK_SECRET.fullmatch(secret.get_secret_value()):
        raise ValueError("is not usable as a secret; use 1 to 256 letters, digits, _ and -")
    return secret


def _telegram_id(text: str) -> str:
    if not re.fullmatch(r"-?\d+", text):
        raise ValueError("is not a Telegram id; write the account's number, not its @name")
    return text


def _slack_token(prefix: str, what: str) -> Callable[[SecretStr], SecretStr]:
    def check(secret: SecretStr) -> SecretStr:
        if isinstance(secret, Unopened):
            return secret
        if not re.fullmatch(rf"{prefix}[A-Za-z0-9-]+", secret.get_secret_value()):
            raise ValueError(f"is not a {what}; copy it from api.slack.com/apps, it begins with {prefix}")
        return secret

    return check


def _slack_id(text: str) -> str:
    if not re.fullmatch(r"[UW][A-Z0-9]{2,20}", text):
        raise ValueError("is not a Slack user id; copy it from the person's profile, it looks like U024BE7LH")
    return text


def _discord_token(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _DISCORD_TOKEN.fullmatch(secret.get_secret_value()):
        raise ValueError(
            "is not a bot token; copy it from discord.com/developers/applications (Bot), it has three parts"
        )
    return secret


def _discord_id(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,20}", text):
        raise ValueError("is not a Discord user id; switch on developer mode and copy the person's id")
    return text


def _private_address(text: str) -> str:
    Exemption.parse(text)
    return text


def _approvers(text: str) -> str:
    if text not in ("requester", "owner") and not text.startswith("team:"):
        raise ValueError('must be "requester", "owner" or "team:NAME"; NAME is a section [teams.NAME]')
    return text


def _escalate_to(text: str) -> str:
    if text != "owner" and not text.startswith("team:"):
        raise ValueError('must be "owner" or "team:NAME"; NAME is a section [teams.NAME]')
    return text


def _ask_in(text: str) -> str:
    if text not in ("", "here", "direct") and not re.fullmatch(r"[^:\s]+:\S+", text):
        raise ValueError(
            'must be "here", "direct" or CHANNEL:ID; ID is a conversation\'s on that platform, such as'
            " slack:C024BE91L or telegram:-1001234567890"
        )
    return text


def _tool_pattern(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]*\*?|\*", text):
        raise ValueError("is not a tool; write its name, or the beginning of several names and *")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
Name = Annotated[str, AfterValidator(_name)]
Url = Annotated[str, AfterValidator(_url)]
Identity = Annotated[str, AfterValidator(_identity)]
User = Annotated[str, AfterValidator(_user)]
"""A user's id: the owner's is the name in [hub] owner, everybody else's a UUID, dashed or plain."""
FilePath = Annotated[Path, BeforeValidator(_path)]
"""As written; bot.config_loading makes it absolute, starting at the directory of the file that says it."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Limit = Annotated[int, Field(ge=0)]
"""0: no limit."""


class Section(BaseModel):
    """Frozen, closed and without conversions: TOML is typed, so a number in quotes is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Hub(Section):
    """The hub itself."""

    data_dir: FilePath = Field(default=Path(DATA_DIR), json_schema_extra=RESTART)
    owner: Name = Field(default="owner", json_schema_extra=RESTART)
    owner_identities: tuple[Identity, ...] = ()
    timezone: Annotated[str, AfterValidator(_timezone)] = "UTC"
    locale: Literal["en"] = "en"
    store: Literal["sqlite"] = Field(default="sqlite", json_schema_extra=RESTART)


class Http(Section):
    """Where the hub listens; port 0 takes any free one."""

    host: Text = Field(default="127.0.0.1", json_schema_extra=RESTART)
    port: int = Field(default=8765, ge=0, le=65535, json_schema_extra=RESTART)
    public_url: Annotated[str, AfterValidator(_url_or_nothing)] = ""


class Model(Section):
    """One language model; the entries after the first are its fallbacks, in order."""

    name: Name = Field(default="main", examples=["main"])
    provider: Literal["openai", "demo"] = Field(examples=["openai"])
    model: str = Field(default="", examples=["gpt-5-mini"])
    base_url: Url = "https://api.openai.com/v1"
    api_key: SecretStr = Field(default=SecretStr(""), examples=["env:OPENAI_API_KEY"])


DEMO = Model(name="demo", provider="demo")


class Agent(Section):
    """How a turn is run."""

    system_prompt: Text = (
        "You are a careful assistant in a chat. Answer briefly, in the language you are spoken to. "
        "Use a tool when it helps, say what you did, and never claim to have done what you did not."
    )
    queue: Literal["merge", "one_by_one"] = "merge"
    stream: bool = True
    context_tokens: int = Field(default=100_000, ge=1000)
    reserve_tokens: Count = 4000
    max_waiting: Count = 100


class Rule(Section):
    """Who is asked about some calls, and where; of several rules that fit the first counts."""

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
    """When a person is asked, and who."""

    preset: Literal["manual", "whitelist", "auto_loop", "auto"] = "auto_loop"
    whitelist: tuple[Name, ...] = (
        "time",
        "json",
        "echo",
        "ask_user",
        "memory_write",
        "memory_read",
        "memory_search",
        "memory_tree",
        "tool_list",
        "tool_info",
        "list_jobs",
        "job_status",
        "job_events",
        "message",
    )
    max_rounds: Count = 5
    max_tools: Count = 20
    tool_timeout_s: Seconds = 30
    tool_timeouts: Mapping[Name, Seconds] = Field(default={"shell": 120})
    loop_timeout_s: Seconds = 300
    dangerous_tools: tuple[Name, ...] = ("shell", "write_file", "apply_patch", "delete_file", "http")
    dangerous_operations: tuple[Text, ...] = ("delete", "write", "execute", "modify")
    autonomous_denylist: tuple[Name, ...] = (
        "routine_create",
        "routine_update",
        "routine_delete",
        "routine_fire",
        "event_emit",
        "create_job",
        "job_prompt",
        "restart",
        "tool_install",
        "tool_auth",
        "tool_remove",
        "tool_upgrade",
        "skill_install",
        "skill_remove",
        "secret_list",
        "secret_delete",
    )
    expires_after_s: Seconds = 86400
    approvers: Annotated[str, AfterValidator(_approvers)] = "requester"
    quorum: Count = 1
    rules: tuple[Rule, ...] = ()


class Policy(Section):
    """What nobody's own settings go beyond."""

    file: FilePath | None = Field(default=None, examples=["./policy.toml"])


class MemberRole(Section):
    """What a person let in by pairing or a list may use."""

    tools: tuple[Name, ...] = ("time", "json", "ask_user", "memory_write", "memory_search")
    ask_owner: bool = False


class GuestRole(Section):
    """What anybody may use where a channel is `open`."""

    tools: tuple[Name, ...] = ("time", "json", "ask_user")


class Roles(Section):
    """Each role is an explicit list of tools; the owner has all."""

    member: MemberRole = MemberRole()
    guest: GuestRole = GuestRole()


class Team(Section):
    """People who decide together."""

    users: tuple[User, ...] = Field(
        min_length=1, examples=[["owner", "01900000-0000-7000-8000-000000000000"]]
    )


class Access(Section):
    """Limits on what people send; the owner is never limited."""

    sender_per_minute: Limit = 30


class Network(Section):
    """What tools may reach beyond the public internet."""

    allow_private: tuple[Annotated[str, AfterValidator(_private_address)], ...] = ()


class Workspace(Section):
    """Where tools work."""

    dir: FilePath = Field(default=Path("./workspace"), json_schema_extra=RESTART)


class Log(Section):
    """What the hub writes to standard error, and to a file in the data directory."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", json_schema_extra=RESTART)
    format: Literal["plain", "json"] = Field(default="plain", json_schema_extra=RESTART)
    file_limit_mb: Limit = Field(default=10, json_schema_extra=RESTART)
    files_kept: Count = Field(default=5, json_schema_extra=RESTART)


class _ChannelSection(Section):
    """What every channel has."""

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
    bot_token: Annotated[SecretStr, AfterValidator(_slack_token("xoxb-", "bot token"))] = Field(
        examples=["env:SLACK_BOT_TOKEN"]
    )
    app_token: Annotated[SecretStr, AfterValidator(_slack_token("xapp-", "app-level token"))] | None = Field(
        default=None, examples=["env:SLACK_APP_TOKEN"]
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


ChannelSection = TelegramChannel | SlackChannel | DiscordChannel


class Config(Section):
    """The whole file."""

    hub: Hub = Hub()
    http: Http = Http()
    models: tuple[Model, ...] = (DEMO,)
    agent: Agent = Agent()
    approvals: Approvals = Approvals()
    policy: Policy = Policy()
    roles: Roles = Roles()
    teams: Mapping[Name, Team] = Field(default={})
    access: Access = Access()
    network: Network = Network()
    workspace: Workspace = Workspace()
    log: Log = Log()
    routines: Routines = Routines()
    channels: Mapping[Name, Annotated[ChannelSection, Field(discriminator="platform")]] = Field(default={})


PLANNED: tuple[tuple[str, ...], ...] = (
    ("heartbeat",),
    ("jobs",),
    ("sandbox",),
    ("mcp",),
    ("models", "thinking"),
    ("budget",),
    ("sessions",),
    ("agent", "while_busy"),
    ("agent", "compact_at"),
    ("roles", "guest", "daily_model_calls"),
    ("channels", "shared_threads"),
)
"""Keys of later versions: refused like any unknown key, but with the reason."""

PLANNED_VALUES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("hub", "store"): ("postgresql",),
    ("models", "provider"): ("anthropic", "cli"),
}
"""Values of later versions, by key; a value is recognised by how it begins."""
