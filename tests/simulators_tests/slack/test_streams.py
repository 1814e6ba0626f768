"""Messages that grow: https://docs.slack.dev/reference/methods/chat.startStream, appendStream, stopStream."""

from collections.abc import Callable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.chunk import MarkdownTextChunk

from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.limits import MAX_MARKDOWN_TEXT_CHARS
from tests.simulators_tests.slack.conftest import ANN, Slack

Json = dict[str, Any]


async def started(sim: SlackSimulator, client: Slack, dm: str, **content: Any) -> str:
    """A stream in Ann's direct conversation; its ts."""
    asked = sim.user_sends_text(ANN, "tell me")
    answer = await client.chat_startStream(channel=dm, thread_ts=asked.ts, **content)
    return str(answer["ts"])


async def error_of(call: Any) -> str:
    """The platform's word for why it refused."""
    with pytest.raises(SlackApiError) as refusal:
        await call
    return str(refusal.value.response["error"])


async def test_text_is_appended_until_the_stream_is_stopped(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    ts = await started(sim, client, dm, markdown_text="**one** ")
    await client.chat_appendStream(channel=dm, ts=ts, markdown_text="two `x` ")
    message = sim.message(dm, ts)
    assert (sim.visible(dm, ts), message.stream, message.is_reply) == ("one two x", "markdown_text", True)
    update = client.chat_update(channel=dm, ts=ts, text="no")
    assert await error_of(update) == "streaming_state_conflict"
    stopped = await client.chat_stopStream(
        channel=dm,
        ts=ts,
        markdown_text="[three](https://x.y)",
        blocks=[{"type": "context", "elements": [{"type": "mrkdwn", "text": "_end_"}]}],
        metadata={"event_type": "hub_outbox", "event_payload": {"id": "7"}},
    )
    assert sim.visible(dm, ts) == "one two x three\nend"
    assert sim.look(message).links == [("https://x.y", "three")]
    assert stopped["message"]["metadata"]["event_payload"] == {"id": "7"}
    append = client.chat_appendStream(channel=dm, ts=ts, markdown_text="late")
    assert await error_of(append) == "message_not_in_streaming_state"
    await client.chat_update(channel=dm, ts=ts, text="now it may change")
    assert sim.visible(dm, ts) == "now it may change"


async def test_the_streamer_of_the_sdk_works(sim: SlackSimulator, client: Slack, general: str) -> None:
    asked = sim.user_mentions(ANN, "tell me", general)
    streamer = await client.chat_stream(
        channel=general,
        thread_ts=asked.ts,
        recipient_team_id=sim.world.team_id,
        recipient_user_id=ANN,
        buffer_size=5,
    )
    for part in ("He", "llo ", "*you*", "!"):
        await streamer.append(markdown_text=part)
    await streamer.stop()
    (message,) = sim.bot_messages(general)
    assert sim.visible(general, message.ts) == "Hello you!"
    assert message.stream is None


async def test_a_stream_keeps_to_one_way_of_growing(sim: SlackSimulator, client: Slack, dm: str) -> None:
    ts = await started(sim, client, dm)
    neither = client.chat_appendStream(channel=dm, ts=ts)
    assert await error_of(neither) == "markdown_text_or_chunks_required"
    await client.chat_appendStream(channel=dm, ts=ts, chunks=[MarkdownTextChunk(text="a")])
    other = client.chat_appendStream(channel=dm, ts=ts, markdown_text="b")
    assert await error_of(other) == "streaming_mode_mismatch"
    both = client.chat_appendStream(
        channel=dm, ts=ts, markdown_text="b", chunks=[MarkdownTextChunk(text="c")]
    )
    assert await error_of(both) == "cannot_provide_both_markdown_text_and_chunks"
    wrong = client.chat_appendStream(channel=dm, ts=ts, chunks=[{"type": "song"}])
    assert await error_of(wrong) == "invalid_chunks"
    task = {"type": "task_update", "id": "1", "title": "Look", "status": "in_progress"}
    await client.chat_appendStream(channel=dm, ts=ts, chunks=[task])
    await client.chat_appendStream(channel=dm, ts=ts, chunks=[task | {"status": "complete"}])
    assert sim.visible(dm, ts) == "a\nLook"


async def test_a_channel_needs_a_recipient(sim: SlackSimulator, client: Slack, general: str) -> None:
    asked = sim.user_sends_text(ANN, "tell me", general)
    where = {"channel": general, "thread_ts": asked.ts}
    assert await error_of(client.chat_startStream(**where)) == "missing_recipient_team_id"
    where["recipient_team_id"] = sim.world.team_id
    assert await error_of(client.chat_startStream(**where)) == "missing_recipient_user_id"
    where["recipient_user_id"] = "U0NONE"
    assert await error_of(client.chat_startStream(**where)) == "user_not_found"


async def test_only_an_apps_own_streams_grow(sim: SlackSimulator, client: Slack, dm: str) -> None:
    theirs = sim.user_sends_text(ANN, "mine")
    append = client.chat_appendStream(channel=dm, ts=theirs.ts, markdown_text="x")
    assert await error_of(append) == "message_not_owned_by_app"
    append = client.chat_appendStream(channel=dm, ts="1.000001", markdown_text="x")
    assert await error_of(append) == "message_not_found"


@pytest.mark.parametrize(
    "content",
    [
        lambda size: {"markdown_text": "x" * size},
        lambda size: {"chunks": [MarkdownTextChunk(text="x" * size)]},
    ],
)
async def test_one_request_brings_at_most_12000_characters(
    sim: SlackSimulator, client: Slack, dm: str, content: Callable[[int], Json]
) -> None:
    """https://docs.slack.dev/reference/methods/chat.appendStream: markdown_text"""
    ts = await started(sim, client, dm)
    await client.chat_appendStream(channel=dm, ts=ts, **content(MAX_MARKDOWN_TEXT_CHARS))
    too_long = client.chat_appendStream(channel=dm, ts=ts, **content(MAX_MARKDOWN_TEXT_CHARS + 1))
    assert await error_of(too_long) == "msg_too_long"
    assert len(sim.message(dm, ts).text) == MAX_MARKDOWN_TEXT_CHARS


async def test_the_platform_closes_a_stream_by_itself(sim: SlackSimulator, client: Slack, dm: str) -> None:
    """https://github.com/slackapi/python-slack-sdk/issues/1859: what it says stays, and can be updated."""
    ts = await started(sim, client, dm, markdown_text="one")
    sim.configure(stream_ttl_s=-1.0)
    append = client.chat_appendStream(channel=dm, ts=ts, markdown_text="two")
    assert await error_of(append) == "message_not_in_streaming_state"
    stop = client.chat_stopStream(channel=dm, ts=ts)
    assert await error_of(stop) == "message_not_in_streaming_state"
    assert sim.visible(dm, ts) == "one"
    await client.chat_update(channel=dm, ts=ts, text="whole")
    assert sim.visible(dm, ts) == "whole"


async def test_not_every_workspace_has_streams_everywhere(
    sim: SlackSimulator, client: Slack, dm: str, general: str
) -> None:
    sim.configure(stream_kinds=["im"])
    await started(sim, client, dm, markdown_text="one")
    asked = sim.user_sends_text(ANN, "tell me", general)
    where = {"channel": general, "thread_ts": asked.ts}
    assert await error_of(client.chat_startStream(**where)) == "channel_type_not_supported"
    sim.configure(stream_kinds=[])
    assert await error_of(client.chat_startStream(**where)) == "unknown_method"


async def test_a_stream_has_no_metadata_before_it_is_stopped(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    """https://docs.slack.dev/reference/methods/chat.startStream has no such argument; chat.stopStream has."""
    mark = {"event_type": "hub_outbox", "event_payload": {"id": "7"}}
    ts = await started(sim, client, dm, markdown_text="one", metadata=mark)
    thread_ts = sim.message(dm, ts).thread_ts

    async def seen() -> Any:
        answer = await client.conversations_replies(channel=dm, ts=thread_ts, include_all_metadata=True)
        return answer["messages"][-1].get("metadata")

    assert await seen() is None
    await client.chat_stopStream(channel=dm, ts=ts, metadata=mark)
    assert await seen() == mark
