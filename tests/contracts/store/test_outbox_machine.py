"""The outbox against a model of it, in any order of events, with new starts of the hub in between."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from core.messages import MessageRef
from core.ports import OutboxRow, Posted, SendState
from core.store.port import Store
from core.store.sqlite.store import open_store
from tests.contracts.store.bench import CHANNEL, Bench, CountingIds, StoppedClock
from tests.contracts.store.conftest import in_memory
from tests.databases import lay_database

T = TypeVar("T")


@dataclass
class Expected:
    """The expected state of a row."""

    state: SendState = SendState.QUEUED
    refs: list[str] = field(default_factory=list)
    attempts: int = 0
    repeats: int = 0
    settled: bool = False


class OutboxMachine(RuleBasedStateMachine):
    rows: Bundle[int] = Bundle("rows")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(dir=in_memory())
        self.runner = asyncio.Runner()
        self.clock, self.ids = StoppedClock(), CountingIds()
        self.store: Store = self.run(
            open_store(lay_database(Path(self.directory.name) / "hub.db"), self.clock, self.ids)
        )
        self.expected: dict[int, Expected] = {}
        self.parts = 0

    def run(self, unit: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(unit)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        self.directory.cleanup()

    @rule(target=rows)
    def put_out(self) -> int:
        row = self.run(Bench(self.store, self.clock, self.ids).put_out())
        self.expected[row.id] = Expected()
        return row.id

    @rule(row_id=rows)
    def claim(self, row_id: int) -> None:
        row = self.run(self.store.outbox.claim_outbox(row_id))
        expected = self.expected[row_id]
        if not expected.settled and expected.state is not SendState.SENDING:
            expected.repeats += expected.state is SendState.AMBIGUOUS
            expected.attempts += 1
            expected.state = SendState.SENDING
        self.compare(row)

    @rule(row_id=rows, last=st.booleans())
    def part_sent(self, row_id: int, *, last: bool) -> None:
        expected = self.expected[row_id]
        if expected.state is not SendState.SENDING:
            return
        self.parts += 1
        posted = Posted(MessageRef(f"ref {self.parts}"), str(self.parts))
        self.run(self.store.outbox.record_part_sent(row_id, posted, last=last))
        expected.refs.append(posted.ref)
        if last:
            expected.state, expected.settled = SendState.SENT, True

    @rule(row_id=rows)
    def retry(self, row_id: int) -> None:
        self.run(self.store.outbox.retry_outbox(row_id, not_before=0, reason="429"))
        expected = self.expected[row_id]
        if not expected.settled:
            expected.state = SendState.QUEUED

    @rule(row_id=rows)
    def unanswered(self, row_id: int) -> None:
        row = self.run(self.store.outbox.mark_ambiguous(row_id, "no answer"))
        self.expect_ambiguous(self.expected[row_id])
        self.compare(row)

    @rule(row_id=consumes(rows))
    def fail(self, row_id: int) -> None:
        self.run(self.store.outbox.fail_outbox(row_id, "blocked"))
        expected = self.expected[row_id]
        if not expected.settled:
            expected.state, expected.settled = SendState.FAILED, True

    @rule()
    def start_again(self) -> None:
        self.run(self.store.recovery.recover())
        for expected in self.expected.values():
            if expected.state is SendState.SENDING:
                self.expect_ambiguous(expected)

    @invariant()
    def pending_is_what_is_not_settled(self) -> None:
        pending = self.run(self.store.outbox.pending_outbox(CHANNEL))
        assert [row.id for row in pending] == [
            row_id for row_id, expected in self.expected.items() if not expected.settled
        ]
        for row in pending:
            self.compare(row)

    @staticmethod
    def expect_ambiguous(expected: Expected) -> None:
        if not expected.settled:
            expected.state = SendState.AMBIGUOUS
            expected.settled = expected.repeats >= 1

    def compare(self, row: OutboxRow) -> None:
        expected = self.expected[row.id]
        assert (row.state, list(row.refs), row.attempts, row.repeats) == (
            expected.state,
            expected.refs,
            expected.attempts,
            expected.repeats,
        )


TestOutboxMachine = OutboxMachine.TestCase
TestOutboxMachine.settings = settings(
    max_examples=max(12, settings().max_examples // 4), stateful_step_count=30
)
