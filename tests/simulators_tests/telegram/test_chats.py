"""Groups, privacy mode, supergroups, topics, channels, and what a bot may not do there."""

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramMigrateToChat
from aiogram.types import ChatMemberAdministrator, Message, Update

from tests.simulators.telegram import TelegramSimulator
from tests.simulators_tests.telegram.conftest import ANN, TOKEN, client_of

BOB = 8
OTHER = "777:" + "B" * 35


def texts(updates: list[Update]) -> list[str]:
    """The texts of messages, service messages left out."""
    return [u.message.text for u in updates if u.message is not None and u.message.text is not None]


async def fresh(bot: Bot) -> list[Update]:
    """All waiting updates, confirmed."""
    updates = await bot.get_updates()
    if updates:
        await bot.get_updates(offset=updates[-1].update_id + 1)
    return updates


@pytest.fixture
def group(met: TelegramSimulator) -> int:
    met.add_user(BOB, first_name="Bob", username="bobby")
    chat = met.create_group("team", members=[ANN, BOB])
    met.queues[123456].drop_all("set up")
    return chat.id


@pytest.fixture
def forum(met: TelegramSimulator) -> int:
    met.add_user(BOB, first_name="Bob")
    chat = met.create_supergroup("forum", members=[ANN, BOB], is_forum=True)
    met.queues[123456].drop_all("set up")
    return chat.id


async def test_a_bot_hears_that_it_was_added(bot: Bot, met: TelegramSimulator) -> None:
    chat = met.create_supergroup("team", members=[ANN])
    member, service = await bot.get_updates()
    assert member.my_chat_member is not None
    assert (member.my_chat_member.chat.id, member.my_chat_member.new_chat_member.status) == (
        chat.id,
        "member",
    )
    assert service.message is not None
    assert [user.id for user in service.message.new_chat_members or []] == [123456]


async def test_privacy_mode_lets_only_what_is_meant_for_the_bot_through(
    bot: Bot, met: TelegramSimulator, group: int
) -> None:
    said = await bot.send_message(group, "I am here")
    met.user_sends_text(ANN, "chatter", chat_id=group)
    met.user_sends_text(ANN, "hey @hub_bot", chat_id=group)
    met.user_sends_text(ANN, "hey @hub_bottle", chat_id=group)
    met.user_sends_text(ANN, "/help", chat_id=group)
    met.user_sends_text(ANN, "/help@hub_bot", chat_id=group)
    met.user_sends_text(ANN, "/help@other_bot", chat_id=group)
    met.user_sends_text(ANN, "thanks", chat_id=group, reply_to=said.message_id)
    assert texts(await fresh(bot)) == ["hey @hub_bot", "/help", "/help@hub_bot", "thanks"]


async def test_without_privacy_mode_or_as_administrator_a_bot_hears_everything(
    bot: Bot, met: TelegramSimulator, group: int
) -> None:
    met.set_member(group, 123456, "administrator")
    met.user_sends_text(ANN, "chatter", chat_id=group)
    assert texts(await fresh(bot)) == ["chatter"]
    met.set_member(group, 123456, "member")
    met.bot().can_read_all_group_messages = True
    met.user_sends_text(ANN, "more chatter", chat_id=group)
    assert texts(await fresh(bot)) == ["more chatter"]


async def test_of_two_bots_the_last_to_speak_gets_plain_commands(
    bot: Bot, met: TelegramSimulator, group: int
) -> None:
    met.add_bot(OTHER, username="other_bot")
    met.bot_is_added(group, "other_bot")
    other = client_of(met, OTHER)
    await other.send_message(group, "other here")
    await fresh(other)
    met.user_sends_text(ANN, "/status", chat_id=group)
    assert texts(await fresh(bot)) == []
    assert texts(await fresh(other)) == ["/status"]
    await other.session.close()


async def test_a_kicked_bot_is_notified_and_then_refused(
    bot: Bot, met: TelegramSimulator, group: int
) -> None:
    met.bot_is_kicked(group)
    (update,) = await fresh(bot)
    assert update.my_chat_member is not None
    assert update.my_chat_member.new_chat_member.status == "kicked"
    with pytest.raises(TelegramForbiddenError, match="bot was kicked from the group chat"):
        await bot.send_message(group, "?")
    supergroup = met.create_supergroup("big", members=[ANN]).id
    met.bot_is_kicked(supergroup)
    with pytest.raises(TelegramForbiddenError, match="bot was kicked from the supergroup chat"):
        await bot.send_message(supergroup, "?")
    met.set_member(supergroup, 123456, "left")
    with pytest.raises(TelegramForbiddenError, match="bot is not a member of the supergroup chat"):
        await bot.send_message(supergroup, "?")
    met.user_sends_text(ANN, "@hub_bot are you there?", chat_id=group)
    assert texts(await fresh(bot)) == []


async def test_a_group_that_becomes_a_supergroup_names_its_new_id(
    bot: Bot, met: TelegramSimulator, group: int
) -> None:
    new = met.group_migrates(group)
    to_new, from_old = [u.message for u in await fresh(bot)]
    assert to_new is not None
    assert from_old is not None
    assert (to_new.chat.id, to_new.migrate_to_chat_id) == (group, new.id)
    assert (from_old.chat.id, from_old.migrate_from_chat_id) == (new.id, group)
    with pytest.raises(TelegramMigrateToChat) as moved:
        await bot.send_message(group, "?")
    assert moved.value.migrate_to_chat_id == new.id
    assert (await bot.send_message(new.id, "!")).chat.type == "supergroup"


async def test_topics_are_threads_with_the_id_of_their_first_message(
    bot: Bot, met: TelegramSimulator, forum: int
) -> None:
    topic = met.topic_created(forum, "ideas")
    met.user_sends_text(ANN, "@hub_bot in the topic", chat_id=forum, topic_id=topic.id)
    met.user_sends_text(ANN, "@hub_bot in General", chat_id=forum)
    created, inside, general = [u.message for u in await fresh(bot)]
    assert created is not None
    assert created.forum_topic_created is not None
    assert created.message_id == topic.id
    assert inside is not None
    assert (inside.message_thread_id, inside.is_topic_message) == (topic.id, True)
    assert inside.reply_to_message is not None
    assert inside.reply_to_message.message_id == topic.id
    assert general is not None
    assert (general.message_thread_id, general.is_topic_message) == (None, None)
    sent = await bot.send_message(forum, "answer", message_thread_id=topic.id)
    assert sent.message_thread_id == topic.id
    assert [m.text for m in met.messages(forum, by="bot", topic_id=topic.id)] == ["answer"]


async def test_closed_and_deleted_topics_refuse(bot: Bot, met: TelegramSimulator, forum: int) -> None:
    topic = met.topic_created(forum, "ideas")
    met.topic_closed(forum, topic.id)
    with pytest.raises(TelegramBadRequest, match="TOPIC_CLOSED"):
        await bot.send_message(forum, "?", message_thread_id=topic.id)
    met.topic_reopened(forum, topic.id)
    kept = await bot.send_message(forum, "!", message_thread_id=topic.id)
    met.topic_deleted(forum, topic.id)
    for thread in (topic.id, 1, 9999):
        with pytest.raises(TelegramBadRequest, match="message thread not found"):
            await bot.send_message(forum, "?", message_thread_id=thread)
    with pytest.raises(TelegramBadRequest, match="message to edit not found"):
        await bot.edit_message_text("?", chat_id=forum, message_id=kept.message_id)
    assert await bot.send_chat_action(forum, "typing", message_thread_id=topic.id)


async def test_only_an_administrator_bot_manages_topics(bot: Bot, met: TelegramSimulator, forum: int) -> None:
    with pytest.raises(TelegramBadRequest, match="not enough rights to create a topic"):
        await bot.create_forum_topic(forum, "mine")
    met.set_member(forum, 123456, "administrator")
    topic = await bot.create_forum_topic(forum, "  mine  " + "x" * 200)
    assert topic.name == ("mine " + "x" * 200)[:128]
    assert await bot.close_forum_topic(forum, topic.message_thread_id)
    assert (await bot.send_message(forum, "!", message_thread_id=topic.message_thread_id)).text == "!"
    with pytest.raises(TelegramBadRequest, match="TOPIC_NOT_MODIFIED"):
        await bot.close_forum_topic(forum, topic.message_thread_id)
    with pytest.raises(TelegramBadRequest, match="the chat is not a forum"):
        await bot.create_forum_topic(met.create_supergroup("flat", members=[ANN]).id, "x")


async def test_channel_posts_come_from_the_channel_itself(bot: Bot, met: TelegramSimulator) -> None:
    channel = met.create_channel("news", owner=ANN)
    await fresh(bot)
    met.channel_posts(channel.id, "news!")
    (update,) = await fresh(bot)
    post = update.channel_post
    assert post is not None
    assert post.from_user is None
    assert post.sender_chat is not None
    assert (post.sender_chat.id, post.text) == (channel.id, "news!")
    met.set_member(channel.id, 123456, "member")
    with pytest.raises(TelegramBadRequest, match="need administrator rights in the channel chat"):
        await bot.send_message(channel.id, "me too")


async def test_members_can_be_looked_up(bot: Bot, met: TelegramSimulator, group: int) -> None:
    chat = await bot.get_chat(group)
    assert (chat.title, chat.type) == ("team", "group")
    assert (await bot.get_chat_member(group, ANN)).status == "creator"
    assert (await bot.get_chat_member(group, BOB)).status == "member"
    met.user_leaves(BOB, group)
    assert (await bot.get_chat_member(group, BOB)).status == "left"
    met.set_member(group, 123456, "administrator")
    assert isinstance(await bot.get_chat_member(group, 123456), ChatMemberAdministrator)
    with pytest.raises(TelegramBadRequest, match="PARTICIPANT_ID_INVALID"):
        await bot.get_chat_member(group, 999_999)


async def test_in_groups_a_bot_deletes_only_its_own_unless_it_is_administrator(
    bot: Bot, met: TelegramSimulator, group: int
) -> None:
    theirs = met.user_sends_text(BOB, "spam", chat_id=group)
    with pytest.raises(TelegramBadRequest, match="message can't be deleted"):
        await bot.delete_message(group, theirs.id)
    met.set_member(group, 123456, "administrator")
    assert await bot.delete_message(group, theirs.id)


async def test_a_button_in_a_group_tells_who_pressed_it(bot: Bot, met: TelegramSimulator, group: int) -> None:
    sent = await bot.send_message(group, "deploy?")
    met.user_presses_button(BOB, sent.message_id, data="p:1:0", chat_id=group)
    (update,) = await fresh(bot)
    assert update.callback_query is not None
    assert update.callback_query.from_user.id == BOB
    assert isinstance(update.callback_query.message, Message)
    assert update.callback_query.message.chat.id == group


async def test_a_public_supergroup_is_found_by_its_name(bot: Bot, met: TelegramSimulator) -> None:
    met.create_supergroup("public", members=[ANN], username="PublicGroup")
    assert (await bot.send_message("@publicgroup", "hello")).chat.title == "public"
    assert met.bot(TOKEN).id == 123456
