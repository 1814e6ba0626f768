"""Layout blocks of a message or a view, checked as the platform checks them.

https://docs.slack.dev/reference/block-kit/blocks. ``checked_blocks`` gives the blocks as they are stored:
every block has an id, every interactive element an ``action_id``.
"""

import copy
from collections.abc import Iterator
from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.block_elements import (
    CONTEXT_ACTIONS,
    IMAGE_ELEMENT,
    INPUTS,
    INTERACTIVE,
    any_text,
    plain_text,
)
from tests.simulators.slack.errors import SlackError
from tests.simulators.slack.ids import Ids
from tests.simulators.slack.rich_text import RICH_TEXT_ELEMENTS
from tests.simulators.slack.shapes import (
    Check,
    Field,
    anything,
    array,
    boolean,
    by_type,
    may,
    need,
    number,
    problem,
    shape,
    string,
)

Json = dict[str, Any]


def _block(**fields: Field) -> Check:
    return shape(type=need(string()), block_id=may(string(limits.MAX_BLOCK_ID_CHARS)), **fields)


_RICH_CELL = shape(type=need(string()), elements=need(RICH_TEXT_ELEMENTS), block_id=may(string()))
_CELL = by_type(
    {
        "raw_text": shape(type=need(string()), text=need(string(least=1))),
        "raw_number": shape(type=need(string()), value=need(number), text=may(string())),
        "rich_text": _RICH_CELL,
    }
)
_COLUMN = shape(align=may(string(choices=("left", "center", "right"))), is_wrapped=may(boolean))
_EVERYWHERE: dict[str, Check] = {
    "section": _block(
        text=may(any_text(limits.MAX_SECTION_TEXT_CHARS)),
        fields=may(array(any_text(limits.MAX_SECTION_FIELD_CHARS), limits.MAX_SECTION_FIELDS, 1)),
        accessory=may(by_type({**INTERACTIVE, "image": IMAGE_ELEMENT})),
        expand=may(boolean),
    ),
    "divider": _block(),
    "header": _block(text=need(plain_text(limits.MAX_HEADER_CHARS))),
    "image": _block(
        image_url=may(string(limits.MAX_IMAGE_URL_CHARS, 1)),
        alt_text=need(string(limits.MAX_ALT_TEXT_CHARS)),
        title=may(plain_text(limits.MAX_ALT_TEXT_CHARS)),
        slack_file=may(anything),
    ),
    "actions": _block(elements=need(array(by_type(INTERACTIVE), limits.MAX_ACTIONS, 1))),
    "context": _block(
        elements=need(
            array(
                by_type({"image": IMAGE_ELEMENT, "plain_text": any_text(), "mrkdwn": any_text()}),
                limits.MAX_CONTEXT_ELEMENTS,
                1,
            )
        )
    ),
    "rich_text": _block(elements=need(RICH_TEXT_ELEMENTS)),
    "input": _block(
        label=need(plain_text(limits.MAX_INPUT_LABEL_CHARS)),
        element=need(by_type(INPUTS)),
        hint=may(plain_text(limits.MAX_INPUT_LABEL_CHARS)),
        optional=may(boolean),
        dispatch_action=may(boolean),
    ),
}
_IN_MESSAGES: dict[str, Check] = _EVERYWHERE | {
    "markdown": _block(text=need(string(limits.MAX_MARKDOWN_CHARS, 1))),
    "table": _block(
        rows=need(array(array(_CELL, limits.MAX_TABLE_COLUMNS, 1), limits.MAX_TABLE_ROWS, 1)),
        column_settings=may(array(_COLUMN, limits.MAX_TABLE_COLUMNS)),
    ),
    "context_actions": _block(elements=need(array(by_type(CONTEXT_ACTIONS), limits.MAX_CONTEXT_ACTIONS, 1))),
}


def checked_blocks(value: Any, ids: Ids) -> list[Json]:
    """The blocks of a message. Raises ``SlackError`` for anything the platform refuses."""
    if not isinstance(value, list):
        raise SlackError("invalid_blocks_format")
    problems: list[str] = []
    array(by_type(_IN_MESSAGES), limits.MAX_BLOCKS)(value, "/blocks", problems)
    _refuse(problems, value, "/blocks")
    _refuse_volume(value)
    return _with_ids(value, ids)


def checked_view_blocks(value: Any, ids: Ids) -> list[Json]:
    """The blocks of a modal. Raises ``SlackError``."""
    problems: list[str] = []
    array(by_type(_EVERYWHERE), limits.MAX_VIEW_BLOCKS)(value, "/view/blocks", problems)
    _refuse(problems, value, "/view/blocks", error="invalid_arguments")
    return _with_ids(value, ids)


def _refuse(problems: list[str], value: Any, pointer: str, error: str = "invalid_blocks") -> None:
    if not problems:
        for index, block in enumerate(value):
            if block["type"] == "section" and not block.keys() & {"text", "fields"}:
                problems.append(problem("must define either `text` or `fields`", f"{pointer}/{index}"))
        problems.extend(_repeated_ids(value, pointer))
    if problems:
        raise SlackError(error, problems)


def _repeated_ids(value: list[Json], pointer: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, block in enumerate(value):
        block_id = block.get("block_id")
        if block_id and block_id in seen:
            yield problem(f"block_id `{block_id}` already exists", f"{pointer}/{index}/block_id")
        seen.add(block_id or "")
        actions: set[str] = set()
        for element in interactive_elements(block):
            action_id = element.get("action_id")
            if action_id and action_id in actions:
                yield problem(f"`action_id` `{action_id}` already exists", f"{pointer}/{index}")
            actions.add(action_id or "")


def _refuse_volume(blocks: list[Json]) -> None:
    tables = [block for block in blocks if block["type"] == "table"]
    if len(tables) > 1:
        raise SlackError("invalid_attachments", ["only_one_table_allowed"])
    if sum(map(text_length, tables)) > limits.MAX_TABLE_CHARS:
        raise SlackError("invalid_blocks", ["table exceeds the limit of characters"])
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    everything = sum(map(text_length, blocks))
    if markdown > limits.MAX_MARKDOWN_CHARS or everything > limits.MAX_BLOCK_TEXT_CHARS:
        raise SlackError("msg_blocks_too_long")


def text_length(value: Any) -> int:
    """The characters of every ``text`` inside a block."""
    if isinstance(value, list):
        return sum(map(text_length, value))
    if not isinstance(value, dict):
        return 0
    text = value.get("text")
    own = len(text) if isinstance(text, str) else 0
    return own + sum(text_length(item) for item in value.values())


def interactive_elements(block: Json) -> list[Json]:
    """Return what a person can press, choose or fill in a block."""
    if block["type"] in {"actions", "context_actions"}:
        return list(block["elements"])
    found = [block.get("accessory"), block.get("element")]
    return [element for element in found if element and element["type"] != "image"]


def _with_ids(blocks: list[Json], ids: Ids) -> list[Json]:
    stored: list[Json] = copy.deepcopy(blocks)
    for block in stored:
        block.setdefault("block_id", ids.short())
        for element in interactive_elements(block):
            element.setdefault("action_id", ids.short())
    return stored
