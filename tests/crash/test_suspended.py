"""A hub whose process is suspended for minutes: each slot once, and the newest of those it slept through."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.crash.entry import SPEED
from tests.crash.mortal import LIMIT_S, MortalHub, open_mortal_hub
from tests.plugins.proof import ProofRecord

pytestmark = pytest.mark.slow

TIMES = 120
"""So much faster than the wall's clock runs the hub's: a minute is half a second."""
ASLEEP_MINUTES = 6
MINUTE_US = 60_000_000


async def runs(town: MortalHub) -> list[dict[str, Any]]:
    """The earliest slot first."""
    shown = json.loads(await town.command("routines", "history", "tick", "--limit", "200", "--json"))
    return sorted(shown, key=lambda run: run["input"]["slot_at"])


async def until_ok(town: MortalHub, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(LIMIT_S):
        while sum(run["status"] == "ok" for run in await runs(town)) < count:  # noqa: ASYNC110 - only asking tells
            await asyncio.sleep(0.1)
    return await runs(town)


async def test_a_suspended_hub_continues_with_the_newest_slot_and_repeats_none(
    tmp_path: Path, proof_record: ProofRecord
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        (town.directory / SPEED).write_text(str(TIMES))
        page = town.directory / "tick.json"
        page.write_text(json.dumps({"guardrails": {"cooldown_s": 0}}))
        words = ("--cron", "* * * * *", "--prompt", "Anything new?", "--file", str(page))
        await town.command("routines", "add", "tick", *words)
        town.model.rule("Anything new", "ROUTINE_OK")
        hub = await town.start()
        before = await until_ok(town, 2)
        hub.send_signal(signal.SIGSTOP)
        stopped_after = before[-1]["input"]["slot_at"]
        # Real time is what is tested here: the process must sleep through some of it.
        await asyncio.sleep(ASLEEP_MINUTES * 60 / TIMES)
        hub.send_signal(signal.SIGCONT)
        await until_ok(town, len([run for run in before if run["status"] == "ok"]) + 3)
        await town.stop()
        after = await runs(town)
        asked = [call for call in town.model.log if "Anything new" in str(call.body)]
        woken = [run for run in after if run["input"]["slot_at"] > stopped_after]
        slots = [run["input"]["slot_at"] for run in after]
        assert len(slots) == len(set(slots))
        assert all(slot % MINUTE_US == 0 for slot in slots)
        assert {run["status"] for run in after} <= {"ok", "skipped", "interrupted", "running"}
        assert len(asked) == len([run for run in after if run["attempts"]])
        passed_over = max(run["input"].get("skipped", 0) for run in woken)
        assert passed_over >= ASLEEP_MINUTES - 3
        proof_record("routines-engine", slots_slept_through=passed_over, slots_repeated=0)
