"""Files in both directions: https://core.telegram.org/bots/api#sending-files and #getfile."""

from io import BytesIO

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest
from aiogram.types import BufferedInputFile, InputMediaDocument, InputMediaPhoto

from tests.simulators.telegram import TelegramSimulator
from tests.simulators_tests.telegram.conftest import ANN

JPEG = b"\xff\xd8\xff\xe0 a picture"


async def fetched(bot: Bot, file_id: str) -> bytes:
    """A file's content, as ``getFile`` and a download give it."""
    file = await bot.get_file(file_id)
    assert file.file_path is not None
    target = BytesIO()
    await bot.download_file(file.file_path, target)
    return target.getvalue()


async def test_a_document_from_a_person_can_be_downloaded(bot: Bot, met: TelegramSimulator) -> None:
    met.user_sends_document(
        ANN, name="plan.csv", content=b"a;b\n1;2\n", media_type="text/csv", caption="the plan"
    )
    (update,) = await bot.get_updates()
    assert update.message is not None
    document = update.message.document
    assert document is not None
    assert (document.file_name, document.mime_type, document.file_size) == ("plan.csv", "text/csv", 8)
    assert update.message.caption == "the plan"
    assert await fetched(bot, document.file_id) == b"a;b\n1;2\n"


async def test_a_photo_comes_in_sizes_and_a_voice_note_with_its_length(
    bot: Bot, met: TelegramSimulator
) -> None:
    met.user_sends_photo(ANN, content=JPEG)
    met.user_sends_voice(ANN, duration_s=7)
    photo, voice = [u.message for u in await bot.get_updates()]
    assert photo is not None
    assert photo.photo is not None
    assert [size.width for size in photo.photo] == sorted(size.width for size in photo.photo)
    assert await fetched(bot, photo.photo[-1].file_id) == JPEG
    assert voice is not None
    assert voice.voice is not None
    assert (voice.voice.duration, voice.voice.mime_type) == (7, "audio/ogg")


async def test_an_album_is_several_messages_of_one_group(bot: Bot, met: TelegramSimulator) -> None:
    met.user_sends_album(ANN, count=3, caption="holidays")
    messages = [u.message for u in await bot.get_updates() if u.message is not None]
    assert len({m.media_group_id for m in messages}) == 1
    assert [m.caption for m in messages] == ["holidays", None, None]


async def test_anything_else_a_person_sends_arrives_by_its_fields(bot: Bot, met: TelegramSimulator) -> None:
    met.user_sends(ANN, {"location": {"latitude": 31.2, "longitude": 121.5}})
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert update.message.location is not None
    assert update.message.location.latitude == 31.2


async def test_a_bot_sends_a_file_by_upload_and_again_by_its_id(bot: Bot, met: TelegramSimulator) -> None:
    sent = await bot.send_document(
        ANN, BufferedInputFile(b"result", "out.txt"), caption="*done*", parse_mode="Markdown"
    )
    assert sent.document is not None
    assert sent.caption == "done"
    assert [e.type for e in sent.caption_entities or []] == ["bold"]
    again = await bot.send_document(ANN, sent.document.file_id)
    assert again.document is not None
    assert again.document.file_name == "out.txt"
    assert await fetched(bot, again.document.file_id) == b"result"
    record = met.requests("sendDocument")[0]
    assert record.params["caption"] == "*done*"
    assert [v["size_bytes"] for v in record.params.values() if isinstance(v, dict) and "file" in v] == [6]


async def test_photos_voice_and_albums_can_be_sent(bot: Bot, met: TelegramSimulator) -> None:
    assert (await bot.send_photo(ANN, BufferedInputFile(JPEG, "p.jpg"))).photo
    assert (await bot.send_voice(ANN, BufferedInputFile(b"OggS", "v.ogg"), duration=4)).voice
    album = await bot.send_media_group(
        ANN, [InputMediaPhoto(media=BufferedInputFile(JPEG, f"{n}.jpg"), caption=f"{n}") for n in range(2)]
    )
    assert len({m.media_group_id for m in album}) == 1
    assert [m.text for m in met.bot_messages(ANN)[-2:]] == ["0", "1"]
    (single,) = await bot.send_media_group(ANN, [InputMediaPhoto(media=BufferedInputFile(JPEG, "1.jpg"))])
    assert single.media_group_id is None
    mixed = [
        InputMediaPhoto(media=BufferedInputFile(JPEG, "1.jpg")),
        InputMediaDocument(media=BufferedInputFile(b"1", "1.txt")),
    ]
    with pytest.raises(TelegramBadRequest, match="document can't be mixed with other media types"):
        await bot.send_media_group(ANN, mixed)


async def test_files_the_platform_does_not_accept_are_refused(bot: Bot, met: TelegramSimulator) -> None:
    with pytest.raises(TelegramBadRequest, match="wrong file_id or the file is temporarily unavailable"):
        await bot.get_file("nothing")
    with pytest.raises(TelegramBadRequest, match="wrong file identifier/HTTP URL specified"):
        await bot.send_document(ANN, "nothing")
    with pytest.raises(TelegramBadRequest, match="file must be non-empty"):
        await bot.send_document(ANN, BufferedInputFile(b"", "empty.txt"))
    with pytest.raises(TelegramBadRequest, match="IMAGE_PROCESS_FAILED"):
        await bot.send_photo(ANN, BufferedInputFile(b"text", "p.jpg"))
    sent = await bot.send_message(ANN, "no file")
    with pytest.raises(TelegramBadRequest, match="there is no caption in the message to edit"):
        await bot.edit_message_caption(chat_id=ANN, message_id=sent.message_id, caption="x")
