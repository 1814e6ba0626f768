"""What reading a streamed reply costs, beside the providers' own clients."""

from pathlib import Path

import pytest

from tests.harness.benchmark import reaches_its_gates
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_streamed_reply_takes_a_third_of_the_official_clients_time_at_most(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    """The gate of benchmarks.model_stream, which counts where nothing else runs: in the proof."""
    await reaches_its_gates(
        "model_stream", tmp_path, profile, proof_record, "--rounds", str(profile.pick(test=1, proof=5))
    )
