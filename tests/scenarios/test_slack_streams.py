"""Answers that grow in Slack's own streams: in threads, and as the hub renders them in the end."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.slack_hub import LIMIT_S, OWNER, SlackHub, open_slack_hub
from tests.simulators.model import Drop, Hold, Reply, ToolCall

SPEED = 10
STORY = (
    "\n\n".join(f"**Part {number}** for <!channel> and @here, `x<y`" for number in range(20)) + "\n\nthe end"
)
SHOWN = STORY.replace("**", "").replace("`", "")
STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")


def story() -> Reply:
    return Reply(text=STORY, chunk_chars=12, delay_s=0.02)


def asked(place: SlackHub, text: str = "tell me a story") -> str:
    """The owner writes below an earlier message of theirs, as in Slack's view for assistants."""
    head = place.slack.user_sends_text(OWNER, "/status")
    place.slack.user_sends_text(OWNER, text, thread_ts=head.ts)
    return head.ts


def said_below(place: SlackHub, channel: str, thread_ts: str) -> list[str]:
    """Return what the bot shows there, as people read it."""
    messages = [m for m in place.slack.bot_messages(channel) if m.thread_ts == thread_ts]
    return [place.slack.look(message).text for message in messages]


def methods(place: SlackHub) -> list[str]:
    """The requests that show something, in order, runs of one method once."""
    found: list[str] = []
    for request in place.slack.requests():
        if request.method.startswith("chat.") and found[-1:] != [request.method]:
            found.append(request.method)
    return found


async def ended(place: SlackHub, channel: str, thread_ts: str) -> Any:
    """Until the answer stands there as it is stored."""
    await place.slack.wait_for(lambda: said_below(place, channel, thread_ts) == [SHOWN], LIMIT_S)
    return next(m for m in place.slack.bot_messages(channel) if m.thread_ts == thread_ts)


async def test_in_a_thread_an_answer_grows_in_a_stream_and_ends_as_rendered(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        place.model.rule("story", story())
        thread_ts = asked(place)
        channel = place.direct()
        growing = await place.slack.wait_for(
            lambda: [m for m in place.slack.bot_messages(channel) if m.stream is not None], LIMIT_S
        )
        message = await ended(place, channel, thread_ts)
        await place.slack.wait_for(lambda: methods(place)[-1] == "chat.update", LIMIT_S)
        assert message.ts == growing[0].ts
        assert message.stream is None
        assert [block["type"] for block in message.blocks] == ["rich_text"]
        assert methods(place)[-4:] == [*STREAMS, "chat.update"]
        assert place.slack.pings(channel, message.ts) == []
        for earlier in message.history:  # what it said while it grew
            text = "".join(block.get("text", "") for block in earlier.get("blocks", ()))
            assert STORY.startswith(text.replace("\u2060", ""))
            assert not any(sign in text for sign in ("<!", "@here"))


@pytest.mark.slow
async def test_a_stream_in_a_channel_names_its_recipient(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED, extra='groups = "addressed"') as place:
        place.model.rule("story", story())
        room = place.slack.create_channel("build", [OWNER], apps=["hub"]).id
        thread_ts = place.slack.user_mentions(OWNER, "tell me a story", room).ts
        await ended(place, room, thread_ts)
        (started,) = [r for r in place.slack.requests() if r.method == "chat.startStream"]
        assert (started.params["recipient_user_id"], started.params["recipient_team_id"]) == (
            OWNER,
            place.slack.world.team_id,
        )
        assert "chat.stopStream" in methods(place)


@pytest.mark.slow
async def test_unsupported_streams_are_tried_once(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        place.slack.configure(stream_kinds=[])
        place.model.rule("story", story())
        for _ in range(2):
            thread_ts = asked(place)
            await ended(place, place.direct(), thread_ts)
        shows = [r.method for r in place.slack.requests() if r.method in {*STREAMS, "chat.update"}]
        assert [method for method in shows if method in STREAMS] == ["chat.startStream"]
        assert shows.count("chat.update") > 2  # more than what each ends with


@pytest.mark.slow
async def test_a_kind_of_token_without_streams_does_not_stop_the_channel(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        place.slack.fail("error", method="chat.startStream", error="not_allowed_token_type")
        place.model.rule("story", story())
        thread_ts = asked(place)
        await ended(place, place.direct(), thread_ts)
        assert (await place.readyz())[1]["channels"]["slack"]["state"] == "running"


@pytest.mark.slow
async def test_a_closed_stream_continues_as_an_edited_message(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        place.slack.configure(stream_ttl_s=0.5)
        place.model.rule("story", story())
        thread_ts = asked(place)
        await ended(place, place.direct(), thread_ts)
        assert "chat.appendStream" in methods(place)
        assert "chat.update" in methods(place)
        assert len([r for r in place.slack.requests() if r.method == "chat.postMessage"]) == 1  # /status


@pytest.mark.slow
async def test_words_before_a_tool_call_are_replaced_by_what_comes_after_it(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED, extra="") as place:
        words = "I will have a look at that. " * 8

        def reply(prompt: Any) -> Reply:
            if prompt.tool_results:
                return story()
            return Reply(text=words, calls=(ToolCall("time", {}),), chunk_chars=12, delay_s=0.02)

        place.model.rule("story", reply, on="any")
        thread_ts = asked(place)
        await ended(place, place.direct(), thread_ts)
        await place.slack.wait_for(lambda: methods(place)[-1] == "chat.update", LIMIT_S)


async def test_a_reply_that_breaks_off_ends_its_stream_and_changes_the_same_message(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        first = Reply(text="Broken " * 60, chunk_chars=12, delay_s=0.02)
        place.model.enqueue(first, fault=Drop(at="mid_stream", after_events=25))
        place.model.rule("story", story())
        thread_ts = asked(place)
        channel = place.direct()
        growing = await place.slack.wait_for(
            lambda: [m for m in place.slack.bot_messages(channel) if m.stream is not None], LIMIT_S
        )
        message = await ended(place, channel, thread_ts)
        await place.slack.wait_for(lambda: methods(place)[-1] == "chat.update", LIMIT_S)
        assert message.ts == growing[0].ts
        assert message.stream is None
        counts = Counter(r.method for r in place.slack.requests())
        assert (counts["chat.startStream"], counts["chat.stopStream"]) == (1, 1)
        order = methods(place)
        assert order.index("chat.stopStream") < order.index("chat.update")


async def test_a_stream_whose_beginning_went_unanswered_is_found_and_not_shown_twice(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        place.slack.fail("drop", method="chat.startStream", when="after", count=1)
        place.model.rule("story", story())
        thread_ts = asked(place)
        await ended(place, place.direct(), thread_ts)
        assert len([r for r in place.slack.requests() if r.method == "chat.startStream"]) == 1


async def test_a_stopped_turn_leaves_no_open_stream(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, speed=SPEED) as place:
        place.model.rule("story", story())
        place.model.fault(Hold(at="mid_stream", after_events=20), match="story")
        thread_ts = asked(place)
        await place.slack.wait_for(
            lambda: [m for m in place.slack.bot_messages(place.direct()) if m.stream is not None], LIMIT_S
        )
        place.slack.user_sends_text(OWNER, "/stop", thread_ts=thread_ts)
        async with asyncio.timeout(LIMIT_S):
            await place.slack.wait_for(
                lambda: not any(m.stream for m in place.slack.bot_messages(place.direct())), LIMIT_S
            )
