"""The hub, its event loop watched: what holds it for long is written down, in milliseconds of its CPU time.

Usage: python -m benchmarks.bots.watched_hub HOLDS_FILE ARGUMENTS OF hubbub…
"""

import asyncio
import json
import sys
import time
from typing import Any, cast

from bot.__main__ import main

NOTED_MS = 5.0


def watch(path: str) -> None:
    """Write a line to the file for each step of a loop that takes longer than NOTED_MS."""
    run = cast("Any", asyncio.Handle)._run

    def watched(handle: Any) -> None:
        begun_s = time.thread_time()
        run(handle)
        took_ms = (time.thread_time() - begun_s) * 1e3
        if took_ms >= NOTED_MS:
            with open(path, "a") as holds:
                holds.write(json.dumps({"ms": round(took_ms, 1), "what": repr(handle)[:200]}) + "\n")

    cast("Any", asyncio.Handle)._run = watched


if __name__ == "__main__":
    sys.modules["uvloop"] = cast("Any", None)  # its steps cannot be watched
    watch(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    main()
