"""Buttons, selects and modals: https://docs.discord.com/developers/components/reference."""

import itertools
from typing import Any

from tests.simulators.discord import limits
from tests.simulators.discord.forms import Form

Json = dict[str, Any]
ROW, BUTTON, STRING_SELECT, TEXT_INPUT = 1, 2, 3, 4
OTHER_SELECTS = {5, 6, 7, 8}
LINK_STYLE = 5


def read_rows(form: Form) -> list[Json] | None:
    """A message's components, checked; None if the body names none. An empty list takes them away."""
    rows = form.forms("components", limits.MAX_ROWS)
    if rows is None:
        return None
    seen: set[str] = set()
    kept = [_row(row, seen) for row in rows]
    _number(kept)
    return kept


def _row(row: Form, seen: set[str]) -> Json:
    row.choice("type", (ROW,))
    parts = row.forms("components", limits.MAX_BUTTONS_PER_ROW, least=1, required=True) or []
    for part in parts:
        kind = part.choice("type", (BUTTON, STRING_SELECT, *sorted(OTHER_SELECTS)))
        if kind == BUTTON:
            _button(part)
        elif kind is not None:
            _select(part, kind)
            if len(parts) > 1:
                message = "Select menus cannot share an action row with other components"
                row.wrong("components", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", message)
        _unique(part, seen)
    return row.values | {"components": [_kept(part.values) for part in parts]}


def _number(rows: list[Json]) -> None:
    """components/reference#anatomy-of-a-component: an ``id`` left empty is generated, in sequence."""
    parts = [part for row in rows for part in (row, *row["components"])]
    taken = {part["id"] for part in parts if part.get("id")}
    free = (number for number in itertools.count(1) if number not in taken)
    for part in parts:
        if not part.get("id"):
            part["id"] = next(free)


def _kept(values: Json) -> Json:
    """A component as the platform gives it back."""
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _unique(part: Form, seen: set[str]) -> None:
    custom_id = part.values.get("custom_id")
    if custom_id in seen:
        message = "Component custom id cannot be duplicated"
        part.wrong("custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", message)
    if isinstance(custom_id, str):
        seen.add(custom_id)


def _button(button: Form) -> None:
    style = button.choice("style", (1, 2, 3, 4, LINK_STYLE))
    label = button.text("label", limits.MAX_LABEL_CHARS)
    if style == LINK_STYLE:
        url = button.text("url", limits.MAX_BUTTON_URL_CHARS, least=1, required=True)
        if url is not None and not url.startswith(("http://", "https://", "discord://")):
            message = "Scheme must be one of ('http', 'https', 'discord')."
            button.wrong("url", "URL_TYPE_INVALID_SCHEME", message)
        return
    button.text("custom_id", limits.MAX_CUSTOM_ID_CHARS, least=1, required=True)
    if not label and not button.values.get("emoji"):
        message = "A button must have a label or an emoji"
        button.wrong("label", "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", message)


def _select(select: Form, kind: int) -> None:
    select.text("custom_id", limits.MAX_CUSTOM_ID_CHARS, least=1, required=True)
    select.text("placeholder", limits.MAX_SELECT_PLACEHOLDER_CHARS)
    if kind != STRING_SELECT:
        return
    for option in select.forms("options", limits.MAX_SELECT_OPTIONS, least=1, required=True) or []:
        option.text("label", limits.MAX_SELECT_OPTION_CHARS, least=1, required=True)
        option.text("value", limits.MAX_SELECT_OPTION_CHARS, least=1, required=True)
        option.text("description", limits.MAX_SELECT_OPTION_CHARS)


def read_modal(form: Form) -> Json:
    """A modal's title, id and text inputs (in rows, or in labels as the newer layout has them)."""
    form.text("custom_id", limits.MAX_CUSTOM_ID_CHARS, least=1, required=True)
    form.text("title", limits.MAX_MODAL_TITLE_CHARS, least=1, required=True)
    rows = form.forms("components", limits.MAX_MODAL_COMPONENTS, least=1, required=True) or []
    seen: set[str] = set()
    for row in rows:
        if row.values.get("type") == 18:
            row.text("label", limits.MAX_TEXT_INPUT_LABEL_CHARS, least=1, required=True)
            inner = row.form("component")
            inputs = [inner] if inner is not None else []
        else:
            row.choice("type", (ROW, 18))
            inputs = row.forms("components", 1, least=1, required=True) or []
        for field in inputs:
            _text_input(field, labelled=row.values.get("type") == 18)
            _unique(field, seen)
    return form.values


def _text_input(field: Form, *, labelled: bool) -> None:
    field.choice("type", (TEXT_INPUT,))
    field.choice("style", (1, 2))
    field.text("custom_id", limits.MAX_CUSTOM_ID_CHARS, least=1, required=True)
    if not labelled:
        field.text("label", limits.MAX_TEXT_INPUT_LABEL_CHARS, least=1, required=True)
    field.text("placeholder", limits.MAX_TEXT_INPUT_PLACEHOLDER_CHARS)
    field.text("value", limits.MAX_TEXT_INPUT_CHARS)
    field.integer("min_length", 0, limits.MAX_TEXT_INPUT_CHARS)
    field.integer("max_length", 1, limits.MAX_TEXT_INPUT_CHARS)


def text_inputs(modal: Json) -> list[Json]:
    """The fields of a modal, in order."""
    found: list[Json] = []
    for row in modal.get("components", []):
        found += [row["component"]] if "component" in row else row.get("components", [])
    return found
