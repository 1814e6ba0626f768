"""A store with people writing to it: a clock that stands still, ids that count, judges that are told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from core.gates import AskedCall, Gate, GateKind, Option, Options, Replies, VoteRule, joint_binding
from core.ids import CODE_ALPHABET
from core.messages import Address, ChoiceAnswer, InboundEvent, InboundMessage, Message, Sender, plain
from core.ports import OutboxRow
from core.store.accept import Accepted, AcceptView, Admission, Admitted, Verdict
from core.store.effects import Effect, QueueInput
from core.store.port import Store
from core.store.rows import CallRow, CallState, Draft, LoadedTurn, NewCall, TurnStart, TurnState
from core.tool import Effect as ToolEffect
from core.transcript import AssistantSaid, Said
from core.usage import CallEnd, CallKind, Payer, Reservation, Usage
from core.users import Identity, Principal, Role

CHANNEL = "chat"
SECOND = 1_000_000
START = 1_700_000_000 * SECOND

ADA = Principal("ada", Role.OWNER, "Ada")
BEN = Principal("ben", Role.MEMBER, "Ben")


class StoppedClock:
    """Moves only when told."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> int:
        return self.at

    def monotonic_s(self) -> float:
        return self.at / SECOND

    async def sleep(self, seconds: float) -> None:
        self.at += int(seconds * SECOND)

    def advance(self, seconds: float) -> None:
        self.at += int(seconds * SECOND)


class CountingIds:
    """Ids that tell in which order they were made."""

    def __init__(self) -> None:
        self._last = 0

    def number(self) -> int:
        self._last += 1
        return self._last

    def row_id(self) -> str:
        return f"00000000-0000-7000-8000-{self.number():012}"

    call_id = row_id

    def gate_id(self) -> str:
        return f"{self.number():010}"

    def code(self) -> str:
        return "".join(CODE_ALPHABET[int(digit)] for digit in f"{self.number():08}")


@dataclass
class Rules:
    """A judge that admits and decides as it is told, and remembers what it was shown."""

    admit_as: Callable[[InboundEvent, Identity | None], Admission]
    verdict: Callable[[InboundEvent, AcceptView], Verdict]
    gate_id: str | None = None
    routine_ids: Sequence[str] = ()
    identities: list[Identity | None] = field(default_factory=list)
    views: list[AcceptView] = field(default_factory=list)

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        self.identities.append(identity)
        return self.admit_as(event, identity)

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        self.views.append(view)
        return self.verdict(event, view)

    @property
    def view(self) -> AcceptView:
        """Return what the last event was judged on."""
        return self.views[-1]


def admit(principal: Principal, via: str = "config") -> Callable[[InboundEvent, Identity | None], Admission]:
    return lambda _event, _identity: Admitted(principal, via)


class Bench:
    """Everything a test says and hears. People are known to the channel by their user ids."""

    def __init__(self, store: Store, clock: StoppedClock, ids: CountingIds) -> None:
        self.store = store
        self.clock = clock
        self.ids = ids

    # --- models ----------------------------------------------------------------------------------------

    async def used(self, run_id: str, usage: Usage, routine_id: str | None = None) -> None:
        """A run calls a model, which counts this."""
        id_ = self.ids.row_id()
        kind = CallKind.CHAT if routine_id is None else CallKind.ROUTINE
        payer = Payer(kind, run_id, ADA.user_id, routine_id=routine_id)
        wanted = Reservation(id_, "main", "test", 1, 10**4, 10**4)
        assert await self.store.usage.reserve_call(payer, wanted) is None
        await self.store.usage.settle_calls([CallEnd(id_, 10**4, 10**4, usage)])

    # --- events ----------------------------------------------------------------------------------------

    def message(
        self,
        text: str = "hello",
        *,
        by: Principal = ADA,
        scope: str | None = "room",
        order: int | None = None,
        key: str | None = None,
        direct: bool = True,
        address: str | None = None,
    ) -> InboundMessage:
        number = self.ids.number()
        return InboundMessage(
            key=key or f"chat:m:{scope}:{number}",
            order_key=f"{number if order is None else order:010}",
            channel=CHANNEL,
            address=Address(address or f"to {scope}"),
            scope=scope,
            sender=Sender(by.user_id, by.name),
            text=text,
            sent_at=self.clock.now(),
            direct=direct,
        )

    def press(self, gate: Gate, choice: int, *, by: Principal = ADA) -> ChoiceAnswer:
        return ChoiceAnswer(
            key=f"chat:press:{self.ids.number()}",
            channel=CHANNEL,
            address=Address("to room"),
            sender=Sender(by.user_id, by.name),
            gate_id=gate.id,
            choice=choice,
            sent_at=self.clock.now(),
        )

    # --- judging ---------------------------------------------------------------------------------------

    def queueing(self, by: Principal = ADA) -> Rules:
        """Take every text as input of its thread."""

        def verdict(event: InboundEvent, view: AcceptView) -> Verdict:
            return Verdict("waiting", (self.queue(view),))

        return Rules(admit(by), verdict)

    def queue(self, view: AcceptView) -> QueueInput:
        thread_id = self.ids.row_id() if view.thread is None else view.thread.id
        return QueueInput(thread_id, self.ids.row_id())

    def ruling(
        self, *effects: Effect, by: Principal = ADA, outcome: str = "command", gate_id: str | None = None
    ) -> Rules:
        """Every event has exactly these effects."""
        return Rules(admit(by), lambda _event, _view: Verdict(outcome, effects), gate_id)

    async def say(self, text: str = "hello", *, by: Principal = ADA, **where: object) -> Accepted:
        """Somebody writes, and it is input."""
        event = self.message(text, by=by, **where)  # type: ignore[arg-type]
        return await self.store.inbound.accept_event(event, self.queueing(by), send_now=False)

    async def rule(self, *effects: Effect, by: Principal = ADA, send_now: bool = False) -> Accepted:
        """Somebody writes something that has these effects."""
        event = self.message("/command", by=by)
        return await self.store.inbound.accept_event(event, self.ruling(*effects, by=by), send_now=send_now)

    async def look(self, *, by: Principal = ADA, gate_id: str | None = None) -> AcceptView:
        """Return what a message of this person would be judged on now."""
        rules = self.ruling(by=by, gate_id=gate_id)
        await self.store.inbound.accept_event(self.message("/look", by=by), rules, send_now=False)
        return rules.view

    # --- turns -----------------------------------------------------------------------------------------

    async def turn(self, text: str = "hello", *, by: Principal = ADA, **where: object) -> TurnStart:
        """Somebody writes, and a turn starts."""
        start = (await self.say(text, by=by, **where)).started
        assert start is not None
        return start

    async def call(
        self, start: TurnStart, *tools: str, effect: ToolEffect = ToolEffect.EFFECT
    ) -> tuple[str, ...]:
        """The model asks for calls; returns their ids."""
        calls = [NewCall(self.ids.row_id(), tool, "{}", effect, 1) for tool in tools or ("shell",)]
        await self.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid("let me see"), calls)
        return tuple(call.call_id for call in calls)

    async def finish(
        self,
        start: TurnStart,
        answer: str | None = "done",
        *messages: Draft,
        state: TurnState = TurnState.DONE,
        send_now: bool = False,
    ) -> TurnStart | None:
        """The turn ends; returns the next one."""
        done = await self.store.turns.finish_turn_and_enqueue(
            start.turn_id,
            state,
            None if answer is None else AssistantSaid(answer),
            messages,
            next_turn_id=self.ids.row_id(),
            send_now=send_now,
        )
        return done.next

    async def said(self, start: TurnStart) -> list[Said]:
        """The transcript as the turn's actor would load it."""
        return [entry.said for entry in (await self.store.turns.load_turn(start)).entries]

    async def reload(self, start: TurnStart) -> LoadedTurn:
        """The turn as an actor that goes on with it would load it."""
        resumed = TurnStart(
            start.turn_id,
            start.number,
            start.thread,
            start.principal,
            start.first_seq,
            start.last_seq,
            start.attempt,
            resumed=True,
        )
        return await self.store.turns.load_turn(resumed)

    async def call_row(self, start: TurnStart, call_id: str) -> CallRow:
        loaded = await self.reload(start)
        return next(call for call in loaded.calls if call.call_id == call_id)

    async def states(self, start: TurnStart) -> list[CallState]:
        return [call.state for call in (await self.reload(start)).calls]

    # --- prompts and messages --------------------------------------------------------------------------

    def gate(
        self,
        start: TurnStart,
        call_id: str | None = None,
        kind: GateKind = GateKind.APPROVAL,
        options: Sequence[Option] = (Option.APPROVE, Option.DENY, Option.ALWAYS),
        replies: Replies | None = None,
        expires_in_s: int = 3600,
    ) -> Gate:
        return Gate(
            id=self.ids.gate_id(),
            kind=kind,
            thread_id=start.thread.id,
            turn_id=start.turn_id,
            call_id=call_id,
            requester_id=start.principal.user_id,
            title="Run shell?",
            detail="echo hi",
            offer=replies or Options(tuple(options)),
            rule=VoteRule(approvers=("ada",), quorum=1),
            binding="hash of what was shown",
            created_at=self.clock.now(),
            expires_at=self.clock.now() + expires_in_s * SECOND,
            tool="shell",
            pattern="echo *",
        )

    def joint(self, start: TurnStart, calls: Sequence[str]) -> Gate:
        """About a call of shell and one of http at once."""
        asked = tuple(
            AskedCall(call_id, tool, "it writes", f"{tool} – whole", f"hash of {tool}")
            for call_id, tool in zip(calls, ("shell", "http"), strict=True)
        )
        options = (Option.APPROVE, Option.DENY, Option.ONE_BY_ONE)
        return replace(
            self.gate(start, options=options),
            detail="",
            tool=None,
            pattern=None,
            calls=asked,
            binding=joint_binding(call.binding for call in asked),
        )

    def draft(self, text: str = "hi", *, to: str = "to room", gate_id: str | None = None) -> Draft:
        return Draft(CHANNEL, Address(to), plain(text), self.ids.row_id(), gate_id)

    def card(self, gate: Gate, *, to: str = "to room") -> Draft:
        return self.draft(gate.title, to=to, gate_id=gate.id)

    async def ask(self, start: TurnStart, call_id: str | None = None, **kind: object) -> Gate:
        """The turn asks a person and waits."""
        gate = self.gate(start, call_id, **kind)  # type: ignore[arg-type]
        await self.store.turns.ask_person(gate, [self.card(gate)])
        return gate

    async def row(self, row_id: int) -> OutboxRow:
        """An unsettled outbox row as it is now."""
        return next(row for row in await self.store.outbox.pending_outbox(CHANNEL) if row.id == row_id)

    async def put_out(self, text: str = "hi", *, to: str = "to room") -> OutboxRow:
        """A message gets into the outbox."""
        start = await self.turn(scope=self.ids.row_id())
        done = await self.store.turns.finish_turn_and_enqueue(
            start.turn_id,
            TurnState.DONE,
            None,
            [self.draft(text, to=to)],
            next_turn_id=self.ids.row_id(),
        )
        return done.outbox[0]


def text_of(message: Message) -> str:
    """A message's words."""
    return "\n".join(block.text for block in message.blocks)
