"""How many files and functions of the product one message passes: python -m tests.architecture.walk

A hub runs in this process between the simulators. Every function of which a line runs, on any thread, from
the moment a person writes until the answer is shown and settled is counted. A function that only waits for
another one to return is not: the message passes by it. Neither is what runs during one of two "hello"s only:
that is the hub's own clock, such as the audit chaining its records once a second. The second message is a
shell call that is approved, and is sent twice as well.
"""

import asyncio
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.architecture.house import PACKAGES
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.tree import ROOT

LIMITS = {"hello": 81, "approved shell call": 112}
"""Files, as they are; test_walk.py holds them. The aim is 75 and 116."""
_PRODUCT = tuple(f"{ROOT / package}/" for package in PACKAGES)


class Walk:
    """Notes what runs while it is `recorded`, on this thread and on those that start after it was made.

    Close it: until then the interpreter reports every call to it."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self._records = False
        self._before = sys.gettrace(), threading.gettrace()
        threading.settrace(self._called)
        sys.settrace(self._called)

    def close(self) -> None:
        """Leave the reports to whom they went before."""
        sys.settrace(self._before[0])
        threading.settrace(self._before[1])

    def _called(self, frame: FrameType, event: str, argument: Any) -> Callable[..., None] | None:
        """Ask for the lines of a function that begins or goes on, unless it was noted already."""
        del event, argument
        code = frame.f_code
        if not self._records or code in self._codes or not code.co_filename.startswith(_PRODUCT):
            return None
        return self._ran

    def _ran(self, frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if self._records and event == "line":
            self._codes.add(frame.f_code)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Count from here to the end of the block, anew."""
        self._codes.clear()
        self._records = True
        try:
            yield
        finally:
            self._records = False

    def passed(self) -> list[CodeType]:
        """Return the functions of the product that ran."""
        return list(self._codes)


async def walk(directory: Path) -> dict[str, list[CodeType]]:
    """Return the functions each of the two messages passes."""
    with closing(Walk()) as walk:
        async with open_hub(directory) as house:
            await _say(house, "warm up", "You said: warm up")
            await house.until(lambda: _is_chained(house))
            hellos: list[set[CodeType]] = []
            for text in ("hello", "hello again"):
                with walk.recorded():
                    await _say(house, text, f"You said: {text}")
                hellos.append(set(walk.passed()))
            calls: list[set[CodeType]] = []
            for word in ("one", "two"):
                with walk.recorded():
                    house.telegram.user_sends_text(OWNER, f"please run: echo {word}")
                    await house.pressed(OWNER, await house.card(OWNER), 0)
                    await house.telegram.wait_text(OWNER, f"\n{word}")
                    await house.settled_sends()
                calls.append(set(walk.passed()))
            return {"hello": list(hellos[0] & hellos[1]), "approved shell call": list(calls[0] & calls[1])}


def files(walks: Mapping[str, Sequence[CodeType]]) -> dict[str, list[str]]:
    """Return the files of functions, in order."""
    return {
        name: sorted({code.co_filename.removeprefix(f"{ROOT}/") for code in codes})
        for name, codes in walks.items()
    }


async def _is_chained(house: Hub) -> bool:
    with closing(sqlite3.connect(f"file:{house.database}?mode=ro", uri=True)) as database:
        return not database.execute("SELECT 1 FROM audit WHERE link IS NULL").fetchall()


async def _say(house: Hub, text: str, answer: str) -> None:
    house.telegram.user_sends_text(OWNER, text)
    await house.telegram.wait_text(OWNER, answer)
    await house.settled_sends()


def main() -> int:
    """Print the counts, and with -v the files; return 1 where one is over its limit."""
    with tempfile.TemporaryDirectory() as directory:
        walks = asyncio.run(walk(Path(directory)))
    passed = files(walks)
    for name, paths in passed.items():
        print(f"{name}: {len(paths)} files, {len(walks[name])} functions (limit {LIMITS[name]} files)")
        if "-v" in sys.argv:
            print(*paths, sep="\n")
    return int(any(len(paths) > LIMITS[name] for name, paths in passed.items()))


if __name__ == "__main__":
    sys.exit(main())
