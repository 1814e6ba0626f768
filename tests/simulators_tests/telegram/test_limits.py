"""Every limit of the platform: what is taken at the limit, and what is refused one step beyond.

The comment on each case names the section of https://core.telegram.org/bots/api it comes from.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramEntityTooLarge
from aiogram.types import (
    BotCommand,
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    MessageEntity,
)

from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.limits import MAX_DOWNLOAD_BYTES, MAX_PHOTO_UPLOAD_BYTES, MAX_UPLOAD_BYTES
from tests.simulators_tests.telegram.conftest import ANN

Send = Callable[[Bot, int], Awaitable[Any]]
JPEG = b"\xff\xd8\xff\xe0"


def buttons(count: int, data: str = "d", text: str = "b") -> InlineKeyboardMarkup:
    """One button per row."""
    return InlineKeyboardMarkup(
        inline_keyboard=[[InlineKeyboardButton(text=text, callback_data=data)] for _ in range(count)]
    )


def send_text(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_message(ANN, "x" * size)


def send_astral_text(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_message(ANN, "🏟" * (size // 2) + "x" * (size % 2))


def send_marked_up_text(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_message(ANN, f"<b>{'x' * size}</b>", parse_mode="HTML")


async def edit_text(bot: Bot, size: int) -> None:
    sent = await bot.send_message(ANN, "short")
    await bot.edit_message_text("x" * size, chat_id=ANN, message_id=sent.message_id)


def send_caption(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_document(ANN, BufferedInputFile(b"1", "a.txt"), caption="x" * size)


async def edit_caption(bot: Bot, size: int) -> None:
    sent = await bot.send_document(ANN, BufferedInputFile(b"1", "a.txt"))
    await bot.edit_message_caption(chat_id=ANN, message_id=sent.message_id, caption="x" * size)


def send_data(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_message(ANN, "?", reply_markup=buttons(1, data="d" * size))


def send_wide_data(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_message(ANN, "?", reply_markup=buttons(1, data="é" * (size // 2) + "d" * (size % 2)))


def send_buttons(bot: Bot, count: int) -> Awaitable[Any]:
    return bot.send_message(ANN, "?", reply_markup=buttons(count))


def set_commands(bot: Bot, count: int) -> Awaitable[Any]:
    return bot.set_my_commands([BotCommand(command=f"c{n}", description="d") for n in range(count)])


def set_command_name(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.set_my_commands([BotCommand(command="c" * size, description="d")])


def set_command_description(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.set_my_commands([BotCommand(command="c", description="d" * size)])


def send_album(bot: Bot, count: int) -> Awaitable[Any]:
    return bot.send_media_group(
        ANN, [InputMediaPhoto(media=BufferedInputFile(JPEG, f"{n}.jpg")) for n in range(count)]
    )


def send_big_photo(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.send_photo(ANN, BufferedInputFile(JPEG.ljust(size, b"0"), "p.jpg"))


def set_secret(bot: Bot, size: int) -> Awaitable[Any]:
    return bot.set_webhook("http://127.0.0.1:9/hook", secret_token="s" * size)


LIMITS: list[tuple[str, Send, int, str]] = [
    ("#sendmessage text", send_text, 4096, "message is too long"),
    ("#sendmessage text, beyond the BMP", send_astral_text, 4096, "message is too long"),
    ("#sendmessage text, after entities parsing", send_marked_up_text, 4096, "message is too long"),
    ("#editmessagetext text", edit_text, 4096, "MESSAGE_TOO_LONG"),
    ("#senddocument caption", send_caption, 1024, "message caption is too long"),
    ("#editmessagecaption caption", edit_caption, 1024, "MEDIA_CAPTION_TOO_LONG"),
    ("#inlinekeyboardbutton callback_data", send_data, 64, "BUTTON_DATA_INVALID"),
    ("#inlinekeyboardbutton callback_data, in bytes", send_wide_data, 64, "BUTTON_DATA_INVALID"),
    ("limits.tginfo.me: buttons of a keyboard", send_buttons, 100, "reply markup is too long"),
    ("#setmycommands commands", set_commands, 100, "BOT_COMMANDS_TOO_MUCH"),
    ("#botcommand command", set_command_name, 32, "command length must not exceed 32"),
    ("#botcommand description", set_command_description, 256, "description length must not exceed 256"),
    ("#sendmediagroup media", send_album, 10, "too many messages to send as an album"),
    ("#sending-files photos", send_big_photo, MAX_PHOTO_UPLOAD_BYTES, "is too big for a photo"),
    ("#setwebhook secret_token", set_secret, 256, "secret token is too long"),
]


@pytest.mark.parametrize("section,send,limit,refusal", LIMITS, ids=[case[0] for case in LIMITS])
async def test_a_limit_holds_exactly(
    bot: Bot, met: TelegramSimulator, section: str, send: Send, limit: int, refusal: str
) -> None:
    assert await send(bot, limit) is not False
    with pytest.raises(TelegramBadRequest, match=refusal):
        await send(bot, limit + 1)


async def test_an_answer_to_a_button_has_at_most_200_characters(bot: Bot, met: TelegramSimulator) -> None:
    """#answercallbackquery text."""
    sent = await bot.send_message(ANN, "?", reply_markup=buttons(1))
    query = met.user_presses_button(ANN, sent.message_id, 0)
    assert await bot.answer_callback_query(query.id, text="x" * 200)
    with pytest.raises(TelegramBadRequest, match="MESSAGE_TOO_LONG"):
        await bot.answer_callback_query(query.id, text="x" * 201)


async def test_files_up_to_20_mb_can_be_fetched(bot: Bot, met: TelegramSimulator) -> None:
    """#getfile."""
    fits = met.user_sends_document(ANN, size_bytes=MAX_DOWNLOAD_BYTES)
    beyond = met.user_sends_document(ANN, size_bytes=MAX_DOWNLOAD_BYTES + 1)
    file = await bot.get_file(fits.content["document"]["file_id"])
    assert file.file_size == MAX_DOWNLOAD_BYTES
    with pytest.raises(TelegramBadRequest, match="file is too big"):
        await bot.get_file(beyond.content["document"]["file_id"])


async def test_files_up_to_50_mb_can_be_sent(bot: Bot, met: TelegramSimulator) -> None:
    """#sending-files."""
    content = bytes(MAX_UPLOAD_BYTES)
    sent = await bot.send_document(ANN, BufferedInputFile(content, "big.bin"))
    assert sent.document is not None
    assert sent.document.file_size == MAX_UPLOAD_BYTES
    with pytest.raises(TelegramEntityTooLarge):
        await bot.send_document(ANN, BufferedInputFile(content + b"1", "bigger.bin"))


async def test_entities_beyond_the_hundredth_are_dropped_silently(bot: Bot, met: TelegramSimulator) -> None:
    """limits.tginfo.me: entities of one message."""
    text = "x " * 101
    entities = [MessageEntity(type="bold", offset=2 * n, length=1) for n in range(101)]
    sent = await bot.send_message(ANN, text, entities=entities[:100])
    assert len(sent.entities or []) == 100
    sent = await bot.send_message(ANN, text, entities=entities)
    assert len(sent.entities or []) == 100


async def test_a_keyboard_has_a_limit_in_bytes_too(bot: Bot, met: TelegramSimulator) -> None:
    await bot.send_message(ANN, "?", reply_markup=buttons(100, data="d" * 60))
    with pytest.raises(TelegramBadRequest, match="reply markup is too long"):
        await bot.send_message(ANN, "?", reply_markup=buttons(100, data="d" * 60, text="b" * 20))


@pytest.mark.parametrize("secret", ["with space", "ünïcode", "semi;colon", "dot."])
async def test_a_secret_token_has_a_small_alphabet(bot: Bot, met: TelegramSimulator, secret: str) -> None:
    """#setwebhook secret_token: only A-Z, a-z, 0-9, _ and -."""
    with pytest.raises(TelegramBadRequest, match="secret token contains unallowed characters"):
        await bot.set_webhook("http://127.0.0.1:9/hook", secret_token=secret)


@pytest.mark.parametrize(
    "command,refusal",
    [
        ("Upper", "BOT_COMMAND_INVALID"),
        ("two-words", "BOT_COMMAND_INVALID"),
        ("", "command must be non-empty"),
    ],
)
async def test_command_names_have_a_small_alphabet(
    bot: Bot, met: TelegramSimulator, command: str, refusal: str
) -> None:
    """#botcommand command: lowercase letters, digits and underscores."""
    with pytest.raises(TelegramBadRequest, match=refusal):
        await bot.set_my_commands([BotCommand(command=command, description="d")])
    with pytest.raises(TelegramBadRequest, match="command description must be non-empty"):
        await bot.set_my_commands([BotCommand(command="fine", description=" ")])


@pytest.mark.parametrize(
    "text,refusal", [("", "message text is empty"), (" \n\u200b", "text must be non-empty")]
)
async def test_a_message_needs_visible_text(
    bot: Bot, met: TelegramSimulator, text: str, refusal: str
) -> None:
    """#sendmessage text: 1-4096 characters."""
    with pytest.raises(TelegramBadRequest, match=refusal):
        await bot.send_message(ANN, text)


async def test_commands_are_kept_per_scope_and_language(bot: Bot, met: TelegramSimulator) -> None:
    """#setmycommands."""
    await bot.set_my_commands([BotCommand(command="help", description="Help")])
    await bot.set_my_commands([BotCommand(command="help", description="Hilfe")], language_code="de")
    assert [c.description for c in await bot.get_my_commands()] == ["Help"]
    assert [c.description for c in await bot.get_my_commands(language_code="de")] == ["Hilfe"]
    await bot.delete_my_commands()
    assert await bot.get_my_commands() == []
