"""The surroundings of agent CLIs: the MCP server that runs no tool, and the environment."""

import asyncio
import os
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.config.schema import Model as ModelSettings
from bot.models.cli import McpBridge, cli_model
from core.errors import ModelReplyInvalid
from core.ids import RandomIds
from core.model.base import CallRequest, ModelAbilities, ModelRequest
from core.transcript import ResultStatus, ToolResult, UserSaid
from tests.core.model.support import SHELL


async def test_only_the_token_of_a_live_offer_is_served_and_a_call_waits_for_the_run() -> None:
    bridge = McpBridge()
    async with bridge.serving(), aiohttp.ClientSession() as http:
        offer, other = bridge.offer([SHELL]), bridge.offer([])
        headers = offer.server["headers"]

        async def asked(method: str, params: Any = None, headers: Any = headers) -> tuple[int, Any]:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
            async with http.post(bridge.url, json=message, headers=headers) as answer:
                return answer.status, await answer.json() if answer.status == 200 else None

        assert bridge.url.startswith("http://127.0.0.1:")
        assert (await asked("tools/list"))[1]["result"]["tools"][0]["name"] == "shell"
        assert (await asked("tools/list", headers=other.server["headers"]))[1]["result"] == {"tools": []}
        assert "error" in (await asked("resources/list"))[1]
        for wrong in ({}, {"Authorization": "Bearer "}, {"Authorization": headers["Authorization"][:-1]}):
            assert (await asked("tools/list", headers=wrong))[0] == 401
        call = {"name": "shell", "arguments": {"command": "ls"}}
        waiting = asyncio.create_task(asked("tools/call", call))
        assert (await asked("ping"))[0] == 200
        assert not waiting.done()
        offer.answer(CallRequest("1", "shell", '{"command":"rm"}'), ToolResult("1", ResultStatus.OK, "no"))
        assert (await asked("ping"))[0] == 200
        assert not waiting.done()
        offer.answer(CallRequest("1", "shell", '{"command":"ls"}'), ToolResult("1", ResultStatus.OK, "a"))
        said = {"content": [{"type": "text", "text": "a"}], "isError": False}
        assert (await waiting)[1]["result"] == said
        offer.close()
        assert (await asked("tools/list"))[0] == 401


async def test_a_cli_sees_no_secret_of_the_hub(tmp_path: Path) -> None:
    settings = ModelSettings(
        name="agent", provider="cli", model="m", command=("/bin/sh", "-c", "env > out"), arguments=("-",)
    )
    hub = {
        "PATH": os.defpath,
        "HUB_TOKEN": "sk-1",
        "ANTHROPIC_AUTH_TOKEN": "sk-2",
        "NODE_OPTIONS": "--require x",
    }
    model = cli_model(settings, "key", tmp_path, hub, RandomIds(), ModelAbilities())
    with pytest.raises(ModelReplyInvalid, match="exited without a reply"):
        _ = [piece async for piece in model.reply(ModelRequest("", [UserSaid("hello")]))]
    seen = tmp_path.joinpath("cli", "agent", "work", "out").read_text()
    assert "ANTHROPIC_API_KEY=key" in seen
    assert not any(word in seen for word in ("HUB_TOKEN", "AUTH_TOKEN", "NODE_OPTIONS"))
