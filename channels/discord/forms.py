"""Editing of a call's arguments in a modal (documentation, Component Reference, Text Input): its
content and its submission. Pure.
"""

import json
from collections.abc import Sequence

from channels.discord.wire import InteractionData
from core.messages import EditForm, FormField

MAX_INPUTS = 5
"""A modal has up to five rows with one input each. More fields share one JSON input."""
MAX_VALUE_CHARS = 4_000
MAX_LABEL_CHARS = 45
MAX_ID_CHARS = 100
WHOLE = "(JSON)"
"""The name of the single input that replaces too many fields."""
TOO_LONG = "The arguments are too long for a form here. Edit them in the console."

_ACTION_ROW, _TEXT_INPUT, _PARAGRAPH = 1, 4, 2


def modal_of(gate_id: str, form: EditForm) -> dict[str, object] | None:
    """Return the modal for a form, or None if it does not fit into Discord's limits."""
    fields: Sequence[FormField] = form.fields
    if len(fields) > MAX_INPUTS:
        whole = {field.name: field.value for field in fields}
        fields = [FormField(WHOLE, json.dumps(whole, ensure_ascii=False, indent=1))]
    if any(len(field.value) > MAX_VALUE_CHARS or len(field.name) > MAX_ID_CHARS for field in fields):
        return None
    return {
        "custom_id": f"p:{gate_id}:{form.choice}",
        "title": "Edit the call",
        "components": [{"type": _ACTION_ROW, "components": [_input(field)]} for field in fields],
    }


def form_of(data: InteractionData) -> str:
    """Return the submitted values as JSON."""
    values = {one.custom_id: one.value for row in data.components for one in row.components}
    return values.get(WHOLE) or json.dumps(values, ensure_ascii=False)


def _input(field: FormField) -> dict[str, object]:
    shown: dict[str, object] = {
        "type": _TEXT_INPUT,
        "custom_id": field.name,
        "style": _PARAGRAPH,
        "label": field.name[:MAX_LABEL_CHARS],
        "required": False,
        "max_length": MAX_VALUE_CHARS,
    }
    if field.value:
        shown["value"] = field.value
    return shown
