"""How many inbound events a second the SQLite store takes, each on disk before its caller hears of it.

    python -m benchmarks.store [--callers 64] [--conversations 1000] [--rounds 5] [--directory DIR] [--json F]

Gate: at least 5,000 messages a second of known people, both where each starts a turn and where each waits
behind one. Exits 1 below it. Every round measures on one database; figures are medians over rounds. The
directory must be on a real disk: on a file system in memory, syncing costs nothing.
"""

import argparse
import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from core.clock import SystemClock
from core.ids import RandomIds
from core.messages import Address, InboundEvent, InboundMessage, Sender, plain
from core.store.accept import AcceptView, Admission, Admitted, Verdict
from core.store.effects import QueueInput
from core.store.rows import Draft, TurnStart, TurnState
from core.store.sql.store import SqlStore
from core.store.sqlite.store import open_store
from core.transcript import AssistantSaid
from core.users import Identity, Principal, Role

GATE_PER_S = 5_000
GATED = ("starts a turn", "waits behind a turn")
TEXT = "Could you please look at the build of this morning? It failed after the second step. " * 3


@dataclass(frozen=True, slots=True)
class Figures:
    """One kind of event in one run. `cpu_us`: of the whole process, for each event."""

    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


class QueueingJudge:
    """Lets everybody in; everything is input of its thread."""

    gate_id = None
    routine_ids = ()

    def __init__(self, ids: RandomIds) -> None:
        self._ids = ids

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        if identity is not None:
            return Admitted(identity.user, identity.via)
        assert isinstance(event, InboundMessage)
        name = event.sender.platform_user_id
        return Admitted(Principal(name, Role.MEMBER, name), "open")

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        thread_id = self._ids.row_id() if view.thread is None else view.thread.id
        return Verdict("waiting", (QueueInput(thread_id, self._ids.row_id()),))


class Bench:
    """One database and the people who write to it."""

    def __init__(self, store: SqlStore, callers: int, conversations: int) -> None:
        self._store = store
        self._callers = callers
        self._conversations = conversations
        self._ids = RandomIds()
        self._judge = QueueingJudge(self._ids)
        self._clock = SystemClock()
        self._sent = 0

    def events(self) -> list[InboundMessage]:
        """One new message of every conversation."""
        return [self._event(number) for number in range(self._conversations)]

    def _event(self, conversation: int) -> InboundMessage:
        self._sent += 1
        person = f"person-{conversation}"
        return InboundMessage(
            key=f"chat:bench:m:{conversation}:{self._sent}",
            order_key=f"{self._sent:016}",
            channel="chat",
            address=Address(f"chat:{conversation}"),
            scope=str(conversation),
            sender=Sender(person, person),
            text=TEXT,
            sent_at=self._clock.now(),
        )

    async def accept(self, events: Sequence[InboundMessage]) -> tuple[Figures, list[TurnStart]]:
        """Hand in events from all callers; returns the turns they started."""
        started: list[TurnStart] = []

        async def one(event: InboundMessage) -> None:
            accepted = await self._store.inbound.accept_event(event, self._judge, send_now=True)
            if accepted.started is not None:
                started.append(accepted.started)

        figures = await self._measure([lambda event=event: one(event) for event in events])
        return figures, started

    async def finish(self, starts: Sequence[TurnStart]) -> tuple[Figures, list[TurnStart]]:
        """End turns with an answer; returns the turns that follow."""
        following: list[TurnStart] = []

        async def one(start: TurnStart) -> None:
            thread = start.thread
            answer = Draft(thread.channel, thread.address, plain(TEXT), self._ids.row_id())
            done = await self._store.turns.finish_turn_and_enqueue(
                start.turn_id,
                TurnState.DONE,
                AssistantSaid(TEXT),
                [answer],
                next_turn_id=self._ids.row_id(),
                send_now=True,
            )
            if done.next is not None:
                following.append(done.next)

        figures = await self._measure([lambda start=start: one(start) for start in starts])
        return figures, following

    async def _measure(self, units: Sequence[Callable[[], Awaitable[None]]]) -> Figures:
        waits_ms: list[float] = []
        left: Iterator[Callable[[], Awaitable[None]]] = iter(units)

        async def caller() -> None:
            for unit in left:
                began = time.perf_counter()
                await unit()
                waits_ms.append((time.perf_counter() - began) * 1e3)

        cpu_s, began = _cpu_s(), time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(self._callers)))
        took_s, cpu_s = time.perf_counter() - began, _cpu_s() - cpu_s
        cuts = statistics.quantiles(waits_ms, n=100)
        return Figures(len(units) / took_s, cuts[49], cuts[98], cpu_s / len(units) * 1e6)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def run(directory: Path | None, callers: int, conversations: int, rounds: int) -> dict[str, Figures]:
    """Medians over rounds, by kind of event; people's very first messages are measured once."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        store = await open_store(Path(place) / "hub.db", SystemClock(), RandomIds())
        try:
            bench = Bench(store, callers, conversations)
            first, starts = await bench.accept(bench.events())
            taken: dict[str, list[Figures]] = {"is somebody's first": [first]}
            for _ in range(rounds):
                await _round(bench, starts, taken)
                starts = []
        finally:
            await store.close()
    return {name: _median(figures) for name, figures in taken.items()}


async def _round(bench: Bench, active: list[TurnStart], taken: dict[str, list[Figures]]) -> None:
    while active:
        _, active = await bench.finish(active)
    starting = bench.events()
    figures, starts = await bench.accept(starting)
    assert len(starts) == len(starting), "every conversation was idle"
    taken.setdefault("starts a turn", []).append(figures)
    figures, none = await bench.accept(bench.events())
    assert not none, "every conversation had a turn"
    taken.setdefault("waits behind a turn", []).append(figures)
    figures, none = await bench.accept(starting)
    assert not none, "every event was known"
    taken.setdefault("was seen before", []).append(figures)
    figures, following = await bench.finish(starts)
    taken.setdefault("(a turn ends, the next begins)", []).append(figures)
    figures, _ = await bench.finish(following)
    taken.setdefault("(a turn ends)", []).append(figures)


def _median(figures: Sequence[Figures]) -> Figures:
    return Figures(
        statistics.median(one.per_s for one in figures),
        statistics.median(one.p50_ms for one in figures),
        statistics.median(one.p99_ms for one in figures),
        statistics.median(one.cpu_us for one in figures),
    )


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    medians = asyncio.run(run(options.directory, options.callers, options.conversations, options.rounds))
    print(f"{'a message that':32} {'per s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>8}")
    for name, one in medians.items():
        print(f"{name:32} {one.per_s:8.0f} {one.p50_ms:8.1f} {one.p99_ms:8.1f} {one.cpu_us:8.0f}")
    missed = [name for name in GATED if medians[name].per_s < GATE_PER_S]
    if options.json:
        written = {"figures": {name: asdict(one) for name, one in medians.items()}, "missed": missed}
        options.json.write_text(json.dumps(written, indent=2) + "\n")
    print(f"gate of {GATE_PER_S}/s: {'missed where a message ' + ', '.join(missed) if missed else 'reached'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
