"""What waits for people, the same on every platform: words that answer and words that do not, grants that are
taken back, time that runs out."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.scenarios.scenes import Scene, Shown, open_scene

RUN = "please run: echo line >> out.txt"
TWO = "please run: echo one >> out.txt\nplease run: echo two >> out.txt"
PLATFORMS = ["telegram", pytest.param("slack", marks=pytest.mark.slow)]
PLATFORMS += [pytest.param("discord", marks=pytest.mark.slow)]
pytestmark = pytest.mark.parametrize("platform", PLATFORMS)


def lines(scene: Scene) -> list[str]:
    out = scene.files / "out.txt"
    return out.read_text().split() if out.exists() else []


async def cards(scene: Scene, label: str = "Approve", count: int = 1) -> list[Shown]:
    """The cards with that button, once there are so many."""

    def found() -> list[Shown]:
        return [one for one in scene.shown() if label in one.buttons]

    await scene.until(lambda: len(found()) == count)
    return found()


async def hears(scene: Scene, text: str, times: int = 1) -> None:
    await scene.until(lambda: sum(text in one.text for one in scene.shown()) >= times)


def open_again(scene: Scene, but: Sequence[Shown] = ()) -> list[Shown]:
    old = {card.id for card in but}
    return [one for one in scene.shown() if one.buttons and one.id not in old]


@pytest.mark.slow  # in the usual profile beside joint cards
async def test_with_two_open_a_bare_yes_is_text_and_with_one_it_decides(
    tmp_path: Path, platform: str
) -> None:
    async with open_scene(platform, tmp_path) as scene:
        scene.say(TWO)
        (joint,) = await cards(scene, "One by one")
        scene.press(joint, "One by one")
        first, second = await cards(scene, count=2)
        scene.say("yes")
        await hears(scene, "Your message is queued")
        assert lines(scene) == []
        scene.press(second, "Deny")
        await scene.until(lambda: open_again(scene) == [first])
        scene.say("approve")
        await hears(scene, "Done:")
        assert lines(scene) == ["one"]
        await hears(scene, "You said: yes")


async def test_a_yes_from_before_the_card_is_no_answer(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path) as scene:
        let_go = scene.hold_next_message()
        scene.say(RUN)
        await scene.held()
        scene.say("yes")
        await scene.until(lambda: True)
        let_go()
        (card,) = await cards(scene)
        await hears(scene, "Your message is queued")
        assert lines(scene) == []
        scene.press(card, "Deny")
        await hears(scene, "You said: yes")
        assert lines(scene) == []


async def test_a_grant_that_is_taken_back_asks_again(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path) as scene:
        made = scene.files / "made"
        scene.say("please run: touch made")
        (first,) = await cards(scene)
        scene.press(first, "Always")
        await hears(scene, "Done:")
        made.unlink()
        scene.say("please run: touch made")
        await hears(scene, "Done:", times=2)
        made.unlink()
        scene.say("/grants revoke all")
        await hears(scene, "Taken back: I will ask again.")
        scene.say("please run: touch made")
        (again,) = await cards(scene)
        assert again.id != first.id
        scene.press(again, "Deny")
        await hears(scene, "Done:", times=3)
        assert not made.exists()


@pytest.mark.slow  # in the usual profile beside teams
async def test_nobody_answering_is_reminded_once_and_means_no(tmp_path: Path, platform: str) -> None:
    extra = "[approvals]\nexpires_after_s = 400"
    async with open_scene(platform, tmp_path, extra=extra, speed=200) as scene:
        scene.say(TWO)
        await cards(scene, "Approve all")
        await hears(scene, "Still waiting for you: May I run these 2 calls?")
        await hears(scene, "Nobody answered in time: not approved.")
        await hears(scene, "Done:")
        assert sum("Still waiting" in one.text for one in scene.shown()) == 1
        assert not open_again(scene)
        assert lines(scene) == []
