"""A disk that fills up: nothing is acknowledged that is not kept, and the store heals by itself."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from core.store.sqlite.offline import open_listings


async def recorded(database: Path) -> set[str]:
    """The keys of all events in the database."""
    async with open_listings(database) as reader:
        return {one.key for one in await reader.explanations.explain_recent(10_000)}


def test_a_full_disk_refuses_writes_and_keeps_what_was_accepted(tmp_path: Path) -> None:
    database = tmp_path / "hub.db"
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.store.filling", str(database)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kept"], "some events came before the disk was full"
    assert len(report["refused"]) > 60
    assert report["healthy_while_full"] is False
    assert report["healthy_after"] is True
    assert report["refused_but_kept"] == 0
    assert asyncio.run(recorded(database)) == {*report["kept"], *report["refused"]}
    assert done.stderr.count("store.write_failed") <= 2, "said once, not for every event"
