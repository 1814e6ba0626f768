"""The platforms and the model provider around a hub, simulated: whichever of them a test needs, and what the
hub's configuration says of them."""

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

KEY = "model-key"
TELEGRAM_TOKEN = "123456:AAE-a-token-of-the-usual-length-0123456"
SLACK_BOT, SLACK_APP, SLACK_SECRET = "xoxb-1", "xapp-1", "8f742231b10e8888abcd99yyyzzz85a5"
DISCORD_BOT = 900_000_000_000_000_001
DISCORD_TOKEN = base64.b64encode(str(DISCORD_BOT).encode()).decode().rstrip("=") + ".Gabcde.secret-of-the-bot"
TOKENS = {"telegram": TELEGRAM_TOKEN, "slack": SLACK_BOT, "discord": DISCORD_TOKEN}
PLATFORMS = tuple(TOKENS)
OLIVIA = {"telegram": "7", "slack": "U0OLIVIA", "discord": "100000000000000007"}
"""The owner's accounts."""


IN_CONTAINERS = "HUBBUB_TEST_CHAT_TOOLS"
"""The variable that names an image: hubs written meanwhile run the tools of chats in containers of it."""


def person_files(directory: Path, user_id: str) -> Path:
    """Where a person's tools work then, in a directory with a hub."""
    return directory.resolve() / "data" / "people" / hashlib.sha256(user_id.encode()).hexdigest()[:32]


def in_containers(image: str) -> str:
    """The section that has the tools of chats run in small containers of an image."""
    sandbox = f'enabled = true\nchat_tools = true\nimage = "{image}"\nmemory_mb = 256\ndisk_mb = 50\n'
    return f"[sandbox]\n{sandbox}"


@dataclass(slots=True)
class Simulators:
    """The surroundings of a hub; asking for what does not run is a mistake of the test. `guild`: the Discord
    server that everybody is in."""

    model: ModelSimulator
    slack_mode: str = "socket"
    guild: int = 0
    _telegram: TelegramSimulator | None = None
    _slack: SlackSimulator | None = None
    _discord: DiscordSimulator | None = None

    @property
    def telegram(self) -> TelegramSimulator:
        """The one that runs."""
        assert self._telegram is not None
        return self._telegram

    @property
    def slack(self) -> SlackSimulator:
        """The one that runs."""
        assert self._slack is not None
        return self._slack

    @property
    def discord(self) -> DiscordSimulator:
        """The one that runs."""
        assert self._discord is not None
        return self._discord

    @property
    def platforms(self) -> tuple[str, ...]:
        """Those that run."""
        running = (self._telegram, self._slack, self._discord)
        return tuple(name for name, one in zip(PLATFORMS, running, strict=True) if one is not None)

    def add_person(self, platform: str, account: str, name: str) -> None:
        """Somebody has an account there."""
        match platform:
            case "telegram":
                self.telegram.add_user(int(account), first_name=name)
            case "slack":
                self.slack.add_user(account, name=name.lower(), real_name=name)
            case _:
                self.discord.add_user(int(account), name.lower(), global_name=name)
                if self.guild:
                    self.discord.join_guild(self.guild, int(account))
                else:
                    self.guild = self.discord.create_guild("house", [int(account)]).id

    def model_section(self, provider: str = "openai", more: str = "") -> str:
        """What the configuration says of the model; `more` are further lines."""
        urls = {"openai": self.model.openai_base_url, "anthropic": self.model.anthropic_base_url}
        urls["cli"] = self.model.anthropic_base_url
        return f"""[[models]]
name = "main"
provider = "{provider}"
model = "sim-1"
base_url = "{urls[provider]}"
api_key = "{KEY}"
{more}
"""

    def section(self, platform: str, token: str = "", **more: object) -> str:
        """Return what the configuration says of a platform."""
        token = token or TOKENS[platform]
        match platform:
            case "telegram":
                return section(platform, token=token, api_base_url=self.telegram.url, **more)
            case "slack":
                socket = self.slack_mode == "socket"
                proof = {"app_token": SLACK_APP} if socket else {"signing_secret": SLACK_SECRET}
                base = {"mode": self.slack_mode, "api_base_url": f"{self.slack.url}/api"}
                return section(platform, bot_token=token, **proof, **base, **more)
            case _:
                urls = {"api_base_url": self.discord.api_base_url, "gateway_url": self.discord.gateway_url}
                return section(platform, token=token, **urls, **more)

    def sections(self, tokens: Mapping[str, str] = TOKENS, **more: object) -> str:
        """Return what the configuration says of all platforms that run."""
        return "".join(self.section(platform, tokens[platform], **more) for platform in self.platforms)


@dataclass(slots=True)
class Surrounded:
    """A hub whose data and workspace are in `directory`, and what is around it."""

    simulators: Simulators
    directory: Path

    @property
    def telegram(self) -> TelegramSimulator:
        """See Simulators."""
        return self.simulators.telegram

    @property
    def slack(self) -> SlackSimulator:
        """See Simulators."""
        return self.simulators.slack

    @property
    def discord(self) -> DiscordSimulator:
        """See Simulators."""
        return self.simulators.discord

    @property
    def model(self) -> ModelSimulator:
        """See Simulators."""
        return self.simulators.model

    @property
    def workspace(self) -> Path:
        """Return where the owner's tools work."""
        if IN_CONTAINERS in os.environ:
            return person_files(self.directory, "owner")
        return self.directory / "workspace"


def section(channel: str, **options: object) -> str:
    """A channel's section. JSON's values are TOML's."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    return "\n".join([f"[channels.{channel}]", *lines, ""])


def write_config(
    directory: Path,
    *sections: str,
    owners: Iterable[str] = (),
    hub: str = "",
    http: str = "port = 0",
) -> None:
    """Write the hub's configuration: its data and workspace are in `directory`; `hub` and `http` are lines of
    the sections of these names, `sections` follow as they are, usually a model's first.

    Jobs make no plans unless `use_planning` is among them: most tests count on the model's first reply."""
    (directory / "workspace").mkdir(exist_ok=True)
    owned = f"owner_identities = {json.dumps(list(owners))}\n" if owners else ""
    text = f"""[hub]
data_dir = "{directory}/data"
{owned}{hub}
[http]
{http}
[workspace]
dir = "{directory}/workspace"
"""
    jobs, rest = "[jobs]\nuse_planning = false\n", "\n".join([*sections, ""])
    if "use_planning" in rest:
        jobs = ""
    elif "[jobs]\n" in rest:
        rest, jobs = rest.replace("[jobs]\n", jobs), ""
    if image := os.environ.get(IN_CONTAINERS):
        jobs += in_containers(image)
    (directory / "hubbub.toml").write_text(f"{text}{jobs}\n{rest}")


@contextlib.asynccontextmanager
async def open_simulators(
    *platforms: str,
    people: Iterable[tuple[str, str, str]] | None = None,
    tokens: Mapping[str, str] = TOKENS,
    slack_mode: str = "socket",
    patient: bool = True,
) -> AsyncIterator[Simulators]:
    """The model and these platforms, each with its bot; `people` are a platform, an account and a name each,
    by default the owner everywhere. `patient`: forms and presses wait for a busy machine longer than real
    ones, which is wrong for a hub that dies."""
    async with contextlib.AsyncExitStack() as stack:
        simulators = Simulators(ModelSimulator(api_key=KEY, models=("sim-1",)), slack_mode)
        await stack.enter_async_context(simulators.model)
        if "telegram" in platforms:
            simulators._telegram = await stack.enter_async_context(TelegramSimulator())
            simulators.telegram.add_bot(tokens["telegram"])
        if "slack" in platforms:
            simulators._slack = slack = await stack.enter_async_context(SlackSimulator())
            slack.configure(trigger_ttl_s=PATIENCE_S if patient else None)
            slack.add_app(tokens["slack"], SLACK_APP, SLACK_SECRET, mode=slack_mode, commands=["/hubbub"])
        if "discord" in platforms:
            simulators._discord = discord = await stack.enter_async_context(DiscordSimulator())
            discord.configure(interaction_limit_s=PATIENCE_S if patient else None)
            discord.add_bot(tokens["discord"])
        for person in people or [(platform, OLIVIA[platform], "Olivia") for platform in platforms]:
            simulators.add_person(*person)
        yield simulators
