"""What the hub says as the arguments of chat.postMessage and chat.update. Pure and deterministic."""

from typing import NamedTuple

from channels.channel import Payload
from channels.slack.commands import typed_here
from channels.slack.rendering import SlackText, escaped, render_plain
from channels.slack.rendering import render as render_blocks
from core.messages import File, Message
from core.texts import EDIT_LABEL

OUTCOME_CHARS = 300
MAX_BUTTON_CHARS = 75
"""Block Kit, button element: text."""
MAX_ACTIONS = 25
"""Block Kit, actions block: elements."""

FILE = "file"
"""The key under which a part that is a file has its Upload."""


class Upload(NamedTuple):
    """A file to send."""

    path: str
    name: str


def render(message: Message) -> tuple[Payload, ...]:
    """One payload per Slack message it takes; see Channel.render. Raises ValueError for choices without a
    prompt. What is answered needs no quoting: answers stand in its thread."""
    texts = list(render_blocks(typed_here(message.blocks)))
    if message.outcome is not None and not texts:
        texts = [SlackText("", ())]
    payloads = [_payload(text) for text in texts]
    if message.outcome is not None:
        payloads[-1] = _with_outcome(texts[-1], message.outcome)
    elif message.choices and payloads:
        payloads[-1] = _with_choices(texts[-1], message)
    files = [_upload(file) for file in message.files]
    is_card = message.prompt_id is not None or message.outcome is not None
    return tuple([*files, *payloads] if is_card else [*payloads, *files])  # of a card the last part changes


def _upload(file: File) -> dict[str, object]:
    return {FILE: Upload(file.path, file.name)}


def _payload(text: SlackText, *more: dict[str, object]) -> dict[str, object]:
    blocks: list[dict[str, object]] = []
    if text.elements:
        blocks.append({"type": "rich_text", "elements": list(text.elements)})
    return {"text": text.text or "…", "blocks": [*blocks, *more]}


def _with_outcome(text: SlackText, outcome: str) -> dict[str, object]:
    lines = render_plain(outcome, OUTCOME_CHARS)
    line = outcome[:OUTCOME_CHARS] if lines else "…"
    shown: dict[str, object] = {
        "type": "context",
        "elements": [{"type": "plain_text", "text": line, "emoji": False}],
    }
    payload = _payload(text, shown)
    payload["text"] = f"{text.text}\n\n{escaped(line)}".strip()
    return payload


def _with_choices(text: SlackText, message: Message) -> dict[str, object]:
    prompt_id, choices = message.prompt_id, message.choices
    if prompt_id is None:
        raise ValueError("choices without a prompt cannot be answered")
    if len(choices) > MAX_ACTIONS:
        raise ValueError(f"{len(choices)} choices: Slack shows at most {MAX_ACTIONS}")
    buttons: list[object] = [
        {
            "type": "button",
            "action_id": f"choice-{index}",
            "value": f"p:{prompt_id}:{index}",
            "text": {"type": "plain_text", "text": _label(choice.label), "emoji": False},
        }
        for index, choice in enumerate(choices, message.first_choice)
    ]
    if message.editable and len(buttons) < MAX_ACTIONS:
        buttons.append(
            {
                "type": "button",
                "action_id": "edit",
                "value": f"p:{prompt_id}:e",
                "text": {"type": "plain_text", "text": EDIT_LABEL, "emoji": False},
            }
        )
    return _payload(text, {"type": "actions", "elements": buttons})


def _label(label: str) -> str:
    return label if len(label) <= MAX_BUTTON_CHARS else f"{label[: MAX_BUTTON_CHARS - 1]}…"
