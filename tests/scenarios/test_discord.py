"""Discord: what people there see of the hub."""

from pathlib import Path

import pytest

from core.errors import AttachmentTooLarge
from core.messages import Address, Attachment, File, Message, plain
from tests.harness.discord_hub import BOT, LIMIT_S, OWNER, open_discord_hub
from tests.simulators.discord import markdown
from tests.simulators.model import Drop, Hold, Reply

STRANGER = 100_000_000_000_000_008
MARKDOWN = """# Report

The build of `main` **passed**, see [the log](https://example.com/log?a=1&b=2).

| step | ms |
|------|---:|
| 测试 | 42 |

1. one
   - inner

@everyone @here <@100000000000000007> & more"""


async def test_a_message_is_answered(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")


async def test_a_reply_that_breaks_off_is_replaced_by_the_next_attempt(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, speed=10) as place:
        first, then = "Broken " * 60, "Whole " * 60 + "at last."
        cut = Drop(at="mid_stream", after_events=25)
        place.model.enqueue(Reply(first, chunk_chars=12, delay_s=0.02), fault=cut)
        place.model.enqueue(Reply(then, chunk_chars=12, delay_s=0.02))
        place.discord.user_sends_text(OWNER, "tell me a story")
        shown = await place.hears(place.direct(), "Broken")
        whole = await place.hears(place.direct(), "at last.")
        assert whole.id == shown.id
        await place.settled_sends("discord")
        assert place.says(place.direct()) == [then]


async def test_a_call_runs_once_after_its_button_was_pressed(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        assert not (place.workspace / "log").exists()
        assert (await place.presses(OWNER, card, 0)).failure is None
        await place.hears(place.direct(), "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"
        await place.discord.wait_for(lambda: "pproved" in card.text, LIMIT_S)
        assert not card.buttons()


async def test_markdown_is_shown_in_discords_own_and_pings_no_one(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, f"say: {MARKDOWN}")
        message = await place.hears(place.direct(), "Report")
        assert message.pings == {"users": [], "roles": [], "everyone": False}
        assert markdown.mentions(message.content) == []
        assert "**" not in message.text
        assert "step | ms\n-----+---\n测试 | 42" in message.text
        assert ("the log", "https://example.com/log?a=1&b=2") in markdown.links(message.content)
        (title, *_) = markdown.read(message.content)
        assert (title.text, title.styles) == ("Report", {"heading1"})


async def test_in_a_channel_a_mention_or_a_reply_is_answered_and_chatter_is_not(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, extra='groups = "addressed"') as place:
        place.joins(STRANGER, "sam")
        room = place.room("build").id
        asked = place.discord.user_mentions_bot(OWNER, "what is up?", room)
        answer = await place.hears(room, "what is up?")
        assert answer.reply_to_id == asked.id
        place.discord.user_sends_text(STRANGER, "talking to somebody else", room)
        place.discord.user_sends_text(OWNER, "nobody is named", room)
        place.discord.user_sends_text(OWNER, "and then?", room, reply_to=answer.id, ping=False)
        await place.hears(room, "and then?")
        assert place.says(room) == ['You said: "Olivia": what is up?', 'You said: "Olivia": and then?']


async def test_a_reply_to_a_deleted_message_is_shown(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, extra='groups = "addressed"') as place:
        room = place.room("build").id
        place.simulators.model.fault(Hold(), match="what is up")
        asked = place.discord.user_mentions_bot(OWNER, "what is up?", room)
        await place.simulators.model.wait_requests(state="held")
        place.discord.user_deletes(OWNER, asked.id)
        place.simulators.model.release()
        assert (await place.hears(room, "what is up?")).reply_to_id is None


async def test_a_thread_and_a_forum_post_continue_without_naming_the_bot(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, extra='groups = "addressed"') as place:
        room, forum = place.room("build").id, place.room("help", "forum").id
        first = place.discord.user_sends_text(OWNER, "a question", room)
        thread = place.discord.user_starts_thread(OWNER, room, "about it", first.id).id
        post = place.discord.user_posts_in_forum(OWNER, forum, "Broken", f"<@{BOT}> it is broken").id
        await place.hears(post, "it is broken")
        place.discord.user_mentions_bot(OWNER, "in here", thread)
        await place.hears(thread, "in here")
        for conversation in (thread, post):
            place.discord.user_sends_text(OWNER, "and on", conversation)
            await place.hears(conversation, "and on")
        assert place.says(room) == []


async def test_a_strangers_press_is_refused_where_only_they_see_it(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, extra='groups = "addressed"') as place:
        place.joins(STRANGER, "sam")
        room = place.room("build").id
        place.discord.user_mentions_bot(OWNER, "please run: echo ran >> log", room)
        card = await place.card(room)
        pressed = await place.presses(STRANGER, card, 0)
        (told,) = pressed.messages()
        assert (told.text, told.ephemeral_for) == ("You are not allowed to decide this.", STRANGER)
        assert not (place.workspace / "log").exists()
        await place.presses(OWNER, card, 0)
        await place.hears(room, "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"


async def test_commands_are_in_the_menu_and_set_only_when_they_changed(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        await place.discord.wait_requests("overwriteCommands", timeout_s=LIMIT_S)
        used = place.discord.user_uses_command(OWNER, "/help")
        await place.hears(place.direct(), "/status")
        settled = await place.discord.wait_interaction(used.id, LIMIT_S)
        assert [message.ephemeral_for for message in settled.messages()] == [OWNER]
        await place.stop()
        await place.start()
        await place.discord.wait_requests("listCommands", count=2, timeout_s=LIMIT_S)
        place.discord.user_sends_text(OWNER, "still here")
        await place.hears(place.direct(), "still here")
        assert len(place.discord.requests("overwriteCommands")) == 1


async def test_an_edit_changes_what_waits_and_a_deletion_nothing(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "slow 600: first")
        await place.model.wait_requests(1)
        second = place.discord.user_sends_text(OWNER, "secnd")
        gone = place.discord.user_sends_text(OWNER, "third")
        place.discord.user_edits_text(OWNER, second.id, "second")
        place.discord.user_deletes(OWNER, gone.id)
        place.discord.user_uses_command(OWNER, "/status")  # taken after all of these
        await place.discord.wait_requests("respondToInteraction", timeout_s=LIMIT_S)
        place.model.release()
        await place.hears(place.direct(), "second")
        assert "secnd" not in "".join(place.says(place.direct()))


async def test_files_come_in_by_name_and_content_and_go_out(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        files = [{"name": "notes.txt", "content": b"twelve bytes"}]
        sent = place.discord.user_sends_text(OWNER, "look at this", files=files)
        await place.hears(place.direct(), "notes.txt")
        discord = place.app.manager.channel("discord")
        handle = f"{place.direct()}:{sent.id}:{sent.attachments[0].id}"
        assert await discord.fetch(Attachment(handle, "notes.txt", "text/plain", 12), 12) == b"twelve bytes"
        with pytest.raises(AttachmentTooLarge):
            await discord.fetch(Attachment(handle, "notes.txt", "text/plain", 1), 11)
        (place.workspace / "report.txt").write_bytes(b"all is well")
        (part,) = discord.render(Message((), files=(File("report.txt", "report.txt", "text/plain"),)))
        posted = await discord.post(Address(str(place.direct())), part, nonce="n")
        again = await discord.post(Address(str(place.direct())), part, nonce="n", repeated=True)
        assert posted == again
        shown = [m for m in place.discord.bot_messages(place.direct()) if m.attachments]
        assert [(m.attachments[0].name, m.attachments[0].content) for m in shown] == [
            ("report.txt", b"all is well")
        ]


async def test_a_person_can_be_messaged_first(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        discord = place.app.manager.channel("discord")
        to = discord.direct(str(OWNER))
        for number in range(2):
            await discord.post(to, discord.render(plain(f"notice {number}"))[0], nonce=str(number))
        assert place.says(place.direct()) == ["notice 0", "notice 1"]
        assert len(place.discord.requests("createDM")) <= 1


@pytest.mark.parametrize("kind", ["drop", "garbage", "server_error"])
async def test_a_message_whose_answer_was_lost_is_not_repeated(tmp_path: Path, kind: str) -> None:
    async with open_discord_hub(tmp_path, speed=4.0) as place:
        place.discord.fail(kind, method="createMessage", when="after", count=1)
        place.discord.user_sends_text(OWNER, "once and no more")
        await place.hears(place.direct(), "You said: once and no more")
        place.discord.user_sends_text(OWNER, "next")
        await place.hears(place.direct(), "You said: next")
        assert place.says(place.direct()) == ["You said: once and no more", "You said: next"]
        assert len(place.discord.requests("createMessage")) == 3


async def test_messages_sent_while_the_hub_was_down_are_answered_in_order(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, extra='groups = "addressed"') as place:
        room, never_heard = place.room("build").id, place.room("other").id
        place.discord.user_mentions_bot(OWNER, "before", room)
        await place.hears(room, "before")
        place.discord.user_sends_text(OWNER, "before too")
        await place.hears(place.direct(), "You said: before too")
        await place.stop()
        missed = [place.discord.user_sends_text(OWNER, f"missed {number}") for number in ("one", "two")]
        place.discord.user_mentions_bot(OWNER, "missed in the channel", room)
        place.discord.user_mentions_bot(OWNER, "missed elsewhere", never_heard)
        await place.start()
        await place.discord.wait_connected(timeout_s=LIMIT_S)
        place.discord.redeliver(missed[1].id)
        place.discord.user_sends_text(OWNER, "live")
        await place.hears(never_heard, "missed elsewhere")
        await place.hears(room, "missed in the channel")
        await place.hears(place.direct(), "live")
        said = "\n".join(place.says(place.direct()))
        assert said.index("missed one") < said.index("missed two") < said.index("live")
        whole = said + "\n".join(place.says(room) + place.says(never_heard))
        for text in ("missed one", "missed two", "missed in the channel", "missed elsewhere", "live"):
            assert whole.count(text) == 1, text


async def test_a_broken_connection_is_resumed_and_nothing_is_lost(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "before")
        await place.hears(place.direct(), "You said: before")
        place.discord.ask_reconnect()
        place.discord.user_sends_text(OWNER, "in between")
        await place.hears(place.direct(), "You said: in between")
        assert place.discord.gateway_log("resumed")
        assert len(place.discord.gateway_log("identified")) == 1


@pytest.mark.slow  # the SDK lets five seconds pass before it identifies once more
async def test_events_between_two_sessions_are_caught_up(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "before")
        await place.hears(place.direct(), "You said: before")
        place.discord.invalidate_sessions()
        place.discord.user_sends_text(OWNER, "in between")
        await place.hears(place.direct(), "You said: in between")
        assert len(place.discord.gateway_log("identified")) == 2


async def test_an_event_that_cannot_be_read_is_skipped_and_the_connection_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_discord_hub(tmp_path) as place:
        for shapeless in ({}, {"id": "x", "channel_id": None}, []):
            place.discord.sends_event("MESSAGE_CREATE", shapeless)
            place.discord.sends_event("GUILD_CREATE", shapeless)
        place.discord.sends_event("TYPING_START", {"padding": "x" * 1_050_000})
        place.discord.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")
        assert len(place.discord.gateway_log("connected")) == 1
    skipped = [said for said in caplog.messages if said.startswith("discord.event_skipped")]
    assert len([said for said in skipped if "type=EventTooLarge" in said]) == 1
    assert len(skipped) > 1


async def test_the_remaining_requests_of_a_long_rate_limit_are_used_before_anyone_waits(
    tmp_path: Path,
) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.configure(route_limits={"createMessage": [4, 3_600.0]})
        for number in range(3):
            place.discord.user_sends_text(OWNER, f"number {number}")
            await place.hears(place.direct(), f"You said: number {number}")
        statuses = [asked.status for asked in place.discord.requests("createMessage")]
        assert statuses == [200, 200, 200]


async def test_a_revoked_token_affects_only_its_channel(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.revoke_token()
        assert "token" in await place.becomes("failed")
        assert (await place.readyz())[1]["ready"]


async def test_a_missing_intent_is_explained(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, start=False) as place:
        place.discord.set_message_content(on=False)
        await place.start()
        assert "Message Content Intent" in await place.becomes("failed")


async def test_a_press_fails_while_the_hub_is_down_and_works_when_it_is_back(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        await place.stop()
        place.discord.forget_sessions()
        place.discord.configure(interaction_limit_s=0.5)
        assert (await place.presses(OWNER, card, 0)).failure is not None
        place.discord.configure(interaction_limit_s=LIMIT_S)
        await place.start()
        await place.becomes("running")
        assert (await place.presses(OWNER, card, 0)).failure is None
        await place.hears(place.direct(), "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"


async def test_a_failed_press_is_reported_to_its_person(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        place.app.hub.shut()
        pressed = await place.presses(OWNER, card, 0)
        assert ["try again" in message.text for message in pressed.messages()] == [True]
        place.app.hub.open()
        await place.presses(OWNER, card, 0)
        await place.hears(place.direct(), "Done:")
