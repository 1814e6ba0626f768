"""Makes tests/payloads/store/sqlite-NNNN.db.gz: a small database of the current schema, with all tables used.

    python -m tests.payloads.make_store_database

Run for each new schema until it is released; databases of older schemas are never made again.
"""

import asyncio
import gzip
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

from core.approvals import ApprovalSettings, Preset
from core.extension import Extension
from core.gates import Chose, GateKind, Grant, GrantScope, Option, Replies, ToolSetting, Wrote
from core.messages import Address, Attachment, MessageRef, Unreadable, plain
from core.ports import Posted
from core.routine import RunStatus
from core.store.accept import AccountLinked, PairingOffered, Stranger, StrangerOutcome, TurnedAway, Verdict
from core.store.accounts import CODE_LIFE_US, LinkOffer, PairingApproved, PairingRequest
from core.store.effects import CastVote, CloseGate, NoteWrongCode, OfferLink, QueueInput, RecordGrant, Say
from core.store.facets import NoticeAddress, SealedSecret
from core.store.port import KeyKind
from core.store.routine_rows import BudgetDay, NewRun, RoutineText, RunEnd
from core.store.rows import NewCall, TurnStart
from core.store.sqlite.maintenance import current_schema
from core.store.sqlite.store import open_store
from core.tool import Effect, use_limits
from core.transcript import AssistantSaid, Note, ResultStatus, ToolResult, UserSaid
from core.usage import Usage
from core.users import Account, Principal, Role, Via
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench, CountingIds, Rules, StoppedClock

NOTICE = "The report is ready."
TOGETHER = "May I run these 2 calls?"
COLOURED = plain("A colour was chosen.")
DIRECTORY = Path(__file__).parent / "store"


async def fill(world: Bench) -> None:
    """A week of a small hub: an answered turn, one that waits for a person, one that was cut short."""
    await _refused(world)
    answered = await world.turn("what time is it", direct=False)
    (call_id,) = await world.call(answered, "time")
    await world.store.turns.finish_calls(answered.turn_id, [ToolResult(call_id, ResultStatus.OK, "noon")])
    await world.store.turns.record_notes(answered.turn_id, [Note("be brief")])
    await world.finish(answered, "It is noon.", world.draft("It is noon."))
    row = (await world.store.outbox.pending_outbox(CHANNEL))[-1]
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.record_part_sent(row.id, Posted(MessageRef("101"), "101"), last=True)

    waiting = await world.turn("delete it", scope="ops", by=BEN)
    (call_id,) = await world.call(waiting, "shell")
    gate = await world.ask(waiting, call_id)
    await world.say("and hurry", scope="ops", by=BEN)
    grant = Grant("grant-1", "ada", "shell", "ls *", GrantScope.USER, None, "ada", world.clock.now())
    await world.rule(CastVote(gate.id, Option.APPROVE), RecordGrant(grant), Say(plain("One more.")))

    cut_short = await world.turn("run it", scope="later")
    (call_id,) = await world.call(cut_short, "shell")
    limits = use_limits(per_minute=1, per_hour=9)
    await world.store.turns.mark_running(
        cut_short.turn_id, call_id, lambda _call, _who, _said: None, limits=limits
    )
    unknown = world.gate(cut_short, call_id, GateKind.UNKNOWN_OUTCOME, (Option.HAPPENED,))
    await world.store.recovery.mark_unknown(call_id, unknown, [world.card(unknown)])
    await world.rule(CloseGate(unknown.id, Option.HAPPENED, "It happened.", plain("settled")))
    await world.store.memory.write_memory("ada", "note-1", "部署服务器在周五 deploy on Friday")
    await world.store.memory.write_document("ada", "doc-1", "plans/garden", "beans", append=False, most=9)
    await world.store.kill_switch.pause_tools("ada", paused=True)
    extension = Extension("files", "ada", ("files-server", "/srv"), secrets={"TOKEN": "token"}, enabled=False)
    await world.store.extensions.put_extension(extension, "ada")
    await world.store.people.count_model_call("ada", "2026-01-02", 50)
    await world.store.audit.link_audit(100)
    await world.store.consents.set_tool_setting("ada", "shell", ToolSetting.DISABLED)
    await world.store.consents.set_person_approvals("ada", ApprovalSettings(Preset.WHITELIST))
    await world.store.people.set_preferences("ada", lambda was: replace(was, timezone="Asia/Tokyo"))
    asked = ApprovalSettings(Preset.MANUAL, max_rounds=3, loop_timeout_s=60)
    await world.store.consents.set_thread_approvals(answered.thread.id, asked)
    await world.store.secrets.set_secrets([SealedSecret("token", "key-1", b"sealed", world.clock.now())])
    await _read_along(world)
    await _part_of_an_album(world)
    await _questions(world)
    await _asked_together(world)
    await _asked_to_be_let_in(world)
    await _routine(world)
    await _told_of_its_own_accord(world)


async def _routine(world: Bench) -> None:
    """It ran once and has something to tell."""
    hourly = RoutineText("hourly", "cron", '{"name": "hourly"}', 0, next_slot_at=world.clock.now())
    row = await world.store.routines.save_routine("routine-1", "ada", hourly, None)
    assert row is not None
    run = NewRun("run-1", row.id, "slot:1", "cron", '{"by": "slot", "slot_at": 1}', world.clock.now())
    await world.store.runs.claim_run(run)
    now = world.clock.now()
    await world.store.runs.begin_runs(most=1, day=BudgetDay(now, lambda _, why, _zone: (why, now)))
    await world.store.journal.open_run_journal("run-1", '{"tools": ["shell"]}', UserSaid("Look around."))
    intent = NewCall("call-1", "shell", "{}", Effect.EFFECT, 1)
    await world.store.turns.record_reply_and_intents("run-1", AssistantSaid("I look."), [intent])
    await world.used("run-1", Usage(10, 2), row.id)
    await world.store.turns.mark_running("run-1", "call-1", lambda _call, _who, _said: None)
    told = RunEnd(RunStatus.ATTENTION, "look", notice="look", menu_id="menu-1", tested_as="f")
    await world.store.runs.finish_run("run-1", told)


async def _told_of_its_own_accord(world: Bench) -> None:
    """A notice was refused at the first place, and waits at the second."""
    places = [NoticeAddress(CHANNEL, Address("to nowhere")), NoticeAddress(CHANNEL, Address("to somewhere"))]
    (row,) = await world.store.notices.add_notice("report", plain(NOTICE), places)
    await world.store.held.judge_outbound(row.id, plain(NOTICE))
    await world.store.held.session_changes(1_000_000)
    await world.store.outbox.fail_outbox(row.id, "there is no such place")


async def _questions(world: Bench) -> None:
    """One was answered in words, the next is open."""
    asking = await world.turn("paint it", scope="asking")
    first, second = await world.call(asking, "ask_user", "ask_user", effect=Effect.NONE)
    await world.rule(
        CloseGate(await _question(world, asking, first), Wrote("like the sea"), "Ada answered", COLOURED)
    )
    await world.store.turns.finish_calls(asking.turn_id, [ToolResult(first, ResultStatus.OK, "like the sea")])
    await world.rule(CastVote(await _question(world, asking, second), Chose(1, "dark green")))
    confiding = await world.turn("read the sensors", scope="confiding")
    (call_id,) = await world.call(confiding, "tool_auth", effect=Effect.NONE)
    wanted = Replies(("Cancel",), free_text=True, secret="garden")
    gate = world.gate(confiding, call_id, GateKind.QUESTION, replies=wanted)
    gate = replace(gate, title="Which colour?")
    await world.store.turns.ask_person(gate, [world.card(gate)])


async def _asked_together(world: Bench) -> None:
    """Two calls of one reply were denied on one card."""
    start = await world.turn("tidy up", scope="together")
    calls = await world.call(start, "shell", "http")
    gate = replace(world.joint(start, calls), title=TOGETHER)
    await world.store.turns.ask_person(gate, [world.card(gate)])
    await world.rule(CloseGate(gate.id, Option.DENY, "Denied by Ada", plain(TOGETHER)))
    denied = [ToolResult(call_id, ResultStatus.DENIED, "no") for call_id in calls]
    await world.store.turns.finish_calls(start.turn_id, denied)
    await world.finish(start, "Then not.")


async def _question(world: Bench, asking: TurnStart, call_id: str) -> str:
    replies = Replies(("red", "dark green"), free_text=True)
    gate = replace(world.gate(asking, call_id, GateKind.QUESTION, replies=replies), title="Which colour?")
    await world.store.turns.ask_person(gate, [world.card(gate)])
    return gate.id


async def _read_along(world: Bench) -> None:
    """A browser was logged in, and the owner answered in the assistant's place."""
    thread = (await world.store.threads.threads(1))[0]
    await world.store.keys.keep_key("hash", KeyKind.SESSION, "ada", world.clock.now() + 1_000_000)
    said = world.message("I will see to it", scope="console")
    await world.store.inbound.answer_as_operator(said, ADA, thread.id, plain("I will see to it"))


async def _part_of_an_album(world: Bench) -> None:
    """In a group, waiting for the rest."""
    file = Attachment("handle", "a.jpg", "image/jpeg", 3, 4)
    message = replace(
        world.message("look", scope="album", direct=False), attachments=(file,), album="album-1"
    )
    waiting = QueueInput(world.ids.row_id(), world.ids.row_id(), wait_us=1_000_000)
    await world.store.inbound.accept_event(
        replace(message, ref=MessageRef("album:1")), world.ruling(waiting, outcome="waiting"), send_now=False
    )


async def _refused(world: Bench) -> None:
    for noise in (True, False):
        refusal = TurnedAway("refused: not let in", plain("Not paired."), noise=noise)
        rules = Rules(lambda _event, _who, refusal=refusal: refusal, lambda _event, _view: Verdict("never"))
        await world.store.inbound.accept_event(world.message(by=BEN), rules, send_now=False)
    broken = Unreadable("chat:broken", CHANNEL, "no text", world.clock.now())
    await world.store.inbound.accept_event(broken, world.queueing(ADA), send_now=False)


async def _asked_to_be_let_in(world: Bench) -> None:
    """One who was let in, one who waits, a code for another account that was used, and a wrong one."""
    for name in ("cleo", "dan"):
        stranger = Principal(name, Role.MEMBER, name.title())
        event, now = world.message(by=stranger, scope=name), world.clock.now()
        life = (now, now + CODE_LIFE_US)
        request = PairingRequest(name, f"CODE{name}", CHANNEL, event.sender, event.address, *life)
        knock = PairingOffered("refused: not paired", request, plain("a code"))
        await world.store.inbound.accept_event(event, _meeting(knock), send_now=False)
        if name == "cleo":
            granted = PairingApproved(request, stranger, "ada", plain("You are in."))
            await world.store.people.settle_pairing(None, "desk", lambda _view, granted=granted: granted)
    await world.rule(OfferLink("ABCDEFGH", world.clock.now() + CODE_LIFE_US), NoteWrongCode())
    root = Account(CHANNEL, "ada", Via.CONFIG)
    offer = LinkOffer("ABCDEFGH", ADA, root, CHANNEL, Address("to room"), world.clock.now() + CODE_LIFE_US)
    second = world.message(by=Principal("ada too", Role.OWNER, "Ada"), scope="second")
    await world.store.inbound.accept_event(
        second, _meeting(AccountLinked("linked", offer, plain("welcome"), plain("used"))), send_now=False
    )


def _meeting(met: StrangerOutcome) -> Rules:
    return Rules(lambda _event, _who: Stranger(lambda _view: met), lambda _event, _view: Verdict("never"))


async def make(path: Path) -> None:
    """A database with all of that."""
    clock, ids = StoppedClock(), CountingIds()
    store = await open_store(path, clock, ids)
    try:
        await fill(Bench(store, clock, ids))
    finally:
        await store.close()


def main() -> None:
    """Write the file of the current schema."""
    with tempfile.TemporaryDirectory() as place:
        path, compact = Path(place) / "hub.db", Path(place) / "compact.db"
        asyncio.run(make(path))
        connection = sqlite3.connect(path)
        connection.execute("INSERT INTO probe VALUES (1, 0, x'00')")
        connection.commit()
        connection.execute("VACUUM INTO ?", (str(compact),))
        connection.close()
        DIRECTORY.mkdir(exist_ok=True)
        target = DIRECTORY / f"sqlite-{current_schema().version:04}.db.gz"
        target.write_bytes(gzip.compress(compact.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
