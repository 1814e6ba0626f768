"""Streams of a thread: everything once and in order, wherever they are cut; and turns while they run."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.live import EVENTS_LIMIT, MAX_OF_ONE, MAX_SUBSCRIBERS, Live, TooManySubscribers
from bot.web.responses import Event, EventStream
from core.clock import SystemClock
from core.events import Began, Finished, Output, Step, StepState, TextDelta
from core.messages import Address
from core.store.feed import Changes
from core.users import Principal, Role
from tests.bot.web.api_client import LIMIT_S, Client, Stream, client
from tests.harness.telegram_hub import OWNER, Hub, open_hub, write_config
from tests.plugins.profile import Profile
from tests.simulators.model import Hold, Reply, ToolCall
from tests.simulators.model.replies import tools

RUN = "please run: echo line"
MIA = Principal("mia", Role.MEMBER, "Mia")
TEAM = """
[approvals]
approvers = "team:ops"
quorum = 2
[teams.ops]
users = ["owner", "{mia}"]
"""


@contextlib.asynccontextmanager
async def place(directory: Path) -> AsyncIterator[tuple[Hub, Client]]:
    async with open_hub(directory) as house, client(house.directory) as api:
        yield house, api


async def story(api: Client) -> tuple[str, list[Any]]:
    """A thread with all that is seen in one, and its lines."""
    thread_id = (await api.send("hello"))["thread_id"]
    await api.send("/status", thread_id=thread_id)
    await api.until(f"/api/threads/{thread_id}", lambda page: page["thread"]["turn"] is None)
    await api.send(RUN, thread_id=thread_id)
    page = await api.until("/api/approvals", lambda page: bool(page["approvals"]))
    await api.resolve(page["approvals"][0]["gate_id"], "approve")
    await api.until(f"/api/threads/{thread_id}", lambda page: page["thread"]["turn"] is None)
    await api.ask("POST", f"/api/threads/{thread_id}/answer", {"text": "by hand"})
    return thread_id, (await api.get(f"/api/threads/{thread_id}"))["items"]


async def read_in_pieces(api: Client, thread_id: str, pieces: Sequence[int], count: int) -> list[Any]:
    """The thread's lines, by streams cut after so many lines each and taken up at their last id."""
    items: list[Any] = []
    last_id = ""
    for piece in [*pieces, count]:
        headers = {"Last-Event-ID": last_id} if last_id else None
        async with api.stream(f"/api/events?thread={thread_id}&after=0", headers) as stream:
            wanted = min(piece, count - len(items))
            while wanted:
                event = await stream.next()
                if event["type"] == "item":
                    items.append(event["data"])
                    wanted -= 1
                    assert (event["seq"], stream.last_id) == (event["data"]["seq"], str(event["seq"]))
            last_id = stream.last_id or last_id
    return items


async def test_a_stream_cut_anywhere_continues_exactly(tmp_path: Path) -> None:
    async with place(tmp_path) as (_, api):
        thread_id, lines = await story(api)
        kinds = [line["kind"] for line in lines]
        assert set(kinds) == {
            "user",
            "assistant",
            "notice",
            "call",
            "gate",
            "outcome",
            "result",
            "operator",
        }
        for cut in range(len(lines)):
            assert await read_in_pieces(api, thread_id, [cut, 1], len(lines)) == lines


@pytest.mark.slow
def test_a_stream_cut_again_and_again_continues_exactly(tmp_path: Path, profile: Profile) -> None:
    """One hub, and many ways to cut what it tells."""

    @settings(max_examples=profile.pick(test=5, ci=20, proof=300), deadline=None)
    @given(st.lists(st.integers(0, 4), max_size=8))
    def check(pieces: list[int]) -> None:
        assert runner.run(read_in_pieces(api, thread_id, pieces, len(lines))) == lines

    with asyncio.Runner() as runner:
        opened = place(tmp_path)
        _, api = runner.run(opened.__aenter__())
        try:
            thread_id, lines = runner.run(story(api))
            check()
        finally:
            runner.run(opened.__aexit__(None, None, None))


def said(events: Sequence[Any]) -> str:
    """The text that deltas make; each says where it belongs, and a new attempt begins anew."""
    text, attempt = "", -1
    for event in events:
        if event["type"] == "turn_delta":
            assert event["data"]["attempt"] >= attempt
            if event["data"]["attempt"] > attempt:
                attempt, text = event["data"]["attempt"], ""
            assert event["data"]["offset"] == len(text)
            text = text[: event["data"]["offset"]] + event["data"]["text"]
    return text


async def test_a_reply_is_streamed_as_it_arrives(tmp_path: Path) -> None:
    answer = "one two three four five six seven eight"
    async with place(tmp_path) as (house, api), api.stream() as lists:
        assert (await lists.next())["type"] == "hello"
        house.model.enqueue(Reply(answer, chunk_chars=4, delay_s=0.05))
        thread_id = (await api.send("count"))["thread_id"]
        async with api.stream(f"/api/events?thread={thread_id}") as stream:
            before = await stream.until("turn_delta")
            assert (before[0]["type"], before[0]["data"]["text"]) == ("item", "count")
            async with api.stream(f"/api/events?thread={thread_id}&after=1") as late:
                events = [*before, *(await stream.until("turn_rested"))]
                joined = await late.until("turn_rested")
        for seen in (events, joined):
            types = [event["type"] for event in seen]
            assert said(seen) == answer
            assert [event["data"]["text"] for event in seen if event["type"] == "item"][-1] == answer
            assert types.index("turn_finished") > len(types) - 1 - types[::-1].index("item")
        assert (joined[0]["type"], joined[0]["data"]) == ("turn_started", {"turn": events[0]["data"]["turn"]})
        assert (await lists.next())["data"] == {"thread_id": thread_id}


async def test_a_stored_reply_is_not_streamed_again(tmp_path: Path) -> None:
    """It came with a call: the turn goes on after it, and somebody opens the conversation."""
    async with place(tmp_path) as (house, api):
        house.model.enqueue(tools(ToolCall("time", {}), text="I look at the clock."))
        house.model.enqueue("It is late.", fault=Hold(at="before_headers"))
        thread_id = (await api.send("what time is it?"))["thread_id"]
        await house.model.wait_requests(state="held")
        page = await api.get(f"/api/threads/{thread_id}")
        assert [item["text"] for item in page["items"] if item["kind"] == "assistant"] == [
            "I look at the clock."
        ]
        assert (page["live"]["text"], [step["tool"] for step in page["live"]["steps"]]) == ("", ["time"])
        async with api.stream(f"/api/events?thread={thread_id}&after={page['last_seq']}") as stream:
            begun = [await stream.next() for _ in range(2)]
            house.model.release()
            assert said([*begun, *(await stream.until("turn_rested"))]) == "It is late."


async def test_a_stream_resumed_far_behind_delivers_everything_at_once(tmp_path: Path) -> None:
    """More lines than one look reads: nothing else has to happen for the rest."""
    async with place(tmp_path) as (house, api):
        house.model.enqueue(tools(*(ToolCall("time", {}) for _ in range(110))))
        thread_id = (await api.send("what time is it?"))["thread_id"]
        page = await api.until(
            f"/api/threads/{thread_id}",
            lambda page: page["live"] is None and page["thread"]["last_seq"] > 2 * 110,
        )
        async with api.stream(f"/api/events?thread={thread_id}&after=0") as stream:
            while int(stream.last_id or 0) < page["thread"]["last_seq"]:
                await stream.next()


async def test_an_approval_is_streamed_everywhere(tmp_path: Path) -> None:
    async with place(tmp_path) as (house, api):
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello")
        (thread,) = (await api.get("/api/threads"))["threads"]
        mia = await api.member("Mia")
        async with (
            api.stream(f"/api/events?thread={thread['id']}&after={thread['last_seq']}") as stream,
            api.stream() as lists,
            mia.stream() as others,
        ):
            for one in (lists, others):
                assert (await one.next())["type"] == "hello"
            house.telegram.user_sends_text(OWNER, RUN)
            needed = (await stream.until("approval_needed"))[-1]["data"]
            assert (await stream.next())["type"] == "gate_required"
            assert (await lists.until("approval_needed"))[-1]["data"] == needed
            await house.pressed(OWNER, await house.card(OWNER), 1)
            resolved = (await stream.until("approval_resolved"))[-1]["data"]
            assert (resolved["gate_id"], resolved["state"]) == (needed["gate_id"], "closed")
            assert (await lists.until("approval_resolved"))[-1]["data"] == resolved
            await mia.send("mine")
            assert (await others.next())["data"]["thread_id"] != thread["id"]


async def test_a_vote_short_of_the_quorum_is_streamed(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        async with client(tmp_path) as api:
            member = await api.member("Mia")
            mia_id = (await member.get("/api/me"))["user_id"]
        await house.stop()
        write_config(house, extra=TEAM.format(mia=mia_id))
        await house.start()
        async with client(tmp_path) as api, api.stream() as lists:
            mia = Client(api.http, api.url, member.token)
            async with mia.stream() as hers_too:
                house.telegram.user_sends_text(OWNER, RUN)
                asked = (await hers_too.until("approval_needed"))[-1]["data"]
            needed = (await lists.until("approval_needed"))[-1]["data"]
            assert (needed["votes"], needed["quorum"]) == ([], 2)
            assert asked["gate_id"] == needed["gate_id"], "an approver sees it, too"
            assert (await mia.resolve(needed["gate_id"], "approve"))[0] == 200
            counted = (await lists.until("approval_needed"))[-1]["data"]
            assert (counted["votes"], counted["state"]) == (["Mia"], "open")
            assert (counted["may_decide"], counted["voted"]) == (True, False)
            (hers,) = (await mia.get("/api/approvals"))["approvals"]
            assert (hers["may_decide"], hers["voted"]) == (False, True)


async def test_the_hubs_stream_reports_requests_and_channels(tmp_path: Path) -> None:
    async with (
        open_hub(tmp_path, direct="pairing") as house,
        client(tmp_path) as api,
        api.stream() as lists,
    ):
        assert (await lists.next())["type"] == "hello"
        house.telegram.add_user(8, first_name="Bo")
        house.telegram.user_sends_text(8, "hello")
        assert (await lists.until("pairing_changed"))[-1]["data"] == {}


async def test_every_stream_reports_that_tools_are_paused(tmp_path: Path) -> None:
    async with open_hub(tmp_path), client(tmp_path) as api:
        mia = await api.member("Mia")
        async with api.stream() as lists, mia.stream() as members:
            for stream in (lists, members):
                assert (await stream.next())["type"] == "hello"
            for path, paused in (("pause", True), ("unpause", False)):
                assert (await api.ask("POST", f"/api/tools/{path}", {}))[0] == 200
                for stream in (lists, members):
                    assert (await stream.until("tools_changed"))[-1]["data"] == {}
                assert await api.get("/api/tools") == {"paused": paused}


# ---------------------------------------------------------------- what is going on


def test_the_output_of_a_step_is_kept_until_it_has_ended() -> None:
    live = Live()
    live.turn_event("t", "turn", Began("web", Address("a")))
    live.turn_event("t", "turn", Output("call", 0, "line"))
    turn = live.turn("t")
    assert turn is not None
    assert [one.text for one in turn.outputs.values()] == ["line"]
    live.turn_event("t", "turn", Step("call", "shell", StepState.ENDED))
    assert turn.outputs == {}


@given(st.lists(st.lists(st.text(min_size=1, max_size=5), max_size=6), max_size=4))
def test_the_live_reply_is_the_text_of_the_newest_attempt(replies: list[list[str]]) -> None:
    live = Live()
    live.turn_event("t", "turn", Began("web", Address("a")))
    for attempt, reply in enumerate(replies):
        offset = 0
        for number, piece in enumerate(reply):
            live.turn_event("t", "turn", TextDelta(offset, piece, attempt))
            live.turn_event("t", "turn", TextDelta(offset, "late", attempt - 1))
            offset += len(piece)
            turn = live.turn("t")
            assert turn is not None
            assert turn.text == "".join(reply[: number + 1])
            assert turn.text_from(number) == piece
    live.turn_event("t", "turn", Finished("done"))
    assert live.turn("t") is None


async def test_a_reader_that_falls_too_far_behind_is_disconnected(tmp_path: Path) -> None:
    live = Live()
    slow, quick = live.subscribe("t", MIA), live.subscribe("t", MIA)
    for number in range(EVENTS_LIMIT + 1):
        live.turn_event("t", "turn", Step(f"call-{number}", "time", StepState.STARTED))
        quick.news.clear()
    assert (slow.cut, quick.cut) == (True, False)
    assert len(slow.news) == EVENTS_LIMIT
    live.leave(slow)
    live.leave(quick)
    live.changed(Changes(frozenset({"t"}), {}, people=False))


class Ticks:
    """One event each time."""

    async def news(self) -> AsyncIterator[Event]:
        yield Event("hello", {})


@pytest.mark.slow
async def test_a_reader_that_takes_nothing_is_disconnected() -> None:
    live, taken = Live(), list[str]()

    async def may_read() -> bool:
        return True

    async def send(said: MutableMapping[str, Any]) -> None:
        taken.append(said["type"])
        if said["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def stays() -> MutableMapping[str, Any]:
        return await asyncio.Future()

    stream = EventStream(live, live.subscribe(None, MIA), Ticks(), may_read, SystemClock())
    async with asyncio.timeout(20 + LIMIT_S):
        await stream({"type": "http"}, stays, send)
    assert taken == ["http.response.start", "http.response.body"]
    assert live.streams == 0


async def test_a_stream_without_news_blocks_no_one() -> None:
    live = Live()
    one = live.subscribe(None, MIA)
    assert await one.something(LIMIT_S)
    assert not await one.something(0.01)
    live.changed(Changes(frozenset({"t"}), {"p": "t"}, people=True))
    assert await one.something(LIMIT_S)
    assert (one.threads, one.gates, one.people) == ({"t"}, {"p": "t"}, True)


# ---------------------------------------------------------------- how many


async def test_a_member_with_all_their_streams_blocks_no_one(tmp_path: Path) -> None:
    async with place(tmp_path) as (_, api), contextlib.AsyncExitStack() as opened:
        mia, ben = await api.member("Mia"), await api.member("Ben")
        held = [await opened.enter_async_context(mia.stream()) for _ in range(31)]
        async with mia.stream() as last:
            for stream in (*held, last):
                assert (await stream.next())["type"] == "hello"
            assert (await mia.refusal("GET", "/api/events"))[:2] == (429, "too_many")
            for other in (api, ben):
                async with other.stream() as stream:
                    assert (await stream.next())["type"] == "hello"
        async with asyncio.timeout(LIMIT_S):
            while (await _status_of_a_stream(mia)) == 429:  # noqa: ASYNC110 - only asking tells
                await asyncio.sleep(0.01)


async def _status_of_a_stream(api: Client) -> int:
    headers = {"Authorization": f"Bearer {api.token}"}
    async with api.http.get(f"{api.url}/api/events", headers=headers) as answer:
        return answer.status


def test_all_members_together_leave_the_owner_theirs() -> None:
    live, owner = Live(), Principal("owner", Role.OWNER, "owner")
    assert (MAX_OF_ONE, MAX_SUBSCRIBERS) == (32, 256)
    members = [Principal(f"m{number}", Role.MEMBER, "") for number in range(9)]
    held = [live.subscribe("t", member) for member in members[:8] for _ in range(32)]
    with pytest.raises(TooManySubscribers):
        live.subscribe("t", members[8])
    owners = [live.subscribe(None, owner) for _ in range(32)]
    with pytest.raises(TooManySubscribers):
        live.subscribe(None, owner)
    for one in (held[0], owners[0]):
        live.leave(one)
    live.subscribe("t", members[8])
    live.subscribe("t", owner)
    assert live.streams == 8 * 32 + 32


SLOW = (
    "echo one; printf ghp_; sleep 0.6; printf 'a%.0s' $(seq 36); echo; echo two;"
    " while [ ! -e go ]; do sleep 0.05; done; echo three"
)


async def test_the_output_of_a_running_command_is_shown_as_it_comes_without_secrets(tmp_path: Path) -> None:
    """Also to somebody who comes later; once the call has ended, its result is all there is."""

    async def printed(stream: Stream, upto: str) -> str:
        text = ""
        while upto not in text:
            event = (await stream.until("turn_output"))[-1]
            assert event["data"]["offset"] == len(text)
            text += event["data"]["text"]
        return text

    async with place(tmp_path) as (house, api):
        sent = await api.send(f"please run: {SLOW}")
        (gate,) = (await api.until("/api/approvals", lambda page: bool(page["approvals"])))["approvals"]
        path = f"/api/events?thread={sent['thread_id']}"
        async with api.stream(path) as stream:
            await api.resolve(gate["gate_id"], "approve")
            assert await printed(stream, "two") == "one\n[REDACTED]\ntwo\n"
            async with api.stream(path) as later:
                assert await printed(later, "two") == "one\n[REDACTED]\ntwo\n"
            (house.workspace / "go").touch()
            await stream.until("turn_finished")
        page = await api.get(f"/api/threads/{sent['thread_id']}")
        (result,) = [item for item in page["items"] if item["kind"] == "result"]
        assert "three" in result["text"]
        assert "aaaa" not in result["text"]
