"""A conversation of thousands of turns is as fast as a new one, from the first message after a start."""

from pathlib import Path

import pytest

from tests.harness.benchmark import reaches_its_gates
from tests.harness.process import HubProcess
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_message_costs_the_same_in_a_long_and_in_a_new_conversation(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    """The gates of benchmarks.long_thread, which count where nothing else has the processor: in the proof."""
    await reaches_its_gates("long_thread", tmp_path, profile, proof_record)


async def test_timers_are_not_loaded_while_the_first_message_is_handled(tmp_path: Path) -> None:
    """What a hub loads once it serves, the first message waits for: one thing at a time is interpreted."""
    env = {"HUBBUB__HTTP__PORT": "0", "PYTHONPROFILEIMPORTTIME": "1"}
    async with HubProcess(tmp_path, env=env, fresh=True) as hub:
        assert (await hub.readyz())[0] == 200
        assert await hub.stop() == 0
    before, serving, after = hub.err.partition("hub.serving")
    assert serving
    assert "apscheduler" in before
    assert "apscheduler" not in after
