"""The shape of `hubbub.toml`: one frozen model per section, with defaults, units in the names, limits.

The models judge single values; bot.config.load judges across sections. Every refusal becomes one line with
file,
line, key and advice (bot.config.errors). Refusals raised here have the form "problem; remedy". `examples`
are the
error's offer for a key without a default; `restart` marks values that only a new start reads.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, SecretStr

from bot.config.place import DATA_DIR
from bot.config.sections import (
    Approvals,
    ChannelSection,
    Extensions,
    Heartbeat,
    Hook,
    Jobs,
    McpServer,
    Routines,
    Sandbox,
    ServerName,
    Sessions,
)
from bot.config.types import (
    RESTART,
    Count,
    FilePath,
    Identity,
    Limit,
    Name,
    Section,
    Text,
    ToolName,
    Url,
    UrlOrNothing,
    User,
    Zone,
)
from core.safety.network import Exemption


def _private_address(text: str) -> str:
    Exemption.parse(text)
    return text


class Hub(Section):
    """The hub itself."""

    data_dir: FilePath = Field(default=Path(DATA_DIR), json_schema_extra=RESTART)
    owner: Name = Field(default="owner", json_schema_extra=RESTART)
    owner_identities: tuple[Identity, ...] = ()
    timezone: Zone = "UTC"
    locale: Literal["en"] = "en"
    store: Literal["sqlite"] = Field(default="sqlite", json_schema_extra=RESTART)


class Http(Section):
    """The hub's address; port 0 takes any free one."""

    host: Text = Field(default="127.0.0.1", json_schema_extra=RESTART)
    port: int = Field(default=8765, ge=0, le=65535, json_schema_extra=RESTART)
    public_url: UrlOrNothing = ""


PROVIDER_URLS: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}


class Model(Section):
    """One language model; the entries after the first are its fallbacks, in order."""

    name: Name = Field(default="main", examples=["main"])
    provider: Literal["openai", "anthropic", "cli", "extension", "demo"] = Field(examples=["openai"])
    model: str = Field(default="", examples=["gpt-5-mini"])
    base_url: UrlOrNothing = Field(default="", examples=[PROVIDER_URLS["openai"]])
    api_key: SecretStr = Field(default=SecretStr(""), examples=["env:OPENAI_API_KEY"])
    api_keys: tuple[SecretStr, ...] = Field(default=(), examples=[["env:OPENAI_KEY_A", "env:OPENAI_KEY_B"]])
    thinking: Literal["off", "low", "medium", "high"] = "off"
    stream: bool = True
    preset: Literal["claude", "qwen"] = "claude"
    command: tuple[Text, ...] = Field(default=(), examples=[["claude"]])
    arguments: tuple[str, ...] = Field(default=(), examples=[["--model", "{model}"]])
    timeout_s: float = Field(default=600, gt=0, le=3600)
    entry_point: str = Field(default="", examples=["example"])
    options: Mapping[Name, str] = Field(default={}, examples=[{"region": "eu"}])
    context_tokens: int | None = Field(default=None, ge=1000, examples=[400_000])
    max_output_tokens: Count | None = Field(default=None, examples=[128_000])
    images: bool | None = Field(default=None, examples=[True])
    max_temperature: float | None = Field(default=None, ge=0, le=2, examples=[2.0])
    input_usd_per_million: float = Field(default=0, ge=0)
    output_usd_per_million: float = Field(default=0, ge=0)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys in order; at least one, which may be empty."""
        keys = [key.get_secret_value() for key in (self.api_key, *self.api_keys)]
        return tuple(key for key in keys if key) or ("",)

    @property
    def api_url(self) -> str:
        """The base URL that requests go to; empty for the demo model."""
        return self.base_url or PROVIDER_URLS.get(self.provider, "")

    @property
    def priced(self) -> bool:
        """Return whether the file has a price for its replies; 0 is one."""
        return not self.model_fields_set.isdisjoint({"input_usd_per_million", "output_usd_per_million"})

    @property
    def free(self) -> bool:
        """Return whether its replies are known to cost nothing."""
        costs_nothing = self.input_usd_per_million == self.output_usd_per_million == 0
        return self.provider == "demo" or (self.priced and costs_nothing)


DEMO = Model(name="demo", provider="demo")


class Agent(Section):
    """Settings of turns."""

    system_prompt: Text = (
        "You are a careful assistant in a chat. Answer briefly, in the user's language. "
        "Use a tool when it helps, say what you did, and never claim to have done something you did not."
    )
    while_busy: Literal["queue", "steer", "interrupt"] = "queue"
    queue: Literal["merge", "one_by_one"] = "merge"
    stream: bool = True
    context_tokens: int = Field(default=100_000, ge=1000)
    reserve_tokens: int = Field(default=4000, ge=4000)
    compact_at: float = Field(default=0.8, ge=0.5, le=0.95)
    temperature: float = Field(default=0.7, ge=0, le=2)
    answer_tokens: Count = 4096
    max_waiting: Count = 100

    @property
    def free_tokens(self) -> int:
        """The tokens of every window that no prompt takes."""
        return max(self.reserve_tokens, self.answer_tokens)

    @property
    def free_by(self) -> str:
        """The setting that `free_tokens` comes from."""
        return "answer_tokens" if self.answer_tokens > self.reserve_tokens else "reserve_tokens"


class Policy(Section):
    """The admin policy file."""

    file: FilePath | None = Field(default=None, examples=["./policy.toml"])


class MemberRole(Section):
    """Tools of people paired or allowed by a list."""

    tools: tuple[ToolName, ...] = (
        "time",
        "json",
        "ask_user",
        "memory_write",
        "memory_search",
        "thread_search",
        "read_attachment",
    )
    ask_owner: bool = False


class GuestRole(Section):
    """Tools of everyone on an `open` channel."""

    tools: tuple[ToolName, ...] = ("time", "json", "ask_user")
    daily_model_calls: Limit = 50


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
    """Addresses tools may reach beyond the public internet."""

    allow_private: tuple[Annotated[str, AfterValidator(_private_address)], ...] = ()


class WebSearch(Section):
    """The search engine of the tool `web_search`; without one there is no such tool."""

    base_url: Url | None = Field(default=None, examples=["https://search.example"], json_schema_extra=RESTART)
    results: Annotated[int, Field(ge=1, le=20)] = Field(default=8, json_schema_extra=RESTART)
    timeout_s: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = Field(
        default=15, json_schema_extra=RESTART
    )


class Workspace(Section):
    """The tools' directory, and the skills in it that the operator vouches for."""

    dir: FilePath = Field(default=Path("./workspace"), json_schema_extra=RESTART)
    trusted_skills: tuple[str, ...] = Field(default=(), json_schema_extra=RESTART)


class Log(Section):
    """The log on standard error, and in a file of the data directory."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", json_schema_extra=RESTART)
    format: Literal["plain", "json"] = Field(default="plain", json_schema_extra=RESTART)
    file_limit_mb: Limit = Field(default=10, json_schema_extra=RESTART)
    files_kept: Count = Field(default=5, json_schema_extra=RESTART)


class Audit(Section):
    """Retention of audit records."""

    keep_days: Limit = Field(default=0, json_schema_extra=RESTART)


class Budget(Section):
    """Limits on what all model calls together may cost; 0 for no limit."""

    daily_usd: float = Field(default=0, ge=0)
    per_user_daily_usd: float = Field(default=0, ge=0)
    hourly_model_calls: Limit = 0


class Config(Section):
    """The whole file."""

    hub: Hub = Hub()
    http: Http = Http()
    models: tuple[Model, ...] = (DEMO,)
    agent: Agent = Agent()
    budget: Budget = Budget()
    approvals: Approvals = Approvals()
    policy: Policy = Policy()
    roles: Roles = Roles()
    teams: Mapping[Name, Team] = Field(default={})
    access: Access = Access()
    network: Network = Network()
    web_search: WebSearch = WebSearch()
    workspace: Workspace = Workspace()
    log: Log = Log()
    audit: Audit = Audit()
    routines: Routines = Routines()
    jobs: Jobs = Jobs()
    sandbox: Sandbox = Sandbox()
    heartbeat: Heartbeat = Heartbeat()
    mcp: Mapping[ServerName, McpServer] = Field(default={})
    extensions: Extensions = Extensions()
    hooks: tuple[Hook, ...] = ()
    sessions: Sessions = Sessions()
    channels: Mapping[Name, Annotated[ChannelSection, Field(discriminator="platform")]] = Field(default={})


PLANNED: tuple[tuple[str, ...], ...] = (("channels", "shared_threads"),)
"""Keys of later versions: refused like any unknown key, but with the reason."""

PLANNED_VALUES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("hub", "store"): ("postgresql",),
}
"""Values of later versions, by key; a value is recognised by how it begins."""


# The secrets among the values of the configuration.


def secret_values(config: BaseModel) -> frozenset[str]:
    """Return the text of every secret that is set, for redaction."""
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
