"""The gates of a benchmark as a test. They count where nothing else has the processor: in the proof."""

import asyncio
import json
import sys
from pathlib import Path

from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


async def reaches_its_gates(
    name: str, tmp_path: Path, profile: Profile, proof_record: ProofRecord, *words: str
) -> None:
    """Run `benchmarks.NAME` with these words, and record its figures."""
    figures = tmp_path / "figures.json"
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"benchmarks.{name}", "--json", str(figures), *words),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await bench.communicate()
    assert bench.returncode in profile.pick(test=(0, 1), proof=(0,)), said.decode()
    proof_record(name.replace("_", "-"), **json.loads(figures.read_text()))
