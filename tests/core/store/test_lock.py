"""One hub per data directory, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import StoreLocked
from core.store.lease import DataDirectoryLock

HOLD = """
import sys, time
from pathlib import Path
from core.store.lease import DataDirectoryLock
with DataDirectoryLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(data_dir: Path) -> subprocess.Popen[str]:
    """Another process that holds the directory until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_hub_learns_who_holds_the_directory(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with holder(data_dir) as other:
        with pytest.raises(StoreLocked) as refused, DataDirectoryLock(data_dir):
            pass
        assert str(other.pid) in str(refused.value)
        assert str(data_dir) in str(refused.value)
        other.communicate("")
    with DataDirectoryLock(data_dir):
        assert (data_dir / "hub.lock").read_text() == f"{os.getpid()}\n"


def test_a_killed_hub_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
    with DataDirectoryLock(tmp_path):
        pass


def test_a_released_directory_can_be_taken_again(tmp_path: Path) -> None:
    lock = DataDirectoryLock(tmp_path)
    for _ in range(2):
        lock.acquire()
        with pytest.raises(StoreLocked):
            DataDirectoryLock(tmp_path).acquire()
        lock.release()


def test_child_processes_do_not_hold_the_directory(tmp_path: Path) -> None:
    with DataDirectoryLock(tmp_path):
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )
    with child, DataDirectoryLock(tmp_path):
        child.communicate(b"")
