"""What a hub says became of every message: `hubbub why --json`, asked of the data it left or works on."""

import asyncio
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.nursery import Nursery


@dataclass(slots=True)
class Accounts:
    """Asks about the hub whose configuration lies in `directory`; a question may take `limit_s`."""

    nursery: Nursery
    directory: Path
    limit_s: float
    _asked: Iterator[int] = field(default_factory=itertools.count)

    async def why(self) -> list[dict[str, Any]]:
        """Every event, with its deliveries."""
        output = self.directory / f"why-{next(self._asked)}"
        words = ("why", "--json", "--limit", "1000", "--config", str(self.directory / "hubbub.toml"))
        process = await self.nursery.command(words, output)
        await process.wait(self.limit_s)
        assert await self.nursery.exit_code(process) == 0, output.read_text()
        return json.loads(output.read_text())["events"]

    async def settled(self) -> list[dict[str, Any]]:
        """The same, once the hub has nothing left to send. Raises TimeoutError."""
        async with asyncio.timeout(self.limit_s):
            while True:
                events = await self.why()
                if not any(map(_unsettled, (row for event in events for row in event["deliveries"]))):
                    return events


def _unsettled(delivery: Mapping[str, Any]) -> bool:
    """Whether something is still to be done about it; an ambiguous one is repeated once."""
    return delivery["state"] in {"queued", "sending"} or (
        delivery["state"] == "ambiguous" and delivery["repeats"] == 0
    )
