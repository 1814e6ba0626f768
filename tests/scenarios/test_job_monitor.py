"""The message that shows a job as it runs: one for each, changed in place, with buttons that keep working."""

import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core.job import JobState, NewJob
from tests.bot.web.api_client import client
from tests.everywhere.people import terminal
from tests.harness.people import card, hears
from tests.harness.simulators import OLIVIA
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Card, Hub, open_hub
from tests.scenarios.scenes import Scene, open_scene
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import Hold, ToolCall, text, tools


def monitors(house: Hub, named: str) -> list[Card]:
    """The messages that show a job."""
    return [card for card in house.open_cards(OWNER) if card.text.endswith(f"\nID: {named}")]


async def shown(house: Hub, named: str, words: str) -> Card:
    """The one message that shows a job, once it has these words."""
    await house.telegram.wait_for(lambda: any(words in card.text for card in monitors(house, named)), LIMIT_S)
    (card,) = monitors(house, named)
    return card


async def test_one_message_shows_a_job_and_is_changed_in_place_also_after_a_restart(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=10) as house:
        house.model.fault(Hold())
        house.model.enqueue(tools(ToolCall("time", {})))
        house.model.enqueue(text("It is late."))
        named = await started(house, "/job find out how late it is")
        await house.model.wait_requests(state="held")
        first = await shown(house, named, "Job “find out how late it is” is in progress.")
        assert await house.pressed(OWNER, first, 1) == "Details"
        await house.telegram.wait_text(OWNER, f"Job {named} “find out how late it is” is in_progress.")
        assert await house.pressed(OWNER, first, 2) == "Send message"
        await house.telegram.wait_text(OWNER, f"or type /prompt {named} and your message.")
        await house.stop()
        house.model.release()
        await house.start()
        await house.telegram.wait_polling(TOKEN)
        job = await becomes(house, named, JobState.COMPLETED)
        counted = f"round 1 of 50 · last tool time · {job.input_tokens + job.output_tokens:,} tokens"
        last = await shown(house, named, counted)
        assert "is completed." in last.text
        assert last.id == first.id
        # An outdated button is refused, and the new ones do what they say.
        assert await house.pressed(OWNER, first, 0) == f"Job {named} is completed now."
        assert await house.pressed(OWNER, last, 0) == "Restart"
        await house.telegram.wait_text(OWNER, "Created job: find out how late it is")
        assert len(monitors(house, named)) == 1


def requests_of(scene: Scene, platform: str) -> list[Any]:
    """What the hub asked of the platform, in order."""
    return list(getattr(scene.place, platform).requests())


@pytest.mark.parametrize(
    "platform",
    ["telegram", *(pytest.param(name, marks=pytest.mark.slow) for name in ("slack", "discord"))],
)
async def test_fifty_jobs_in_one_chat_break_no_limit_and_delay_no_answer(
    tmp_path: Path, platform: str
) -> None:
    limits = "[jobs]\nmax_parallel = 50\nmax_per_user = 50"
    async with open_scene(platform, tmp_path, extra=limits) as scene:
        owner, model, store = scene.owner, scene.model, scene.place.store
        getattr(scene.place, platform).configure(enforce_rate_limits=True)
        owner.say("good morning")
        await hears(owner, "You said: good morning")
        (thread,) = await store.threads.threads(1)
        model.fault(Hold(), times=None, match="recite verse")
        for number in range(50):
            new = NewJob(
                f"job-{number}", "owner", f"{number}", f"recite verse {number}", (), thread_id=thread.id
            )
            await store.jobs.save_job(new)

        def showing() -> list[float]:
            asked = requests_of(scene, platform)
            return [one.received_at for one in asked if "recite verse" in str(one.params)]

        await owner.until(lambda: len(showing()) >= 2)
        owner.say("are you there?")
        await hears(owner, "You said: are you there?")
        answered = [
            one.received_at
            for one in requests_of(scene, platform)
            if "You said: are you there?" in str(one.params)
        ]
        asks = [one for one in model.log if "are you there?" in str(one.body["messages"][-1])]
        overtook = [at for at in showing() if asks[-1].received_at < at < answered[0]]
        assert len(overtook) <= 1, "what was on its way already"
        await owner.until(lambda: len(showing()) >= 3)
        # The pace is one message a second; this much is left of three.
        assert min(after - before for before, after in pairwise(showing())) > 2
        assert not [one for one in requests_of(scene, platform) if one.status == 429]
        await owner.until(lambda: sum("Cancel" in card.buttons for card in owner.shown()) >= 3)
        model.clear_faults()
        model.release()


PLATFORMS = pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])


async def the_id(scene: Scene) -> str:
    """The id of the newest job, as its owner reads it."""

    def ids() -> list[str]:
        return re.findall(r"^ID: (\w+)$", "\n".join(one.text for one in scene.owner.shown()), re.MULTILINE)

    await scene.owner.until(ids)
    return ids()[-1]


def sent_files(scene: Scene, platform: str) -> list[str]:
    """The names of the files that the bot sent."""
    place = scene.place
    match platform:
        case "telegram":
            return [
                one.content["document"]["file_name"]
                for one in place.telegram.bot_messages(OWNER)
                if "document" in one.content
            ]
        case "slack":
            return [file.name for file in place.slack.world.files.values()]
        case _:
            channel = place.discord.dm_channel(int(OLIVIA["discord"])).id
            return [file.name for one in place.discord.bot_messages(channel) for file in one.attachments]


@PLATFORMS
async def test_a_persons_day_with_a_job_by_chat_alone(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path, extra="[jobs]\nreview = true", speed=10) as scene:
        owner, model = scene.owner, scene.model
        report = {"path": "report.md", "content": "blue"}
        model.fault(Hold())
        model.enqueue(tools(ToolCall("write_file", report)))
        model.enqueue(tools(ToolCall("finish", {"result": "First version.", "artifacts": ["report.md"]})))
        owner.say("/job --tools write_file write a report")
        named = await the_id(scene)
        await model.wait_requests(state="held")
        await hears(owner, "Job “write a report” is in progress.")
        owner.say("/jobs")
        await hears(owner, f"{named} in_progress: write a report")
        owner.say(f"/status {named}")
        await hears(owner, f"Job {named} “write a report” is in_progress.")
        owner.say(f"/prompt {named} make it blue")
        await hears(owner, f"Job {named} hears it before its next step.")
        await scene.place.settled_sends(platform)
        (working,) = [one for one in owner.shown() if "Cancel" in one.buttons]
        owner.reply(working, "and short")
        await hears(owner, f"Job {named} hears it before its next step.", 2)
        model.release()
        await hears(owner, "First version.")
        heard = [one["content"] for one in model.log[-1].body["messages"] if one["role"] == "user"]
        assert heard == ["write a report", "make it blue\n\nand short"]
        assert sent_files(scene, platform) == ["report.md"]
        await hears(owner, "Job “write a report” is submitted.")
        await scene.restart()
        await owner.press(await card(owner, "Reject"), "Reject")
        await hears(owner, f"Job {named} “write a report” is rejected.")
        model.enqueue(text("Second version."))
        await owner.press(await card(owner, "Do it again"), "Do it again")
        await hears(owner, "Second version.")
        assert "Rejected by" in str(model.log[-1].body["messages"])
        again = await the_id(scene)
        assert again != named
        await owner.press(await card(owner, "Accept"), "Accept")
        await hears(owner, f"Job {again} “write a report” is accepted.")
        owner.say(f"/cancel {again}")
        await hears(owner, f"Job {again} is accepted; there is nothing to cancel.")
        model.fault(Hold())
        owner.say("/job wait")
        await model.wait_requests(state="held")
        (waiting,) = [one for one in owner.shown() if "wait" in one.text and "Cancel" in one.buttons]
        await owner.press(waiting, "Cancel")
        await hears(owner, f"Job {await the_id(scene)} is cancelled.")


async def test_console_and_terminal_show_a_job_by_one_line_that_changes(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=10) as house, client(tmp_path) as api, terminal(tmp_path) as screen:
        house.model.fault(Hold())
        await screen.says("/job count the stars")
        await screen.sees("Created job: count the stars")
        (thread,) = (await api.get("/api/threads"))["threads"]
        async with api.stream(f"/api/events?thread={thread['id']}") as stream:
            await house.model.wait_requests(state="held")
            first = (await stream.until("item_changed"))[-1]["data"]
            assert "is in progress." in first["text"]
            assert first["menu"]["labels"] == ["Cancel", "Details", "Send message"]
            assert first["menu"]["reply"] == 2
            reply = {"text": "and the moons", "thread_id": thread["id"], "reply_to": first["seq"]}
            _, sent = await api.ask("POST", "/api/chat/send", reply)
            assert sent["answer"].endswith("hears it before its next step.")
            nowhere = await api.refusal("POST", "/api/chat/send", {**reply, "reply_to": first["seq"] - 1})
            assert nowhere == (404, "not_found", "reply_to")
            house.model.release()
            last_change = (await stream.until("item_changed"))[-1]["data"]
        heard = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "user"]
        assert heard == ["count the stars", "and the moons"]
        assert last_change["seq"] == first["seq"]
        assert "is completed." in last_change["text"]
        menu = last_change["menu"]
        press = {"menu_id": menu["menu_id"], "choice": menu["first"] + menu["labels"].index("Details")}
        status, _ = await api.ask("POST", "/api/chat/press", press)
        assert status == 202
        await screen.sees("is completed.\nRounds: 0 of 50")
        lines = [words for _, words in await api.lines(thread["id"]) if "\nID: " in words]
        assert lines == [last_change["text"]]


def quiet_now() -> str:
    """Quiet hours that began an hour ago and end in an hour."""
    minute = datetime.now(UTC).hour * 60 + datetime.now(UTC).minute
    begin, end = ((minute + away) % 1440 for away in (-60, 60))
    return f'quiet_hours = "{begin // 60:02}:{begin % 60:02}-{end // 60:02}:{end % 60:02}"'


async def test_a_stuck_job_that_fails_in_quiet_hours_is_reported_when_they_end(tmp_path: Path) -> None:
    extra = f"[jobs]\n{quiet_now()}\nmax_repairs = 2"
    async with open_hub(tmp_path, extra=extra) as house:
        house.model.fault(Hold(), times=None, match="hang")
        named = await started(house, "/job hang")
        for nth in range(3):
            await house.model.wait_requests(state="held", after=nth)
            house.clock.pass_by(16 * 60)
        assert (await becomes(house, named, JobState.FAILED)).repair_attempts == 2
        house.model.clear_faults()
        house.model.enqueue(text("It failed."))
        house.telegram.user_sends_text(OWNER, "what became of it?")
        await house.telegram.wait_text(OWNER, "It failed.")
        assert "after 2 repairs" in str(house.model.log[-1].body["messages"]), (
            "the assistant knows it already"
        )
        assert not [said for said in house.says(OWNER) if "after 2 repairs" in said]
        house.clock.pass_by(2 * 3600)
        await house.telegram.wait_text(OWNER, "after 2 repairs.")
        await house.settled_sends()
        assert len([said for said in house.says(OWNER) if "after 2 repairs" in said]) == 1


async def test_a_result_in_quiet_hours_is_sent_when_they_end_also_after_a_restart(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=f"[jobs]\n{quiet_now()}", speed=10) as house:
        house.model.fault(Hold())
        house.model.enqueue(text("It is late."))
        named = await started(house, "/job find out how late it is")
        await shown(house, named, "is in progress.")
        house.model.release()
        await shown(house, named, "is completed.")
        await house.stop()
        await house.start()
        await house.telegram.wait_polling(TOKEN)
        house.model.enqueue(text("I know."))
        house.telegram.user_sends_text(OWNER, "what did it say?")
        await house.telegram.wait_text(OWNER, "I know.")
        assert "It is late." in str(house.model.log[-1].body["messages"]), "the assistant knows it already"
        assert not [said for said in house.says(OWNER) if "It is late." in said]
        house.clock.pass_by(2 * 3600)
        await house.telegram.wait_text(OWNER, "It is late.")
        await house.settled_sends()
        assert len([said for said in house.says(OWNER) if "It is late." in said]) == 1


@pytest.mark.slow
async def test_a_reply_reaches_only_a_persons_own_running_job_and_has_only_words(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra='groups = "all"') as house:
        telegram, bot = house.telegram, house.telegram.bot().user.username
        telegram.add_user(100, first_name="Sam")
        group = telegram.create_supergroup("Works", [OWNER, 100]).id
        house.model.fault(Hold())
        telegram.user_sends_text(OWNER, f"/job@{bot} count the stars", chat_id=group)
        await house.model.wait_requests(state="held")
        await telegram.wait_text(group, "is in progress.")
        await house.settled_sends()
        (shows,) = [one.id for one in telegram.bot_messages(group) if "\nID: " in one.text]
        telegram.user_sends_text(100, "stop counting", chat_id=group, reply_to=shows)
        await telegram.wait_text(group, "This is another person's job.")
        telegram.user_sends_document(OWNER, chat_id=group, reply_to=shows)
        await telegram.wait_text(group, "A job hears text only. Nothing was sent to it.")
        telegram.user_sends_text(OWNER, "yes", chat_id=group, reply_to=shows)
        await telegram.wait_text(group, "hears it before its next step.")
        house.model.release()
        await telegram.wait_text(group, "is completed.")
        heard = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "user"]
        assert heard == ["count the stars", "yes"]
        telegram.user_sends_text(OWNER, "and the moons", chat_id=group, reply_to=shows)
        await telegram.wait_text(group, "is completed; it hears nothing any more.")
