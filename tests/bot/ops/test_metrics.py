"""Metrics for Prometheus, and readiness."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.web.health import readiness_of
from channels.manager import ChannelState, Phase
from core.job import JobState
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub
from tests.scenarios.test_jobs import becomes


async def test_metrics_count_events(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house, client(tmp_path) as api:
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
        house.telegram.user_sends_text(OWNER, "/status")
        await house.telegram.wait_text(OWNER, "Nothing is running here.", timeout_s=LIMIT_S)
        async with api.http.get(f"{api.url}/metrics") as answer:
            assert (answer.status, answer.content_type) == (200, "text/plain")
            page = await answer.text()
    told = dict(re.findall(r"^(hubbub_\S+) ([\d.]+)$", page, re.MULTILINE))
    assert told['hubbub_events_accepted_total{channel="telegram",outcome="turn"}'] == "1.0"
    assert told['hubbub_events_accepted_total{channel="telegram",outcome="command"}'] == "1.0"
    assert told['hubbub_turns_total{state="begun"}'] == told['hubbub_turns_total{state="finished"}'] == "1.0"
    assert told['hubbub_model_calls_total{model="main",state="answered"}'] == "1.0"
    for kind in ("input", "output", "cache_read"):
        assert f'hubbub_model_tokens_total{{kind="{kind}",model="main"}}' in told or (
            f'hubbub_model_tokens_total{{model="main",kind="{kind}"}}' in told
        )
    assert float(told['hubbub_model_seconds_total{model="main"}']) > 0
    assert told['hubbub_model_cost_usd_total{model="main"}'] == "0.0"
    assert told['hubbub_sends_total{channel="telegram",state="sent"}'] == "2.0"
    assert told['hubbub_channel_phase{channel="telegram",phase="running"}'] == "1.0"
    assert told['hubbub_channel_phase{channel="telegram",phase="failed"}'] == "0.0"
    assert told['hubbub_sends_waiting{channel="telegram"}'] == "0.0"
    assert {"hubbub_turns_running", "hubbub_streams_open", "hubbub_jobs_running"} <= told.keys()


CHANGES = [
    ("new", "pending"),
    ("pending", "in_progress"),
    ("in_progress", "completed"),
    ("completed", "submitted"),
    ("submitted", "accepted"),
    *(("pending", state) for state in ("failed", "cancelled")),
    *(("in_progress", state) for state in ("failed", "stuck", "cancelled")),
    ("completed", "failed"),
    ("submitted", "failed"),
    *(("stuck", state) for state in ("in_progress", "failed", "cancelled")),
]
"""All changes of states that there are: those that the jobs below go through first."""


async def test_metrics_count_jobs_by_state(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nreview = true") as house, client(tmp_path) as api:
        for action, state in (("", "submitted"), ("", "submitted"), ("accept", "accepted")):
            _, job = await api.ask("POST", "/api/jobs", {"task": "count the stars"})
            await becomes(house, job["id"], JobState.SUBMITTED)
            if action:
                await api.ask("POST", f"/api/jobs/{job['id']}/{action}")
            await becomes(house, job["id"], JobState(state))
        status, *_ = await api.refusal("POST", f"/api/jobs/{job['id']}/reject", {})
        assert status == 409
        async with api.http.get(f"{api.url}/metrics") as answer:
            page = await answer.text()
    counted = r'^hubbub_job_changes_total\{before="(\w+)",state="(\w+)"\} ([\d.]+)$'
    changes = {tuple(edge): float(times) for *edge, times in re.findall(counted, page, re.MULTILINE)}
    assert changes == {edge: 0.0 for edge in CHANGES} | dict.fromkeys(CHANGES[:4], 3.0) | {CHANGES[4]: 1.0}
    told = dict(re.findall(r'^hubbub_jobs\{state="(\w+)"\} ([\d.]+)$', page, re.MULTILINE))
    assert told == {state.value: "0.0" for state in JobState} | {"submitted": "2.0", "accepted": "1.0"}


class Parts:
    """As much of a hub as its readiness is seen by: what it takes, and the phases of its channels."""

    is_open = True

    def __init__(self, phases: Sequence[Phase]) -> None:
        self._phases = {f"channel-{number}": phase for number, phase in enumerate(phases)}

    async def healthy(self) -> bool:
        return True

    def states(self) -> dict[str, ChannelState]:
        return {name: ChannelState(phase, 0) for name, phase in self._phases.items()}

    def unreachable(self) -> dict[str, dict[str, object]]:
        return {name: {} for name in self._phases}


@pytest.mark.parametrize(
    "phases, ready",
    [
        ([], True),
        ([Phase.STARTING], False),
        ([Phase.STARTING, Phase.STARTING], False),
        ([Phase.STARTING, Phase.RUNNING], True),
        ([Phase.FAILED], True),
    ],
)
async def test_a_hub_is_ready_unless_all_its_channels_start(phases: Sequence[Phase], ready: bool) -> None:
    parts: Any = Parts(phases)
    assert (await readiness_of(parts, parts, parts)).ready is ready
