"""Slack, by sockets and by signed requests: what people there see of the hub."""

import asyncio
import hashlib
import hmac
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from core import texts
from core.errors import AttachmentTooLarge
from core.messages import Address, Attachment, File, Message
from tests.harness.slack_hub import LIMIT_S, OWNER, SECRET, SlackHub, open_slack_hub
from tests.hostile.watched import parsed_here

MODES = pytest.mark.parametrize("mode", ["socket", "http"])
STRANGER = "U0STRANGER"
MARKDOWN = """# Report

The build of `main` **passed**, see [the log](https://example.com/log?a=1&b=2).

| step | ms |
|------|---:|
| 测试 | 42 |

1. one
   - inner

<!channel> @here <@U0OLIVIA> & more"""


def bot_says(place: SlackHub, channel: str) -> list[str]:
    return [place.slack.look(message).text for message in place.slack.bot_messages(channel)]


async def press(place: SlackHub, person: str, channel: str, message: Any, button: str) -> None:
    record = place.slack.user_presses_button(person, channel, message.ts, button)
    settled = await place.slack.wait_settled(record.id, LIMIT_S)
    assert settled.state == "acked"


@MODES
async def test_a_message_is_answered(tmp_path: Path, mode: str) -> None:
    async with open_slack_hub(tmp_path, mode=mode) as place:
        place.slack.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")
        await place.slack.wait_acked()


async def test_an_envelope_over_its_size_is_recorded_acknowledged_and_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.app.hub.shut()
        text = {"user": OWNER, "channel": place.direct(), "channel_type": "im", "text": "sk-" * 400_000}
        place.slack.inject_event({"type": "message", "ts": "1.2", **text})
        async with asyncio.timeout(LIMIT_S):
            while "slack.request_not_accepted" not in caplog.text:  # noqa: ASYNC110 - the log tells nobody
                await asyncio.sleep(0.005)
        place.app.hub.open()
        await place.slack.wait_acked()
        place.slack.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")
        await place.slack.wait_acked()
        assert len(bot_says(place, place.direct())) == 1
        known = await place.app.store.explanations.explain_recent(10)
        assert [row.outcome for row in known] == ["turn 1", "failed: unreadable"]


@MODES
async def test_an_event_that_cannot_be_read_is_recorded_and_acknowledged(tmp_path: Path, mode: str) -> None:
    async with open_slack_hub(tmp_path, mode=mode) as place:
        unread = {"type": "message", "user": 5, "channel": place.direct(), "ts": "1.2", "text": "z" * 200_000}
        with parsed_here() as lengths:
            place.slack.inject_event(unread)
            await place.slack.wait_acked()
        assert max(lengths, default=0) <= 4_096, "a long one is parsed in a thread"
        place.slack.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")
        known = await place.app.store.explanations.explain_recent(10)
        assert [row.outcome for row in known] == ["turn 1", "failed: unreadable"]


@MODES
async def test_a_call_runs_once_after_its_button_was_pressed(tmp_path: Path, mode: str) -> None:
    async with open_slack_hub(tmp_path, mode=mode) as place:
        place.slack.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        assert not (place.workspace / "log").exists()
        await press(place, OWNER, place.direct(), card, "Approve")
        await place.hears(place.direct(), "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"
        await place.slack.wait_for(lambda: "pproved" in place.slack.visible(place.direct(), card.ts), LIMIT_S)
        shown = next(m for m in place.slack.messages(place.direct()) if m.ts == card.ts)
        assert not place.slack.look(shown).buttons


@MODES
async def test_a_redelivered_message_is_part_of_one_turn(tmp_path: Path, mode: str) -> None:
    async with open_slack_hub(tmp_path, mode=mode) as place:
        place.slack.user_sends_text(OWNER, "only once")
        await place.hears(place.direct(), "You said: only once")
        again = place.slack.redeliver(times=2)
        await place.slack.wait_settled(again.id, LIMIT_S)
        place.slack.user_sends_text(OWNER, "and now")
        await place.hears(place.direct(), "You said: and now")
        assert bot_says(place, place.direct()) == ["You said: only once", "You said: and now"]


async def test_markdown_is_shown_in_slacks_own_elements_and_pings_no_one(
    tmp_path: Path,
) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.user_sends_text(OWNER, f"say: {MARKDOWN}")
        message = await place.hears(place.direct(), "Report")
        look = place.slack.look(message)
        assert place.slack.pings(place.direct(), message.ts) == []
        assert "**" not in look.text
        assert "`" not in look.text
        assert "step | ms\n-----+---\n测试 | 42" in look.text
        assert ("https://example.com/log?a=1&b=2", "the log") in look.links
        sent = [request.params for request in place.slack.requests("chat.postMessage")]
        expands = {(said["unfurl_links"], said["unfurl_media"]) for said in sent}
        assert expands == {(False, False)}, "nobody fetches what a link leads to"


async def test_a_mention_opens_a_thread_that_needs_no_further_one(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, extra='groups = "addressed"') as place:
        place.slack.add_user(STRANGER, name="sam")
        room = place.slack.create_channel("build", [OWNER, STRANGER], apps=["hub"]).id
        asked = place.slack.user_mentions(OWNER, "what is up?", room)
        answer = await place.hears(room, "what is up?")
        assert answer.thread_ts == asked.ts
        place.slack.user_sends_text(OWNER, "and then?", room, thread_ts=asked.ts)
        second = await place.hears(room, "and then?")
        assert second.thread_ts == asked.ts
        place.slack.user_sends_text(STRANGER, "talking to somebody else", room, thread_ts=asked.ts)
        place.slack.user_sends_text(OWNER, "nobody is named", room)
        await place.slack.wait_acked()
        assert bot_says(place, room) == ['You said: "olivia": what is up?', 'You said: "olivia": and then?']


async def test_a_mention_and_its_message_are_one(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, extra='groups = "all"') as place:
        room = place.slack.create_channel("build", [OWNER], apps=["hub"]).id
        place.slack.user_mentions(OWNER, "count me once", room)
        await place.hears(room, "count me once")
        await place.slack.wait_acked()
        assert len(place.slack.deliveries(what="app_mention")) == 1
        assert bot_says(place, room) == ['You said: "olivia": count me once']


@MODES
async def test_a_strangers_press_is_refused_where_only_they_see_it(tmp_path: Path, mode: str) -> None:
    async with open_slack_hub(tmp_path, mode=mode, extra='groups = "addressed"') as place:
        place.slack.add_user(STRANGER, name="sam")
        room = place.slack.create_channel("build", [OWNER, STRANGER], apps=["hub"]).id
        place.slack.user_mentions(OWNER, "please run: echo ran >> log", room)
        card = await place.card(room)
        await press(place, STRANGER, room, card, "Approve")
        await place.slack.wait_ephemeral(STRANGER, "You are not allowed to decide this.", timeout_s=LIMIT_S)
        assert not (place.workspace / "log").exists()
        await press(place, OWNER, room, card, "Approve")
        await place.hears(room, "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"


async def test_a_slash_command_is_a_command_or_a_message(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.user_runs_command(OWNER, "/hubbub", "help", place.direct())
        await place.hears(place.direct(), "/hubbub status")
        for text in ("good morning", "help me with a letter"):
            place.slack.user_runs_command(OWNER, "/hubbub", text, place.direct())
            await place.hears(place.direct(), f"You said: {text}")


async def test_a_card_says_what_can_be_typed_on_slack_and_that_works(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.user_sends_text(OWNER, "please run: echo ran >> log")
        card = place.slack.look(await place.card(place.direct())).text
        typed = card.partition("or type ")[2].partition(" or ")[0]
        command, _, behind = typed.partition(" ")
        place.slack.user_runs_command(OWNER, command, behind, place.direct())
        await place.hears(place.direct(), "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"


async def test_an_edit_changes_what_waits_and_a_deletion_nothing(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.user_sends_text(OWNER, "slow 600: first")
        await place.model.wait_requests(1)
        second = place.slack.user_sends_text(OWNER, "secnd")
        gone = place.slack.user_sends_text(OWNER, "third")
        await place.slack.wait_acked()
        place.slack.user_edits(OWNER, place.direct(), second.ts, "second")
        place.slack.user_deletes(OWNER, place.direct(), gone.ts)
        await place.slack.wait_acked()
        place.model.release()
        await place.hears(place.direct(), "second")
        assert "secnd" not in "".join(bot_says(place, place.direct()))


async def test_files_come_in_by_name_and_content_and_go_out(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.user_sends_file(OWNER, "notes.txt", b"twelve bytes", text="look at this")
        await place.hears(place.direct(), "notes.txt")
        file = place.slack.messages(place.direct())[0].body["files"][0]
        slack = place.app.manager.channel("slack")
        sent = Attachment(file["url_private_download"], "notes.txt", "text/plain", 12)
        assert await slack.fetch(sent, 12) == b"twelve bytes"
        with pytest.raises(AttachmentTooLarge):
            await slack.fetch(sent, 11)
        (place.workspace / "report.txt").write_bytes(b"all is well")
        (part,) = slack.render(Message((), files=(File("report.txt", "report.txt", "text/plain"),)))
        posted = await slack.post(Address(place.direct()), part, nonce="n")
        (shown,) = [m for m in place.slack.bot_messages(place.direct()) if m.body.get("files")]
        assert [file["name"] for file in shown.body["files"]] == ["report.txt"]
        assert await slack.retract(posted.ref)
        assert place.slack.look(shown).text == "[This file was deleted.]"
        assert not await slack.retract(posted.ref)


async def test_a_rate_limit_costs_no_message_and_no_order(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.fail("rate_limit", method="chat.postMessage", count=2, retry_after_s=1)
        for number in range(3):
            place.slack.user_sends_text(OWNER, f"number {number}")
            await place.slack.wait_acked()
        await place.hears(place.direct(), "number 2")
        said = "\n".join(bot_says(place, place.direct()))
        assert [said.index(f"number {number}") for number in range(3)] == sorted(
            said.index(f"number {number}") for number in range(3)
        )
        assert all(said.count(f"number {number}") == 1 for number in range(3))


async def test_a_message_whose_answer_was_lost_is_found_again_and_not_repeated(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.fail("drop", method="chat.postMessage", when="after", count=1)
        place.slack.user_sends_text(OWNER, "once and no more")
        await place.hears(place.direct(), "You said: once and no more")
        place.slack.user_sends_text(OWNER, "next")
        await place.hears(place.direct(), "You said: next")
        assert bot_says(place, place.direct()) == ["You said: once and no more", "You said: next"]
        assert len(place.slack.requests("chat.postMessage")) == 2


async def test_a_revoked_token_affects_only_its_channel(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.revoke_token("xoxb-1")
        place.slack.user_sends_text(OWNER, "hello?")
        reason = await place.becomes("failed")
        assert "token" in reason
        assert (await place.readyz())[1]["ready"]


async def test_messages_sent_while_the_hub_was_down_are_answered_in_order(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path, extra='groups = "addressed"') as place:
        room = place.slack.create_channel("build", [OWNER], apps=["hub"]).id
        asked = place.slack.user_mentions(OWNER, "before", room)
        await place.hears(room, "before")
        place.slack.user_sends_text(OWNER, "before too")
        await place.hears(place.direct(), "You said: before too")
        await place.stop()
        place.slack.user_sends_text(OWNER, "missed one")
        place.slack.user_sends_text(OWNER, "missed two")
        place.slack.user_sends_text(OWNER, "missed in the thread", room, thread_ts=asked.ts)
        place.slack.user_mentions(OWNER, "missed in the channel", room)
        await place.start()
        await place.hears(room, "missed in the thread")
        await place.hears(room, "missed in the channel")
        await place.hears(place.direct(), "missed two")
        said = "\n".join(bot_says(place, place.direct()))
        assert said.index("missed one") < said.index("missed two")
        whole = said + "\n".join(bot_says(place, room))
        for text in ("missed one", "missed two", "missed in the thread", "missed in the channel"):
            assert whole.count(text) == 1, text
        read = place.slack.requests("conversations.history")
        assert read
        assert all(float(one.params["oldest"]) >= float(asked.ts) for one in read), (
            "what is known is not read"
        )


@MODES
async def test_a_press_does_not_wait_for_what_was_missed_and_a_command_not_long(
    tmp_path: Path, mode: str
) -> None:
    """Slack brings them once, and wants to know within 3 s."""
    async with open_slack_hub(tmp_path, mode=mode) as place:
        place.slack.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        await place.stop()
        place.slack.fail("hold", method="conversations.history", when="before", count=1)
        await place.start()
        await place.slack.wait_held(timeout_s=LIMIT_S)
        await press(place, OWNER, place.direct(), card, "Approve")
        await place.hears(place.direct(), "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"
        commanded = place.slack.user_runs_command(OWNER, "/hubbub", "status", place.direct())
        assert (await place.slack.wait_settled(commanded.id, LIMIT_S)).state == "acked"
        await place.slack.wait_ephemeral(OWNER, texts.NOT_NOW, timeout_s=LIMIT_S)
        place.slack.release()


@pytest.mark.slow
async def test_a_broken_socket_is_opened_again_and_nothing_is_lost(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        place.slack.user_sends_text(OWNER, "before")
        await place.hears(place.direct(), "You said: before")
        place.slack.cut_sockets(duration_s=1)
        place.slack.user_sends_text(OWNER, "in between")
        await place.hears(place.direct(), "You said: in between")
        await place.slack.close_sockets("refresh_requested")
        place.slack.user_sends_text(OWNER, "afterwards")
        await place.hears(place.direct(), "You said: afterwards")
        assert [text for text in bot_says(place, place.direct()) if "in between" in text] == [
            "You said: in between"
        ]


@pytest.mark.parametrize("wrong", ["secret", "stale", "body", "missing"])
async def test_requests_that_slack_did_not_sign_change_nothing(tmp_path: Path, wrong: str) -> None:
    async with open_slack_hub(tmp_path, mode="http") as place:
        body = b'{"type":"event_callback","team_id":"T1","event":{}}'
        stamp = str(int(time.time()) - (400 if wrong == "stale" else 0))
        secret = "another" if wrong == "secret" else SECRET
        digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}
        if wrong == "missing":
            headers = {}
        sent = body + b" " if wrong == "body" else body
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{place.app.url}/channels/slack/events", data=sent, headers=headers) as answer,
        ):
            assert answer.status == 401
        place.slack.user_sends_text(OWNER, "still here")
        await place.hears(place.direct(), "You said: still here")
