"""A call that was cut off after it had its effect: on every platform people say that it happened, have it run
again, or leave it, and that is what is done and what the model is told."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.discord_story import open_discord_errand
from tests.crash.errand import play as play_errand
from tests.crash.mortal import OWNER, UNKNOWN, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.crash.slack_story import open_slack_errand
from tests.crash.story import LINE, play
from tests.simulators.model import ModelSimulator

CUT_OFF = parse_commit_point("finish_calls:1:before")
CHOICES = {
    "happened": (0, "Confirmed by owner: it happened", 1, '"owner" confirmed that it happened.'),
    "retry": (1, "Run again by owner", 2, "exit code: 0"),
    "skip": (2, "Skipped by owner", 1, '"owner" decided not to run it again.'),
}
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("choice", CHOICES)]


def judge(choice: str, directory: Path, texts: Sequence[str], model: ModelSimulator) -> None:
    _, outcome, times, told = CHOICES[choice]
    out = directory / "workspace" / "out"
    assert out.read_text().split() == [LINE] * times
    (card,) = [text for text in texts if UNKNOWN in text]
    assert card.endswith(outcome)
    assert '{"' not in card, "it shows the call as the card does on which it was agreed to"
    assert "command: " in card
    (heard,) = {m["content"] for m in model.log[-1].body["messages"] if m["role"] == "tool"}
    assert told in heard


async def test_an_unknown_outcome_is_asked_about_on_telegram(tmp_path: Path, choice: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        town.about_unknown = CHOICES[choice][0]
        await play(town, CUT_OFF)
        judge(choice, tmp_path, [message.text for message in town.shown_to(OWNER)], town.model)


async def test_an_unknown_outcome_is_asked_about_on_slack(tmp_path: Path, choice: str) -> None:
    async with open_slack_errand(tmp_path) as town:
        town.about_unknown = CHOICES[choice][0]
        await play_errand(town, CUT_OFF)
        judge(choice, tmp_path, town.texts(), town.model)


async def test_an_unknown_outcome_is_asked_about_on_discord(tmp_path: Path, choice: str) -> None:
    async with open_discord_errand(tmp_path) as town:
        town.about_unknown = CHOICES[choice][0]
        await play_errand(town, CUT_OFF)
        judge(choice, tmp_path, town.texts(), town.model)
