"""Files of the data directory by another name: a hard link in the workspace opens them for no tool."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub

GRANTED = '[approvals]\npreset = "auto"\ndangerous_tools = []'
CALLS = {
    "read_file": {"path": "notes.txt"},
    "send_file": {"path": "notes.txt"},
    "write_file": {"path": "notes.txt", "content": "x"},
    "apply_patch": {"path": "notes.txt", "old": "a", "new": "b"},
    "delete_file": {"path": "notes.txt"},
}


@pytest.mark.parametrize("name", ["hub.db", "hub.key", "outputs/long.txt"])
async def test_no_tool_opens_a_hard_link_to_what_the_hub_keeps(tmp_path: Path, name: str) -> None:
    async with open_hub(tmp_path, extra=GRANTED) as house:
        kept = tmp_path / "data" / name
        kept.parent.mkdir(exist_ok=True)
        if not kept.exists():
            kept.write_text("a secret of the hub")
        before = kept.stat()
        os.link(kept, house.workspace / "notes.txt")
        for number, (tool, arguments) in enumerate(CALLS.items(), start=1):
            house.telegram.user_sends_text(OWNER, f"please call: {tool} {json.dumps(arguments)}")
            await house.model.wait_requests(2 * number, state="answered", timeout_s=LIMIT_S)
            said = house.model.log[-1].body["messages"][-1]["content"]
            assert "it belongs to the hub itself" in said, tool
        assert "No line matches" in await house.told("grep", pattern=".")
        after = await asyncio.to_thread(kept.stat)
        assert (after.st_ino, after.st_nlink) == (before.st_ino, 2)
