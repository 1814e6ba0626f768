"""Killed while an answer is shown as it is written: it ends as stored, and nothing else is left.

The turn: words that are shown, a tool that asks a person first, then an answer of two parts that is shown as
it is written. The hub's seconds are short, so that all of it passes quickly.
"""

import asyncio
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from core.store.codecs import message_from_json
from tests.crash.entry import SPEED
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, MortalHub, Setup, open_mortal_hub
from tests.crash.points import AtCommit, InModel, InTelegram, InTool, Point, parse_commit_point
from tests.crash.story import BLOCKING, judge_places, make_gates, struck_or_over, wait_for_writer
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Hold, Prompt, Reply, ToolCall

POLLS_STRUCK = 2
TIMES = 20

WORDS = "I will have a look at that. " * 8
ANSWER = "\n\n".join(f"Paragraph {number} of what I found." for number in range(200)) + "\n\nThe end."


def reply(command: str) -> Callable[[Prompt], Reply]:
    """A model that runs the command and answers, taking a few of the hub's seconds each time."""

    def say(prompt: Prompt) -> Reply:
        if prompt.tool_results:
            return Reply(text=ANSWER, chunk_chars=300, delay_s=0.02)
        call = ToolCall("shell", {"command": command})
        return Reply(text=WORDS, calls=(call,), chunk_chars=12, delay_s=0.015)

    return say


async def play(town: MortalHub, point: Point | None) -> None:
    """The whole story; with a point, the hub is killed there and started again."""
    blocking = isinstance(point, InTool)
    town.model.rule("look", reply("echo line >> out" + (BLOCKING if blocking else "")), on="any")
    (town.directory / SPEED).write_text(str(TIMES))
    hub = await town.start(point if isinstance(point, AtCommit) else None)
    match point:
        case InTelegram(method, nth):
            town.telegram.fail("hold", method=method, skip=nth - 1, count=1)
        case InModel(nth):
            town.model.fault(Hold(at="mid_stream", after_events=10), match="look")
        case InTool():
            make_gates(town)
        case _:
            pass
    async with asyncio.TaskGroup() as group:
        telling = group.create_task(people(town))
        if point is not None:
            await struck_or_over(point, struck(town, point), telling)
            hub.send_signal(signal.SIGKILL)
            await hub.wait(LIMIT_S)
            town.telegram.clear_faults()
            town.model.clear_faults()
            await town.start()
    await town.telegram.wait_for(town.listens, LIMIT_S)


async def struck(town: MortalHub, point: Point) -> None:
    """Until the hub is at the point."""
    match point:
        case InTelegram():
            await town.telegram.wait_held(timeout_s=LIMIT_S)
        case InModel():
            await town.model.wait_requests(state="held", timeout_s=LIMIT_S)
        case InTool():
            await asyncio.to_thread(wait_for_writer, town)
        case AtCommit():
            assert town.hub is not None
            await town.hub.wait(LIMIT_S)


async def people(town: MortalHub) -> None:
    town.owner_says("please look")
    await town.answer_cards_until([OWNER], lambda: finished(town))


def finished(town: MortalHub) -> bool:
    shown = [message.text for message in town.shown_to(OWNER)]
    return bool(
        shown
        and shown[-1].endswith("The end.")
        and not town.open_cards(OWNER)
        and town.telegram.all_confirmed()
        and town.listens()
    )


async def judge(town: MortalHub, point: Point | None) -> None:
    """Return what is shown is what is stored: the settled card, a question about the call if it was cut
    short, and
    the answer; a message of them is shown twice only where the hub says that it may be."""
    rows = stored(town)
    assert all(state in {"sent", "replaced"} for state, _, _ in rows), rows
    repeats = sum(repeated for _, _, repeated in rows)
    texts = [text for _, text, _ in rows if text]
    shown = [message.text for message in town.shown_to(OWNER)]
    *others, first, second = dict.fromkeys(shown)
    assert f"{first}\n\n{second}" == ANSWER
    assert all(any(is_card(text, stored_text) for stored_text in texts) for text in others), others
    assert len(shown) - len(set(shown)) <= repeats <= (0 if point is None else 1)
    assert not any(text.startswith(("I will", "…")) for text in shown)
    judge_places(town)
    out = town.workspace / "out"
    lines = out.read_text().split() if out.exists() else []
    assert lines == ["line"] or (not lines and any(UNKNOWN in text for text in shown)), lines


def is_card(shown: str, text: str) -> bool:
    """Return whether a card with its outcome is what was stored."""
    return shown.startswith(text.split("\n")[0])


def stored(town: MortalHub) -> list[tuple[str, str, int]]:
    """State, words and repeats of everything in the outbox."""
    path = town.directory / "data" / "hub.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT state, message, repeats FROM outbox ORDER BY id").fetchall()
    return [
        (state, "\n".join(block.text for block in message_from_json(message).blocks), repeats)
        for state, message, repeats in rows
    ]


async def dry_run(directory: Path, house: Setup) -> list[Point]:
    """The points that the story passes when nothing goes wrong. How many changes of a preview there are is
    not fixed: each of the first is a point."""
    directory.mkdir()
    async with open_mortal_hub(directory, house) as town:
        await play(town, None)
        await town.stop()
        await judge(town, None)
        commits: list[Point] = [parse_commit_point(line) for line in town.trace()]
        methods = Counter(request.method for request in town.telegram.requests())
        assert methods["editMessageText"] >= 3
        assert methods["deleteMessage"] == 1
        limits = {"getUpdates": POLLS_STRUCK, "editMessageText": methods["editMessageText"] - 2}
    requests: list[Point] = [
        InTelegram(method, nth)
        for method, count in methods.items()
        for nth in range(1, min(count, limits.get(method, count)) + 1)
    ]
    return [*commits, *requests, InModel(1), InTool()]


def chosen(points: Sequence[Point], profile: Profile, every: int) -> list[Point]:
    """Every n-th, and each request that shows something or takes it away."""

    def shows(point: Point) -> bool:
        return isinstance(point, InTelegram) and point.method in ("sendMessage", "deleteMessage")

    start = profile.seed % every
    return [point for n, point in enumerate(points) if n % every == start or shows(point)]


async def strike_each(directory: Path, points: Sequence[Point], house: Setup) -> list[str]:
    """Return what went wrong, at whichever point; one that the hub never comes to is a failure."""

    async def story(directory: Path, point: Point) -> None:
        async with open_mortal_hub(directory, house) as town:
            await play(town, point)
            await town.account()
            await town.stop()
            await judge(town, point)

    failures = await strike_all(directory, points, story)
    print(f"{len(points)} kill points with previews, {len(points) - len(failures)} kept every promise")
    return failures


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_killed_anywhere_in_a_turn_with_previews_what_is_shown_is_what_is_stored(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    points = await dry_run(tmp_path / "dry", Setup())
    struck_at = chosen(points, profile, profile.pick(test=18, proof=1))
    failures = await strike_each(tmp_path, struck_at, Setup())
    proof_record("crash", preview_kill_points=len(struck_at))
    assert not failures, "\n".join(failures)


@pytest.mark.timeout(900)
@pytest.mark.slow
async def test_killed_anywhere_by_webhook_in_a_topic_with_previews_too(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    """All of it in one story: updates are brought, the answer grows in a topic of a forum."""
    house = Setup(groups="all", webhook=True, topic=True)
    points = await dry_run(tmp_path / "dry", house)
    struck_at = chosen(points, profile, profile.pick(test=30, proof=1))
    failures = await strike_each(tmp_path, struck_at, house)
    proof_record("crash", webhook_topic_preview_kill_points=len(struck_at))
    assert not failures, "\n".join(failures)
    assert InTelegram("setWebhook", 1) in points
    assert InTelegram("getUpdates", 1) not in points
