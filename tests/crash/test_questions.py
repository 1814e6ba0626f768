"""A question that waits while the hub dies: answered and told to the model once, whatever is cut short."""

import json
from pathlib import Path

import pytest

from tests.crash.deliveries import judge_copies, judge_marks, turns_of
from tests.crash.mortal import OWNER, MortalHub, open_mortal_hub
from tests.crash.points import AtCommit, InTelegram, Point, parse_commit_point
from tests.crash.story import play

CHOSEN = "owner chose: red"
TOLD = '"owner" chose: red'
REQUEST = f"please call: ask_user {json.dumps({'question': 'Which colour?', 'choices': ['red', 'blue']})}"

NAMED = (
    "ask_person:1:after",  # it waits, and nobody sees it yet
    "record_part_sent:1:before",  # it was shown, and the hub does not know
    "accept_event:2:after",  # answered, and the platform delivers the press again
)


STEPS = frozenset(
    {
        "accept_event",
        "record_reply_and_intents",
        "ask_person",
        "record_part_sent",
        "finish_calls",
        "finish_turn_and_enqueue",
    }
)
"""What every run of the story commits equally often; previews and claims depend on the hub's pace."""


@pytest.mark.parametrize("point", NAMED)
async def test_killed_at_this_point_the_question_is_answered_once(tmp_path: Path, point: str) -> None:
    await strike(tmp_path, parse_commit_point(point))


@pytest.mark.slow
async def test_killed_at_any_point_the_question_is_answered_once(tmp_path: Path) -> None:
    (tmp_path / "dry").mkdir()
    async with open_mortal_hub(tmp_path / "dry") as town:
        await play(town, None, REQUEST)
        await town.stop()
        passed = [parse_commit_point(line) for line in town.trace()]
        points: list[Point] = [point for point in passed if point.unit in STEPS]
        methods = [request.method for request in town.telegram.requests()]
    for method in ("sendMessage", "editMessageText", "answerCallbackQuery"):
        points += [InTelegram(method, nth + 1) for nth in range(methods.count(method))]
    assert {AtCommit("ask_person", 1, "after"), InTelegram("editMessageText", 1)} <= set(points)
    print(f"{len(points)} kill points with a question")
    for number, point in enumerate(points):
        (tmp_path / str(number)).mkdir()
        print(point)
        await strike(tmp_path / str(number), point)


async def strike(directory: Path, point: Point) -> None:
    async with open_mortal_hub(directory) as town:
        await play(town, point, REQUEST)
        events = await town.account()
        await town.stop()
        _judge(town, point)
        assert len(turns_of(events)) == 1, point
        dead = town.ledger(1)
        judge_marks(events, dead, judge_copies(town, dead))


def _judge(town: MortalHub, point: Point) -> None:
    told = [
        message["content"]
        for request in town.model.log
        for message in request.body["messages"]
        if message["role"] == "tool"
    ]
    assert set(told) == {TOLD}, point
    cards = [message.text for message in town.shown_to(OWNER) if "Which colour?" in message.text]
    assert cards, point
    assert all(text.endswith(CHOSEN) for text in cards), point
    assert not town.open_cards(OWNER), point
