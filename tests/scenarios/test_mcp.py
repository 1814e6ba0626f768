"""MCP servers as people meet them: who sees their tools, what is asked, what comes of a call, what is gone
when; and that a server that misbehaves is nobody's concern but its own."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.scenarios.house import LIMIT_S, OWNER, House, open_house
from tests.simulators.mcp import raw

MEMBER, GUEST = 100, 101
ADD, NOTE = "raw__add", "raw__note"


def command(directory: Path, mode: str = "") -> list[str]:
    """The raw server, as the configuration names it."""
    return [sys.executable, "-S", "-E", str(raw.__file__), str(directory), mode]


def section(directory: Path, mode: str = "", name: str = "raw", extra: str = "") -> str:
    return f"[mcp.{name}]\ncommand = {json.dumps(command(directory, mode))}\n{extra}\n"


def call(tool: str, **arguments: Any) -> str:
    """Words that make the model call a tool."""
    return f"please call: {tool} {json.dumps(arguments)}"


async def becomes(house: House, state: str, name: str = "raw") -> dict[str, Any]:
    """Until `/readyz` names that state of the server; what it says of it."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            _, page = await house.readyz()
            if page["mcp"][name]["state"] == state:
                return page["mcp"][name]
            await asyncio.sleep(0.02)


def offered(house: House) -> set[str]:
    """The tools the model was told of last."""
    return {tool["function"]["name"] for tool in house.model.log[-1].body.get("tools", ())}


def told(house: House) -> str:
    """What the model was told of the last call."""
    return house.model.log[-1].body["messages"][-1]["content"]


async def answered(house: House, said: str, person: int = OWNER) -> str:
    before = len(house.says(person))
    house.telegram.user_sends_text(person, said)
    await house.telegram.wait_for(lambda: len(house.says(person)) > before, LIMIT_S)
    return house.says(person)[before]


def alive(directory: Path) -> list[int]:
    """Servers that were started there and still run."""
    pids = [int(pid) for pid in (directory / "starts").read_text().split()]
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


ASKS = """[approvals]
preset = "whitelist"
"""


async def test_the_owner_agrees_and_reads_what_the_server_did(tmp_path: Path) -> None:
    async with open_house(tmp_path, extra=section(tmp_path) + ASKS) as house:
        house.telegram.add_user(GUEST, first_name="Gus")
        assert (await becomes(house, "ready"))["tools"] == 5
        house.telegram.user_sends_text(OWNER, call(NOTE, text="milk"))
        card = await house.card(OWNER)
        assert NOTE in card.text
        assert "milk" in card.text
        assert not (tmp_path / "notes").exists()
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "noted milk")
        assert (tmp_path / "notes").read_text() == "milk\n"
        assert told(house).startswith(f'<tool_output name="{NOTE}">\n')

        assert "I have no tool named" in await answered(house, call(NOTE, text="x"), GUEST)
        assert not any(name.startswith("raw__") for name in offered(house))
        print(house.says(OWNER))
    assert alive(tmp_path) == []
