"""The rules of consent with small faults in them: the tests beside this one notice nearly all."""

import os
import subprocess
import sys

import pytest

from tests.plugins.profile import Profile
from tests.tree import ROOT


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_small_faults_in_the_rules_are_noticed(profile: Profile) -> None:
    """All of them in the proof, which keeps the record; elsewhere every twelfth, chosen by the seed."""
    sliced = profile.pick(test="1/12", ci=f"{profile.seed % 12 + 1}/12", proof="1/1")
    record = ["--json", "docs/proof/mutation.json"] if profile.name == "proof" else []
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation", "--slice", sliced, *record],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        | {"HUBBUB_PROFILE": "test"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
