"""An album whose parts reach a hub that dies between them is still one message, answered once."""

import signal
from pathlib import Path

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point

PARTS = 3


@pytest.mark.parametrize(
    "webhook", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["polling", "webhook"]
)
@pytest.mark.parametrize(
    "point",
    [
        "accept_event:1:after",  # one part is kept, and the platform does not know
        pytest.param(
            "accept_event:2:before", marks=pytest.mark.slow
        ),  # one part is kept, the next is delivered again
        pytest.param("accept_event:3:after", marks=pytest.mark.slow),  # all are kept, none is answered
        pytest.param("start_waiting:1:before", marks=pytest.mark.slow),  # about to become a turn
        "start_waiting:1:after",  # a turn, and nobody works on it
    ],
)
async def test_an_album_cut_in_two_is_one_message(tmp_path: Path, point: str, webhook: bool) -> None:
    async with open_mortal_hub(tmp_path, Setup(webhook=webhook)) as town:
        hub = await town.start(parse_commit_point(point))
        await town.telegram.wait_for(town.listens, LIMIT_S)
        parts = town.telegram.user_sends_album(OWNER, PARTS, "look", kind="document")
        assert await hub.wait(LIMIT_S) == -signal.SIGKILL
        assert town.telegram.bot_messages(OWNER) == []
        await town.start()
        await town.telegram.wait_text(OWNER, "You said: look", timeout_s=LIMIT_S)
        told = str(town.model.log.all()[-1].body["messages"])
        assert all(f"{number}.txt" in told for number in range(PARTS))
        outcomes = {event["key"]: event["outcome"] for event in await town.account()}
        assert outcomes == {f"tg:123456:m:{OWNER}:{part.id}": "turn 1" for part in parts}
        assert len(town.telegram.bot_messages(OWNER)) == 1
