"""Killed while an MCP server carries out a call: its outcome is unknown, a person decides, none repeats."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from core.tools.processes import started_ticks
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, Setup, open_mortal_hub, survivors
from tests.simulators.mcp import raw

pytestmark = pytest.mark.slow


async def line_in(path: Path, line: str) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not path.exists() or line not in path.read_text():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", ["hangs", "leaves"])
async def test_a_call_that_was_cut_off_is_asked_about_and_not_repeated(tmp_path: Path, mode: str) -> None:
    command = json.dumps([sys.executable, "-S", "-E", str(raw.__file__), str(tmp_path), mode])
    extra = f'\n[mcp.raw]\ncommand = {command}\n[approvals]\npreset = "whitelist"\n'
    async with open_mortal_hub(tmp_path, Setup(extra=extra)) as town:
        await town.start()
        await line_in(tmp_path / "data" / "mcp" / "raw.json", "")  # its tools are offered
        town.telegram.user_sends_text(OWNER, 'please call: raw__note {"text": "milk"}')
        await town.telegram.wait_text(OWNER, "Use `raw__note`", timeout_s=LIMIT_S)
        town.answer_cards(OWNER)
        await line_in(tmp_path / "notes", "begun")
        await town.kill()
        await town.start()
        await town.telegram.wait_text(OWNER, UNKNOWN, timeout_s=LIMIT_S)
        assert (tmp_path / "notes").read_text() == "begun\n"
        first, *_ = (int(pid) for pid in (tmp_path / "starts").read_text().split())
        assert started_ticks(first) is None
        town.answer_cards(OWNER)
        await town.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
        assert (tmp_path / "notes").read_text() == "begun\n"
        await town.stop()
        assert survivors(town) == []
