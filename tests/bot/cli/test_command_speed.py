"""Commands answer at once: the gates of benchmarks.commands."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_listings_and_the_terminal_start_within_their_limits(
    tmp_path: Path, proof_record: ProofRecord
) -> None:
    figures = tmp_path / "figures.json"
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.commands", "--json", str(figures)),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await bench.communicate()
    assert bench.returncode == 0, said.decode()
    proof_record("commands", **json.loads(figures.read_text()))
