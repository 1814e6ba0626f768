"""The rules of consent with small faults in them: the tests beside this one notice nearly all."""

import os
import subprocess
import sys

import pytest

from tests.plugins.profile import Profile
from tests.tree import ROOT

SLICES = 16


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_small_faults_in_the_rules_are_noticed(profile: Profile) -> None:
    """All of them by the proof, which keeps the record; elsewhere a slice by the seed."""
    part = f"{profile.seed % SLICES + 1}/{SLICES}"
    proof = ["--json", "docs/proof/mutation.json"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation", *profile.pick(test=["--slice", part], proof=proof)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        | {"HUBBUB_PROFILE": "test"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
