"""How the file is used: durable settings, and no statement of a turn reads a whole table."""

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

from core.clock import Clock
from core.gates import Option
from core.messages import Address, MessageRef, plain
from core.ports import Posted
from core.store.accept import Admitted, PairingOffered, Stranger, StrangerOutcome, TurnedAway, Verdict
from core.store.accounts import PairingRequest
from core.store.effects import CastVote, CloseGate, Say, SayAtTimes, StopThread
from core.store.lease import Lease
from core.store.sql.store import SqlStore
from core.store.sqlite.connection import ReaderThread, SqliteTransaction
from core.store.sqlite.offline import Listings
from core.store.sqlite.store import SqliteEngine, Writer, open_store
from core.store.units import Policy
from core.transcript import ResultStatus, ToolResult
from tests.contracts.store.bench import ADA, BEN, CHANNEL, SECOND, Bench, CountingIds, Rules, StoppedClock

HOT = re.compile(r"\s*(SELECT|UPDATE|DELETE|INSERT)", re.IGNORECASE)
# The full-text index is searched by its own means, and reads its few settings when it is opened.
NO_TABLE = re.compile(r"VIRTUAL TABLE|CONSTANT ROW|memory_terms_config")


async def heard(path: Path, clock: Clock, ids: CountingIds, statements: set[str]) -> SqlStore:
    """A store that writes down every statement it runs."""

    def begin(connection: sqlite3.Connection) -> SqliteTransaction:
        connection.set_trace_callback(statements.add)
        return SqliteTransaction(connection, clock, ids, Policy())

    writer, reader = Writer(path, begin), Listings(path, clock)
    await writer.open()
    await reader.open()
    return SqlStore(SqliteEngine(writer, ReaderThread(path, begin), reader, Lease()))


async def a_busy_hour(world: Bench) -> None:
    """Everything that happens between a message and its answer."""
    store = world.store
    start = await world.turn()
    await world.say("more")
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    card = (await store.outbox.pending_outbox(CHANNEL))[0]
    await store.outbox.claim_outbox(card.id)
    await store.outbox.record_part_sent(card.id, Posted(MessageRef("1"), "1"), last=True)
    await world.look(gate_id=gate.id)
    await world.rule(CastVote(gate.id, Option.APPROVE), Say(plain("noted")), send_now=True)
    stray = replace(world.press(gate, 0), ref=MessageRef("a copy nobody knew"))
    await store.inbound.accept_event(stray, world.ruling(gate_id=gate.id), send_now=True)
    await world.rule(CloseGate(gate.id, Option.APPROVE, "Approved", plain("settled")))
    await store.turns.mark_running(start.turn_id, call_id, lambda _call, _who, _grants: None)
    await store.turns.finish_calls(start.turn_id, [ToolResult(call_id, ResultStatus.OK, "done")])
    await world.reload(start)
    preview = await store.outbox.begin_preview(start.turn_id, CHANNEL, Address("to room"))
    assert preview is not None
    await store.outbox.begin_preview(start.turn_id, CHANNEL, Address("to room"))
    await store.outbox.post_context(preview.id)
    await store.outbox.record_preview(preview.id, Posted(MessageRef("2"), "2"))
    await store.outbox.preview_shown(preview.id)
    following = await world.finish(start, "answer", world.draft(), send_now=True)
    assert following is not None
    await world.ask(following, *await world.call(following))
    await store.gates.expire_gates(
        world.clock.now() + 7_200 * SECOND, lambda _: "Expired", lambda _: plain("expired")
    )
    await world.rule(StopThread("Stopped"))
    for row in await store.outbox.pending_outbox(CHANNEL):
        await store.outbox.claim_outbox(row.id)
        await store.outbox.mark_ambiguous(row.id, "no answer")
        await store.outbox.retry_outbox(row.id, not_before=0, reason="429")
        await store.outbox.fail_outbox(row.id, "gone")
        await store.outbox.sent_refs(row.id)
    await store.memory.write_memory("ada", "k", "tea at five")
    await store.memory.search_memory("ada", "tea", 5)
    await store.memory.search_memory("ada", "", 5)


def scans(path: Path, statements: set[str]) -> list[str]:
    """The statements that read a table, or an index, from end to end."""
    connection = sqlite3.connect(path)
    found: list[str] = []
    for statement in sorted(statements):
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        read = [step for step in plan if step.startswith("SCAN") and not NO_TABLE.search(step)]
        found += [f"{step}: {statement}" for step in read]
    connection.close()
    return found


async def test_no_statement_of_a_turn_reads_a_whole_table(tmp_path: Path) -> None:
    path, clock, ids, statements = tmp_path / "hub.db", StoppedClock(), CountingIds(), set[str]()
    store = await heard(path, clock, ids, statements)
    await store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    await a_busy_hour(Bench(store, clock, ids))
    await store.close()
    hot = {statement for statement in statements if HOT.match(statement)}
    assert len(hot) > 60
    assert scans(path, hot) == []
    assert len(scans(path, {"SELECT * FROM inbox", "SELECT * FROM runs WHERE error = 'x'"})) == 2


async def a_crowd_at_the_door(world: Bench) -> None:
    """Return what strangers and limited people cost; codes are compared with all there are, which is
    meant."""
    now = world.clock.now()
    event = world.message(by=BEN)
    request = PairingRequest("r", "CODE", CHANNEL, event.sender, event.address, now, now + 60 * SECOND)
    met: list[StrangerOutcome] = [
        PairingOffered("refused: not paired", request, plain("a code")),
        TurnedAway("refused: not paired", plain("why")),
        TurnedAway("refused: unknown code", plain("no"), again_after_us=0, wrong_code=True),
        TurnedAway("refused: too many messages", noise=True),
    ]
    for one in met:
        rules = Rules(
            lambda _event, _who, one=one: Stranger(lambda _view: one), lambda _e, _v: Verdict("never")
        )
        await world.store.inbound.accept_event(world.message(by=BEN), rules, send_now=False)
    limited = Rules(
        lambda _event, _who: Admitted(BEN, "paired", limited=True),
        lambda _event, _view: Verdict("refused", (SayAtTimes(plain("slower"), "fast", SECOND),)),
    )
    await world.store.inbound.accept_event(world.message(by=BEN), limited, send_now=False)


async def test_no_statement_of_accepting_an_event_reads_a_whole_table(tmp_path: Path) -> None:
    path, clock, ids, statements = tmp_path / "hub.db", StoppedClock(), CountingIds(), set[str]()
    store = await heard(path, clock, ids, statements)
    await a_crowd_at_the_door(Bench(store, clock, ids))
    await store.close()
    hot = {statement for statement in statements if HOT.match(statement)}
    assert len(hot) > 15
    assert scans(path, hot) == []


async def test_the_connection_that_writes_is_durable(tmp_path: Path) -> None:
    store = await heard(tmp_path / "hub.db", StoppedClock(), CountingIds(), set())
    await store.close()

    def begin(connection: sqlite3.Connection) -> SqliteTransaction:
        return SqliteTransaction(connection, StoppedClock(), CountingIds(), Policy())

    writer = Writer(tmp_path / "hub.db", begin)
    await writer.open()
    settings = {
        name: await writer.run(lambda tx, name=name: tx.one(f"PRAGMA {name}"))
        for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    await writer.close()
    assert settings == {"journal_mode": ("wal",), "synchronous": (2,), "foreign_keys": (1,)}


async def test_the_past_is_loaded_in_whole_turns_up_to_the_limit(tmp_path: Path) -> None:
    clock, ids = StoppedClock(), CountingIds()
    store = await open_store(tmp_path / "hub.db", clock, ids, history_limit_chars=36)
    world = Bench(store, clock, ids)
    for number in range(5):
        await world.finish(await world.turn(f"question {number}"), f"answer {number}")
    start = await world.turn("question 5")
    entries = (await store.turns.load_turn(start)).entries
    await store.close()
    # From the end: 10, 8 + 10, 8 + 10 characters. With the third turn they are more than 36.
    assert [entry.seq for entry in entries] == [7, 8, 9, 10, 11]
