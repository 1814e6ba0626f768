"""What the hub says as the bodies of Create Message and Edit Message. Pure and deterministic."""

from typing import NamedTuple

from channels.channel import Payload
from channels.discord.places import spot_of
from channels.discord.rendering import MAX_TEXT_UNITS, render_plain
from channels.discord.rendering import render as render_blocks
from core.messages import File, Message, MessageRef
from core.texts import EDIT_LABEL

OUTCOME_UNITS = 300
"""Kept free on every part of a card, so that its outcome never moves its text into another part."""

MAX_BUTTON_CHARS = 80
"""Component reference, button: label."""
BUTTONS_PER_ROW, MAX_ROWS = 5, 5
"""Component reference: an action row holds up to five buttons, a message up to five rows."""

SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
"""Message flags: links are not unfolded; seen by one person alone."""

FILE = "file"
"""The key under which a part that is a file has its Upload."""
REFERENCE = "message_reference"
"""The key under which a part that answers a message names it."""

_ACTION_ROW, _BUTTON, _SECONDARY = 1, 2, 2
_GAP = "\n\n"
_NOBODY: dict[str, object] = {"parse": [], "replied_user": False}


class Upload(NamedTuple):
    """A file to send."""

    path: str
    name: str


def render(message: Message) -> tuple[Payload, ...]:
    """One body per Discord message it takes; see Channel.render. Raises ValueError for choices without a
    prompt, or too many of them."""
    is_card = message.prompt_id is not None or message.outcome is not None
    limit = MAX_TEXT_UNITS - OUTCOME_UNITS if is_card else MAX_TEXT_UNITS
    texts = list(render_blocks(message.blocks, limit))
    if message.outcome is not None:
        texts[-1:] = [_with_outcome(texts[-1] if texts else "", message.outcome)]
    payloads = [_body(text) for text in texts]
    if message.choices and message.outcome is None and payloads:
        payloads[-1]["components"] = _rows(message)
    files: list[dict[str, object]] = [_upload(file) for file in message.files]
    parts = [*files, *payloads] if is_card else [*payloads, *files]  # of a card the last part changes
    if message.reply_to is not None and parts:
        parts[0][REFERENCE] = _reference(message.reply_to)
    return tuple(parts)


def aside(text: str) -> dict[str, object]:
    """An answer to an interaction that its person alone sees."""
    shown = render_plain(text)
    return {"content": shown[0] if shown else "…", "flags": EPHEMERAL, "allowed_mentions": _NOBODY}


def _body(text: str) -> dict[str, object]:
    return {"content": text, "components": [], "flags": SUPPRESS_EMBEDS, "allowed_mentions": _NOBODY}


def _upload(file: File) -> dict[str, object]:
    return {FILE: Upload(file.path, file.name), "allowed_mentions": _NOBODY}


def _reference(ref: MessageRef) -> dict[str, object]:
    # What was deleted meanwhile is answered all the same.
    return {"message_id": spot_of(ref).message, "fail_if_not_exists": False}


def _with_outcome(text: str, outcome: str) -> str:
    lines = render_plain(outcome, OUTCOME_UNITS - len(_GAP) - 1)
    if not lines:
        return text or "…"
    line = lines[0] if len(lines) == 1 else f"{lines[0]}…"
    return f"{text}{_GAP}{line}" if text else line


def _rows(message: Message) -> list[dict[str, object]]:
    prompt_id, choices = message.prompt_id, message.choices
    if prompt_id is None:
        raise ValueError("choices without a prompt cannot be answered")
    if len(choices) > BUTTONS_PER_ROW * MAX_ROWS:
        raise ValueError(f"{len(choices)} choices: Discord shows at most {BUTTONS_PER_ROW * MAX_ROWS}")
    buttons: list[dict[str, object]] = [
        {
            "type": _BUTTON,
            "style": _SECONDARY,
            "label": _label(choice.label),
            "custom_id": f"p:{prompt_id}:{index}",
        }
        for index, choice in enumerate(choices, message.first_choice)
    ]
    if message.editable and len(buttons) < BUTTONS_PER_ROW * MAX_ROWS:
        edit = f"p:{prompt_id}:e"
        buttons.append(
            {"type": _BUTTON, "style": _SECONDARY, "label": EDIT_LABEL, "custom_id": edit},
        )
    starts = range(0, len(buttons), BUTTONS_PER_ROW)
    return [{"type": _ACTION_ROW, "components": buttons[at : at + BUTTONS_PER_ROW]} for at in starts]


def _label(label: str) -> str:
    return label if len(label) <= MAX_BUTTON_CHARS else f"{label[: MAX_BUTTON_CHARS - 1]}…"
