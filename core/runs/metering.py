"""The one metering point: every call of a model is made here, reserved before it and settled after it.

The reservation stands in the store before the request leaves the hub, usually since the commit that started
the run or ended its last round. The end of the call is stored with the run's next commit.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from operator import attrgetter
from typing import Protocol

from core.clock import Clock
from core.errors import BudgetUsedUp, ModelError
from core.ids import Ids
from core.lazy import dataclass, replace
from core.model.base import (
    THINKING_TOKENS,
    Model,
    ModelAbilities,
    ModelReply,
    ModelRequest,
    ReplyDelta,
    Thinking,
    closing,
)
from core.store.units import patiently
from core.transcript import AssistantSaid, ToolCalled
from core.usage import NOTHING_USED, CallEnd, Payer, Reservation, Usage, token_bound

FRAME_TOKENS = 1024
"""The allowance for what an API adds to a request, such as its own instructions about tools."""
MESSAGE_TOKENS = 128
"""The allowance for the frame of one message, call, result or tool."""
IMAGE_TOKENS = 8192
"""More than any provider counts for one image at full resolution."""
UNLIMITED_OUTPUT_TOKENS = 128_000
"""The bound on a reply whose length nothing limits, and whose model's limit is not known."""


class PricedModel(Protocol):
    """A configured model with its keys and price."""

    @property
    def name(self) -> str: ...

    @property
    def provider(self) -> str: ...

    @property
    def thinking(self) -> Thinking: ...

    def with_key(self, key: int) -> Model:
        """Return the model with one of its keys."""
        ...

    def abilities(self, key: int) -> ModelAbilities:
        """Return its limits and abilities, as known with one of its keys."""
        ...

    def cost_of(self, usage: Usage) -> Usage:
        """Return the usage with its cost, if the price is known."""
        ...

    def cost_at_most(self, input_tokens: int, output_tokens: int) -> int:
        """Return the highest cost of that many tokens in micro-USD; 0 if the price is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Metered:
    """A call that ended, for metrics. `usage` None: no answer counted it."""

    model: str
    answered: bool
    usage: Usage | None
    seconds: float


Watch = Callable[[Metered], None]


class Ledger(Protocol):
    """The rows of calls; a part of the store."""

    async def reserve_call(
        self, payer: Payer, wanted: Reservation, ends: Sequence[CallEnd] = (), *, approved: bool = False
    ) -> str | None:
        """Store the reservation of a call, and the ends of earlier ones. Return the budget that it exceeds,
        if any, as a sentence; then there is no reservation.

        `approved`: budgets don't count. Raises StaleTurn if the call is for a run that doesn't run."""
        ...

    async def settle_calls(self, ends: Sequence[CallEnd]) -> None:
        """Store the ends of calls by themselves."""
        ...


class NoLedger:
    """A Ledger before there is a database: nothing is stored and nothing is limited."""

    async def reserve_call(
        self, payer: Payer, wanted: Reservation, ends: Sequence[CallEnd] = (), *, approved: bool = False
    ) -> str | None:
        del payer, wanted, ends, approved

    async def settle_calls(self, ends: Sequence[CallEnd]) -> None:
        del ends


def _unwatched(metered: Metered) -> None:
    del metered


def _unnoticed() -> None:
    pass


class Metering:
    """The metering of a hub. `watch`: receives every call that ended."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids, watch: Watch = _unwatched) -> None:
        self.ledger = ledger
        self.clock = clock
        self.ids = ids
        self.watch = watch

    def run(self, payer: Payer, held: Reservation | None = None, *, approved: bool = False) -> "RunMeter":
        """Return the meter of one run. `held`: the reservation that was stored with its start. `approved`:
        its calls may exceed budgets."""
        return RunMeter(self, payer, held, approved=approved)


class RunMeter:
    """The calls of one start of a run.

    `used`: everything its calls have used, unanswered ones with their reservations as input.
    `alive`: called with each piece of a reply.
    `plan_step`: the step of a job's plan that calls are for now: `plan`, its number, or `check`; None: of
    none."""

    def __init__(
        self,
        metering: Metering,
        payer: Payer,
        held: Reservation | None,
        *,
        approved: bool,
        run: "RunMeter | None" = None,
    ) -> None:
        """Keep the parts. `run`: the meter of the run that this one's is a subtask of."""
        self._metering = metering
        self._payer = payer
        self._approved = approved
        self._held = held
        self._run = run
        self._ends: dict[str, CallEnd] = {}
        self.used = NOTHING_USED
        self.alive: Callable[[], None] = _unnoticed if run is None else run.alive
        self.plan_step: str | None = None if run is None else run.plan_step

    def of_subtask(self) -> "RunMeter":
        """Return the meter of a subtask of the run, whose calls are the run's."""
        return RunMeter(self._metering, self._payer, None, approved=self._approved, run=self)

    def hold(self, reserved: Reservation | None) -> None:
        """Use this reservation, which is stored, for the next call."""
        if reserved is not None:
            self._held = reserved

    def hand_over(self) -> None:
        """Let the run store the ends of its subtask's calls that no commit has stored yet."""
        if self._run is not None:
            self._run._ends |= {end.id: end for end in self.ends}
            self._ends.clear()

    @property
    def ends(self) -> tuple[CallEnd, ...]:
        """Return what is to be stored with the run's next commit: how calls ended, and that the reservation
        at hand is of no use."""
        self._leave_held()
        return tuple(self._ends.values())

    def stored(self, ends: Sequence[CallEnd]) -> None:
        """Forget ends that are stored."""
        for end in ends:
            self._ends.pop(end.id, None)

    async def settle(self) -> None:
        """Store the ends of all calls now."""
        if ends := self.ends:
            await patiently(lambda: self._metering.ledger.settle_calls(ends), self._metering.clock)
            self.stored(ends)

    async def reply(
        self, candidate: PricedModel, key: int, request: ModelRequest, attempt: int = 1
    ) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Yield what the model yields, its usage with the cost. Raises its errors, BudgetUsedUp before the
        call, and StaleTurn if the run doesn't run any more.

        `attempt`: counts the calls for the same reply, from 1."""
        metering = self._metering
        reserved = await self._reserved(candidate, key, request, attempt)
        began_s = metering.clock.monotonic_s()
        usage: Usage | None = None
        answered = False
        try:
            named = replace(request, id=reserved.id)
            async with closing(candidate.with_key(key).reply(named)) as pieces:
                async for piece in pieces:
                    self.alive()
                    if isinstance(piece, ModelReply):
                        answered = True
                        counted = candidate.cost_of(piece.usage)
                        usage = counted if counted.counted else None
                        self._ended(reserved, usage)
                        yield piece if counted is piece.usage else replace(piece, usage=counted)
                        break
                    yield piece
        except ModelError as error:
            usage = NOTHING_USED if error.uncounted and not answered else usage
            raise
        finally:
            if not answered:
                self._ended(reserved, usage)
            seconds = metering.clock.monotonic_s() - began_s
            metering.watch(Metered(reserved.model, answered, usage, seconds))

    async def _reserved(
        self, candidate: PricedModel, key: int, request: ModelRequest, attempt: int
    ) -> Reservation:
        """Return a stored reservation that covers the call, made exact."""
        metering, held = self._metering, self._held
        wanted = needed(held.id if held else metering.ids.row_id(), candidate, key, request, attempt)
        if held is not None:
            if held.covers(wanted):
                self._held = None
                return wanted
            self._leave_held()
            wanted = replace(wanted, id=metering.ids.row_id())
        ends = tuple(self._ends.values())
        # Whoever is cancelled here has reserved nevertheless.
        self._ends[wanted.id] = CallEnd(wanted.id, made=False)
        refusal = await patiently(
            lambda: metering.ledger.reserve_call(self._payer, wanted, ends, approved=self._approved),
            metering.clock,
        )
        del self._ends[wanted.id]
        self.stored(ends)
        if refusal is not None:
            raise BudgetUsedUp(refusal)
        return wanted

    def _leave_held(self) -> None:
        if self._held is not None:
            self._ends[self._held.id] = CallEnd(self._held.id, made=False)
            self._held = None

    def _ended(self, reserved: Reservation, usage: Usage | None) -> None:
        self._ends[reserved.id] = CallEnd(
            reserved.id, reserved.tokens, reserved.micro_usd, usage, plan_step=self.plan_step
        )
        self._charge(usage or Usage(reserved.tokens, cost_micro_usd=reserved.micro_usd))

    def _charge(self, charged: Usage) -> None:
        if self._run is not None:
            self._run._charge(charged)
        self.used = Usage(
            self.used.input_tokens + charged.input_tokens,
            self.used.output_tokens + charged.output_tokens,
            cost_micro_usd=self.used.cost_micro_usd + charged.cost_micro_usd,
        )


class OwnBudgetUsedUp(BudgetUsedUp):
    """Error for a run that has used up its own tokens or money, not the hub's; the text says which."""


DAY_TOKENS_USED_UP = "Stopped: the routine has reached its daily token limit."
DAY_COST_USED_UP = "Stopped: the routine has reached its daily cost limit."


class SpendingLimit:
    """The tokens and micro-USD that one start of a run may use; None for no limit.

    `over_tokens`, `over_money`: what is said once they are used up."""

    def __init__(
        self,
        meter: RunMeter,
        tokens: int | None,
        micro_usd: int | None,
        *,
        over_tokens: str,
        over_money: str,
    ) -> None:
        self._meter = meter
        self._tokens = tokens
        self._micro_usd = micro_usd
        self._over_tokens = over_tokens
        self._over_money = over_money

    def reserve(self, tokens: int) -> int:
        """Return the number of tokens a reply may use, at most `tokens`. Raises OwnBudgetUsedUp if nothing is
        left."""
        used = self._meter.used
        if self._micro_usd is not None and used.cost_micro_usd >= self._micro_usd:
            raise OwnBudgetUsedUp(self._over_money)
        if self._tokens is None:
            return tokens
        left = self._tokens - used.input_tokens - used.output_tokens
        if left <= 0:
            raise OwnBudgetUsedUp(self._over_tokens)
        return min(tokens, left)


# The most that a call may use.

_BOUND = attrgetter("token_bound")


def needed(
    id_: str, candidate: PricedModel, key: int, request: ModelRequest, attempt: int = 1
) -> Reservation:
    """Return the reservation for a call: as many tokens as the request has bytes, and the longest reply."""
    able = candidate.abilities(key)
    said = request.conversation
    texts = [one.arguments if type(one) is ToolCalled else one.text for one in said]
    texts += [one.origin.opaque for one in said if type(one) is AssistantSaid and one.origin is not None]
    read = FRAME_TOKENS + token_bound(request.system + "".join(texts)) + sum(map(_BOUND, request.tools))
    read += MESSAGE_TOKENS * (len(request.tools) + len(request.conversation))
    read += IMAGE_TOKENS * len(request.images)
    written = request.max_output_tokens + THINKING_TOKENS[request.thinking or candidate.thinking]
    if not able.limits_output:
        written = able.max_output_tokens or UNLIMITED_OUTPUT_TOKENS
    cost = candidate.cost_at_most(read, written)
    return Reservation(id_, candidate.name, candidate.provider, attempt, read + written, cost)
