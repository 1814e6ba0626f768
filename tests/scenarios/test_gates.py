"""Open gates, the same on every platform: words that answer and words that do not, grants that are
taken back, time that runs out, buttons that are pressed too late."""

from pathlib import Path

import pytest

from tests.harness.people import Person, Shown, card, hears, sees, told
from tests.scenarios.scenes import open_scene

RUN = "please run: echo line >> out.txt"
TWO = "please run: echo one >> out.txt\nplease run: echo two >> out.txt"
PLATFORMS = ["telegram", pytest.param("slack", marks=pytest.mark.slow)]
PLATFORMS += [pytest.param("discord", marks=pytest.mark.slow)]
pytestmark = pytest.mark.parametrize("platform", PLATFORMS)


async def cards(person: Person, count: int) -> list[Shown]:
    """Those that can be approved, once there are so many."""

    def found() -> list[Shown]:
        return [one for one in person.shown() if "Approve" in one.buttons]

    await person.until(lambda: len(found()) == count)
    return found()


def still_open(person: Person) -> list[Shown]:
    return [one for one in person.shown() if one.buttons]


@pytest.mark.slow  # in the usual profile beside joint cards
async def test_with_two_open_gates_a_bare_yes_is_text_and_with_one_it_decides(
    tmp_path: Path, platform: str
) -> None:
    async with open_scene(platform, tmp_path) as scene:
        me = scene.owner
        me.say(TWO)
        await me.press(await card(me, "One by one"), "One by one")
        first, second = await cards(me, 2)
        me.say("yes")
        await hears(me, "Your message is queued")
        assert scene.lines == []
        await me.press(second, "Deny")
        await me.until(lambda: still_open(me) == [first])
        me.say("approve")
        await hears(me, "Done:")
        assert scene.lines == ["one"]
        await hears(me, "You said: yes")


async def test_a_yes_from_before_the_card_is_no_answer(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path) as scene:
        me = scene.owner
        let_go = me.hold_next_message()
        me.say(RUN)
        await me.held()
        me.say("yes")
        await me.until(lambda: True)
        let_go()
        asked = await card(me)
        await hears(me, "Your message is queued")
        assert scene.lines == []
        await me.press(asked, "Deny")
        await hears(me, "You said: yes")
        assert scene.lines == []


async def test_after_a_grant_is_revoked_its_tool_asks_again(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path) as scene:
        me, made = scene.owner, scene.files / "made"
        me.say("please run: touch made")
        first = await card(me)
        await me.press(first, "Always allow")
        await hears(me, "Done:")
        made.unlink()
        me.say("please run: touch made")
        await hears(me, "Done:", times=2)
        made.unlink()
        me.say("/grants revoke all")
        await hears(me, "Grant revoked: I will ask again.")
        me.say("please run: touch made")
        again = await card(me)
        assert again.id != first.id
        await me.press(again, "Deny")
        await hears(me, "Done:", times=3)
        assert not made.exists()


@pytest.mark.slow  # in the usual profile beside consent
async def test_a_stale_copy_tells_who_decided_and_does_nothing(tmp_path: Path, platform: str) -> None:
    """The button is one that an old client still shows; the hub may have been started again meanwhile."""
    async with open_scene(platform, tmp_path) as scene:
        me = scene.owner
        me.say(RUN)
        stale = await card(me)
        await me.press(stale, "Approve")
        await hears(me, "Done:")
        await sees(me, stale, "Approved by")
        settled = next(one.text for one in me.shown() if one.id == stale.id)
        word = f"Already closed: {settled.splitlines()[-1]}"
        await me.press(stale, "Deny")
        await told(me, word)
        await scene.restart()
        for times, label in enumerate(("Approve", "Deny"), start=2):
            await me.press(stale, label)
            await told(me, word, times)
        me.say("please run: echo again >> out.txt")
        await me.press(await card(me), "Deny")
        await hears(me, "Done:", times=2)
        assert scene.lines == ["line"]
        assert scene.model.log.taken == 4


@pytest.mark.slow
async def test_a_stale_copy_of_a_changed_call_tells_that_it_was_changed(
    tmp_path: Path, platform: str
) -> None:
    async with open_scene(platform, tmp_path) as scene:
        me = scene.owner
        me.say(RUN)
        stale = await card(me)
        await me.change(stale, "echo changed >> out.txt")
        await hears(me, "Done:")
        await sees(me, stale, ", edited")
        await me.press(stale, "Approve")
        await me.until(lambda: any(word.endswith(", edited") for word in me.asides()))
        assert scene.lines == ["changed"]


@pytest.mark.slow  # in the usual profile beside teams
async def test_an_unanswered_gate_reminds_once_and_then_denies(tmp_path: Path, platform: str) -> None:
    extra = "[approvals]\nexpires_after_s = 400"
    async with open_scene(platform, tmp_path, extra=extra) as scene:
        me = scene.owner
        me.say(TWO)
        stale = await card(me, "Approve all")
        scene.place.clock.pass_by(310)
        await hears(me, "Still waiting for your answer: Run these 2 calls?")
        scene.place.clock.pass_by(100)
        await hears(me, "Not approved: no answer in time.")
        await hears(me, "Done:")
        assert sum("Still waiting" in one.text for one in me.shown()) == 1
        assert not still_open(me)
        await me.press(stale, "Approve all")
        await told(me, "Already closed: Not approved: no answer in time.")
        assert scene.lines == []
