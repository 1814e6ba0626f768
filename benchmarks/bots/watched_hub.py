"""The hub, its event loop watched: what holds it for long is written down, in milliseconds.

A step of the loop counts by its thread's CPU time. What keeps the loop from its steps, such as a thread that
does not let go of the interpreter, counts by how late a beat is, and no longer than the process used CPU time
meanwhile: what else the machine does is in neither.

Usage: python -m benchmarks.bots.watched_hub HOLDS_FILE ARGUMENTS OF hubbub…
"""

import asyncio
import json
import sys
import threading
import time
from typing import Any, cast

from bot.__main__ import main

NOTED_MS = 5.0
BEAT_S = 0.005
WAITING = frozenset({"wait", "_worker", "select", "get", "accept"})
"""Functions in which threads do nothing."""


def watch(path: str) -> None:
    """Write a line to the file for each step of a loop, and for each delay of one, of over NOTED_MS."""
    run = cast("Any", asyncio.Handle)._run
    beating = set[asyncio.AbstractEventLoop]()

    def note(kind: str, took_s: float, what: str) -> None:
        if took_s * 1e3 >= NOTED_MS:
            with open(path, "a") as holds:
                line = {"kind": kind, "ms": round(took_s * 1e3, 1), "what": what[:200]}
                holds.write(json.dumps(line) + "\n")

    def beat(loop: asyncio.AbstractEventLoop, before_s: float, used_s: float) -> None:
        now_s, now_used_s = time.perf_counter(), time.process_time()
        note("beat", min(now_s - before_s - BEAT_S, now_used_s - used_s), _at_work())
        loop.call_later(BEAT_S, beat, loop, now_s, now_used_s)

    def watched(handle: Any) -> None:
        if handle._loop not in beating:
            beating.add(handle._loop)
            handle._loop.call_soon(beat, handle._loop, time.perf_counter(), time.process_time())
        begun_s = time.thread_time()
        run(handle)
        note("step", time.thread_time() - begun_s, repr(handle))

    cast("Any", asyncio.Handle)._run = watched


def _at_work() -> str:
    """What the other threads do now."""
    frames = sys._current_frames()
    del frames[threading.get_ident()]
    names = (frame.f_code.co_name for frame in frames.values())
    return f"threads in {', '.join(sorted(set(names) - WAITING)) or 'nothing any more'}"


if __name__ == "__main__":
    sys.modules["uvloop"] = cast("Any", None)  # its steps cannot be watched
    watch(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    main()
