"""Buttons of cards on each platform: none on what is decided or undone, and no label over its limit."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from channels.channel import Payload
from channels.discord import outbound as discord
from channels.slack import outbound as slack
from channels.telegram import outbound as telegram
from core.messages import Choice, Message, Plain

CARD = Message((Plain("Really?"),), (Choice("Yes"),), "k3f9a7mzq2")


@pytest.mark.parametrize("render", [discord.render, slack.render, telegram.render])
@pytest.mark.parametrize("late", [{"outcome": "Approved"}, {"mark": "undone"}], ids=str)
def test_what_is_over_has_no_buttons(
    render: Callable[[Message], Sequence[Payload]], late: dict[str, str]
) -> None:
    assert "p:k3f9a7mzq2:0" in str(render(CARD))
    assert "k3f9a7mzq2" not in str(render(replace(CARD, **late)))


@pytest.mark.parametrize("render, most", [(discord.render, 80), (slack.render, 75)])
@pytest.mark.parametrize("chars", [74, 75, 76, 80, 81])
def test_a_label_over_the_platforms_limit_is_cut(
    render: Callable[[Message], Sequence[Payload]], most: int, chars: int
) -> None:
    shown = str(render(replace(CARD, choices=(Choice("x" * chars),))))
    assert f"'{'x' * chars if chars <= most else 'x' * (most - 1) + '…'}'" in shown
