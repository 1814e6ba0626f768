"""getFile, sendPhoto, sendDocument, sendVoice, sendMediaGroup, editMessageCaption."""

from typing import Any

from tests.simulators.telegram import media
from tests.simulators.telegram.content import caption_content
from tests.simulators.telegram.errors import ApiError, bad_request
from tests.simulators.telegram.files import StoredFile
from tests.simulators.telegram.limits import (
    MAX_ALBUM_ITEMS,
    MAX_DOWNLOAD_BYTES,
    MAX_PHOTO_UPLOAD_BYTES,
    MAX_UPLOAD_BYTES,
)
from tests.simulators.telegram.methods_messages import change, post
from tests.simulators.telegram.params import Params, Upload
from tests.simulators.telegram.registry import Call, method
from tests.simulators.telegram.targets import keyboard_of, own_message, writable_chat

Json = dict[str, Any]


@method("getFile")
def get_file(call: Call) -> Json:
    """https://core.telegram.org/bots/api#getfile."""
    file_id = call.params.text("file_id")
    if not file_id:
        raise bad_request("file_id not specified")
    stored = call.sim.files.by_id(file_id)
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if stored.size_bytes > MAX_DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    return media.reference(stored) | {"file_path": stored.path}


@method("sendPhoto")
def send_photo(call: Call) -> Json:
    """https://core.telegram.org/bots/api#sendphoto."""
    return _send(call, "photo")


@method("sendDocument")
def send_document(call: Call) -> Json:
    """https://core.telegram.org/bots/api#senddocument."""
    return _send(call, "document")


@method("sendVoice")
def send_voice(call: Call) -> Json:
    """https://core.telegram.org/bots/api#sendvoice."""
    return _send(call, "voice")


def _send(call: Call, kind: str) -> Json:
    given = _given(call.params, kind, call.params.text(kind))
    if given is None:
        raise bad_request(f"there is no {kind} in the request")
    caption = caption_content(call.params)
    return post(call, _content(call, kind, given, call.params) | caption).to_json()


def _given(params: Params, name: str, reference: str) -> Upload | str | None:
    """The file a parameter means: uploaded under its name or ``attach://name``, or an id, or a link."""
    if name in params.files:
        return params.files[name]
    if reference.startswith("attach://"):
        return params.files.get(reference.removeprefix("attach://"))
    return reference or None


def _content(call: Call, kind: str, given: Upload | str, options: Params) -> Json:
    """The message's field for a file. Raises ``ApiError`` for files the platform does not take."""
    files = call.sim.files
    if isinstance(given, str):
        stored = files.by_id(given)
        if stored is None:
            raise bad_request(
                "failed to get HTTP URL content"
                if "://" in given
                else "wrong file identifier/HTTP URL specified"
            )
        return _known(kind, stored, options)
    size = len(given.content)
    if size == 0:
        raise bad_request("file must be non-empty")
    if size > MAX_UPLOAD_BYTES:
        raise ApiError(413, "Request Entity Too Large")
    if kind == "photo":
        if size > MAX_PHOTO_UPLOAD_BYTES:
            raise bad_request(
                f"file of size {size} bytes is too big for a photo; the maximum size is"
                f" {MAX_PHOTO_UPLOAD_BYTES} bytes"
            )
        if not media.is_image(given.content):
            raise bad_request("IMAGE_PROCESS_FAILED")
        return media.photo(files, given.content)
    if kind == "voice":
        return media.voice(files, given.content, duration_s=options.integer("duration"))
    return media.document(files, given.content, name=given.name, media_type=given.media_type)


def _known(kind: str, stored: StoredFile, options: Params) -> Json:
    if kind == "photo":
        return {"photo": [media.reference(stored) | {"width": 1280, "height": 960}]}
    if kind == "voice":
        fields = {"duration": options.integer("duration"), "mime_type": "audio/ogg"}
        return {"voice": media.reference(stored) | fields}
    return media.document_of(stored)


@method("sendMediaGroup")
def send_media_group(call: Call) -> list[Json]:
    """https://core.telegram.org/bots/api#sendmediagroup: photos and documents, not mixed."""
    items = call.params.json("media", "media")
    if not isinstance(items, list):
        raise bad_request("expected an Array of InputMedia")
    contents = [_album_item(call, item) for item in items]
    if not contents:
        raise bad_request("there are no messages to send")
    if len(contents) > MAX_ALBUM_ITEMS:
        raise bad_request("too many messages to send as an album")
    if len({"document" in content for content in contents}) > 1:
        raise bad_request("document can't be mixed with other media types")
    album_id = str(next(call.sim.world.album_ids)) if len(contents) > 1 else None
    return [post(call, content, album_id=album_id).to_json() for content in contents]


def _album_item(call: Call, item: Any) -> Json:
    if not isinstance(item, dict):
        raise bad_request("can't parse InputMedia: expected an Object")
    kind = item.get("type")
    if kind not in {"photo", "document"}:
        raise bad_request(f'can\'t parse InputMedia: type "{kind}" is unsupported')
    options = Params(item, call.params.files)
    given = _given(options, "", options.text("media"))
    if given is None:
        raise bad_request("can't parse InputMedia: media not found")
    return _content(call, kind, given, options) | caption_content(options)


@method("editMessageCaption")
def edit_message_caption(call: Call) -> Json:
    """https://core.telegram.org/bots/api#editmessagecaption."""
    caption = caption_content(call.params, too_long="MEDIA_CAPTION_TOO_LONG")
    message = own_message(call, writable_chat(call, edit=True), "message to edit")
    if "text" in message.content:
        raise bad_request("there is no caption in the message to edit")
    kept = {name: value for name, value in message.content.items() if not name.startswith("caption")}
    return change(call, message, kept | caption, keyboard_of(call))
