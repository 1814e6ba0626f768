"""Jobs leave chats their speed: the gate of benchmarks.jobs."""

import asyncio
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_chat_is_hardly_slower_while_five_jobs_run() -> None:
    bench = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.jobs", "--jobs", "40", stdout=asyncio.subprocess.PIPE
    )
    said, _ = await bench.communicate()
    assert bench.returncode == 0, said.decode()
