"""The surroundings of agent CLIs: the MCP server that runs no tool, the environment, and doctor's trial."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.config.load import load
from bot.config.schema import Model as ModelSettings
from bot.models.cli import McpBridge, cli_model
from bot.ops.model_trial import cli_findings
from bot.ops.probes import Health
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


OBEDIENT = """
import http.client, json, os, sys, urllib.parse

def asked(said):
    http_to = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"]).netloc)
    http_to.request("POST", "/v1/messages", json.dumps({"messages": [said], "tools": []}))
    lines = http_to.getresponse().read().decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]

def say(**event):
    print(json.dumps(event), flush=True)

say(type="system", subtype="init", session_id="one", tools=[])
tool = ""
for event in asked(sys.stdin.read()):
    tool = event.get("content_block", {}).get("name", tool)
    if tool != sys.argv[1] or event["type"] != "content_block_delta":
        continue
    order = json.loads(event["delta"]["partial_json"])
    if tool == "Write":
        open(order["file_path"], "w").write(order["content"])
    else:
        asked(open(order["file_path"]).read())
say(type="result", subtype="success", result="ready", usage={"input_tokens": 1, "output_tokens": 1})
"""
"""A CLI that announces no tools, offers its model none, and obeys its order for one of them."""


@pytest.mark.parametrize(
    "obeys, health, message",
    [
        ("Write", Health.BROKEN, "the CLI wrote a file on its model's order, without approval"),
        ("Read", Health.BROKEN, "the CLI read a file on its model's order, without approval"),
        ("none", Health.FINE, "the CLI neither wrote, ran nor read on its model's order"),
    ],
    ids=["writes", "reads", "obeys nothing"],
)
async def test_doctor_judges_a_cli_by_what_it_did(
    tmp_path: Path, obeys: str, health: Health, message: str
) -> None:
    program, config = tmp_path / "agent.py", tmp_path / "hubbub.toml"
    program.write_text(OBEDIENT)
    command = json.dumps([sys.executable, str(program)])
    config.write_text(
        f"""[[models]]
name = "agent"
provider = "cli"
model = "m"
command = {command}
arguments = ["{obeys}"]
"""
    )
    loaded = load(config, environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    (finding,) = await cli_findings(loaded)
    assert (finding.what, finding.health, finding.message) == ("model agent", health, message)
