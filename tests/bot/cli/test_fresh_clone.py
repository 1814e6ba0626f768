"""`make run` in a fresh clone: from nothing to a hub that serves, and what it says then."""

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.harness.clone import INSTALL_LIMIT_S, cloned, free_port, made_to_run, ready
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

LIMIT_S = 120.0


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_make_run_serves_within_two_minutes_and_says_what_is_next(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    limit_s = profile.pick(test=INSTALL_LIMIT_S, proof=LIMIT_S)
    clone, log, port = cloned(tmp_path), tmp_path / "log", free_port()
    began = time.monotonic()
    async with made_to_run(clone, port, log) as make:
        try:
            async with asyncio.timeout(limit_s):
                body = await ready(make, port, log)
        except TimeoutError as error:
            raise AssertionError(f"nothing serves after {limit_s} s: {log.read_text()[-2000:]}") from error
        took_s = round(time.monotonic() - began, 1)
        assert body["ready"] is True
        os.killpg(make.pid, signal.SIGINT)
        async with asyncio.timeout(PATIENCE_S):
            await make.wait()
    said = log.read_text()
    assert f"http://127.0.0.1:{port}/login#code=" in said
    assert "demo" in said
    assert "Next: .venv/bin/hubbub init" in said
    assert re.search(r"library 20 of \d+: \S+", said), "it shows how far it is"
    assert "Traceback" not in said
    proof_record("fresh-clone", serves_after_s=took_s, limit_s=limit_s)
