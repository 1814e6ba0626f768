"""A job is recorded with its container, and replayed where there is no Docker."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.app import Seams
from bot.recordings.recorder import recording
from core.job import JobState
from tests.bot.recordings.test_replay import Place, replayed, rows
from tests.bot.sandbox.test_container_jobs import GO_OUT, small
from tests.core.tools.website import SITE, Website
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, open_hub
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import ToolCall, text, tools

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]


async def test_a_job_is_replayed_without_its_container_and_its_changes_change_no_file(
    tmp_path: Path, worker_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def on_this_machine(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    (tmp_path / "hub").mkdir()
    async with contextlib.AsyncExitStack() as stack:
        site = await stack.enter_async_context(Website())
        egress = f'egress = ["{SITE}:{site.port}"]\n[network]\nallow_private = ["127.0.0.1:{site.port}"]'
        extra = small(worker_image, egress)
        hub = await stack.enter_async_context(open_hub(tmp_path / "hub", extra=extra, start=False))
        with recording(tmp_path / "rec", Seams(clock=hub.clock, lookup=on_this_machine)) as seams:
            await hub.serve(seams)
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            go_out = GO_OUT.replace("{site}", SITE).replace("{port}", str(site.port))
            go = f"echo line >> out.txt; python3 - <<'END'\n{go_out}\nEND"
            hub.model.enqueue(tools(ToolCall("shell", {"command": go})))
            hub.model.enqueue(text("Written."))
            named = await started(hub, "/job --sandbox write a line")
            notice = await hub.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
            hub.telegram.user_presses_button(OWNER, notice.id, 0)
            await becomes(hub, named, JobState.ACCEPTED)
            hub.telegram.user_sends_text(OWNER, "say: thank you")
            await hub.telegram.wait_text(OWNER, "thank you", timeout_s=LIMIT_S)
            await hub.stop()
        asked = len(hub.model.log)
        assert site.paths == ["/from-inside"]
        place = Place(hub, site, tmp_path / "rec", [], asked)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
        script = await replayed(place, tmp_path / "own")
        assert script.difference is None
        assert len(hub.model.log) == asked
        assert site.paths == ["/from-inside"], "a replay opens no connection"
        (record,) = place.records("egress")
        reached = {one["target"]: one for one in record["connections"]}
        made = reached.pop(f"{SITE}:{site.port}")
        assert (made["connections"], made["refused"], made["moved_bytes"] > 0) == (1, None, True)
        assert sorted(reached) == [f"127.0.0.1:{site.port}", f"{SITE}:22"]
        assert all(one["refused"] for one in reached.values())
        asks = [record["run"] for record in place.records("ask")]
        assert asks == ["container", "container", "chat"]
        for columns in ("SELECT short_id, result FROM jobs", "SELECT digest, diff FROM job_containers"):
            assert rows(tmp_path / "own", columns) == rows(hub.directory, columns)
        assert [file.name for file in (tmp_path / "own" / "workspace").iterdir()] == []
