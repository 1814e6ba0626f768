"""MCP servers as people meet them: who sees their tools, what is asked, what comes of a call, what is gone
when; and that a server that misbehaves is nobody's concern but its own."""

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.hub import AnyHub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.ports import free_port
from tests.simulators.mcp import raw
from tests.simulators.mcp.web import open_web_server
from tests.tree import ROOT

GUEST = 101
NOTE = "raw__note"
LOADED_WITHIN_S = 30.0
"""The SDK takes a second and a half to load, more on a busy machine."""
ASKS = """[approvals]
preset = "whitelist"
"""


def section(directory: Path, mode: str = "", name: str = "raw", extra: str = "") -> str:
    command = [sys.executable, "-S", "-E", str(raw.__file__), str(directory), mode]
    return f"[mcp.{name}]\ncommand = {json.dumps(command)}\n{extra}\n"


def call(tool: str, **arguments: Any) -> str:
    """Words that make the model call a tool."""
    return f"please call: {tool} {json.dumps(arguments)}"


async def becomes(
    house: AnyHub, state: str, name: str = "raw", *, tools: int | None = None
) -> dict[str, Any]:
    """Until `/readyz` names that state of the server, and so many tools; what it says of it."""
    async with asyncio.timeout(LOADED_WITHIN_S):
        while True:
            _, page = await house.readyz()
            server = page["mcp"].get(name, {"state": "unknown"})
            if server["state"] == state and tools in (None, server["tools"]):
                return server
            await asyncio.sleep(0.02)


def offered(house: Hub) -> set[str]:
    """The tools the model was told of last."""
    return {tool["function"]["name"] for tool in house.model.log[-1].body.get("tools", ())}


def told(house: Hub) -> str:
    """Return what the model was told of the last call."""
    return house.model.log[-1].body["messages"][-1]["content"]


async def answered(house: Hub, said: str, person: int = OWNER) -> str:
    before = len(house.says(person))
    house.telegram.user_sends_text(person, said)
    await house.telegram.wait_for(lambda: len(house.says(person)) > before, LIMIT_S)
    return house.says(person)[before]


def alive(directory: Path) -> list[int]:
    """Servers that were started there and still run."""
    pids = [int(pid) for pid in (directory / "starts").read_text().split()]
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


async def test_an_owners_approval_covers_no_one_else(tmp_path: Path) -> None:
    (tmp_path / "hubbub.env").touch(0o600)
    (tmp_path / "hubbub.env").write_text("A_KEY=k\n")
    async with open_hub(tmp_path, extra=section(tmp_path, "odd") + ASKS) as house:
        house.telegram.add_user(GUEST, first_name="Gus")
        ready = await becomes(house, "ready")
        # Everybody may ask this; what the server calls its tools is not for everybody.
        assert (ready["tools"], ready["refused"]) == (8, 5)
        house.telegram.user_sends_text(OWNER, call(NOTE, text="milk"))
        card = await house.card(OWNER)
        assert NOTE in card.text
        assert "milk" in card.text
        assert not (tmp_path / "notes").exists()
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "noted milk")
        assert (tmp_path / "notes").read_text() == "milk\n"
        assert told(house).startswith(f'<tool_output name="{NOTE}" id="')
        assert NOTE in offered(house)
        assert "I have no tool named" in await answered(house, call(NOTE, text="x"), GUEST)
        assert not any(name.startswith("raw__") for name in offered(house))
    assert alive(tmp_path) == []
    environment = json.loads((tmp_path / "environment").read_text())
    assert "A_KEY" not in environment, "it gets nothing of the hub's"
    # Another hub's server of that name has another mark, so that neither ends the other's.
    assert any(re.fullmatch("mcp-[0-9a-f]{16}-raw", value) for value in environment.values())


@pytest.mark.slow
async def test_a_call_that_waits_over_a_restart_finds_its_tool_again(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=section(tmp_path) + ASKS) as house:
        await becomes(house, "ready")
        house.telegram.user_sends_text(OWNER, call(NOTE, text="milk"))
        card = await house.card(OWNER)
        await house.stop()
        assert alive(tmp_path) == []
        await house.start()
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "noted milk", timeout_s=LOADED_WITHIN_S)
        assert (tmp_path / "notes").read_text() == "milk\n"


@pytest.mark.slow
async def test_a_tool_that_has_changed_is_asked_about_again(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=section(tmp_path, "changes") + ASKS) as house:
        await becomes(house, "ready")
        house.telegram.user_sends_text(OWNER, call(NOTE, text="milk"))
        card = await house.card(OWNER)
        await house.pressed(OWNER, card, 2)  # always
        await house.telegram.wait_text(OWNER, "noted milk")
        await becomes(house, "ready", tools=2)
        house.telegram.user_sends_text(OWNER, call(NOTE, text="secrets"))
        again = await house.card(OWNER)
        assert "secrets" in again.text
        await house.pressed(OWNER, again, 1)
        await house.telegram.wait_text(OWNER, "denied")
        assert (tmp_path / "notes").read_text() == "milk\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode,said",
    [
        ("hangs", "was stopped after 2 s"),
        ("crashes", "The call may or may not have run"),
        ("floods", "it sent a line of more than 4194304 bytes"),
        ("chatters", "it sent "),
        ("shouts", "it sent "),
        ("nonsense", "it violated the protocol"),
    ],
)
async def test_a_server_that_misbehaves_affects_nothing_else(tmp_path: Path, mode: str, said: str) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    limit = "timeout_s = 2.0" if mode == "hangs" else ""  # the others are found out however slow they are
    both = section(good, name="good") + section(bad, mode, extra=limit)
    async with open_hub(tmp_path, extra=both) as house:
        await becomes(house, "ready")
        await becomes(house, "ready", "good")
        house.telegram.user_sends_text(OWNER, call("raw__add", a=1, b=2))
        await house.telegram.wait_for(lambda: said in "\n".join(house.says(OWNER)), LOADED_WITHIN_S)
        assert "Done: <tool_output" in await answered(house, call("good__add", a=20, b=22))
        assert "42" in told(house)
        await becomes(house, "ready")  # it comes back
    assert alive(bad) == []
    assert alive(good) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["silent", "crashes-greeted", "complains", "huge", "listy"])
async def test_a_server_that_does_not_start_delays_nothing(tmp_path: Path, mode: str) -> None:
    extra = section(tmp_path, mode, extra="connect_timeout_s = 2.0")
    async with open_hub(tmp_path, extra=extra) as house:
        assert "echoed" not in await answered(house, "hello")
        state = await becomes(house, "failed")
        assert state["reason"]
        assert (await house.readyz())[0] == 200
    assert alive(tmp_path) == []


@pytest.mark.slow
async def test_a_server_is_reached_by_http(tmp_path: Path) -> None:
    async with open_web_server() as web:
        web.key = "Bearer k"
        extra = f'[mcp.web]\nurl = "{web.url}"\nheaders = {{ Authorization = "Bearer k" }}\n'
        extra += f'[mcp.gone]\nurl = "http://127.0.0.1:{free_port()}/?key=k"\n'
        async with open_hub(tmp_path, extra=extra) as house:
            await becomes(house, "ready", "web")
            assert "42" in await answered(house, call("web__add", a=20, b=22))
            await web.standing()
            web.change()
            await becomes(house, "ready", "web", tools=1)
            web.mode = "compressed"
            assert "compressed response" in await answered(house, call("web__other"))
            await becomes(house, "failed", "web")
            web.mode = ""
            await becomes(house, "ready", "web")
            web.mode = "floods"
            assert "its response is too large" in await answered(house, call("web__other"))
            await becomes(house, "failed", "web")
            web.mode = ""
            await becomes(house, "ready", "web")
            assert "done" in await answered(house, call("web__other"))
            # Of a failure only its kind is told: its own words may hold the address, and with it a key.
            gone = await becomes(house, "failed", "gone")
            assert gone["reason"].partition(";")[0] == "not reachable (ConnectError)"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_servers_made_with_the_official_sdk_work(tmp_path: Path, way: str) -> None:
    port = free_port()
    argv = [
        sys.executable,
        "-m",
        "tests.simulators.mcp.official",
        way,
        *([str(port)] if way == "http" else []),
    ]
    async with contextlib.AsyncExitStack() as opened:
        if way == "http":
            server = await asyncio.create_subprocess_exec(*argv, cwd=ROOT, stderr=asyncio.subprocess.DEVNULL)
            opened.push_async_callback(server.wait)
            opened.callback(server.kill)
            extra = f'[mcp.sdk]\nurl = "http://127.0.0.1:{port}/mcp"\n'
        else:
            where = json.dumps({"PYTHONPATH": str(ROOT)}).replace('":', '" =')
            extra = f"[mcp.sdk]\ncommand = {json.dumps(argv)}\nenv = {where}\nconnect_timeout_s = 30.0\n"
        house = await opened.enter_async_context(open_hub(tmp_path, extra=extra))
        assert (await becomes(house, "ready", "sdk"))["tools"] == 3
        assert "42" in await answered(house, call("sdk__add", a=20, b=22))
        assert "HELLO" in await answered(house, call("sdk__shout", text="hello"))
        assert "arguments are not valid" in await answered(house, call("sdk__add", a="x", b=1))
        assert "https://news.example/a" in await answered(house, call("sdk__search", query="rain"))
        assert told(house).startswith('<tool_output name="sdk__search" id="')
        assert told(house).count("</tool_output id=") == 1
