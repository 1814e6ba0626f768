"""Which model is called when one fails, how long is waited, and when a run gives up."""

import asyncio
import logging
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import texts
from core.errors import (
    BudgetUsedUp,
    ContextOverflow,
    HubError,
    ModelAuthRejected,
    ModelError,
    ModelFault,
    ModelMisconfigured,
    ModelOrderConflict,
    ModelRateLimited,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.events import CandidateFailed
from core.model.base import ImagePart, ModelAbilities, Price, ReplyDelta, StopReason, Thinking, ToolSpec
from core.runs.attempts import (
    LONGEST_WAIT_S,
    MAX_FAILED_ATTEMPTS,
    MAX_FAILED_S,
    MAX_TRIES,
    PATIENCE_S,
    RunModels,
)
from core.runs.metering import needed
from core.runs.model_list import (
    FIRST_COOLDOWN_S,
    FIRST_OPEN_S,
    OPENS_AFTER,
    REJECTED_KEY_REST_S,
    ConfiguredModel,
    ModelList,
)
from core.safety.leaks import LeakDetector
from core.usage import CallEnd, CallKind, Payer, Reservation, Usage
from tests.clock import ManualClock
from tests.core.model.support import TIME, ScriptedModel, asking
from tests.core.runs.models_bench import Bench, fine, reply, scripted, unrecorded

BUSY = ModelUnavailable("busy")
CUT = ModelReplyInvalid("the reply ended early")
LIMITED = ModelRateLimited("slow down")
SETUP = ModelMisconfigured("no such model", ModelFault.UNKNOWN_MODEL)
PERMANENT = [
    ModelRejected("no"),
    ModelAuthRejected("key"),
    SETUP,
    ModelOrderConflict("roles must alternate"),
]
BEGUN = ReplyDelta("Once upon a")


# ---------------------------------------------------------------- one model


async def test_a_call_that_works_is_passed_through() -> None:
    bench = Bench([scripted("main", fine())])
    run = bench.run()
    assert (await run.reply()).text == "Hello there."
    assert run.seen == {0: "".join(piece.text for piece in fine() if isinstance(piece, ReplyDelta))}
    assert (run.selected, run.failed, bench.clock.slept_s) == (["main"], [], [])
    assert run.usages == [Usage(10, 5)]


@pytest.mark.parametrize(
    "share, waits_s", [(0.0, [0.75, 1.5, 3.0]), (0.5, [1, 2, 4]), (1.0, [1.25, 2.5, 5.0])]
)
async def test_the_only_model_is_tried_four_times_with_growing_waits(
    share: float, waits_s: list[float]
) -> None:
    bench = Bench([scripted("main", BUSY, CUT, BUSY, fine())], share=share)
    run = bench.run()
    await run.reply()
    assert bench.clock.slept_s == pytest.approx(waits_s)
    assert [(model, attempt, total) for model, attempt, total, _ in run.failed] == [("main", 1, 1)] * 3
    assert [retry_in_s for *_, retry_in_s in run.failed] == pytest.approx(waits_s)
    assert bench.models[0].closed == 4


async def test_the_fourth_failure_surfaces_as_it_is() -> None:
    bench = Bench([scripted("main", *[BUSY] * 4)])
    run = bench.run()
    with pytest.raises(ModelUnavailable) as caught:
        await run.reply()
    assert caught.value is BUSY
    assert bench.models[0].asked == MAX_TRIES
    assert run.failed[-1] == ("main", 1, 1, None)


async def test_the_providers_requested_wait_is_honored_unless_it_is_too_long() -> None:
    bench = Bench([scripted("main", ModelUnavailable("slow", 30.0), ModelUnavailable("slow", 0.1), fine())])
    await bench.run().reply()
    assert bench.clock.slept_s == [30.0, 2.0]
    bench = Bench([scripted("main", ModelUnavailable("slow", LONGEST_WAIT_S + 1))])
    with pytest.raises(ModelUnavailable) as caught:
        await bench.run().reply()
    assert caught.value.retry_after_s == LONGEST_WAIT_S + 1
    assert bench.clock.slept_s == []


@pytest.mark.parametrize("error", [*PERMANENT, ContextOverflow("long")], ids=lambda e: type(e).__name__)
async def test_permanent_failures_are_not_retried(error: ModelError) -> None:
    bench = Bench([scripted("main", error)])
    run = bench.run()
    with pytest.raises(type(error)) as caught:
        await run.reply()
    assert caught.value is error
    assert bench.models[0].asked == 1
    assert run.failed == [("main", 1, 1, None)]


# ---------------------------------------------------------------- several models


@pytest.mark.parametrize("error", PERMANENT, ids=lambda e: type(e).__name__)
async def test_the_next_model_is_called_at_once_and_the_first_not_again_in_this_run(
    error: ModelError, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench([scripted("a", error, fine()), scripted("b", fine(), fine())])
    run = bench.run()
    with caplog.at_level(logging.WARNING):
        await run.reply()
    assert (run.selected, run.failed, bench.clock.slept_s) == (["a", "b"], [("a", 1, 2, None)], [])
    assert [record.getMessage() for record in caplog.records] == [
        f"model.failed model=a number=1 of=2 retry_in_s=none error={error}"
    ]
    await run.reply()
    assert (bench.models[0].asked, bench.models[1].asked) == (1, 2)


async def test_a_model_that_fails_three_times_in_a_row_is_replaced_by_the_next_and_stays_set_aside() -> None:
    bench = Bench([scripted("a", BUSY, BUSY, BUSY, fine()), scripted("b", fine(), fine())])
    run = bench.run()
    await run.reply()
    assert run.failed == [("a", 1, 2, 1.0), ("a", 1, 2, 2.0), ("a", 1, 2, None)]
    other = bench.run()
    await other.reply()
    assert (other.selected, other.failed) == (["b"], []), "later runs are spared the wait"
    bench.clock.now_us += round((FIRST_COOLDOWN_S + 1) * 1e6)
    third = bench.run()
    await third.reply()
    assert third.selected == ["a"]


async def test_a_long_wait_for_one_model_is_avoided_while_there_is_another() -> None:
    bench = Bench([scripted("a", ModelRateLimited("slow", PATIENCE_S + 1)), scripted("b", fine(), fine())])
    run = bench.run()
    await run.reply()
    assert (bench.clock.slept_s, run.failed) == ([], [("a", 1, 2, None)])
    other = bench.run()
    await other.reply()
    assert other.selected == ["b"], "its only key rests as long as the provider asked"


@pytest.mark.parametrize(
    "errors, kind, retry_after_s",
    [
        ([ModelRejected("x"), ModelAuthRejected("y")], ModelRejected, None),
        ([SETUP, ModelRejected("y")], ModelMisconfigured, None),
        ([ModelAuthRejected("x"), ModelUnavailable("y", 500.0)], ModelUnavailable, 500.0),
        ([ModelUnavailable("x", 900.0), ModelUnavailable("y", 400.0)], ModelUnavailable, 400.0),
    ],
)
async def test_all_failures_are_summed_up(
    errors: list[ModelError], kind: type[ModelError], retry_after_s: float | None
) -> None:
    bench = Bench([scripted(f"m{n}", error) for n, error in enumerate(errors)])
    with pytest.raises(kind, match="all 2 models failed: ") as caught:
        await bench.run().reply()
    assert getattr(caught.value, "retry_after_s", None) == retry_after_s
    assert all(str(error) in str(caught.value) for error in errors)
    assert [model.closed for model in bench.models] == [1, 1]


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "error", [LIMITED, ModelAuthRejected("key"), ModelMisconfigured("$", ModelFault.CREDITS)]
)
async def test_the_next_key_is_tried_before_the_next_model(error: ModelError) -> None:
    a = scripted("a", error, fine(), fine())
    bench = Bench([a, scripted("b", fine())], keys=2)
    used: list[int] = []
    candidate = bench.list.in_order()[0]
    model = candidate.with_key
    candidate.with_key = lambda key: used.append(key) or model(key)
    run = bench.run()
    await run.reply()
    assert (run.selected, run.failed, bench.clock.slept_s) == (["a"], [("a", 1, 2, 0.0)], [])
    await bench.run().reply()
    assert used == [0, 1, 1], "the key that was refused rests"
    bench.clock.now_us += round((REJECTED_KEY_REST_S + 1) * 1e6)
    assert candidate.key == 0


async def test_a_limited_key_rests_as_long_as_its_provider_asks() -> None:
    bench = Bench([scripted("a", ModelRateLimited("slow", 600.0), fine())], keys=2)
    (candidate,) = bench.list.in_order()
    await bench.run().reply()
    bench.clock.now_us += round(599 * 1e6)
    assert candidate.key == 1
    bench.clock.now_us += round(2 * 1e6)
    assert candidate.key == 0


async def test_refused_keys_move_to_the_next_model_but_never_drop_the_last() -> None:
    refused = ModelAuthRejected("key")
    bench = Bench([scripted("a", refused, refused), scripted("b", fine())], keys=2)
    run = bench.run()
    await run.reply()
    assert run.failed == [("a", 1, 2, 0.0), ("a", 1, 2, None)]
    alone = Bench([scripted("a", refused, fine())])
    with pytest.raises(ModelAuthRejected):
        await alone.run().reply()
    await alone.run().reply()  # as soon as the operator has mended it


# ---------------------------------------------------------------- breaker


async def test_a_model_that_keeps_failing_is_not_called_until_one_probe_answers() -> None:
    main = scripted("main", *[BUSY] * OPENS_AFTER, fine(), fine())
    bench = Bench([main])
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await bench.run().reply()
    assert main.asked == OPENS_AFTER, "the breaker opened in the middle of the second run"
    with pytest.raises(ModelUnavailable, match="not called"):
        await bench.run().reply()
    assert main.asked == OPENS_AFTER
    bench.clock.now_us += round(FIRST_OPEN_S * 2 * 1e6)
    await bench.run().reply()
    await bench.run().reply()
    assert main.asked == OPENS_AFTER + 2


# ---------------------------------------------------------------- text that was seen


async def test_a_reply_that_breaks_off_unseen_starts_over() -> None:
    held = ReplyDelta("one-long-word")  # the last word is held back: nobody has seen it
    bench = Bench([scripted("main", [held, CUT], fine())])
    run = bench.run()
    await run.reply()
    assert list(run.seen) == [1]


@pytest.mark.parametrize("error", [CUT, BUSY], ids=["cut", "dropped"])
async def test_a_shown_reply_that_breaks_off_is_replaced_from_offset_0_also_by_another_model(
    error: ModelError,
) -> None:
    bench = Bench([scripted("a", [BEGUN, error], SETUP), scripted("b", fine())])
    run = bench.run()
    assert (await run.reply()).text == "Hello there."
    assert run.seen[0] == "Once upon "
    assert run.selected == ["a", "b"]
    assert max(run.seen) == run.deltas[-1].attempt == 2


async def test_after_text_was_shown_there_are_at_most_two_more_attempts() -> None:
    bench = Bench([scripted("a", *[[BEGUN, CUT]] * 9)])
    run = bench.run()
    with pytest.raises(ModelReplyInvalid):
        await run.reply()
    assert bench.models[0].asked == 3
    assert run.failed[-1] == ("a", 1, 1, None)


async def test_the_second_of_these_attempts_goes_to_another_model_if_there_is_one() -> None:
    bench = Bench([scripted("a", *[[BEGUN, CUT]] * 9), scripted("b", fine())])
    run = bench.run()
    await run.reply()
    assert [model.asked for model in bench.models] == [2, 1]
    both = Bench([scripted("a", *[[BEGUN, CUT]] * 9), scripted("b", *[[BEGUN, CUT]] * 9)])
    with pytest.raises(ModelReplyInvalid):
        await both.run().reply()
    assert [model.asked for model in both.models] == [2, 1]


async def test_attempts_are_counted_across_all_replies_of_a_run() -> None:
    bench = Bench([scripted("main", fine(), [BEGUN, CUT], fine(), fine())])
    run = bench.run()
    for _ in range(3):
        await run.reply()
    assert sorted(run.seen) == [0, 1, 2, 3]


REFUSED = ModelUnavailable("refused")
REFUSED.uncounted = True


async def test_a_call_is_made_on_a_stored_reservation_and_settled_or_marked_estimated() -> None:
    bench = Bench([scripted("main", [BEGUN, CUT], REFUSED, fine())], price=Price(1, 2))
    run = bench.run()
    await run.reply()
    assert [one.attempt for one in bench.rows.reserved] == [1, 2, 3]
    first = bench.rows.reserved[0]
    request = asking("Hi")
    assert first.tokens >= request.max_output_tokens + len(request.system) + len("Hi")
    assert first.micro_usd >= first.tokens + request.max_output_tokens, "output costs 1 more"
    cut, refused, whole = (*bench.rows.ends, *run.meter.ends)
    assert (cut.usage, cut.micro_usd) == (None, first.micro_usd), (
        "no answer counted it: its reservation stays"
    )
    assert refused.usage == Usage(), "the provider refused it"
    assert whole.usage == Usage(10, 5, cost_micro_usd=20)
    assert len({cut.id, refused.id, whole.id}) == 3
    used = Usage(first.tokens + 10, 5, cost_micro_usd=first.micro_usd + 20)
    assert run.meter.used == used


async def test_a_reservation_has_room_for_thinking_and_for_images() -> None:
    (candidate,) = Bench([scripted("main", fine())], price=Price(1, 2)).list.all
    asked, image = asking("Hi"), ImagePart("a.png", "image/png", b"")
    bare = needed("id", candidate, 0, asked)
    for effort, tokens in (("off", 0), ("low", 2048), ("medium", 8192), ("high", 16_384)):
        thinks = needed("id", candidate, 0, replace(asked, thinking=Thinking(effort)))
        assert (thinks.tokens - bare.tokens, thinks.micro_usd - bare.micro_usd) == (tokens, 2 * tokens)
    seen = needed("id", candidate, 0, replace(asked, images=(image, image)))
    assert (seen.tokens - bare.tokens, seen.micro_usd - bare.micro_usd) == (2 * 8192, 2 * 8192)


async def test_a_call_beyond_a_budget_is_not_made_and_one_on_a_stored_reservation_needs_no_other() -> None:
    bench = Bench([scripted("main", fine(), fine())], price=Price(1, 2))
    bench.rows.most = 1
    run = bench.run()
    with pytest.raises(BudgetUsedUp, match="used up"):
        await run.reply()
    assert bench.models[0].asked == 0
    small = Reservation("small", "main", "test", 1, 10, 10)
    run.meter.hold(small)
    with pytest.raises(BudgetUsedUp):
        await run.reply()
    assert bench.rows.ends == [CallEnd("small", made=False)], "it does not cover the call"
    run.meter.hold(replace(small, id="large", tokens=10**6, micro_usd=10**6))
    await run.reply()
    assert bench.rows.reserved == []
    (end,) = run.meter.ends
    assert (end.id, end.usage) == ("large", Usage(10, 5, cost_micro_usd=20))
    assert end.tokens < 10**6, "what was reserved becomes exact"


# ---------------------------------------------------------------- overflow

IN_A_RESULT = [BEGUN, reply("Once upon", StopReason.OVERFLOW)]


@pytest.mark.parametrize("overflow", [ContextOverflow("long"), IN_A_RESULT], ids=["raised", "in a result"])
async def test_an_overflow_goes_once_to_a_model_with_a_larger_window(overflow: object) -> None:
    windows = {"a": 1000, "b": 500, "c": 4000, "d": 9000}
    models = [scripted("a", overflow, fine()), scripted("b", fine()), scripted("c", fine(), overflow)]  # type: ignore[arg-type]
    bench = Bench([*models, scripted("d", fine())], windows)
    run = bench.run()
    assert (await run.reply()).text == "Hello there."
    assert run.selected == ["a", "c"]
    assert run.windows == [1000, 4000], "the request is built for the window it is sent to"
    with pytest.raises(ContextOverflow):
        await run.reply()
    assert run.selected == ["a", "c"], "once per run"
    other = bench.run()
    await other.reply()
    assert other.selected == ["a"], "flags are of a run"


@pytest.mark.parametrize("overflow", [ContextOverflow("long"), IN_A_RESULT], ids=["raised", "in a result"])
async def test_without_a_larger_window_the_overflow_surfaces_and_no_other_model_is_called(
    overflow: object,
) -> None:
    bench = Bench([scripted("a", overflow), scripted("b", fine())])  # type: ignore[arg-type]
    run = bench.run()
    with pytest.raises(ContextOverflow):
        await run.reply()
    assert bench.models[1].asked == 0
    assert [event.error for event in run.events if isinstance(event, CandidateFailed)] == [
        texts.failure_reason(ContextOverflow(""))
    ]


@pytest.mark.parametrize("tools, reason", [([TIME], texts.EMPTY_WITH_TOOLS), ([], texts.EMPTY_TEXT)])
async def test_the_reason_of_an_empty_reply_says_whether_tools_were_offered(
    tools: list[ToolSpec], reason: str
) -> None:
    run = Bench([scripted("a", fine(""), fine(""))]).run()
    await run.models.reply(lambda _: asking("Hi", tools=tools), None, repeats_empty=True)
    assert [one.error for one in run.events if isinstance(one, CandidateFailed)] == [reason] * 2


async def test_steps_that_make_room_are_taken_in_their_order_and_each_once() -> None:
    taken: list[str] = []

    async def compact() -> bool:
        taken.append("compact")
        return True

    async def reset() -> bool:
        taken.append("reset")
        return True

    long = ContextOverflow("long")
    bench = Bench([scripted("a", long, long), scripted("b", long, long)], {"a": 1000, "b": 2000})
    run = bench.run(compact=compact, reset=reset)
    with pytest.raises(ContextOverflow):
        await run.reply()
    assert taken == ["compact", "reset"]
    assert [event.model for event in run.events if isinstance(event, CandidateFailed)] == ["a", "a", "b", "b"]


async def test_tokens_of_an_overflow_are_those_the_provider_reports() -> None:
    bench = Bench([scripted("a", IN_A_RESULT)])
    run = bench.run()
    with pytest.raises(ContextOverflow):
        await run.reply()
    assert run.usages == [Usage(10, 5)]


# ---------------------------------------------------------------- an end

ANY_FAILURE = st.sampled_from(
    [BUSY, CUT, LIMITED, ModelUnavailable("slow", 7.0), ModelRateLimited("slow", 400.0), *PERMANENT]
)
CALLS = st.lists(
    st.one_of(ANY_FAILURE.map(lambda e: [e]), ANY_FAILURE.map(lambda e: [BEGUN, e]), st.just(fine())),
    min_size=40,
    max_size=40,
)


@given(st.lists(CALLS, min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 6))
def test_a_run_ends_within_its_budget_under_any_failure(
    calls: list[list[list[ReplyDelta]]], keys: int, replies: int
) -> None:
    bench = Bench([ScriptedModel(f"m{n}", list(one)) for n, one in enumerate(calls)], keys=keys)
    run = bench.run()
    began_us, answered = bench.clock.now_us, 0

    async def all_replies() -> None:
        nonlocal answered
        for _ in range(replies):
            await run.reply()
            answered += 1

    try:
        asyncio.run(all_replies())
    except ModelError:
        pass
    asked = sum(model.asked for model in bench.models)
    assert asked - answered == len(run.failed) <= MAX_FAILED_ATTEMPTS
    assert (bench.clock.now_us - began_us) / 1e6 <= MAX_FAILED_S
    assert sum(model.closed for model in bench.models) == asked


async def test_the_budget_is_one_for_all_replies_of_the_run() -> None:
    per_reply = [BUSY, fine()]
    bench = Bench([scripted("main", *per_reply * 20)])
    run = bench.run()
    with pytest.raises(ModelUnavailable):
        for _ in range(20):
            await run.reply()
    assert len(run.failed) == MAX_FAILED_ATTEMPTS
    assert run.failed[-1][3] is None


async def test_a_later_start_of_a_run_continues_with_what_is_left() -> None:
    bench = Bench([scripted("main", *[BUSY, fine()] * 20)])
    run = bench.run()
    for _ in range(5):
        await run.reply()
    assert [spent.attempts for spent in run.kept] == [1, 2, 3, 4, 5], "kept before the next attempt"
    assert run.kept[-1].seconds == pytest.approx(sum(bench.clock.slept_s))
    again = bench.run(earlier=run.kept[-1])
    with pytest.raises(ModelUnavailable):
        for _ in range(20):
            await again.reply()
    assert len(again.failed) == MAX_FAILED_ATTEMPTS - 5


async def test_a_later_start_of_a_run_does_not_call_models_that_an_earlier_one_gave_up() -> None:
    long, windows = ContextOverflow("long"), {"large": 2000, "larger": 3000}
    names = [scripted("bad", ModelAuthRejected("no")), scripted("small", long), scripted("large", fine())]
    run = Bench(names, windows=windows).run()
    await run.reply()
    restarted = Bench([scripted(name, fine()) for name in ("bad", "small", "large")], windows=windows)
    later = restarted.run(earlier=run.kept[-1])
    assert later.models.faults == {"bad": ModelFault.KEY}
    await later.reply()
    assert [model.asked for model in restarted.models] == [0, 0, 1]
    other = Bench([scripted("small", long), scripted("larger", fine())], windows=windows)
    with pytest.raises(ContextOverflow):
        await other.run(earlier=replace(run.kept[-1], above_tokens=0)).reply()
    smaller = Bench([scripted("small", fine())], windows=windows)
    assert (await smaller.run(earlier=run.kept[-1]).reply()).text == "Hello there."


async def test_seconds_are_budgeted_too() -> None:
    bench = Bench([scripted("main", *[ModelUnavailable("slow", 55.0), fine()] * 9)])
    run = bench.run()
    with pytest.raises(ModelUnavailable):
        for _ in range(9):
            await run.reply()
    assert sum(bench.clock.slept_s) <= MAX_FAILED_S
    assert len(run.failed) == 4


# ---------------------------------------------------------------- cancellation


class Stuck:
    """A model that waits for ever after some pieces, or at once."""

    name = "stuck"
    abilities = ModelAbilities()

    def __init__(self, *pieces: ReplyDelta) -> None:
        self._pieces = pieces
        self.waits = asyncio.Event()
        self.closed = False

    async def reply(self, request: object):
        del request
        try:
            for piece in self._pieces:
                yield piece
            self.waits.set()
            await asyncio.Event().wait()
        finally:
            self.closed = True


@pytest.mark.parametrize("pieces", [(), (BEGUN,)], ids=["before text", "after text"])
async def test_cancelling_closes_the_stream_and_frees_the_probe(pieces: tuple[ReplyDelta, ...]) -> None:
    stuck = Stuck(*pieces)
    bench = Bench([stuck])  # type: ignore[list-item]
    health = bench.list.in_order()[0].health
    for _ in range(OPENS_AFTER):
        permit = health.begin()
        assert permit is not None
        health.failed(permit)
    bench.clock.now_us += round(FIRST_OPEN_S * 2 * 1e6)
    run = bench.run()
    task = asyncio.create_task(run.reply())
    await stuck.waits.wait()
    assert health.begin() is None, "the probe is under way"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stuck.closed
    assert run.failed == []
    probe = health.begin()
    assert probe is not None
    assert probe.probe


async def test_cancelling_during_a_wait_ends_the_reply() -> None:
    clock, main = ManualClock(), scripted("main", BUSY, fine())
    models = ModelList([ConfiguredModel("main", "test", 1000, (main,))], clock, unrecorded())
    meter = models.metering.run(Payer(CallKind.CHAT, "run", "ada"))
    run = RunModels(models, LeakDetector(), lambda _: None, meter)
    task = asyncio.create_task(run.reply(lambda _: asking("Hi"), lambda _: None))
    await clock.someone_waits()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert main.asked == 1


async def test_an_error_not_caused_by_a_model_is_passed_on_and_counts_against_no_model() -> None:
    bench = Bench([scripted("main", fine())])
    run = bench.run()

    def build(context_tokens: int) -> object:
        del context_tokens
        raise HubError("out of budget")

    with pytest.raises(HubError, match="out of budget"):
        await run.models.reply(build, lambda _: None)  # type: ignore[arg-type]
    assert (bench.models[0].asked, run.failed) == (0, [])


def test_every_reason_is_a_sentence_of_the_hubs_own() -> None:
    marker = "body-of-the-provider"
    errors = [type(e)(marker) for e in (BUSY, CUT, LIMITED, ModelRejected(""), ModelOrderConflict(""))]
    errors += [ContextOverflow(marker), *(ModelMisconfigured(marker, fault) for fault in ModelFault)]
    reasons = [texts.failure_reason(error) for error in errors]
    assert len(set(reasons)) == len(reasons)
    assert not any(marker in reason for reason in reasons)
