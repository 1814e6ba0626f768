"""What is decided or undone can no longer be pressed, on any platform."""

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
