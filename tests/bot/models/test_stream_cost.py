"""What reading a streamed reply costs, beside the providers' own clients."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_streamed_reply_takes_a_third_of_the_official_clients_time_at_most(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    """The gate of benchmarks.model_stream, which counts where nothing else runs: in the proof."""
    figures = tmp_path / "figures.json"
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.model_stream", "--json", str(figures)),
        *("--rounds", str(profile.pick(test=1, proof=5))),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await bench.communicate()
    assert bench.returncode in profile.pick(test=(0, 1), proof=(0,)), said.decode()
    proof_record("model-stream", **json.loads(figures.read_text()))
