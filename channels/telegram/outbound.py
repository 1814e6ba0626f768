"""What the hub says as the parameters of sendMessage, editMessageText and sendDocument. Pure and
deterministic."""

from dataclasses import replace
from typing import NamedTuple

from channels.channel import Payload
from channels.telegram.entities import TelegramEntity, TelegramText
from channels.telegram.files import PHOTO_TYPES, Upload
from channels.telegram.places import spot_of
from channels.telegram.rendering import MAX_TEXT_UNITS, render_blocks, render_plain
from core import texts
from core.messages import File, Message

OUTCOME_UNITS = 300
"""Kept free on every part of a card, so that its outcome never moves its text into another part."""

CHOICES_PER_ROW = 3
ROW_CHARS = 36
"""A row holds as many choices as can be read on a phone: so many characters in all, shared out evenly."""
MAX_CALLBACK_DATA_BYTES = 64
"""Bot API, InlineKeyboardButton: "callback_data … 1-64 bytes"."""

EDIT_CHOICE = "e"
"""In place of a choice's position: the call's arguments are to be changed."""

FILE = "file"
"""The key under which a part that is a file has its Upload."""

REPLY = "reply_parameters"
"""The key under which a part that answers a message has that as Quoted."""


class Quoted(NamedTuple):
    """A message, named with its chat: ids begin anew in a group that was upgraded."""

    chat_id: int
    message_id: int


_GAP = "\n\n"


def render(message: Message) -> tuple[Payload, ...]:
    """One payload per Telegram message it takes; see Channel.render. Raises ValueError for choices without
    a prompt."""
    is_card = message.prompt_id is not None or message.outcome is not None
    limit = MAX_TEXT_UNITS - OUTCOME_UNITS if is_card else MAX_TEXT_UNITS
    texts = list(render_blocks(message.blocks, limit))
    if message.outcome is not None:
        texts[-1:] = [_with_outcome(texts[-1] if texts else None, message.outcome)]
    payloads = [_payload(text) for text in texts]
    if message.choices and message.outcome is None and payloads:
        payloads[-1]["reply_markup"] = {"inline_keyboard": _keyboard(message)}
    files = [_upload(file) for file in message.files]
    parts = [*files, *payloads] if is_card else [*payloads, *files]  # of a card the last part changes
    if message.reply_to is not None and parts:
        parts[0][REPLY] = Quoted(*spot_of(message.reply_to))
    return tuple(parts)


def _upload(file: File) -> dict[str, object]:
    return {FILE: Upload(file.path, file.name, file.media_type, file.media_type in PHOTO_TYPES)}


def _with_outcome(text: TelegramText | None, outcome: str) -> TelegramText:
    lines = render_plain(outcome, OUTCOME_UNITS - len(_GAP) - 1)
    if not lines:
        return text or TelegramText("…")
    line = lines[0] if len(lines) == 1 else replace(lines[0], text=lines[0].text + "…")
    return line if text is None else TelegramText(text.text + _GAP + line.text, text.entities)


def _payload(text: TelegramText) -> dict[str, object]:
    payload: dict[str, object] = {"text": text.text, "link_preview_options": {"is_disabled": True}}
    if text.entities:
        payload["entities"] = [_entity(entity) for entity in text.entities]
    return payload


def _entity(entity: TelegramEntity) -> dict[str, object]:
    body: dict[str, object] = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url is not None:
        body["url"] = entity.url
    if entity.language is not None:
        body["language"] = entity.language
    return body


def _keyboard(message: Message) -> list[list[dict[str, str]]]:
    prompt_id, choices = message.prompt_id, message.choices
    if prompt_id is None:
        raise ValueError("choices without a prompt cannot be answered")
    buttons = [
        {"text": choice.label, "callback_data": _callback_data(prompt_id, index)}
        for index, choice in enumerate(choices, message.first_choice)
    ]
    edit = {"text": texts.EDIT_LABEL, "callback_data": _callback_data(prompt_id, EDIT_CHOICE)}
    more = [[edit]] if message.editable else []
    per_row = _per_row(max((len(choice.label) for choice in choices), default=1))
    return [*(buttons[start : start + per_row] for start in range(0, len(buttons), per_row)), *more]


def _per_row(longest_chars: int) -> int:
    return min(CHOICES_PER_ROW, max(1, ROW_CHARS // max(1, longest_chars)))


def _callback_data(prompt_id: str, index: int | str) -> str:
    data = f"p:{prompt_id}:{index}"
    if len(data.encode()) > MAX_CALLBACK_DATA_BYTES:
        raise ValueError(f"callback data of {len(data.encode())} bytes: {data}")
    return data
