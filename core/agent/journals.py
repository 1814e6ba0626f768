"""The transcripts of lately active threads, kept in memory so that a new turn needs no reading of history.

The journal in the store is the truth. A transcript is used only if the turn's inputs follow right on it:
positions are never reused, so anything journalled behind its back leaves a gap, and then it is read anew.
"""

from collections import OrderedDict
from collections.abc import Sequence

from core.store.rows import LoadedTurn, TurnStart
from core.transcript import Entry, total_chars

THREAD_LIMIT_CHARS = 250_000
"""Longer ones are read for each turn: beside their model calls that is nothing."""
TOTAL_LIMIT_CHARS = 4_000_000


class Journals:
    """Transcripts by thread; the ones used longest ago are dropped first."""

    def __init__(self, total_limit_chars: int = TOTAL_LIMIT_CHARS) -> None:
        self._total_limit_chars = total_limit_chars
        self._kept: OrderedDict[str, tuple[int, tuple[Entry, ...]]] = OrderedDict()
        self._size_chars = 0

    def take(self, start: TurnStart) -> LoadedTurn | None:
        """The new turn on the transcript kept for its thread; None if the store must be asked.

        What is taken is no longer kept: the turn hands it back when it ended with an answer.
        """
        size_chars, entries = self._kept.pop(start.thread.id, (0, ()))
        self._size_chars -= size_chars
        known_to_seq = entries[-1].seq if entries else 0
        if start.resumed or not start.inputs or start.inputs[0].seq != known_to_seq + 1:
            return None
        return LoadedTurn(
            start, (*entries, *start.inputs), (), spent_us=0, rounds=0, tools_run=0, continued=None
        )

    def keep(self, thread_id: str, entries: Sequence[Entry]) -> None:
        """Keep a thread's whole transcript as it is in the store: since its newest summary, or its start."""
        size_chars = total_chars(entries)
        if not entries or size_chars > THREAD_LIMIT_CHARS:
            return
        before, _ = self._kept.pop(thread_id, (0, ()))
        self._kept[thread_id] = (size_chars, tuple(entries))
        self._size_chars += size_chars - before
        while self._size_chars > self._total_limit_chars:
            _, (dropped_chars, _) = self._kept.popitem(last=False)
            self._size_chars -= dropped_chars
