"""Metrics for Prometheus."""

import re
from pathlib import Path

from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub


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
    assert told['hubbub_model_calls_total{state="answered"}'] == "1.0"
    assert told['hubbub_sends_total{channel="telegram",state="sent"}'] == "2.0"
    assert told['hubbub_channel_phase{channel="telegram",phase="running"}'] == "1.0"
    assert told['hubbub_channel_phase{channel="telegram",phase="failed"}'] == "0.0"
    assert told['hubbub_sends_waiting{channel="telegram"}'] == "0.0"
    assert {"hubbub_turns_running", "hubbub_streams_open"} <= told.keys()
