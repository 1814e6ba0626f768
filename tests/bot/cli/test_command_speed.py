"""Commands answer at once: the gates of benchmarks.commands.

They count where nothing else has the processor, which is so in the proof."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_listings_and_the_terminal_start_within_their_limits(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    figures = tmp_path / "figures.json"
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.commands", "--json", str(figures)),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await bench.communicate()
    assert bench.returncode in profile.pick(test=(0, 1), proof=(0,)), said.decode()
    proof_record("commands", **json.loads(figures.read_text()))
