"""Answers that take long, as people see them come: typing, a growing preview, the stored text."""

import asyncio
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.codecs import message_from_json
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import Drop, Hold, Prompt, Reply, ToolCall, text
from tests.simulators.telegram.log import RequestRecord

BEN = 100
SPEED = 10
"""Seconds of the hub that pass in one of the platform's."""

STORY = " ".join(f"{'word' if number % 3 else '**word**'} {number}" for number in range(150)) + ", the end."
SHOWN = STORY.replace("**", "")
PIECES = -(-len(STORY) // 12)


def story(lasts_s: float = 30) -> Reply:
    """A long answer that takes so many of the hub's seconds."""
    return text(STORY, chunk_chars=12, delay_s=lasts_s / SPEED / PIECES)


def shown_at(house: Hub, *methods: str, person: int = OWNER) -> list[float]:
    """When requests came that show something, in the hub's seconds since the first message came."""
    began = house.telegram.updates()[0].deliveries[0]["at"]
    return [(request.received_at - began) * SPEED for request in requests(house, *methods, person=person)]


def requests(house: Hub, *methods: str, person: int = OWNER) -> list[RequestRecord]:
    return [request for request in house.telegram.requests(chat_id=person) if request.method in methods]


def answers(house: Hub) -> list[str]:
    """Return what is stored as answers."""
    path = house.directory / "data" / "hub.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT message FROM outbox WHERE state NOT IN ('streaming', 'replaced')")
        said = [message_from_json(row) for (row,) in rows]
    return ["".join(block.text for block in message.blocks) for message in said]


def kept(house: Hub) -> str:
    """Everything the database holds of messages out."""
    path = house.directory / "data" / "hub.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return "\n".join(row for (row,) in database.execute("SELECT message FROM outbox"))


async def test_a_long_answer_is_shown_once_a_second_and_ends_as_stored(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.rule("story", story())
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        assert "word" not in kept(house)
        await house.telegram.wait_text(OWNER, ", the end.", timeout_s=LIMIT_S)
        await house.telegram.wait_requests("editMessageText", 3, chat_id=OWNER)
        await finished(house)
        assert house.says(OWNER) == [SHOWN]
        assert answers(house) == [STORY]
        changes = shown_at(house, "sendMessage", "editMessageText")
        assert changes[0] >= 1
        assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(changes))
        assert len(requests(house, "sendMessage")) == 1
        seen = [request.params["text"] for request in requests(house, "sendMessage", "editMessageText")]
        assert all(len(one) <= len(other) for one, other in itertools.pairwise(seen))


async def finished(house: Hub, count: int = 1) -> None:
    """Until so many answers are stored and out."""

    def out() -> bool:
        path = house.directory / "data" / "hub.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            states = database.execute("SELECT state FROM outbox WHERE state NOT IN ('replaced')").fetchall()
        return [state for (state,) in states] == ["sent"] * count

    async with asyncio.timeout(LIMIT_S):
        while not out():  # noqa: ASYNC110 - a file tells nobody that it changed
            await asyncio.sleep(0.02)


async def test_an_answer_of_many_parts_begins_in_its_preview(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        long = "\n\n".join(f"paragraph {number} of a long answer" for number in range(300)) + "\n\nthe end"
        house.model.rule("long", text(long, chunk_chars=200, delay_s=0.02))
        house.telegram.user_sends_text(OWNER, "be long")
        await house.telegram.wait_text(OWNER, "the end", timeout_s=LIMIT_S)
        messages = house.telegram.bot_messages(OWNER)
        assert len(messages) == 3
        assert "\n\n".join(message.text for message in messages) == long
        assert all(request.ok for request in requests(house, "sendMessage"))
        assert len(requests(house, "sendMessage")) == 3


async def test_within_a_second_nothing_is_shown_but_the_answer(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=1 / 60) as house:  # the hub's second is a minute: enough for any
        house.telegram.user_sends_text(OWNER, "quick")
        await house.telegram.wait_text(OWNER, "You said: quick")
        assert requests(house, "sendChatAction", "editMessageText") == []


async def test_typing_is_shown_after_a_second_and_while_it_lasts(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.fault(Hold(at="before_headers"))
        house.telegram.user_sends_text(OWNER, "slow")
        await house.telegram.wait_requests("sendChatAction", 4, chat_id=OWNER)
        house.model.release()
        await house.telegram.wait_text(OWNER, "You said: slow")
        asked = house.telegram.updates()[0].deliveries[0]["at"]
        times = [(request.received_at - asked) * SPEED for request in requests(house, "sendChatAction")]
        assert times[0] >= 1
        assert all(later - earlier >= 4 for earlier, later in itertools.pairwise(times))
        assert requests(house, "sendChatAction")[0].params["action"] == "typing"
        assert house.says(OWNER) == ["You said: slow"]


async def test_429_in_the_middle_costs_no_message_and_no_order(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.rule("story", story(10))
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        fault = house.telegram.fail("rate_limit", chat_id=OWNER, count=2, retry_after_s=4)
        house.telegram.user_sends_text(OWNER, "/status")
        house.telegram.user_sends_text(OWNER, "and then?")
        await house.telegram.wait_text(OWNER, "You said: and then?", timeout_s=LIMIT_S)
        assert len(fault.hits) == 2
        first, _status, last = house.says(OWNER)
        assert (first, last) == (SHOWN, "You said: and then?")
        # A sign that something was seen is given or not; messages wait for nothing but their own limit.
        sent = [one for one in house.telegram.requests(chat_id=OWNER) if one.method != "setMessageReaction"]
        for request in (one for one in sent if one.fault):
            following = [one for one in sent if one.number > request.number]
            assert (following[0].received_at - request.received_at) * SPEED >= 4


async def test_stop_in_the_middle_takes_the_preview_away(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.rule("story", story())
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        house.telegram.user_sends_text(OWNER, "/stop")
        await house.telegram.wait_text(OWNER, "Stopped", timeout_s=LIMIT_S)
        await house.telegram.wait_for(lambda: len(house.says(OWNER)) == 1, LIMIT_S)
        house.model.reset()
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "hello")
        assert [said.partition(" ")[0].rstrip(".") for said in house.says(OWNER)] == ["Stopped", "You"]


async def test_a_failure_in_the_middle_is_reported_in_place_of_the_preview(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.rule("story", story(10), fault=Drop(at="mid_stream", after_events=PIECES // 2))
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        await house.telegram.wait_for(lambda: "word" not in "".join(house.says(OWNER)), LIMIT_S)
        assert len(house.says(OWNER)) == 1
        assert answers(house) == house.says(OWNER)


async def test_a_reply_that_breaks_off_is_replaced_by_the_next_attempt(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        again = text("Another " + STORY, chunk_chars=12, delay_s=10 / SPEED / PIECES)
        house.model.enqueue(story(10), fault=Drop(at="mid_stream", after_events=PIECES // 2))
        house.model.enqueue(again)
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        await house.telegram.wait_text(OWNER, ", the end.", timeout_s=LIMIT_S)
        await finished(house)
        assert house.says(OWNER) == ["Another " + SHOWN]
        assert answers(house) == ["Another " + STORY]
        seen = [request.params["text"] for request in requests(house, "sendMessage", "editMessageText")]
        assert len(requests(house, "sendMessage")) == 1, "one message, replaced in its place"
        first = [one for one in seen if one.startswith("word")]
        then = seen[len(first) :]
        assert first
        assert not [one for one in first if "Another" in one], "nothing of the first attempt stays"
        assert all(one.startswith("Another") for one in then)
        assert len(then[0]) < len(first[-1]), "the new attempt is shown from its beginning"


async def test_an_approval_in_the_middle_has_its_own_message_and_the_answer_comes_below_it(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:

        def reply(prompt: Prompt) -> Reply:
            if prompt.tool_results:
                return story(10)
            return Reply(text=STORY, calls=(ToolCall("shell", {"command": "true"}),), delay_s=0.02)

        house.model.rule("run it", reply, on="any")
        house.telegram.user_sends_text(OWNER, "run it")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        card = await house.card(OWNER)
        await house.telegram.wait_for(lambda: len(house.says(OWNER)) == 1, LIMIT_S)
        typed = len(requests(house, "sendChatAction"))
        house.telegram.add_user(BEN, first_name="Ben")
        house.model.fault(Hold(at="before_headers"))
        house.telegram.user_sends_text(BEN, "slow")
        # What is shown to Ben meanwhile takes longer than two periods of typing to the owner.
        await house.telegram.wait_requests("sendChatAction", 3, chat_id=BEN)
        assert len(house.says(OWNER)) == 1
        assert len(requests(house, "sendChatAction")) == typed
        house.model.release()
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, ", the end.", timeout_s=LIMIT_S)
        first, second = house.says(OWNER)
        assert first.endswith("Approved by owner")
        assert second == SHOWN


PRINTS = (
    "printf '<b>%s</b>\\n' $((6 * 7)); printf ghp_; printf 'a%.0s' $(seq 36); echo; : > begun;"
    " while [ ! -e go ]; do sleep 0.05; done; echo three"
)


@pytest.mark.parametrize("verbosity", ["off", "on"])
async def test_the_output_of_a_running_command_is_shown_where_steps_are_shown(
    tmp_path: Path, verbosity: str
) -> None:
    """Without secrets, and gone with the answer."""
    extra = "[approvals]\ntool_timeouts = { shell = 600 }"
    async with open_hub(tmp_path, speed=SPEED, extra=extra) as house:
        command = {"command": PRINTS, "timeout_s": 600}

        def reply(prompt: Prompt) -> Reply:
            return Reply("Done.") if prompt.tool_results else Reply(calls=(ToolCall("shell", command),))

        house.model.rule("run it", reply, on="any")
        for said, count in (("hello", 1), (f"/verbose {verbosity}", 2)):
            house.telegram.user_sends_text(OWNER, said)
            await house.telegram.wait_bot_messages(OWNER, count)
        house.telegram.user_sends_text(OWNER, "run it")
        await house.pressed(OWNER, await house.card(OWNER), 0)
        async with asyncio.timeout(LIMIT_S):
            while not (house.workspace / "begun").exists():  # noqa: ASYNC110 - a file tells nobody that it is made
                await asyncio.sleep(0.02)
        typed = len(requests(house, "sendChatAction"))
        # A whole period of typing after the output, which is several times as long as a preview takes.
        await house.telegram.wait_requests("sendChatAction", typed + 2, chat_id=OWNER)
        if verbosity == "on":
            await house.telegram.wait_text(OWNER, "<b>42</b>\n[REDACTED]", timeout_s=LIMIT_S)
        (house.workspace / "go").touch()
        await house.telegram.wait_text(OWNER, "Done.", timeout_s=LIMIT_S)
        await house.settled_sends()
        assert house.says(OWNER)[-1] == "Done."
        shown = "\n".join(one.params["text"] for one in requests(house, "sendMessage", "editMessageText"))
        assert ("<b>42</b>" in shown) == (verbosity == "on")
        assert "aaaa" not in shown


async def test_two_chats_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.telegram.add_user(BEN, first_name="Ben")
        house.model.rule("story", story(10))
        for person in (OWNER, BEN):
            house.telegram.user_sends_text(person, "tell me a story")
        for person in (OWNER, BEN):
            await house.telegram.wait_text(person, ", the end.", timeout_s=LIMIT_S)
        await finished(house, 2)
        for person in (OWNER, BEN):
            assert house.says(person) == [SHOWN]
            changes = shown_at(house, "sendMessage", "editMessageText", person=person)
            assert len(changes) >= 2
            assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(changes))


async def test_with_previews_turned_off_there_is_typing_and_no_preview(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED, extra="[agent]\nstream = false") as house:
        house.model.rule("story", story(10))
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, ", the end.", timeout_s=LIMIT_S)
        assert requests(house, "editMessageText") == []
        assert len(requests(house, "sendMessage")) == 1
        assert requests(house, "sendChatAction")


@pytest.mark.parametrize("when", ["after", "before"], ids=["taken", "refused"])
async def test_a_first_preview_without_an_answer_leaves_one_message(tmp_path: Path, when: str) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.rule("story", story(10))
        house.telegram.fail("drop", when=when, method="sendMessage", count=1)
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, ", the end.", timeout_s=LIMIT_S)
        await finished(house)
        assert house.says(OWNER) == [SHOWN]


async def test_a_turn_interrupted_by_a_stop_of_the_hub_continues(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        house.model.rule("story", story(10))
        house.telegram.user_sends_text(OWNER, "tell me a story")
        await house.telegram.wait_text(OWNER, "word 10", timeout_s=LIMIT_S)
        await house.stop()
        await house.start()
        await house.telegram.wait_text(OWNER, ", the end.", timeout_s=LIMIT_S)
        await finished(house)
        assert house.says(OWNER) == [SHOWN]
        assert len(requests(house, "sendMessage")) == 1


async def test_unfinished_markdown_is_shown_with_its_formatting(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        code = "Look:\n\n```python\nprint(1)\nprint(2)\n```\n\nThat was it."
        house.model.rule("code", text(code, chunk_chars=4, delay_s=0.1))
        house.telegram.user_sends_text(OWNER, "code please")
        await house.telegram.wait_text(OWNER, "That was it.", timeout_s=LIMIT_S)
        seen = [request.params for request in requests(house, "sendMessage", "editMessageText")]
        open_code = [one for one in seen if "print(1)" in one["text"] and "That" not in one["text"]]
        assert open_code
        assert all(one["entities"][0]["type"] == "pre" for one in open_code)
        assert not any("```" in one["text"] for one in open_code[1:])


async def test_in_a_group_the_preview_is_a_reply_to_who_asked(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED, extra='groups = "addressed"') as house:
        group = house.telegram.create_group("Team", [OWNER])
        house.model.rule("story", story(10))
        name = house.telegram.bot().user.username
        asked = house.telegram.user_sends_text(OWNER, f"@{name} tell me a story", chat_id=group.id)
        await house.telegram.wait_text(group.id, ", the end.", timeout_s=LIMIT_S)
        (answer,) = house.telegram.bot_messages(group.id)
        assert answer.text == SHOWN
        assert answer.reply_to is not None
        assert answer.reply_to.id == asked.id
