"""Messages, keyboards, edits, replies and reactions in a private chat, as an independent client sees them."""

import pytest
from aiogram import Bot
from aiogram.exceptions import (
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramNotFound,
    TelegramUnauthorizedError,
)
from aiogram.methods import TelegramMethod
from aiogram.types import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    Message,
    ReactionTypeEmoji,
    ReplyParameters,
)

from tests.simulators.telegram import TelegramSimulator
from tests.simulators_tests.telegram.conftest import ANN, TOKEN, client_of


def keyboard(*labels: str) -> InlineKeyboardMarkup:
    """One row of buttons whose data is their label."""
    return InlineKeyboardMarkup(
        inline_keyboard=[[InlineKeyboardButton(text=label, callback_data=label) for label in labels]]
    )


class Nonsense(TelegramMethod[bool]):
    __returning__ = bool
    __api_method__ = "makeCoffee"


async def test_a_bot_knows_its_name(bot: Bot, sim: TelegramSimulator) -> None:
    me = await bot.get_me()
    assert (me.id, me.username, me.is_bot, me.can_read_all_group_messages) == (123456, "hub_bot", True, False)


async def test_a_wrong_token_is_unauthorized_and_an_unknown_method_not_found(
    bot: Bot, sim: TelegramSimulator
) -> None:
    stranger = client_of(sim, "999:" + "Z" * 35)
    with pytest.raises(TelegramUnauthorizedError, match="Unauthorized"):
        await stranger.get_me()
    await stranger.session.close()
    with pytest.raises(TelegramNotFound, match="Not Found"):
        await bot(Nonsense())


async def test_a_message_arrives_with_sender_chat_and_entities(bot: Bot, sim: TelegramSimulator) -> None:
    sim.user_sends_text(ANN, "  /start CODE-1 see https://example.com/a. and @hub_bot 🏟 #tag\r\n")
    (update,) = await bot.get_updates()
    message = update.message
    assert message is not None
    assert message.from_user is not None
    assert (message.from_user.id, message.chat.id, message.chat.type) == (ANN, ANN, "private")
    assert message.text == "/start CODE-1 see https://example.com/a. and @hub_bot 🏟 #tag"
    found = [(e.type, e.extract_from(message.text)) for e in message.entities or []]
    assert found == [
        ("bot_command", "/start"),
        ("url", "https://example.com/a"),
        ("mention", "@hub_bot"),
        ("hashtag", "#tag"),
    ]


async def test_a_bot_may_not_write_first(bot: Bot, sim: TelegramSimulator) -> None:
    with pytest.raises(TelegramBadRequest, match="chat not found"):
        await bot.send_message(ANN, "hello?")
    sim.add_user(8, first_name="Bob")
    sim.create_group("both", members=[ANN, 8])
    with pytest.raises(TelegramForbiddenError, match="bot can't initiate conversation with a user"):
        await bot.send_message(8, "we share a group")
    sim.user_sends_text(ANN, "hi")
    assert (await bot.send_message(ANN, "hello!")).text == "hello!"


@pytest.mark.parametrize("chat_id", [404, -404, -1004040404, "@nobody"])
async def test_an_unknown_chat_is_not_found(bot: Bot, met: TelegramSimulator, chat_id: int | str) -> None:
    with pytest.raises(TelegramBadRequest, match="chat not found"):
        await bot.send_message(chat_id, "hello?")


async def test_a_blocked_or_deactivated_account_gets_nothing(bot: Bot, met: TelegramSimulator) -> None:
    met.user_blocks_bot(ANN)
    (update,) = await bot.get_updates()
    assert update.my_chat_member is not None
    assert update.my_chat_member.new_chat_member.status == "kicked"
    with pytest.raises(TelegramForbiddenError, match="bot was blocked by the user"):
        await bot.send_message(ANN, "?")
    met.user_unblocks_bot(ANN)
    await bot.send_message(ANN, "again")
    met.user_is_deactivated(ANN)
    with pytest.raises(TelegramForbiddenError, match="user is deactivated"):
        await bot.send_message(ANN, "?")


async def test_the_log_and_the_chat_show_what_was_sent(bot: Bot, met: TelegramSimulator) -> None:
    sent = await bot.send_message(ANN, "hello", reply_markup=keyboard("yes", "no"))
    (record,) = met.requests("sendMessage")
    assert (record.outcome, record.taken, record.status, record.chat_id) == ("answered", True, 200, ANN)
    assert record.messages == [(ANN, sent.message_id)]
    assert record.params["text"] == "hello"
    (message,) = met.bot_messages(ANN)
    assert message.request == record.number
    assert [b["text"] for row in message.state()["keyboard"] for b in row] == ["yes", "no"]


async def test_message_ids_grow_over_all_private_chats(bot: Bot, met: TelegramSimulator) -> None:
    met.add_user(8, first_name="Bob")
    ids = [met.user_sends_text(user, "x").id for user in (ANN, 8, ANN, 8)]
    assert ids == sorted(set(ids))


async def test_an_edit_changes_text_and_keyboard_and_keeps_the_history(
    bot: Bot, met: TelegramSimulator
) -> None:
    sent = await bot.send_message(ANN, "working", reply_markup=keyboard("stop"))
    edited = await bot.edit_message_text("done", chat_id=ANN, message_id=sent.message_id)
    assert isinstance(edited, Message)
    assert (edited.text, edited.reply_markup) == ("done", None)
    assert edited.edit_date is not None
    shown = met.message(ANN, sent.message_id).state()
    assert (shown["text"], shown["keyboard"]) == ("done", None)
    assert [old["content"]["text"] for old in shown["edits"]] == ["working"]
    await bot.edit_message_reply_markup(
        chat_id=ANN, message_id=sent.message_id, reply_markup=keyboard("again")
    )
    assert met.message(ANN, sent.message_id).text == "done"


async def test_an_edit_that_changes_nothing_is_refused(bot: Bot, met: TelegramSimulator) -> None:
    sent = await bot.send_message(ANN, "same", reply_markup=keyboard("a"))
    with pytest.raises(
        TelegramBadRequest,
        match="message is not modified: specified new message content and reply markup are exactly the same"
        " as a current content and reply markup of the message",
    ):
        await bot.edit_message_text(
            " same ", chat_id=ANN, message_id=sent.message_id, reply_markup=keyboard("a")
        )
    await bot.edit_message_text("same", chat_id=ANN, message_id=sent.message_id)
    with pytest.raises(TelegramBadRequest, match="message is not modified"):
        await bot.edit_message_reply_markup(chat_id=ANN, message_id=sent.message_id)


async def test_only_own_existing_messages_can_be_edited(bot: Bot, met: TelegramSimulator) -> None:
    theirs = met.user_sends_text(ANN, "mine")
    with pytest.raises(TelegramBadRequest, match="message can't be edited"):
        await bot.edit_message_text("yours", chat_id=ANN, message_id=theirs.id)
    sent = await bot.send_message(ANN, "gone soon")
    assert await bot.delete_message(ANN, sent.message_id)
    with pytest.raises(TelegramBadRequest, match="message to edit not found"):
        await bot.edit_message_text("too late", chat_id=ANN, message_id=sent.message_id)
    with pytest.raises(TelegramBadRequest, match="message to delete not found"):
        await bot.delete_message(ANN, sent.message_id)
    assert met.bot_messages(ANN) == []


async def test_replies_carry_the_answered_message_and_a_quotation(bot: Bot, met: TelegramSimulator) -> None:
    question = met.user_sends_text(ANN, "what is six by nine?")
    sent = await bot.send_message(
        ANN, "42", reply_parameters=ReplyParameters(message_id=question.id, quote="six by nine")
    )
    assert sent.reply_to_message is not None
    assert sent.reply_to_message.message_id == question.id
    assert sent.quote is not None
    assert sent.quote.text == "six by nine"
    gone = ReplyParameters(message_id=9999)
    with pytest.raises(TelegramBadRequest, match="message to be replied not found"):
        await bot.send_message(ANN, "42", reply_parameters=gone)
    optional = ReplyParameters(message_id=9999, allow_sending_without_reply=True)
    assert (await bot.send_message(ANN, "42", reply_parameters=optional)).reply_to_message is None


async def test_a_pressed_button_is_answered_once_in_time(bot: Bot, met: TelegramSimulator) -> None:
    sent = await bot.send_message(ANN, "sure?", reply_markup=keyboard("yes", "no"))
    query = met.user_presses_button(ANN, sent.message_id, 1)
    (update,) = await bot.get_updates()
    pressed = update.callback_query
    assert pressed is not None
    assert (pressed.id, pressed.data, pressed.from_user.id) == (query.id, "no", ANN)
    assert isinstance(pressed.message, Message)
    assert pressed.message.text == "sure?"
    assert await bot.answer_callback_query(pressed.id, text="as you like", show_alert=True)
    answered = await met.wait_callback_answer(query.id)
    assert [(a["text"], a["show_alert"]) for a in answered.answers] == [("as you like", True)]


async def test_a_query_that_is_unknown_or_too_old_is_refused(bot: Bot, met: TelegramSimulator) -> None:
    sent = await bot.send_message(ANN, "sure?", reply_markup=keyboard("yes"))
    stale = met.user_presses_button(ANN, sent.message_id, 0)
    met.configure(callback_answer_ttl_s=-1.0)
    for query_id in ("12345", stale.id):
        with pytest.raises(
            TelegramBadRequest, match="query is too old and response timeout expired or query ID"
        ):
            await bot.answer_callback_query(query_id)


async def test_an_old_client_may_press_a_button_that_is_gone(bot: Bot, met: TelegramSimulator) -> None:
    sent = await bot.send_message(ANN, "sure?", reply_markup=keyboard("yes"))
    await bot.edit_message_text("decided", chat_id=ANN, message_id=sent.message_id)
    met.user_presses_button(ANN, sent.message_id, data="yes")
    (update,) = await bot.get_updates()
    assert update.callback_query is not None
    assert update.callback_query.data == "yes"
    with pytest.raises(LookupError, match="has 0 buttons"):
        met.user_presses_button(ANN, sent.message_id, 0)


async def test_a_person_edits_and_the_bot_hears_of_it(bot: Bot, met: TelegramSimulator) -> None:
    message = met.user_sends_text(ANN, "helo")
    met.user_edits_text(ANN, message.id, "hello")
    first, second = await bot.get_updates()
    assert first.message is not None
    assert second.edited_message is not None
    assert (first.message.text, second.edited_message.text) == ("helo", "hello")
    assert second.edited_message.message_id == message.id


async def test_reactions_go_both_ways(bot: Bot, met: TelegramSimulator) -> None:
    message = met.user_sends_text(ANN, "done?")
    await bot.get_updates(allowed_updates=["message", "message_reaction"])
    assert await bot.set_message_reaction(ANN, message.id, [ReactionTypeEmoji(emoji="👀")])
    assert met.message(ANN, message.id).reactions == {123456: [{"type": "emoji", "emoji": "👀"}]}
    with pytest.raises(TelegramBadRequest, match="REACTION_INVALID"):
        await bot.set_message_reaction(ANN, message.id, [ReactionTypeEmoji(emoji="🥷")])
    await bot.set_message_reaction(ANN, message.id, [])
    assert met.message(ANN, message.id).reactions == {}
    sent = await bot.send_message(ANN, "yes")
    met.user_reacts(ANN, sent.message_id, "👍")
    update = (await bot.get_updates(offset=-1))[0]
    assert update.message_reaction is not None
    assert [r.emoji for r in update.message_reaction.new_reaction if isinstance(r, ReactionTypeEmoji)] == [
        "👍"
    ]


async def test_typing_is_seen_in_the_chat(bot: Bot, met: TelegramSimulator) -> None:
    assert await bot.send_chat_action(ANN, "typing")
    assert [action["action"] for action in met.chat_state(ANN)["actions"]] == ["typing"]
    with pytest.raises(TelegramBadRequest, match="wrong parameter action in request"):
        await bot.send_chat_action(ANN, "dancing")


async def test_two_bots_have_private_chats_of_their_own(bot: Bot, met: TelegramSimulator) -> None:
    other_token = "777:" + "B" * 35
    met.add_bot(other_token, username="other_bot")
    met.user_sends_text(ANN, "to the other", bot="other_bot")
    assert await bot.get_updates() == []
    other = client_of(met, other_token)
    (update,) = await other.get_updates()
    assert update.message is not None
    await other.send_message(ANN, "from the other")
    assert [m.text for m in met.bot_messages(ANN, "other_bot")] == ["from the other"]
    assert met.bot_messages(ANN, TOKEN) == []
    await other.session.close()
