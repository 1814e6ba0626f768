"""Slack's own Python models as a second opinion on the limits of blocks and views."""

from typing import Any

import pytest
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from tests.simulators_tests.slack.test_limits import BLOCKS, Blocks

UNCHECKED = {
    *("blocks", "section field", "table rows", "table columns", "column settings"),
    *("checkboxes", "option text", "option value"),
}
"""What the models leave to the server."""
CHECKED = [case for case in BLOCKS if case[0] not in UNCHECKED]


def checked_by_the_sdk(blocks: list[dict[str, Any]]) -> None:
    """Raises SlackObjectFormationError for a block that the models refuse."""
    for block in blocks:
        model = Block.parse(block)
        assert model is not None
        assert model.to_dict()["type"] == block["type"]


@pytest.mark.parametrize("limit,make", [case[1:3] for case in CHECKED], ids=[case[0] for case in CHECKED])
def test_the_sdk_refuses_a_block_where_the_simulator_does(limit: int, make: Blocks) -> None:
    checked_by_the_sdk(make(limit))
    with pytest.raises(SlackObjectFormationError):
        checked_by_the_sdk(make(limit + 1))


def test_every_case_is_either_checked_or_known_not_to_be() -> None:
    assert {case[0] for case in BLOCKS} > UNCHECKED
    assert len(CHECKED) >= 20


@pytest.mark.parametrize(
    "field,limit",
    [("title", 24), ("submit", 24), ("close", 24), ("private_metadata", 3000), ("callback_id", 255)],
)
def test_the_sdk_refuses_a_view_where_the_simulator_does(field: str, limit: int) -> None:
    def view(size: int) -> View:
        text: Any = "x" * size
        value = {"type": "plain_text", "text": text} if limit == 24 else text
        return View(**{"type": "modal", "title": "t", "blocks": [{"type": "divider"}], field: value})

    view(limit).to_dict()
    with pytest.raises(SlackObjectFormationError):
        view(limit + 1).to_dict()
