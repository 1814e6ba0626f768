"""Killed while an answer grows in one of Slack's streams: it ends as stored, in one message, and nothing
grows any more."""

import signal
from pathlib import Path

import pytest

from tests.crash.entry import SPEED
from tests.crash.errand import Inside, Point
from tests.crash.mortal import LIMIT_S
from tests.crash.points import AtCommit, parse_commit_point
from tests.crash.slack_story import OWNER, SlackErrand, open_slack_errand
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Reply

TIMES = 10
ANSWER = "\n\n".join(f"Paragraph {number} of what I found." for number in range(60)) + "\n\nThe end."
STREAM_POINTS: tuple[Point, ...] = (
    Inside("slack", "chat.startStream", 1),
    parse_commit_point("record_preview:1:before"),
    Inside("slack", "chat.appendStream", 2),
    Inside("slack", "chat.stopStream", 1),
    Inside("slack", "chat.update", 1),
    parse_commit_point("begin_preview:1:after"),
    parse_commit_point("record_preview:1:after"),
    Inside("slack", "chat.appendStream", 1),
    parse_commit_point("record_part_sent:1:before"),
)


def below(town: SlackErrand, thread_ts: str) -> list[str]:
    """Return what the bot shows in the thread, as people read it."""
    return [town.slack.look(message).text for message in town.shown() if message.thread_ts == thread_ts]


async def play(town: SlackErrand, point: Point) -> str:
    """The owner asks in a thread and is answered; the hub is killed on the way. The thread."""
    town.model.rule("look", Reply(text=ANSWER, chunk_chars=40, delay_s=0.06), on="any")
    (town.directory / SPEED).write_text(str(TIMES))
    await town.start(point if isinstance(point, AtCommit) else None)
    if isinstance(point, Inside):
        town.slack.fail("hold", method=point.method, when="after", skip=point.nth - 1, count=1)
    head = town.slack.user_sends_text(OWNER, "/ping")
    town.slack.user_sends_text(OWNER, "please look", thread_ts=head.ts)
    if isinstance(point, Inside):
        await town.slack.wait_held(timeout_s=LIMIT_S)
    else:
        assert town.hub is not None
        await town.hub.wait(LIMIT_S)
    await town.end(signal.SIGKILL)
    town.slack.clear_faults()
    await town.start()
    await town.slack.wait_for(lambda: below(town, head.ts)[-1:] == [ANSWER], LIMIT_S)
    town.slack.user_sends_text(OWNER, "/pong")  # it may have been shown before: the hub has to be at work
    await town.slack.wait_for(lambda: any("/pong" in text for text in town.texts()), LIMIT_S)
    return head.ts


@pytest.mark.slow
async def test_killed_while_an_answer_grows_it_ends_in_one_message(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    points = STREAM_POINTS[: profile.pick(test=4, proof=len(STREAM_POINTS))]

    async def story(directory: Path, point: Point) -> None:
        async with open_slack_errand(directory) as town:
            thread_ts = await play(town, point)
            await town.end(signal.SIGINT)
            assert below(town, thread_ts) == [ANSWER], "shown otherwise than stored"
            assert not any(message.stream for message in town.shown()), "something still grows"

    failures = await strike_all(tmp_path, points, story)
    proof_record("crash-slack", stream_kill_points=len(points))
    assert not failures, "\n".join(failures)
