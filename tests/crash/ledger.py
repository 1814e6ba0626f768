"""The units a hub process had begun and finished committing, by id: kept next to it, read after its death.

One JSON object a line: the unit, whether it was about to be committed or had been, and whom it was about.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def entry_of(unit: str, side: str, arguments: Sequence[Any], result: object) -> str | None:
    """The line about a unit's call; None for units nobody asks about. `result`: None on the side "before"."""
    match unit, arguments:
        case "record_reply_and_intents", [_, _, calls]:
            about = {call.call_id: call.arguments for call in calls}
        case "mark_running", [_, call_id, _]:
            about = {call_id: ""} if result is None else {}
        case "finish_calls", [_, results]:
            about = {finished.call_id: "" for finished in results}
        case "record_part_sent", [row_id, posted]:
            about = {str(row_id): str(posted.ref)}
        case (("record_reply_and_intents" | "mark_running" | "finish_calls" | "record_part_sent"), _):
            raise TypeError(f"{unit} is called in another way than this ledger reads")
        case _:
            return None
    return json.dumps({"unit": unit, "side": side, "about": about})


class Ledger:
    """The lines of one process. Between the sides "before" and "after" a commit may or may not be on disk."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._about: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for line in lines:
            entry = json.loads(line)
            self._about[entry["unit"], entry["side"]].update(entry["about"])

    @classmethod
    def read(cls, path: Path) -> "Ledger":
        """A process that died before its first line had committed nothing."""
        return cls(path.read_text().splitlines() if path.exists() else ())

    def begun(self, unit: str) -> dict[str, str]:
        """Whom a commit of the unit was begun for, with what it says of them."""
        return self._about[unit, "before"]

    def done(self, unit: str) -> dict[str, str]:
        """Whom a commit of the unit had returned for."""
        return self._about[unit, "after"]

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of every call, by its id."""
        return self.begun("record_reply_and_intents")

    def was_running(self, call_id: str) -> bool | None:
        """Return whether the call was between its mark and its outcome; None where one of them was under
        way."""
        marked, ended = self.begun("mark_running"), self.begun("finish_calls")
        if call_id not in marked or call_id in self.done("finish_calls"):
            return False
        if call_id not in self.done("mark_running") or call_id in ended:
            return None
        return True
