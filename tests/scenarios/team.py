"""A hub with a team on several platforms: Ben asks, Olivia (the owner) and Lea decide."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.users import Role
from tests.patience import PATIENCE_S
from tests.scenarios import guild, house, workspace
from tests.scenarios.people import OnDiscord, OnSlack, OnTelegram, Person, card, hears, sees
from tests.scenarios.serving import ServedHub
from tests.simulators.discord import DiscordSimulator
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

BEN_ID, LEA_ID = "01900000-0000-7000-8000-000000000008", "01900000-0000-7000-8000-000000000009"
NAMES = ("Ben", "Olivia", "Lea")
ACCOUNTS: Mapping[str, tuple[str, str, str]] = {
    "telegram": ("8", "7", "9"),
    "slack": ("U0BEN", "U0OLIVIA", "U0LEA"),
    "discord": ("100000000000000008", "100000000000000007", "100000000000000009"),
}
"""Who they are on each platform, in the order of their names."""
RUN = "please run: echo line >> out.txt"
QUORUM = """
[[approvals.rules]]
tool = "shell"
approvers = "team:ops"
quorum = 2
not_requester = true
"""


@dataclass(frozen=True, slots=True)
class Cast:
    """On which platform each of them is."""

    ben: str
    owner: str
    lea: str

    def __str__(self) -> str:
        return f"{self.ben}-asks-{self.owner}-and-{self.lea}"

    @property
    def on(self) -> tuple[str, str, str]:
        """In the order of their names."""
        return self.ben, self.owner, self.lea

    def account(self, name: str) -> str:
        """Who that person is on their platform."""
        place = NAMES.index(name)
        return ACCOUNTS[self.on[place]][place]


CASTS = (
    Cast("discord", "telegram", "slack"),
    Cast("telegram", "slack", "discord"),
    Cast("slack", "discord", "telegram"),
)
"""Everybody once on each platform."""


@dataclass(slots=True)
class Platforms:
    """The simulators of those platforms that somebody is on."""

    telegram: TelegramSimulator | None = None
    slack: SlackSimulator | None = None
    discord: DiscordSimulator | None = None

    def person(self, platform: str, account: str, hub: ServedHub) -> Person:
        """Somebody there."""
        if platform == "telegram" and self.telegram is not None:
            return OnTelegram(self.telegram, int(account), partial(hub.settled_sends, platform))
        if platform == "slack" and self.slack is not None:
            return OnSlack(self.slack, account)
        assert self.discord is not None
        return OnDiscord(self.discord, int(account))

    def configuration(self) -> str:
        """Their sections."""
        sections = ""
        if self.telegram is not None:
            sections += f"""
[channels.telegram]
token = "{house.TOKEN}"
api_base_url = "{self.telegram.url}"
"""
        if self.slack is not None:
            sections += f"""
[channels.slack]
bot_token = "{workspace.BOT_TOKEN}"
app_token = "{workspace.APP_TOKEN}"
api_base_url = "{self.slack.url}/api"
"""
        if self.discord is not None:
            sections += f"""
[channels.discord]
token = "{guild.TOKEN}"
api_base_url = "{self.discord.api_base_url}"
gateway_url = "{self.discord.gateway_url}"
"""
        return sections


@dataclass(frozen=True, slots=True)
class Team:
    """The running hub and its people."""

    hub: ServedHub
    cast: Cast
    ben: Person
    owner: Person
    lea: Person

    @property
    def lines(self) -> list[str]:
        """What the approved call wrote, once for each time it ran."""
        out = self.hub.directory / "workspace" / "out.txt"
        return out.read_text().split() if out.exists() else []

    async def starts(self) -> None:
        """The hub, until all its channels run."""
        await self.hub.start()
        for platform in set(self.cast.on):
            await self.hub.becomes("running", platform)

    async def knows_everybody(self) -> None:
        """Ben and Lea are let in, as members; the owner has written before."""
        for name, user_id, platform in (("Ben", BEN_ID, self.cast.ben), ("Lea", LEA_ID, self.cast.lea)):
            await self.hub.store.ensure_user(user_id, Role.MEMBER, name)
            await self.hub.store.link_account(user_id, platform, self.cast.account(name), name)
        for person in (self.owner, self.lea):  # on Telegram a bot may write to those alone who wrote first
            person.say("/start")
            await hears(person, "Hello.")


@contextlib.asynccontextmanager
async def open_team(
    directory: Path, rules: str = QUORUM, *, cast: Cast = CASTS[0], speed: float = 1
) -> AsyncIterator[Team]:
    """The hub, with these rules of approval."""
    async with contextlib.AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelSimulator(api_key=house.KEY, models=("sim-1",)))
        platforms = await _opened(cast, stack)
        hub = ServedHub(directory, speed)
        (directory / "workspace").mkdir()
        (directory / "hubbub.toml").write_text(_configuration(directory, cast, platforms, model, rules))
        ben, owner, lea = (
            platforms.person(platform, cast.account(name), hub)
            for platform, name in zip(cast.on, NAMES, strict=True)
        )
        team = Team(hub, cast, ben, owner, lea)
        try:
            await team.starts()
            await team.knows_everybody()
            yield team
        finally:
            await hub.stop()


async def _opened(cast: Cast, stack: contextlib.AsyncExitStack) -> Platforms:
    platforms = Platforms()
    here = {place: [n for n, on in zip(NAMES, cast.on, strict=True) if on == place] for place in cast.on}
    if "telegram" in here:
        platforms.telegram = telegram = await stack.enter_async_context(TelegramSimulator())
        telegram.add_bot(house.TOKEN)
        for name in here["telegram"]:
            telegram.add_user(int(cast.account(name)), first_name=name)
    if "slack" in here:
        platforms.slack = slack = await stack.enter_async_context(SlackSimulator())
        slack.configure(trigger_ttl_s=PATIENCE_S)  # a busy machine is no reason for a form not to open
        slack.add_app(workspace.BOT_TOKEN, workspace.APP_TOKEN)
        for name in here["slack"]:
            slack.add_user(cast.account(name), name=name.lower())
    if "discord" in here:
        platforms.discord = discord = await stack.enter_async_context(DiscordSimulator())
        discord.configure(interaction_limit_s=PATIENCE_S)  # a busy machine is no reason to fail a press
        discord.add_bot(guild.TOKEN)
        for name in here["discord"]:
            discord.add_user(int(cast.account(name)), name.lower(), global_name=name)
        discord.create_guild("house", [int(cast.account(name)) for name in here["discord"]])
    return platforms


def _configuration(
    directory: Path, cast: Cast, platforms: Platforms, model: ModelSimulator, rules: str
) -> str:
    return f"""
[hub]
data_dir = "{directory}/data"
owner_identities = ["{cast.owner}:{cast.account("Olivia")}"]
[http]
port = 0
[workspace]
dir = "{directory}/workspace"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{model.openai_base_url}"
api_key = "{house.KEY}"
{platforms.configuration()}
[roles.member]
tools = ["shell", "time", "write_file"]
[teams.ops]
users = ["owner", "{BEN_ID}", "{LEA_ID}"]
{rules}
"""


__all__ = ["BEN_ID", "CASTS", "LEA_ID", "QUORUM", "RUN", "Cast", "Team", "card", "hears", "open_team", "sees"]
