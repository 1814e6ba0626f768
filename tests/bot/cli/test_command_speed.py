"""Commands answer at once: the gates of benchmarks.commands.

They count where nothing else has the processor, which is so in the proof."""

from pathlib import Path

import pytest

from tests.harness.benchmark import reaches_its_gates
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_listings_and_the_terminal_start_within_their_limits(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    await reaches_its_gates("commands", tmp_path, profile, proof_record)
