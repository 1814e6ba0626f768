"""A hub with a team on several platforms: Ben asks, Olivia (the owner) and Lea decide."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.users import Role
from tests.harness.hub import AnyHub
from tests.harness.people import Person, card, hears, person, sees
from tests.harness.simulators import open_simulators, write_config

BEN_ID, LEA_ID = "01900000-0000-7000-8000-000000000008", "01900000-0000-7000-8000-000000000009"
NAMES = ("Ben", "Olivia", "Lea")
ACCOUNTS: Mapping[str, tuple[str, str, str]] = {
    "telegram": ("8", "7", "9"),
    "slack": ("U0BEN", "U0OLIVIA", "U0LEA"),
    "discord": ("100000000000000008", "100000000000000007", "100000000000000009"),
}
"""Who they are on each platform, in the order of their names."""
RUN = "please run: echo line >> out.txt"
TEAM = f"""
[teams.ops]
users = ["owner", "{BEN_ID}", "{LEA_ID}"]
"""
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
        """Return who that person is on their platform."""
        place = NAMES.index(name)
        return ACCOUNTS[self.on[place]][place]


CASTS = (
    Cast("discord", "telegram", "slack"),
    Cast("telegram", "slack", "discord"),
    Cast("slack", "discord", "telegram"),
)
"""Everybody once on each platform."""


@dataclass(frozen=True, slots=True)
class Team:
    """The running hub and its people."""

    hub: AnyHub
    cast: Cast
    ben: Person
    owner: Person
    lea: Person

    @property
    def lines(self) -> list[str]:
        """Return what the approved call wrote, once for each time it ran."""
        out = self.hub.directory / "workspace" / "out.txt"
        return out.read_text().split() if out.exists() else []

    async def starts(self) -> None:
        """The hub, until all its channels run."""
        await self.hub.start()
        await self.hub.all_run()

    async def knows_everybody(self) -> None:
        """Ben and Lea are let in, as members; the owner has written before."""
        for name, user_id, platform in (("Ben", BEN_ID, self.cast.ben), ("Lea", LEA_ID, self.cast.lea)):
            await self.hub.store.people.ensure_user(user_id, Role.MEMBER, name)
            await self.hub.store.people.link_account(user_id, platform, self.cast.account(name), name)
        for voter in (self.owner, self.lea):  # on Telegram a bot may write to those alone who wrote first
            voter.say("/start")
            await hears(voter, "Hello.")


@contextlib.asynccontextmanager
async def open_team(
    directory: Path, rules: str = QUORUM, *, cast: Cast = CASTS[0], speed: float = 1
) -> AsyncIterator[Team]:
    """The hub, with these rules of approval."""
    people = [(on, cast.account(name), name) for on, name in zip(cast.on, NAMES, strict=True)]
    async with open_simulators(*cast.on, people=people) as simulators:
        hub = AnyHub(simulators, directory, speed)
        owners = [f"{cast.owner}:{cast.account('Olivia')}"]
        rules = f'[roles.member]\ntools = ["shell", "time", "write_file"]\n{TEAM}{rules}'
        write_config(directory, simulators.model_section(), simulators.sections(), rules, owners=owners)
        ben, owner, lea = (person(hub, platform, account) for platform, account, _ in people)
        team = Team(hub, cast, ben, owner, lea)
        async with hub.open(start=False):
            await team.starts()
            await team.knows_everybody()
            yield team


__all__ = ["BEN_ID", "CASTS", "LEA_ID", "QUORUM", "RUN", "Cast", "Team", "card", "hears", "open_team", "sees"]
