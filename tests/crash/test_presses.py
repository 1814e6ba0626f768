"""A hub dies while a card waits: the platform refuses presses, and the restarted hub takes the same button,
once."""

import signal
from pathlib import Path

import pytest

from tests.crash.discord_story import OWNER, open_discord_errand
from tests.crash.errand import ANSWER, APPROVE, LINE
from tests.crash.mortal import LIMIT_S
from tests.crash.slack_story import OWNER as ON_SLACK
from tests.crash.slack_story import open_slack_errand

REQUEST = f"please run: echo {LINE} >> out"


def lines(directory: Path) -> list[str]:
    out = directory / "workspace" / "out"
    return out.read_text().split() if out.exists() else []


async def test_on_slack_the_same_button_works_after_the_restart(tmp_path: Path) -> None:
    async with open_slack_errand(tmp_path) as town:
        slack = town.slack
        await town.start()
        slack.user_sends_text(ON_SLACK, REQUEST)
        await slack.wait_for(town.open_cards, LIMIT_S)
        (card,) = town.open_cards()
        await town.end(signal.SIGKILL)
        await slack.wait_for(lambda: not slack.connections(), LIMIT_S)
        refused = slack.user_presses_button(ON_SLACK, town.channel, card.ts, APPROVE)
        assert (await slack.wait_settled(refused.id, LIMIT_S)).state == "failed"
        await town.start()
        await slack.wait_connected(timeout_s=LIMIT_S)
        pressed = slack.user_presses_button(ON_SLACK, town.channel, card.ts, APPROVE)
        assert (await slack.wait_settled(pressed.id, LIMIT_S)).state == "acked"
        slack.redeliver(pressed.id)
        await slack.wait_for(town.finished, LIMIT_S)
        await town.settled()
        assert lines(tmp_path) == [LINE]
        assert len([text for text in town.texts() if text.startswith(ANSWER)]) == 1


@pytest.mark.slow  # in one process in tests/scenarios/test_discord.py
async def test_on_discord_the_same_button_works_after_the_restart(tmp_path: Path) -> None:
    async with open_discord_errand(tmp_path) as town:
        discord = town.discord
        await town.start()
        await discord.wait_connected(timeout_s=LIMIT_S)
        discord.user_sends_text(OWNER, REQUEST)
        await discord.wait_for(town.open_cards, LIMIT_S)
        (card,) = town.open_cards()
        await town.end(signal.SIGKILL)
        discord.forget_sessions()
        assert discord.user_presses_button(OWNER, card.id, APPROVE).failure is not None
        await town.start()
        await discord.wait_connected(timeout_s=LIMIT_S)
        pressed = discord.user_presses_button(OWNER, card.id, APPROVE)
        assert (await discord.wait_interaction(pressed.id, LIMIT_S)).failure is None
        discord.inject_event("INTERACTION_CREATE", discord.events("INTERACTION_CREATE")[-1].data)
        await discord.wait_for(town.finished, LIMIT_S)
        await town.settled()
        assert lines(tmp_path) == [LINE]
        assert len([text for text in town.texts() if text.startswith(ANSWER)]) == 1
