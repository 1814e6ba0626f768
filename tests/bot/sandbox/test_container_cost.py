"""What a container costs a job: the gates of benchmarks.sandbox."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]


async def test_a_job_starts_and_calls_its_model_at_a_bounded_cost(
    tmp_path: Path, worker_image: str, profile: Profile, proof_record: ProofRecord
) -> None:
    """A slice measures once, and judges nothing by that."""
    figures = tmp_path / "figures.json"
    repeats, rounds = profile.pick(test=(1, 2), proof=(5, 10))
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.sandbox", "--image", worker_image, "--json", str(figures)),
        *("--repeats", str(repeats), "--rounds", str(rounds)),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await bench.communicate()
    found = json.loads(figures.read_text())
    assert min(found[name] for name in ("bare_start", "job_start", "one_job", "five_jobs", "chat_call")) > 0
    if profile.name == "proof":
        assert bench.returncode == 0, said.decode()
    proof_record("sandbox", **found)
