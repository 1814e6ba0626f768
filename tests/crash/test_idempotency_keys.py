"""Every try of a call has the same idempotency key, the hub killed in between; another call has another."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.core.tools.website import Website
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.crash.test_mcp import line_in
from tests.crash.test_routines import MESSAGE
from tests.simulators.mcp import raw

RETRY = 1
CUT_OFF = "finish_calls:1:before"
"""The call has had its effect, and its outcome is not recorded."""
PRINT_KEY = "printenv HUBBUB_IDEMPOTENCY_KEY >> keys"


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Website]:
    async with Website() as website:
        yield website


def house(directory: Path, site: Website) -> Setup:
    server = json.dumps([sys.executable, "-S", "-E", str(raw.__file__), str(directory), "fine"])
    reached = f'[network]\nallow_private = ["127.0.0.1:{site.port}"]\n'
    return Setup(extra=f'\n[mcp.raw]\ncommand = {server}\n{reached}[approvals]\npreset = "whitelist"\n')


def call(kind: str, site: Website) -> tuple[str, dict[str, Any]]:
    match kind:
        case "http":
            return "http", {"url": site.url("/orders", "127.0.0.1"), "method": "POST", "body": "milk"}
        case "mcp":
            return "raw__note", {"text": "milk"}
        case _:
            return "shell", {"command": PRINT_KEY}


def keys(kind: str, town: MortalHub, site: Website) -> list[str | None]:
    """Return what the other side was given, try by try."""
    match kind:
        case "http":
            return [request.headers.get("Idempotency-Key") for request in site.seen]
        case "mcp":
            metas = (town.directory / "metas").read_text().splitlines()
            return [(json.loads(meta) or {}).get("hubbub/idempotency-key") for meta in metas]
        case _:
            return [*(town.workspace / "keys").read_text().split()]


def told(town: MortalHub) -> int:
    """How many notices of the routine its owner reads."""
    return sum(MESSAGE in message.text for message in town.shown_to(OWNER))


@pytest.mark.parametrize("kind", ["http", "mcp", "shell"])
async def test_a_retry_after_the_hub_was_killed_has_the_same_key_and_another_call_has_another(
    tmp_path: Path, site: Website, kind: str
) -> None:
    async with open_mortal_hub(tmp_path, house(tmp_path, site)) as town:
        town.about_unknown = RETRY
        hub = await town.start(parse_commit_point(CUT_OFF))
        await line_in(tmp_path / "data" / "mcp" / "raw.json", "")  # its tools are offered
        tool, arguments = call(kind, site)
        asked = f"please call: {tool} {json.dumps(arguments)}"
        town.owner_says(asked)
        await town.telegram.wait_text(OWNER, "`?", timeout_s=LIMIT_S)
        town.answer_cards(OWNER)
        await hub.wait(LIMIT_S)
        await town.start()
        await town.telegram.wait_text(OWNER, UNKNOWN, timeout_s=LIMIT_S)
        assert len(keys(kind, town, site)) == 1
        await town.answer_cards_until([OWNER], lambda: bool(town.answers(OWNER, "Done:")))
        town.owner_says(asked)
        await town.answer_cards_until([OWNER], lambda: len(town.answers(OWNER, "Done:")) == 2)
        await town.stop()
        first, retried, other = keys(kind, town, site)
        assert first
        assert len(first) >= 32
        assert retried == first
        assert other not in {None, "", first}, "the same arguments, but another call"


async def test_calls_of_a_routine_have_keys_of_their_own(tmp_path: Path, site: Website) -> None:
    async with open_mortal_hub(tmp_path, house(tmp_path, site)) as town:
        page = town.directory / "watch.json"
        tools = {"type": "lightweight", "prompt": "", "use_tools": True, "allowed_tools": ["http"]}
        page.write_text(json.dumps({"guardrails": {"cooldown_s": 0}, "action": tools}))
        tool, arguments = call("http", site)
        prompt = f"please call: {tool} {json.dumps(arguments)}"
        words = ("--match", "deploy", "--prompt", prompt, "--file", str(page))
        await town.command("routines", "add", "watch", *words)
        await town.start()
        for times in (1, 2):
            town.owner_says(f"deploy number {times}")
            await town.telegram.wait_for(lambda times=times: told(town) == times, LIMIT_S)
        await town.stop()
        one, other = keys("http", town, site)
        assert one is not None
        assert len(one) >= 32
        assert one != other
