"""A conversation in any order of everything people and crashes can do to it.

What a model is asked is judged as bytes: it is what a provider takes, and the same wherever the conversation
is the same."""

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.errors import StaleTurn
from core.events import RunKind
from core.gates import ConsentSettings, Gate, GateKind, Option, Options
from core.messages import Address, WhileBusy, plain
from core.model.base import ModelRequest
from core.model.openai import Dialect, RequestTexts
from core.runs.actors import AlbumCollector, ThreadActors
from core.runs.approval_requests import unknown
from core.runs.context import NO_LIMIT, build_window
from core.runs.recovery import ChatTurns, RunRecovery
from core.runs.runner import Journals
from core.store.accept import Accepted
from core.store.port import Turns
from core.store.rows import CallRow, Draft, LoadedTurn, NewCall, TurnStart, TurnState
from core.store.sqlite.maintenance import check
from core.store.sqlite.store import open_store
from core.tool import Effect, ProcessInfo
from core.transcript import (
    AssistantSaid,
    Entry,
    ResultStatus,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)
from core.users import Principal
from tests.contracts.store.conftest import in_memory
from tests.core.inbound.front import CHANNEL, Front
from tests.core.inbound.test_answers import CHOICES, question
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model.openai_messages import Conversation

T = TypeVar("T")
ME = "o"
CHECKPOINTS = 20
BUSY = "refused: busy"
MINUTE_US = 60_000_000
SETTLING = (Option.HAPPENED, Option.RETRY, Option.SKIP)
"""What a person may say of a call that nobody knows the outcome of, as the card has it."""
RULES = (
    "message",
    "approve",
    "deny",
    "stop",
    "undo",
    "redo",
    "retry",
    "compact",
    "clear",
    "steer",
    "interrupt",
    "crash",
    "die",
    "restart",
    "again",
)
FULL = 1000
EXAMPLES = FULL if settings().max_examples == FULL else max(10, settings().max_examples // 5)
"""In the full profile there are enough for every pair of rules."""
PAIRS = Counter[tuple[str, str]]()
"""How often each rule followed each other one."""


@dataclass
class Turn:
    """A turn of the conversation, with the entries that an undo of it takes away."""

    start: TurnStart
    entries: list[Entry] = field(default_factory=list[Entry])

    @property
    def inputs(self) -> list[Said]:
        """What the turn began with."""
        first = next((at for at, one in enumerate(self.entries) if not isinstance(one.said, UserSaid)), None)
        return [one.said for one in self.entries[:first]]


def may_run(call: CallRow, principal: Principal, standing: ConsentSettings) -> None:
    """Let a call run: the gate alone decides here."""
    del call, principal, standing


async def none_left(process: ProcessInfo, call_id: str) -> bool:
    """Find no process of a call that outlived its hub."""
    del process, call_id
    return False


class Started:
    """The turns that a recovery gives to their actors."""

    def __init__(self) -> None:
        self.turns: list[TurnStart] = []

    def start(self, start: TurnStart) -> None:
        self.turns.append(start)


class ConversationMachine(RuleBasedStateMachine):
    """`live`: the turns of the conversation; `undone`: what each undo took, the newest last; `summaries`:
    with the turns that each covers; `ran`: how often each call with an effect ran; `allowed`: may have."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(dir=in_memory())
        self.path = Path(self.directory.name) / "hub.db"
        self.runner = asyncio.Runner()
        self.front: Front = self.run(Front.open(Path(self.directory.name)))
        self.live: list[Turn] = []
        self.undone: list[list[Turn]] = []
        self.summaries: list[tuple[Entry, list[Turn]]] = []
        self.checkpoints = self.answers = self.said = 0
        self.asked: dict[str, bytes] = {}
        self.ran = Counter[str]()
        self.allowed = Counter[str]()
        self.thread_id = ""
        self.before = ""
        self.begin()

    def run(self, unit: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(unit)

    def begin(self) -> None:
        self.journals, self.texts = Journals(), RequestTexts(model="m", host="h")

    def teardown(self) -> None:
        self.run(self.front.store.close())
        assert check(self.path).problems == ()
        self.runner.close()
        self.directory.cleanup()

    def came(self, name: str) -> None:
        PAIRS[self.before, name] += 1
        self.before = name

    # --- the conversation as it should be ----------------------------------------------------------------

    def is_live(self, summary: Entry, covered: list[Turn]) -> bool:
        return all(turn in self.live for turn in covered)

    def everything(self) -> list[Said]:
        """All live entries, in order."""
        spoken = [entry for turn in self.live for entry in turn.entries]
        spoken += [one for one, covered in self.summaries if self.is_live(one, covered)]
        return [entry.said for entry in sorted(spoken, key=lambda entry: entry.seq)]

    def context(self) -> list[Said]:
        """What a model is shown of it: the newest live summary, and the turns that it doesn't cover."""
        live = [(one, covered) for one, covered in self.summaries if self.is_live(one, covered)]
        summary, covered = live[-1] if live else (None, [])
        rest = [entry.said for turn in self.live if turn not in covered for entry in turn.entries]
        return ([summary.said] if summary is not None else []) + rest

    # --- a hub's part ----------------------------------------------------------------------------------

    def request(self, entries: list[Entry]) -> None:
        conversation = build_window(entries, NO_LIMIT, "UTC").said
        raw = self.texts.encoded(ModelRequest("You are a bot.", conversation), Dialect())
        messages = json.loads(raw)["messages"]
        Conversation().read(messages)  # raises what a provider refuses
        assert [message["role"] for message in messages].count("system") == 1
        same = repr([(entry.said, entry.at // MINUTE_US) for entry in entries])
        assert self.asked.setdefault(same, raw) == raw

    def started(self, accepted: Accepted) -> TurnStart:
        assert accepted.started is not None
        self.thread_id = accepted.started.thread.id
        self.undone.clear()
        return accepted.started

    def opened(self, start: TurnStart, *, cached: bool = True) -> "Working":
        """A turn at its first model call: shown is exactly what is live, and its input."""
        loaded = self.journals.take(start) if cached else None
        loaded = loaded or self.run(self.front.store.turns.load_turn(start))
        known = self.context()
        assert [entry.said for entry in loaded.entries[: len(known)]] == known
        work = Working(self, start, loaded, len(known))
        self.request(work.entries)
        return work

    def turn(self, start: TurnStart, *, calls: bool = False, cached: bool = True) -> None:
        work = self.opened(start, cached=cached)
        if calls:
            work.calls()
        work.answers()

    def says(self, text: str, while_busy: WhileBusy | None = None) -> Accepted:
        return self.run(self.front.says(ME, text, while_busy=while_busy))

    def new_turn(self, text: str) -> TurnStart:
        start = self.started(self.says(text))
        self.checkpoints = min(CHECKPOINTS, self.checkpoints + 1)
        return start

    def crashes(self, turn_id: str) -> TurnStart:
        """The hub dies while a turn runs, and the next one goes on with it."""
        (resumed,) = self.recovers()
        assert resumed.turn_id == turn_id
        assert self.journals.take(resumed) is None
        return resumed

    def recovers(self) -> list[TurnStart]:
        """The hub dies, and the next one recovers. Returns the turns that it goes on with."""
        self.reopen()
        front, actors = self.front, Started()
        chats = ChatTurns(
            front.store,
            cast("ThreadActors", actors),
            front.sent,
            front.clock,
            front.ids,
            cast("AlbumCollector", None),
            lambda call: call.arguments,
        )
        kinds = {RunKind.CHAT: chats}
        recovery = RunRecovery(front.store.recovery, kinds, chats.start_waiting, none_left, front.clock)
        assert not self.run(recovery.recover()).suspects
        return actors.turns

    def reopen(self) -> None:
        self.run(self.front.store.close())
        self.front.store = self.run(open_store(self.path, self.front.clock, self.front.ids))
        self.begin()

    # --- rules -----------------------------------------------------------------------------------------

    @initialize(calls=st.lists(st.booleans(), min_size=1, max_size=3))
    def some_messages(self, calls: list[bool]) -> None:
        for called in calls:
            self.message("a", calls=called)

    @rule(text=st.sampled_from(["a", "b"]), calls=st.booleans())
    def message(self, text: str, *, calls: bool) -> None:
        self.came("message")
        self.turn(self.new_turn(text), calls=calls)

    @rule(command=st.sampled_from(["/undo", "/redo", "/retry", "/clear"]))
    def message_and_crash(self, command: str) -> None:
        self.came("crash")
        start = self.new_turn("c")
        assert self.says(command).outcome == BUSY
        self.turn(self.crashes(start.turn_id), cached=False)

    @rule(crash=st.booleans())
    def approve(self, *, crash: bool) -> None:
        self.came("approve")
        self.asks("/approve", ResultStatus.OK, crash=crash)

    @rule(crash=st.booleans())
    def deny(self, *, crash: bool) -> None:
        self.came("deny")
        self.asks("/deny", ResultStatus.DENIED, crash=crash)

    def asks(self, command: str, status: ResultStatus, *, crash: bool) -> None:
        """A call waits for a person, whose decision holds, once, whatever comes between."""
        work = self.opened(self.new_turn("d"))
        call_id, gate_id = work.waits()
        work.never_runs(call_id)
        assert self.says("/undo").outcome == BUSY
        if crash:
            assert not self.recovers()
        accepted = self.says(f"{command} {gate_id}")
        self.allowed[call_id] += status is ResultStatus.OK
        assert self.says(f"{command} {gate_id}").started is None, "one decision"
        assert accepted.started is not None
        start = self.crashes(work.start.turn_id) if crash else accepted.started
        assert self.journals.take(start) is None
        work = self.opened(start, cached=False)
        work.decided(call_id, status)
        work.answers()

    @rule(effect=st.sampled_from(Effect), said=st.lists(st.sampled_from(SETTLING), min_size=1, max_size=3))
    def dies_in_a_call(self, effect: Effect, said: list[Option]) -> None:
        """The hub dies while a call runs: without an effect it runs again, otherwise a person is asked first,
        each time."""
        self.came("die")
        work = self.opened(self.new_turn("t"))
        call_id = work.asks_for_calls(effect)
        self.allowed[call_id] += effect is Effect.EFFECT
        work.runs(call_id, effect)
        if effect is not Effect.EFFECT:
            work = self.opened(self.crashes(work.start.turn_id), cached=False)
            work.runs(call_id, effect)
            work.finishes(ToolResult(call_id, ResultStatus.OK, "done"))
        while effect is Effect.EFFECT and said:
            work = self.asked_about(work, call_id, said)
        work.answers()

    def asked_about(self, work: "Working", call_id: str, said: list[Option]) -> "Working":
        """Nobody knows what became of a call; what the first answer says is done, and no later one's."""
        before = len(self.front.sent.rows)
        assert not self.recovers(), "it waits for the person"
        (card,) = self.front.sent.rows[before:]
        work.never_runs(call_id)
        assert self.says("/undo").outcome == BUSY
        assert not self.recovers(), "they are asked once"
        assert len(self.front.sent.rows) == before + 2, "the card, and the refusal of /undo"
        gate_id, answer = card.message.gate_id or "", said.pop(0)
        accepted = self.run(self.front.presses(ME, gate_id, SETTLING.index(answer)))
        assert self.run(self.front.presses(ME, gate_id, SETTLING.index(Option.RETRY))).started is None
        assert accepted.started is not None
        work = self.opened(accepted.started, cached=False)
        if answer is not Option.RETRY:
            said.clear()
            work.never_runs(call_id)
            (call,) = work.loaded.calls
            work.finishes(unknown(call))
            return work
        self.allowed[call_id] += 1
        work.runs(call_id, Effect.EFFECT)
        if not said:
            work.finishes(ToolResult(call_id, ResultStatus.OK, "done"))
        return work

    @rule(calls=st.booleans())
    def stop(self, *, calls: bool) -> None:
        self.came("stop")
        work = self.opened(self.new_turn("s"))
        if calls:
            work.asks_for_calls()
        assert self.says("/stop").stopped_turn_id == work.start.turn_id
        assert work.ends_stopped() is None

    @rule()
    def interrupt(self) -> None:
        self.came("interrupt")
        work = self.opened(self.new_turn("i"))
        accepted = self.says("instead", WhileBusy.INTERRUPT)
        assert accepted.stopped_turn_id == work.start.turn_id
        following = work.ends_stopped()
        assert following is not None
        assert [entry.said for entry in following.inputs] == [UserSaid("instead")]
        self.checkpoints = min(CHECKPOINTS, self.checkpoints + 1)
        self.turn(following)

    @rule(crash=st.booleans())
    def steer(self, *, crash: bool) -> None:
        self.came("steer")
        work = self.opened(self.new_turn("e"))
        work.calls()
        assert self.says("more", WhileBusy.STEER).steers
        if crash:
            work = self.opened(self.crashes(work.start.turn_id), cached=False)
        joined = self.run(self.front.store.turns.join_waiting(work.start.turn_id))
        assert list(joined) == [UserSaid("more")]
        work.follows(*joined)
        assert not self.run(self.front.store.turns.join_waiting(work.start.turn_id))
        self.request(work.entries)
        assert work.answers() is None

    @rule(kept=st.integers(0, 3))
    def compact(self, kept: int) -> None:
        self.came("compact")
        accepted = self.says("/compact")
        if not self.thread_id:
            assert accepted.outcome.startswith("refused")
            return
        start = self.started(accepted)
        self.checkpoints = min(CHECKPOINTS, self.checkpoints + 1)
        work = self.opened(start)
        covered = self.live[: len(self.live) - kept]
        if covered:
            text, to_seq = f"summary {self.answers}", covered[-1].entries[-1].seq
            stored = self.run(self.front.store.turns.record_summary(start.turn_id, text, to_seq))
            assert stored.said == Summary(text, to_seq)
            self.summaries.append((stored, covered))
            work.summarized()
        work.answers()

    @rule()
    def restart(self) -> None:
        self.came("restart")
        self.reopen()

    @rule()
    def time_passes(self) -> None:
        self.front.clock.advance(25)

    @rule(turns=st.integers(1, 4))
    def undo(self, turns: int) -> None:
        self.came("undo")
        outcome = self.says(f"/undo {turns}").outcome
        if turns > self.checkpoints:
            assert outcome.startswith("refused")
            return
        assert outcome == "command: /undo"
        self.checkpoints -= turns
        self.undone.append(self.live[-turns:])
        del self.live[-turns:]

    @rule()
    def redo(self) -> None:
        self.came("redo")
        outcome = self.says("/redo").outcome
        if not self.undone:
            assert outcome.startswith("refused")
            return
        assert outcome == "command: /redo"
        back = self.undone.pop()
        self.checkpoints += len(back)
        self.live += back

    @rule()
    def retry(self) -> None:
        self.came("retry")
        accepted = self.says("/retry")
        if not self.checkpoints:
            assert accepted.outcome.startswith("refused")
            return
        said = self.live.pop().inputs
        start = self.started(accepted)
        assert [entry.said for entry in start.inputs] == said
        self.turn(start)

    @rule()
    def clear(self) -> None:
        self.came("clear")
        outcome = self.says("/clear").outcome
        assert outcome == ("command: /clear" if self.thread_id else "refused: no conversation yet")
        self.live.clear()
        self.undone.clear()
        self.checkpoints = 0

    @precondition(lambda self: self.front.said > 0)
    @rule()
    def delivered_again(self) -> None:
        self.came("again")
        accepted = self.run(self.front.again())
        assert accepted.duplicate
        assert accepted.started is None

    # --- what always holds -----------------------------------------------------------------------------

    @invariant()
    def what_is_live_is_what_was_not_undone(self) -> None:
        if not self.thread_id:
            return
        threads = self.front.store.threads
        live = self.run(threads.entries(self.thread_id, 10_000))
        assert [entry.said for entry in live] == self.everything()
        everything = self.run(threads.all_entries(self.thread_id, 10_000))
        assert [entry for entry in everything if not entry.undone] == list(live)
        assert len(everything) >= self.said
        self.said = len(everything)
        assert len({entry.seq for entry in everything}) == self.said
        assert all(isinstance(turn.entries[0].said, UserSaid) for turn in self.live)

    @invariant()
    def what_has_an_effect_ran_as_often_as_people_let_it(self) -> None:
        assert self.ran == self.allowed


class Working:
    """A turn at work, as its actor sees it. `entries`: what the model is shown."""

    def __init__(
        self, machine: ConversationMachine, start: TurnStart, loaded: LoadedTurn, known: int
    ) -> None:
        self.machine = machine
        self.start = start
        self.loaded = loaded
        self.entries = list(loaded.entries)
        self.turn = Turn(start, self.entries[known:])
        self.last_seq = self.entries[-1].seq

    @property
    def turns(self) -> Turns:
        """Those of the hub that runs now."""
        return self.machine.front.store.turns

    def follows(self, *said: Said) -> None:
        for one in said:
            self.last_seq += 1
            entry = Entry(self.last_seq, self.start.turn_id, self.machine.front.clock.now(), one)
            self.entries.append(entry)
            self.turn.entries.append(entry)

    def asks_for_calls(self, effect: Effect = Effect.NONE) -> str:
        self.machine.answers += 1
        call = NewCall(f"call{self.machine.answers:05}", "shell", "{}", effect)
        reply = AssistantSaid("let me see")
        self.machine.run(self.turns.record_reply_and_intents(self.start.turn_id, reply, [call]))
        self.follows(reply, ToolCalled(call.call_id, "shell", "{}"))
        return call.call_id

    def runs(self, call_id: str, effect: Effect) -> None:
        assert self.machine.run(self.turns.mark_running(self.start.turn_id, call_id, may_run)) is None
        self.machine.ran[call_id] += effect is Effect.EFFECT
        self.never_runs(call_id)

    def finishes(self, result: ToolResult) -> None:
        self.machine.run(self.turns.finish_calls(self.start.turn_id, [result]))
        self.follows(result)
        self.machine.request(self.entries)

    def calls(self) -> None:
        self.finishes(ToolResult(self.asks_for_calls(), ResultStatus.OK, "done"))

    def waits(self) -> tuple[str, str]:
        """Ask the person about a call with an effect. Returns the call and the gate."""
        call_id = self.asks_for_calls(Effect.EFFECT)
        gate: Gate = replace(
            question(CHOICES, self.start),
            id=self.machine.front.ids.gate_id(),
            call_id=call_id,
            kind=GateKind.APPROVAL,
            offer=Options((Option.APPROVE, Option.DENY)),
        )
        card = Draft(CHANNEL, Address(ME), plain("?"), gate.id, gate_id=gate.id)
        self.machine.run(self.turns.ask_person(gate, [card]))
        return call_id, gate.id

    def never_runs(self, call_id: str) -> None:
        with pytest.raises(StaleTurn):
            self.machine.run(self.turns.mark_running(self.start.turn_id, call_id, may_run))

    def decided(self, call_id: str, status: ResultStatus) -> None:
        if status is ResultStatus.OK:
            self.runs(call_id, Effect.EFFECT)
        self.never_runs(call_id)
        self.finishes(ToolResult(call_id, status, "decided"))

    def summarized(self) -> None:
        """From here on the turn is shown the summary."""
        before = self.machine.context()
        loaded = self.machine.run(self.turns.load_turn(replace(self.start, resumed=True)))
        assert [entry.said for entry in loaded.entries] == before + [one.said for one in self.turn.entries]
        self.entries = list(loaded.entries)
        self.last_seq += 1

    def ends(self, state: TurnState, answer: AssistantSaid | None) -> TurnStart | None:
        done = self.machine.run(
            self.turns.finish_turn_and_enqueue(
                self.start.turn_id, state, answer, [], next_turn_id=self.machine.front.ids.row_id()
            )
        )
        threads = self.machine.front.store.threads
        stored = self.machine.run(threads.all_entries(self.machine.thread_id, 10_000))
        ours = [one for one in stored if one.turn_id == self.start.turn_id]
        mine = [one for one in ours if not isinstance(one.said, Summary)]
        known = [one.said for one in self.turn.entries] + ([] if answer is None else [answer])
        assert [one.said for one in mine[: len(known)]] == known
        assert answer is None or len(mine) == len(known)
        self.machine.live.append(Turn(self.start, mine))
        return done.next

    def answers(self) -> TurnStart | None:
        self.machine.answers += 1
        answer = AssistantSaid(f"answer {self.machine.answers}")
        following = self.ends(TurnState.DONE, answer)
        self.follows(answer)
        self.machine.journals.keep(self.machine.thread_id, self.entries)
        return following

    def ends_stopped(self) -> TurnStart | None:
        """A person stopped it: what it was asked stays, and no call is without a result."""
        return self.ends(TurnState.STOPPED, None)


@pytest.mark.timeout(1_200)
class TestConversationMachine(ConversationMachine.TestCase):
    settings = settings(max_examples=EXAMPLES, stateful_step_count=30)

    @pytest.fixture(autouse=True)
    def pairs(self, profile: Profile, proof_record: ProofRecord) -> None:
        self.profile, self.record = profile, proof_record

    def test_commands_and_messages_keep_their_promises_in_any_order(self) -> None:
        PAIRS.clear()
        self.runTest()
        rows = [[PAIRS[before, after] for after in RULES] for before in RULES]
        print(" " * 10 + "".join(f"{name[:8]:>9}" for name in RULES))
        for before, counts in zip(RULES, rows, strict=True):
            print(f"{before:10}" + "".join(f"{count:9}" for count in counts))
        never = [f"{before} → {after}" for before in RULES for after in RULES if not PAIRS[before, after]]
        self.record("conversation-pairs", rules=RULES, least=min(map(min, rows)), never=never)
        if self.profile.name == "proof":
            assert not never
