"""How many files and functions of the product one message passes: python -m tests.architecture.walk

A hub runs in this process between the simulators; whatever it calls, on any thread, from the moment a person
writes until the answer is shown and settled is counted. First a "hello", then a shell call that is approved.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.architecture.house import PACKAGES
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.tree import ROOT

LIMITS = {"hello": 75, "approved shell call": 140}
"""Files."""
_PRODUCT = tuple(f"{ROOT / package}/" for package in PACKAGES)


class Walk:
    """Counts what is called while it is `recorded`, on every thread that starts after it was made."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self._records = False
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._records and event == "call":
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
        """Return the functions of the product that were called."""
        return [code for code in self._codes if code.co_filename.startswith(_PRODUCT)]


async def walk(directory: Path) -> dict[str, list[CodeType]]:
    """Return the functions each of the two messages passes."""
    walk = Walk()
    async with open_hub(directory) as house:
        await _say(house, "warm up", "You said: warm up")
        with walk.recorded():
            await _say(house, "hello", "You said: hello")
        hello = walk.passed()
        with walk.recorded():
            house.telegram.user_sends_text(OWNER, "please run: echo one")
            await house.pressed(OWNER, await house.card(OWNER), 0)
            await house.telegram.wait_text(OWNER, "Done:")
            await house.settled_sends()
        return {"hello": hello, "approved shell call": walk.passed()}


async def _say(house: Hub, text: str, answer: str) -> None:
    house.telegram.user_sends_text(OWNER, text)
    await house.telegram.wait_text(OWNER, answer)
    await house.settled_sends()


def main() -> int:
    """Print the counts, and with -v the files; return 1 where one is over its limit."""
    with tempfile.TemporaryDirectory() as directory:
        walks = asyncio.run(walk(Path(directory)))
    over = False
    for name, codes in walks.items():
        files = sorted({code.co_filename.removeprefix(f"{ROOT}/") for code in codes})
        print(f"{name}: {len(files)} files, {len(codes)} functions (limit {LIMITS[name]} files)")
        if "-v" in sys.argv:
            print(*files, sep="\n")
        over |= len(files) > LIMITS[name]
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
