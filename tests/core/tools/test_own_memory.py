"""The parts of the running hub that a command can read, as the same user."""

import subprocess
import sys

import pytest

from tests.tree import ROOT

NOBODY = 65_534
PROGRAM = f"""
import ctypes, os, subprocess, sys
sys.path[:0] = {sys.path!r}
from core.tools.child import _PR_SET_DUMPABLE, bound
if os.geteuid() == 0:  # root reads everything
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as of what that user started

def read():
    return subprocess.run(["/bin/cat", f"/proc/{{os.getpid()}}/environ"], capture_output=True).stdout

before = read()
bound(os.getpid())
print(b"swordfish" in before, read())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux'")
def test_a_command_cannot_read_the_hubs_environment() -> None:
    ran = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM],
        env={"TOKEN": "swordfish"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["True", "b''"]
