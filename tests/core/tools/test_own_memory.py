"""The parts of the running hub that a command can read, as the same user."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.tools import child

NOBODY = 65_534
PROGRAM = f"""
import ctypes, subprocess
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
        [sys.executable, "-I", "-c", Path(child.__file__).read_text() + PROGRAM],
        env={"TOKEN": "swordfish"},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["True", "b''"]
