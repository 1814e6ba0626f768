"""A hub with a Telegram and a Slack bot, and a team on both: Olivia (the owner) and Ben on Telegram, Lea on
Slack."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.users import Role
from tests.scenarios.house import LIMIT_S, OWNER, Card, House, open_house
from tests.simulators.slack import SlackSimulator

BEN, LEA = 8, "U0LEA"
BEN_ID, LEA_ID = "01900000-0000-7000-8000-000000000008", "01900000-0000-7000-8000-000000000009"
BOT_TOKEN, APP_TOKEN = "xoxb-1", "xapp-1"
RUN = "please run: echo line >> out.txt"
QUORUM = """
[[approvals.rules]]
tool = "shell"
approvers = "team:ops"
quorum = 2
not_requester = true
"""


@dataclass(slots=True)
class Team:
    """The running hub and its people."""

    house: House
    slack: SlackSimulator

    @property
    def lines(self) -> list[str]:
        """What the approved call wrote, once for each time it ran."""
        out = self.house.workspace / "out.txt"
        return out.read_text().split() if out.exists() else []

    async def knows_everybody(self) -> None:
        """Ben and Lea are let in, as members."""
        assert self.house.app is not None
        store = self.house.app.store
        for user_id, name, channel, account in (
            (BEN_ID, "Ben", "telegram", str(BEN)),
            (LEA_ID, "Lea", "slack", LEA),
        ):
            await store.ensure_user(user_id, Role.MEMBER, name)
            await store.link_account(user_id, channel, account, name)

    @property
    def leas(self) -> str:
        """Lea's conversation with the bot."""
        return self.slack.direct_channel(LEA).id

    async def leas_card(self) -> Any:
        """The message with buttons that Lea sees, once there is one."""
        return await self.slack.wait_for(
            lambda: next((m for m in self.slack.messages(self.leas) if self.slack.look(m).buttons), None),
            LIMIT_S,
        )

    async def lea_presses(self, card: Any, button: str) -> None:
        """Until Slack has it acknowledged."""
        record = self.slack.user_presses_button(LEA, self.leas, card.ts, button)
        assert (await self.slack.wait_settled(record.id, LIMIT_S)).state == "acked"

    async def lea_changes(self, card: Any, values: dict[str, str]) -> None:
        """She fills in the form that her card offers."""
        slack = self.slack
        slack.user_presses_button(LEA, self.leas, card.ts, "Edit…")
        view = await slack.wait_for(lambda: next(iter(slack.views.values()), None), LIMIT_S)
        shown = {block["block_id"]: block["element"].get("initial_value") for block in view.body["blocks"]}
        record = slack.user_submits_view(LEA, view.id, {**shown, **values})
        assert (await slack.wait_settled(record.id, LIMIT_S)).state == "acked"

    async def lea_sees(self, card: Any, text: str) -> None:
        """Until her card says so."""
        await self.slack.wait_for(lambda: text in self.slack.visible(self.leas, card.ts), LIMIT_S)

    async def sees(self, person: int, card: Card, text: str) -> None:
        """Until that card says so."""
        house = self.house

        def said() -> bool:
            return any(m.id == card.id and text in m.text for m in house.telegram.bot_messages(person))

        await house.telegram.wait_for(said, LIMIT_S)


@contextlib.asynccontextmanager
async def open_team(directory: Path, rules: str = QUORUM, *, speed: float = 1) -> AsyncIterator[Team]:
    """The hub, with these rules of approval."""
    async with SlackSimulator() as slack:
        slack.add_app(BOT_TOKEN, APP_TOKEN)
        slack.add_user(LEA, name="lea")
        extra = f"""
[channels.slack]
bot_token = "{BOT_TOKEN}"
app_token = "{APP_TOKEN}"
api_base_url = "{slack.url}/api"
[roles.member]
tools = ["shell", "time"]
[teams.ops]
users = ["owner", "{BEN_ID}", "{LEA_ID}"]
{rules}
"""
        async with open_house(directory, direct="pairing", extra=extra, speed=speed) as house:
            house.telegram.add_user(BEN, first_name="Ben")
            team = Team(house, slack)
            await team.knows_everybody()
            await house.channel_becomes("running", "slack")
            house.telegram.user_sends_text(OWNER, "/start")  # a bot may write to those alone who wrote first
            await house.telegram.wait_text(OWNER, "Hello.")
            yield team


__all__ = ["BEN", "LEA", "LEA_ID", "LIMIT_S", "OWNER", "QUORUM", "RUN", "Team", "open_team"]
