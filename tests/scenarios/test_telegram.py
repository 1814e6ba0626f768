"""Messages to a bot on Telegram besides texts in private: groups, topics, files, albums, edits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core import texts
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import Hold
from tests.simulators.telegram.world import Chat

BEN, CLEO = 8, 9
MB = 1024 * 1024


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra='groups = "addressed"') as opened:
        for person, name in ((BEN, "Ben"), (CLEO, "Cleo")):
            opened.telegram.add_user(person, first_name=name)
        yield opened


def name_of_bot(house: Hub) -> str:
    return house.telegram.bot().user.username or ""


def group(house: Hub) -> Chat:
    return house.telegram.create_group("The team", [OWNER, BEN, CLEO])


def hear_all(house: Hub) -> None:
    house.telegram.bot().can_read_all_group_messages = True


def model_was_told(house: Hub) -> str:
    """Everything that was said in the newest model call."""
    return str(house.model.log.all()[-1].body["messages"][1:])


async def outcomes(house: Hub) -> list[str]:
    return [explanation.outcome for explanation in await house.app.store.explanations.explain_recent(50)]


# ---------------------------------------------------------------- groups and topics


async def test_a_group_is_answered_when_it_speaks_to_the_bot_as_a_reply_to_who_asked(house: Hub) -> None:
    hear_all(house)
    chat = group(house)
    house.telegram.user_sends_text(BEN, "just chatting", chat_id=chat.id)
    asked = house.telegram.user_sends_text(BEN, f"@{name_of_bot(house)} hello", chat_id=chat.id)
    answer = await house.telegram.wait_text(chat.id, "You said:")
    assert answer.reply_to is not None
    assert answer.reply_to.id == asked.id
    assert "Ben" in model_was_told(house)
    assert "just chatting" not in model_was_told(house)
    again = house.telegram.user_sends_text(CLEO, "and me?", chat_id=chat.id, reply_to=answer.id)
    await house.telegram.wait_bot_messages(chat.id, 2)
    second = house.telegram.bot_messages(chat.id)[1]
    assert second.reply_to is not None
    assert second.reply_to.id == again.id
    asked = house.telegram.user_sends_text(CLEO, f"/status@{name_of_bot(house)}", chat_id=chat.id)
    await house.telegram.wait_bot_messages(chat.id, 3)
    told = house.telegram.bot_messages(chat.id)[2]
    assert told.reply_to is not None
    assert told.reply_to.id == asked.id
    await house.telegram.wait_confirmed()
    assert "ignored: not addressed" in await outcomes(house)


async def test_merged_messages_are_answered_as_a_reply_to_the_last(house: Hub) -> None:
    chat = group(house)
    house.model.fault(Hold())
    for said in ("one", "two", "three"):
        last = house.telegram.user_sends_text(BEN, f"@{name_of_bot(house)} {said}", chat_id=chat.id)
    await house.model.wait_requests(state="held", timeout_s=LIMIT_S)
    await house.telegram.wait_confirmed()
    house.model.release()
    await house.telegram.wait_bot_messages(chat.id, 2)
    answer = house.telegram.bot_messages(chat.id)[-1]
    assert answer.reply_to is not None
    assert answer.reply_to.id == last.id


async def test_topics_are_conversations_of_their_own(house: Hub) -> None:
    forum = house.telegram.create_supergroup("Forum", [OWNER, BEN], is_forum=True)
    plans = house.telegram.topic_created(forum.id, "plans")
    bills = house.telegram.topic_created(forum.id, "bills")
    name = name_of_bot(house)
    for topic in (plans.id, bills.id, None):
        house.telegram.user_sends_text(BEN, f"@{name} say {topic}.", chat_id=forum.id, topic_id=topic)
        await house.telegram.wait_text(forum.id, f"say {topic}.")
        (answer,) = house.telegram.messages(forum.id, by="bot", topic_id=topic) if topic else [
            m for m in house.telegram.bot_messages(forum.id) if m.topic_id is None
        ]  # fmt: skip
        assert answer.text.endswith(f"say {topic}.")
        sent = house.telegram.requests("sendMessage", chat_id=forum.id)[-1]  # a quote alone leads there, too
        assert sent.params.get("message_thread_id") == (topic and str(topic))
    scopes = {thread.scope for thread in await house.app.store.threads.threads(10)}
    assert scopes == {f"={forum.id}:{plans.id}", f"={forum.id}:{bills.id}", f"={forum.id}"}


async def test_channel_posts_are_not_answered(house: Hub) -> None:
    channel = house.telegram.create_channel("News", OWNER)
    house.telegram.channel_posts(channel.id, f"@{name_of_bot(house)} hello")
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    assert house.telegram.bot_messages(channel.id) == []


# ---------------------------------------------------------------- files and albums


@pytest.mark.parametrize("queue", ["merge", "one_by_one"])
@pytest.mark.parametrize("in_group", [False, True])
async def test_an_album_is_one_message(tmp_path: Path, in_group: bool, queue: str) -> None:
    extra = f'groups = "addressed"\n[agent]\nqueue = "{queue}"'
    async with open_hub(tmp_path, extra=extra) as house:
        hear_all(house)
        house.telegram.add_user(BEN, first_name="Ben")
        chat = group_of(house) if in_group else None
        caption = f"@{name_of_bot(house)} look" if in_group else "look"
        where = BEN if chat is None else chat.id
        parts = house.telegram.user_sends_album(
            BEN, 3, caption, kind="document", chat_id=None if chat is None else chat.id
        )
        answer = await house.telegram.wait_text(where, "You said:")
        assert len(house.model.log.all()) == 1
        for number in range(3):
            assert f'[Attached file: "{number}.txt", text/plain' in model_was_told(house)
        if in_group:
            assert answer.reply_to is not None
            assert answer.reply_to.id == parts[-1].id
        assert [outcome for outcome in await outcomes(house) if "turn" in outcome] == ["turn 1"] * 3
        house.telegram.user_sends_text(OWNER, "next")
        await house.telegram.wait_text(OWNER, "You said: next")
        assert len(house.telegram.bot_messages(where)) == 1


def group_of(house: Hub) -> Chat:
    return house.telegram.create_group("The team", [OWNER, BEN])


async def test_an_album_sent_during_a_turn_is_the_next_one(house: Hub) -> None:
    house.model.fault(Hold())
    house.telegram.user_sends_text(OWNER, "first")
    await house.model.wait_requests(state="held")
    house.telegram.user_sends_album(OWNER, 2, "second")
    house.telegram.user_sends_text(OWNER, "third")
    await house.telegram.wait_confirmed()
    house.model.release()
    await house.telegram.wait_text(OWNER, "third")
    assert len(house.model.log.all()) == 2
    told = model_was_told(house)
    assert told.index("second") < told.index("photo.jpg") < told.index("third")


async def test_an_album_cut_in_two_by_the_end_of_the_hub_is_still_one(house: Hub) -> None:
    house.telegram.user_sends_album(OWNER, 2, "look")
    await house.telegram.wait_confirmed()
    await house.stop()
    assert house.says(OWNER) == []
    await house.start()
    await house.telegram.wait_text(OWNER, "You said: look")
    assert len(house.model.log.all()) == 1
    assert model_was_told(house).count("[Attached file: ") == 2


@pytest.mark.parametrize("kind", ["photo", "document", "voice"])
async def test_the_model_learns_of_files(house: Hub, kind: str) -> None:
    match kind:
        case "photo":
            house.telegram.user_sends_photo(OWNER, size_bytes=3 * MB)
            line = '[Attached file: "photo.jpg", image/jpeg, 3 MB]'
        case "document":
            house.telegram.user_sends_document(OWNER, "my\nnotes.txt", size_bytes=1536)
            line = '[Attached file: "my notes.txt", text/plain, 1.5 kB]'
        case _:
            house.telegram.user_sends_voice(OWNER, size_bytes=100)
            line = '[Attached file: "voice.ogg", audio/ogg, 100 bytes]'
    await house.telegram.wait_bot_messages(OWNER, 1, timeout_s=LIMIT_S)
    assert line in model_was_told(house)


async def test_a_file_over_the_limit_is_reported_and_its_text_is_answered(house: Hub) -> None:
    house.telegram.user_sends_document(OWNER, "big.zip", size_bytes=21 * MB)
    await house.telegram.wait_text(OWNER, "Too large: “big.zip” (21 MB). The limit here is 20 MB.")
    house.telegram.user_sends_document(OWNER, "big.zip", size_bytes=21 * MB, caption="what is this?")
    await house.telegram.wait_text(OWNER, "You said: what is this?")
    assert [said.partition(":")[0] for said in house.says(OWNER)].count("Too large") == 2
    assert "too large to read" in model_was_told(house)
    assert (await outcomes(house)).count("refused: file too large") == 1


# ---------------------------------------------------------------- edits


async def test_a_waiting_message_is_answered_as_edited(house: Hub) -> None:
    house.model.fault(Hold())
    house.telegram.user_sends_text(OWNER, "first")
    await house.model.wait_requests(state="held")
    second = house.telegram.user_sends_text(OWNER, "secnod")
    await house.telegram.wait_confirmed()
    house.telegram.user_edits_text(OWNER, second.id, "second")
    await house.telegram.wait_confirmed()
    house.model.release()
    await house.telegram.wait_text(OWNER, "second")
    assert "secnod" not in model_was_told(house)
    house.telegram.user_edits_text(OWNER, second.id, "third")
    house.telegram.user_edits_text(OWNER, second.id, "fourth")
    house.telegram.user_sends_text(OWNER, "fifth")
    await house.telegram.wait_text(OWNER, "You said: fifth")
    assert [said for said in house.says(OWNER) if "third" in said or "fourth" in said] == []
    counted = await outcomes(house)
    assert counted.count("edited: the message was still queued") == 1
    assert counted.count("ignored: edited when no longer queued") == 2


async def test_an_edit_of_an_unknown_message_starts_nothing(house: Hub) -> None:
    await house.stop()
    sent = house.telegram.user_sends_text(OWNER, "lost")
    house.telegram.queues[house.telegram.bot().id].drop_all("lost")
    house.telegram.user_edits_text(OWNER, sent.id, "found")
    await house.start()
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    assert house.says(OWNER) == ["You said: hello"]
    assert "ignored: an edit of a message that never arrived" in await outcomes(house)


async def test_a_start_link_with_a_code_opens_the_conversation(house: Hub) -> None:
    house.telegram.user_sends_text(BEN, "/start from-the-website")
    await house.telegram.wait_text(BEN, texts.WELCOME)


async def test_unsupported_content_is_answered_with_a_reason(house: Hub) -> None:
    place = {"latitude": 31.2, "longitude": 121.5}
    sent = house.telegram.user_sends(OWNER, {"location": place})
    await house.telegram.wait_text(OWNER, "I can't read this kind of message (location).")
    explained = await house.app.store.explanations.explain(f"tg:123456:m:{OWNER}:{sent.id}")
    assert explained is not None
    assert explained.outcome == "refused: not understood: location"
    chat = group(house)
    hear_all(house)
    house.telegram.user_sends(OWNER, {"location": place}, chat_id=chat.id)
    house.telegram.user_sends_text(OWNER, f"@{name_of_bot(house)} hello", chat_id=chat.id)
    await house.telegram.wait_text(chat.id, "hello")
    assert len(house.says(chat.id)) == 1  # it was not meant for the bot
    assert house.model.log.taken == 1
