"""Processes that a dead hub left running are found and ended, and nobody else's process is touched."""

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core.tool import ProcessInfo
from core.tools.processes import end_marked, end_process, process_info, started_ticks
from tests.core.tools.processes_support import is_alive, sleeper
from tests.patience import PATIENCE_S


@pytest.fixture
def call_id() -> str:
    return str(uuid.uuid4())


@pytest.fixture
def child(call_id: str) -> Iterator[subprocess.Popen[bytes]]:
    process = sleeper(call_id)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    process = sleeper("another call")
    yield process
    process.kill()
    process.wait()


def without_marker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"], env={}, start_new_session=True)


def test_a_process_is_known_by_number_and_start(child: subprocess.Popen[bytes]) -> None:
    info = process_info(child.pid)
    assert (info.pid, info.process_group) == (child.pid, child.pid)
    assert info.started_ticks == started_ticks(child.pid)
    assert info.started_ticks > 0


def test_a_process_that_is_gone_has_no_start(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    assert started_ticks(child.pid) is None
    assert process_info(child.pid).started_ticks == 0


async def test_the_recorded_group_is_ended(call_id: str) -> None:
    process = without_marker()
    assert await end_process(process_info(process.pid), call_id)
    assert process.wait(timeout=PATIENCE_S) == -9


async def test_a_reused_process_number_is_not_touched(
    call_id: str, stranger: subprocess.Popen[bytes]
) -> None:
    recorded = process_info(stranger.pid)
    later = replace(recorded, started_ticks=recorded.started_ticks - 1)
    assert not await end_process(later, call_id)
    unread = replace(recorded, started_ticks=0)
    assert not await end_process(unread, call_id)
    assert is_alive(stranger.pid)


async def test_a_process_of_another_host_is_not_looked_for_here(
    call_id: str, child: subprocess.Popen[bytes]
) -> None:
    assert not await end_process(replace(process_info(child.pid), host="elsewhere"), call_id)
    assert is_alive(child.pid)


async def test_stray_processes_are_found_by_their_marker_after_the_leader_is_gone(
    call_id: str, child: subprocess.Popen[bytes], stranger: subprocess.Popen[bytes]
) -> None:
    gone = ProcessInfo(pid=2**22 - 1, process_group=2**22 - 1, started_ticks=1)
    assert await end_process(gone, call_id)
    assert child.wait(timeout=PATIENCE_S) == -9
    assert is_alive(stranger.pid)


async def test_ending_nothing_is_not_an_error(call_id: str, stranger: subprocess.Popen[bytes]) -> None:
    gone = ProcessInfo(pid=2**22 - 1, process_group=2**22 - 1, started_ticks=1)
    assert not await end_process(gone, call_id)
    assert not await end_marked(call_id)
    assert is_alive(stranger.pid)


async def test_a_marker_that_only_begins_the_same_is_another_call(stranger: subprocess.Popen[bytes]) -> None:
    assert not await end_marked("another")
    assert not await end_marked("another call ")
    assert is_alive(stranger.pid)
