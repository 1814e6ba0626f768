"""`hubbub status`: of a hub that runs, that never ran, and that was killed."""

import json
import signal
from pathlib import Path

from tests.harness.process import HubProcess, hubbub

HEARTBEAT = (
    "[http]\nport = 0\n[heartbeat]\nenabled = true\n[sessions]\nsummary = true\n"
    '[channels.telegram]\ntoken = "1:a"\n'
)
TIMERS = {
    "audit.linking": 10,
    "audit.retention": 86_400,
    "search.index": 15,
    "gates.deadlines": 5,
    "lease.renewal": 10,
    "lease.takeover": 10,
    "routines.heartbeat": 1800,
    "routines.slots": 30,
    "sessions.idle": 30,
    "threads.deleted": 10,
    "tools.failing": 60,
    "routines.retention": 3600,
    "uploads.tidy": 3600,
}
"""What such a hub does again and again, and how soon at the latest, in seconds."""


async def test_status_without_a_hub_says_so(tmp_path: Path) -> None:
    ended = await hubbub(tmp_path, "status")
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint == f"No hub is running on {tmp_path}/data. Start one with `hubbub run`."
    assert not (tmp_path / "data").exists()


async def test_status_after_a_kill_says_that_no_hub_runs(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text("[http]\nport = 0\n")
    async with HubProcess(tmp_path) as hub:
        await hub.stop(signal.SIGKILL)
    assert (tmp_path / "data" / "api.json").exists()
    ended = await hubbub(tmp_path, "status")
    assert ended.code == 1
    assert ended.complaint.startswith("No hub is running on ")


async def test_status_of_a_running_hub_names_channels_and_timers(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text(HEARTBEAT + 'api_base_url = "http://127.0.0.1:9"\n')
    async with HubProcess(tmp_path) as hub:
        page = json.loads((await hubbub(tmp_path, "status", "--json")).out)
        while {timer["name"] for timer in page["timers"]} < set(TIMERS):
            page = json.loads((await hubbub(tmp_path, "status", "--json")).out)
        shown = await hubbub(tmp_path, "status")
        assert await hub.stop(signal.SIGTERM) == 0
    assert (page["hub"], page["ready"], page["store"], page["approvals"]) == ("open", True, "ok", 0)
    assert page["channels"]["telegram"]["state"] in {"starting", "backing off"}
    assert {timer["name"]: timer["failures"] for timer in page["timers"]} == dict.fromkeys(TIMERS, 0)
    for timer in page["timers"]:
        if timer["last_run_at"] is not None and timer["due_at"] is not None:
            assert timer["due_at"] - timer["last_run_at"] <= (TIMERS[timer["name"]] + 1) * 1_000_000
    assert shown.code == 0
    assert "Open approvals: 0. Pairing requests: 0. Conversations at work: 0." in shown.out
    assert all(name in shown.out for name in ["telegram", *TIMERS])
