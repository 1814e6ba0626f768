"""Names of an earlier version that stay valid for one more: `Deprecated` in CHANGELOG.md."""

import asyncio
from pathlib import Path

from tests.bot.cli.test_chat import started
from tests.bot.web.api_client import client
from tests.harness.process import HubProcess, hubbub

ECHO = "run: echo ok > out.txt"


async def test_the_old_name_prompts_still_works_for_gates(tmp_path: Path) -> None:
    async with HubProcess(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}), client(tmp_path) as api:
        async with api.stream() as events:
            sent = await api.send(ECHO)
            needed = (await events.until("approval_needed"))[-1]["data"]
        (approval,) = (await api.get("/api/approvals"))["approvals"]
        items = (await api.get(f"/api/threads/{sent['thread_id']}"))["items"]
        (card,) = [item for item in items if item["kind"] == "gate"]
        gate_id = approval["gate_id"]
        assert [page["prompt_id"] for page in (needed, approval, card)] == [gate_id] * 3
        assert (card["prompt_kind"], card["gate_kind"]) == ("approval", "approval")
        async with started(tmp_path) as program:
            program.send(text="hello")
            asked = await program.hears("asked")
            assert (asked["prompt_id"], asked["gate_id"]) == (gate_id, gate_id)
            program.send(prompt_id=asked["prompt_id"], choice="deny")
            settled = await program.hears("settled")
            assert (settled["prompt_id"], settled["outcome"]) == (gate_id, "Denied by owner")
            assert await program.ends() == 0


async def test_the_old_name_resume_still_works_for_unpause(tmp_path: Path) -> None:
    async with HubProcess(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}), client(tmp_path) as api:
        for _ in range(2):
            assert (await api.ask("POST", "/api/tools/pause", {}))[0] == 200
            assert (await api.ask("POST", "/api/tools/resume", {}))[0] == 200
        assert (await api.ask("POST", "/api/tools/pause", {}))[0] == 200
        ended = await hubbub(tmp_path, "tools", "resume")
        assert (ended.code, ended.out) == (0, "tools: running\n")
        assert "DeprecationWarning: The command 'resume' is deprecated." in ended.err
    listed = await asyncio.gather(hubbub(tmp_path, "tools", "--help"), hubbub(tmp_path, "tools"))
    assert ["unpause" in page.out + page.err for page in listed] == [True, True]
    assert ["resume" in page.out + page.err for page in listed] == [False, False]
