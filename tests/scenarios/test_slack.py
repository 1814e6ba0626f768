"""Slack, by sockets and by signed requests: what people there see of the hub."""

from pathlib import Path

import pytest

from tests.scenarios.workspace import OWNER, open_workspace

MODES = pytest.mark.parametrize("mode", ["socket", "http"])


@MODES
async def test_a_message_is_answered(tmp_path: Path, mode: str) -> None:
    async with open_workspace(tmp_path, mode=mode) as place:
        place.slack.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")
        await place.slack.wait_acked()


@MODES
async def test_a_call_runs_after_its_button_was_pressed(tmp_path: Path, mode: str) -> None:
    async with open_workspace(tmp_path, mode=mode) as place:
        place.slack.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        assert not (place.files / "log").exists()
        place.slack.user_presses_button(OWNER, place.direct(), card.ts, "Approve")
        await place.hears(place.direct(), "Done:")
        assert (place.files / "log").read_text() == "ran\n"
        shown = place.slack.look(next(m for m in place.slack.messages(place.direct()) if m.ts == card.ts))
        assert "pproved" in shown.text
        assert not shown.buttons
