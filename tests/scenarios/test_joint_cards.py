"""Several calls of one reply on one card: what is shown of them, and what one answer does."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.harness import discord_hub, slack_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Card, Hub, open_hub
from tests.simulators.model import ToolCall, tools

ASK_ABOUT_FILES = """
[[approvals.rules]]
tool = "write_*"
approvers = "owner"
"""
ALL, NONE, APART = 0, 1, 2
ALWAYS = 2
JOINT = ["Approve all", "Deny all", "One by one"]


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


def request(*words: str) -> str:
    return "\n".join(f"please run: echo {word} >> out.txt" for word in words)


def lines(directory: Path) -> list[str]:
    out = directory / "out.txt"
    return out.read_text().split() if out.exists() else []


async def cards(house: Hub, *, but: Sequence[Card] = (), count: int = 1) -> list[Card]:
    """The open cards beside those, once there are so many."""
    old = {card.id for card in but}

    def others() -> list[Card]:
        return [card for card in house.open_cards(OWNER) if card.id not in old]

    await house.telegram.wait_for(lambda: len(others()) == count, LIMIT_S)
    return others()


def told(house: Hub) -> list[str]:
    """Return what the model was told of its calls."""
    messages = house.model.log[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


async def test_one_press_approves_all_that_the_card_shows(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, request("one", "two", "three"))
    (card,) = await cards(house)
    assert card.text.startswith("Run these 3 calls?")
    for number, word in enumerate(("one", "two", "three"), start=1):
        assert f"{number}. shell" in card.text
        assert f"echo {word} >> out.txt" in card.text
    assert await house.pressed(OWNER, card, ALL) == "Approved by owner"
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ["one", "two", "three"]
    settled = house.telegram.message(OWNER, card.id)
    assert settled.text.endswith("Approved by owner")
    assert settled.keyboard is None


async def test_after_a_denial_none_of_the_calls_runs_and_the_model_learns_of_each(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, request("one", "two"))
    (card,) = await cards(house)
    await house.pressed(OWNER, card, NONE)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == []
    assert told(house) == ['Denied, the call was not run: Not run: denied by "owner".'] * 2


async def test_asked_one_by_one_each_call_has_its_own_card_and_a_bare_yes_answers_none_of_two(
    house: Hub,
) -> None:
    house.telegram.user_sends_text(OWNER, request("one", "two"))
    (joint,) = await cards(house)
    assert await house.pressed(OWNER, joint, APART) == "owner asked to decide each call separately"
    first, second = await cards(house, but=[joint], count=2)
    assert ("echo one" in first.text, "echo two" in second.text) == (True, True)
    assert (
        await house.pressed(OWNER, joint, ALL) == "Already closed: owner asked to decide each call separately"
    )
    house.telegram.user_sends_text(OWNER, "yes")
    await house.telegram.wait_text(OWNER, "Your message is queued")
    assert lines(house.workspace) == []
    await house.pressed(OWNER, first, NONE)
    house.telegram.user_sends_text(OWNER, "command: echo changed >> out.txt", reply_to=second.id)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ["changed"]
    await house.telegram.wait_text(OWNER, "You said: yes")


async def test_asked_one_by_one_an_always_settles_the_others_it_covers(house: Hub) -> None:
    written = (("note.txt", "one"), ("note.txt", "two"), ("note.txt", "three"), ("plan.txt", "four"))
    calls = [ToolCall("write_file", {"path": path, "content": content}) for path, content in written]
    house.model.enqueue(tools(*calls))
    house.telegram.user_sends_text(OWNER, "go on")
    (joint,) = await cards(house)
    await house.pressed(OWNER, joint, APART)
    first, *covered, last = await cards(house, but=[joint], count=4)
    assert await house.pressed(OWNER, first, ALWAYS) == "Always allowed by owner"
    (left,) = await cards(house)
    assert left.id == last.id
    for card in covered:
        assert house.telegram.message(OWNER, card.id).text.endswith("Always allowed by owner")
    await house.pressed(OWNER, left, NONE)
    await house.telegram.wait_text(OWNER, "Done:")
    assert (house.workspace / "note.txt").read_text() == "three"
    assert not (house.workspace / "plan.txt").exists()


@pytest.mark.slow
async def test_a_joint_card_offers_no_edits(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, request("one", "two"))
    (card,) = await cards(house)
    assert len(card.choices) == len(JOINT)
    await house.settled_sends()
    house.telegram.user_sends_text(OWNER, "command: echo changed >> out.txt", reply_to=card.id)
    await house.telegram.wait_text(OWNER, "This request covers several calls.")
    house.telegram.user_sends_text(OWNER, "yes", reply_to=card.id)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ["one", "two"]


async def test_a_card_omits_values_it_cannot_show_whole(house: Hub) -> None:
    words = [letter * 900 for letter in "abc"]
    house.telegram.user_sends_text(OWNER, request(*words))
    (first,) = await cards(house)
    assert [word in first.text for word in words] == [True, True, False]
    await house.pressed(OWNER, first, ALL)
    (second,) = await cards(house, but=[first])
    assert lines(house.workspace) == words[:2]
    assert words[2] in second.text
    assert second.text.startswith("Run `")
    await house.pressed(OWNER, second, NONE)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == words[:2]


async def test_calls_of_another_rule_or_requirement_are_asked_about_separately(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=ASK_ABOUT_FILES) as house:
        calls = [
            ToolCall("shell", {"command": "echo one >> out.txt"}),
            ToolCall("write_file", {"path": "note.txt", "content": "two"}),
            ToolCall("shell", {"command": "rm -rf build"}),
            ToolCall("shell", {"command": "echo three >> out.txt"}),
        ]
        house.model.enqueue(tools(*calls))
        house.telegram.user_sends_text(OWNER, "go on")
        shown: list[Card] = []
        for button in (ALL, NONE, NONE):
            (card,) = await cards(house, but=shown)
            shown.append(card)
            await house.pressed(OWNER, card, button)
        await house.telegram.wait_text(OWNER, "Done:")
        together, file, removal = (card.text for card in shown)
        assert ["echo one" in together, "echo three" in together] == [True, True]
        assert "note.txt" in file
        assert "rm -rf build" in removal
        assert lines(house.workspace) == ["one", "three"]
        assert not (house.workspace / "note.txt").exists()


@pytest.mark.slow
async def test_no_more_calls_are_asked_about_than_may_run(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[approvals]\nmax_tools = 2") as house:
        house.telegram.user_sends_text(OWNER, request("one", "two", "three"))
        (card,) = await cards(house)
        assert "Run these 2 calls?" in card.text
        await house.pressed(OWNER, card, ALL)
        (limit,) = await cards(house, but=[card])
        assert "made 2 tool calls" in limit.text
        assert lines(house.workspace) == ["one", "two"]


@pytest.mark.slow
@pytest.mark.parametrize("choice", [ALL, NONE, APART])
async def test_a_joint_card_outlives_the_hub(house: Hub, choice: int) -> None:
    house.telegram.user_sends_text(OWNER, request("one", "two"))
    (joint,) = await cards(house)
    await house.stop()
    house.telegram.user_presses_button(OWNER, joint.id, data=joint.choices[choice])
    await house.start()
    if choice == APART:
        singles = await cards(house, but=[joint], count=2)
        await house.stop()
        await house.start()
        for card in singles:
            await house.pressed(OWNER, card, ALL)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ([] if choice == NONE else ["one", "two"])


@pytest.mark.slow
async def test_a_joint_card_works_on_slack(tmp_path: Path) -> None:
    async with slack_hub.open_slack_hub(tmp_path) as place:
        slack, owner, direct = place.slack, slack_hub.OWNER, place.direct()

        def with_edit() -> list[Any]:
            shown = slack.messages(direct)
            return [one for one in shown if "Edit…" in [label for label, _ in slack.look(one).buttons]]

        slack.user_sends_text(owner, request("one", "two"))
        joint = await place.card(direct)
        assert [label for label, _ in slack.look(joint).buttons] == JOINT
        assert all(f"echo {word}" in slack.visible(direct, joint.ts) for word in ("one", "two"))
        slack.user_presses_button(owner, direct, joint.ts, "One by one")
        await slack.wait_for(lambda: len(with_edit()) == 2, LIMIT_S)
        first, second = with_edit()
        slack.user_presses_button(owner, direct, first.ts, "Approve")
        slack.user_presses_button(owner, direct, second.ts, "Deny")
        await place.hears(direct, "Done:")
        assert lines(place.workspace) == ["one"]
        await slack.wait_for(
            lambda: "asked to decide each call separately" in slack.visible(direct, joint.ts), LIMIT_S
        )


@pytest.mark.slow
async def test_a_joint_card_works_on_discord(tmp_path: Path) -> None:
    async with discord_hub.open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(discord_hub.OWNER, request("one", "two"))
        joint = await place.card(place.direct())
        assert [button["label"] for button in joint.buttons()] == JOINT
        assert all(f"echo {word}" in joint.text for word in ("one", "two"))
        await place.presses(discord_hub.OWNER, joint, ALL)
        await place.hears(place.direct(), "Done:")
        assert lines(place.workspace) == ["one", "two"]
        await place.discord.wait_for(lambda: "Approved by" in joint.text, discord_hub.LIMIT_S)
