"""The loop's own rules, with a delegate that plays a script and keeps a journal."""

import json
from collections.abc import Mapping, Sequence

import pytest

from core.errors import ModelUnavailable, StaleTurn, StoreUnavailable
from core.model.base import CallRequest, ModelReply, StopReason
from core.runs.loop import (
    MAX_NUDGES,
    NUDGE,
    Answered,
    Exhausted,
    Limit,
    LoopOutcome,
    Paused,
    announces_call,
    run_agentic_loop,
)
from core.transcript import Entry, Note, Origin, UserSaid
from core.usage import Usage

ORIGIN = Origin("script", "script")


def said(text: str) -> ModelReply:
    return ModelReply(text, (), Usage(), ORIGIN)


def calls(*requests: tuple[str, Mapping[str, object]], truncated: bool = False) -> ModelReply:
    made = tuple(
        CallRequest(f"c{n}", tool, json.dumps(arguments)) for n, (tool, arguments) in enumerate(requests)
    )
    return ModelReply("", made, Usage(), ORIGIN, StopReason.LENGTH if truncated else StopReason.END)


class Script:
    """Replies in order; every call is settled as `fails` says, `asks` pauses before that tool. `inputs`: what
    somebody writes during the model call of that number."""

    def __init__(
        self,
        replies: Sequence[ModelReply],
        *,
        fails: bool = False,
        asks: str | None = None,
        limit_after: int | None = None,
        limit_pauses: bool = True,
        raises: Exception | None = None,
        inputs: Mapping[int, str] | None = None,
        entries: Sequence[Entry] = (),
    ) -> None:
        self._entries = entries
        self._raises = raises
        self._inputs = dict(inputs or {})
        self._replies = list(replies)
        self._fails = fails
        self._asks = asks
        self._limit_after = limit_after
        self._limit_pauses = limit_pauses
        self._open: list[CallRequest] = []
        self._settled_now = False
        self.journal: list[str] = []
        self.asked_with_tools: list[bool] = []
        self.ends: list[object] = []

    async def settle_calls(self) -> Paused | None:
        self._settled_now = bool(self._open)
        while self._open:
            call = self._open[0]
            if call.tool == self._asks:
                self.journal.append(f"ask {call.tool}")
                return Paused()
            self.journal.append(f"run {call.tool}")
            self._open.pop(0)
        return None

    async def join_input(self) -> bool:
        text = self._inputs.pop(len(self.asked_with_tools), None)
        if text is not None:
            self.journal.append(f"input {text}")
        return text is not None

    def transcript(self) -> Sequence[Entry]:
        return self._entries

    def last_batch_failed(self) -> bool:
        return self._settled_now and self._fails

    def limit_reached(self) -> Exhausted | None:
        if self._limit_after is None or len(self.asked_with_tools) < self._limit_after:
            return None
        return Exhausted(Limit.ROUNDS, "enough")

    def ended(self, outcome: LoopOutcome | None) -> None:
        self.ends.append(outcome)

    def failed(self) -> None:
        self.ends.append("failed")

    async def at_limit(self, limit: Exhausted) -> Paused | None:
        self.journal.append(f"limit {limit.said}")
        return Paused() if self._limit_pauses else None

    def offered_tools(self) -> bool:
        return self.asked_with_tools[-1]

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        self.asked_with_tools.append(with_tools)
        if self._raises is not None:
            raise self._raises
        return self._replies.pop(0)

    async def record_calls(self, reply: ModelReply) -> None:
        self._open = list(reply.calls)
        self.journal.append(f"calls {' '.join(call.tool for call in reply.calls)}")

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        self.journal.append(f"note {note}")


async def play(script: Script) -> LoopOutcome:
    return await run_agentic_loop(script)


async def test_a_reply_without_calls_ends_the_turn() -> None:
    script = Script([said("Hello")])
    assert await play(script) == Answered(said("Hello"))
    assert script.journal == []


async def test_calls_are_journalled_before_they_run_and_in_order() -> None:
    script = Script([calls(("a", {}), ("b", {})), said("done")])
    await play(script)
    assert script.journal == ["calls a b", "run a", "run b"]


async def test_a_question_stops_all_later_calls() -> None:
    script = Script([calls(("a", {}), ("b", {}), ("c", {}))], asks="b")
    assert await play(script) == Paused()
    assert script.journal == ["calls a b c", "run a", "ask b"]


async def test_input_joins_between_the_results_of_a_reply_and_the_next_model_call() -> None:
    replies = [calls(("a", {}), ("b", {})), calls(("c", {})), said("done")]
    script = Script(replies, inputs={1: "rather d", 2: "quickly"})
    await play(script)
    assert script.journal == [
        *("calls a b", "run a", "run b", "input rather d"),
        *("calls c", "run c", "input quickly"),
    ]


async def test_input_does_not_join_while_a_person_is_asked() -> None:
    script = Script([calls(("a", {}), ("b", {}))], asks="b", inputs={1: "rather c"})
    assert await play(script) == Paused()
    assert script.journal == ["calls a b", "run a", "ask b"]


async def test_input_is_counted_before_the_limit_and_restarts_the_count_of_repeated_failures() -> None:
    replies = [calls(("a", {})) for _ in range(6)]
    script = Script([*replies, said("done")], fails=True, limit_after=6, inputs={2: "again", 4: "again"})
    await play(script)
    assert not any(line.startswith("note") for line in script.journal)
    assert script.asked_with_tools[:6] == [True] * 6
    limited = Script([calls(("a", {}))], limit_after=1, inputs={1: "go on"})
    await play(limited)
    assert limited.journal == ["calls a", "run a", "input go on", "limit enough"]


async def test_a_truncated_call_is_never_run_and_after_the_third_no_tools_are_offered() -> None:
    cut = calls(("a", {"x": 1}), truncated=True)
    script = Script([cut] * 3 + [said("in words")])
    await play(script)
    assert not any(line.startswith("run") for line in script.journal)
    assert script.asked_with_tools == [True] * 3 + [False]


@pytest.mark.parametrize("reordered", [False, True])
async def test_the_same_failing_calls_are_warned_about_then_refused(*, reordered: bool) -> None:
    forms = [{"x": 1, "y": 2}, {"y": 2, "x": 1}] if reordered else [{"x": 1, "y": 2}] * 2
    replies = [calls(("a", forms[n % 2])) for n in range(5)]
    script = Script([*replies, said("I give up")], fails=True)
    await play(script)
    warned = [line for line in script.journal if line.startswith("note")]
    assert len(warned) == 3, "after the third, the fourth and the fifth time"
    assert script.asked_with_tools == [True] * 5 + [False]


async def test_other_arguments_or_a_success_restart_the_count() -> None:
    replies = [calls(("a", {"x": n})) for n in range(6)]
    script = Script([*replies, said("done")], fails=True)
    await play(script)
    assert not any(line.startswith("note") for line in script.journal)
    succeeding = Script([calls(("a", {}))] * 6 + [said("done")])
    await play(succeeding)
    assert not any(line.startswith("note") for line in succeeding.journal)


async def test_at_the_limit_a_person_is_asked() -> None:
    script = Script([calls(("a", {}))], limit_after=1)
    assert await play(script) == Paused()
    assert script.journal[-1] == "limit enough"


async def test_a_run_over_budget_ends_with_text_and_no_tools() -> None:
    script = Script([calls(("a", {})), said("this far")], limit_after=1, limit_pauses=False)
    assert await play(script) == Answered(said("this far"))
    assert script.asked_with_tools == [True, False]


async def test_the_end_of_a_run_is_reported_once() -> None:
    for script in (Script([said("Hello")]), Script([calls(("a", {}))], asks="a")):
        outcome = await play(script)
        assert script.ends == [outcome]
    ends: list[tuple[Exception, list[object]]] = [
        (StaleTurn("stopped"), [None]),
        (ModelUnavailable("down"), ["failed"]),
        (StoreUnavailable("it is tried again"), []),
    ]
    for error, end in ends:
        script = Script([], raises=error)
        with pytest.raises(type(error)):
            await play(script)
        assert script.ends == end


async def test_calls_asked_for_where_no_tools_are_offered_are_not_run() -> None:
    script = Script([calls(("a", {})), calls(("b", {}))], limit_after=1, limit_pauses=False)
    await play(script)
    assert "run b" not in script.journal


# --- announcements without a call


@pytest.mark.parametrize(
    "text",
    [
        "Let me check the log.",
        "I\u2019ll look up the price, then answer.",
        "Sure! I'm going to run the tests:",
        "I will now search for it",
        "That may be. Let me find out.",
    ],
)
def test_an_announcement_of_a_call_is_recognized(text: str) -> None:
    assert announces_call(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'll write a poem",
        "Let me think, then I'll query",
        "I'll be brief. We later find out.",
        "I'll summarize my findings here.",
        "Let me know if I should check it.",
        "Shall I? I'll delete the file if you say so, ok?",
        '"Let me check the log" is what he said.',
        "> Let me check the log.",
        "```\nLet me check the log.\n```",
        "    let me check the log",
        "Let me check the log." + " It is long." * 200,
    ],
)
def test_other_texts_announce_nothing(text: str) -> None:
    assert not announces_call(text)


async def test_a_model_that_only_announces_a_call_is_reminded_twice_at_most() -> None:
    announced = said("Let me check the log.")
    script = Script([announced, calls(("a", {})), announced, announced])
    assert await play(script) == Answered(announced)
    note = f"note {NUDGE}"
    assert script.journal == [note, "calls a", "run a", note]
    assert MAX_NUDGES == 2


async def test_neither_new_input_nor_an_interruption_allows_more_reminders() -> None:
    announced, note = said("Let me check the log."), Note(NUDGE)
    script = Script([announced] * 3, inputs={1: "and now?", 2: "well?"})
    assert await play(script) == Answered(announced)
    assert [line for line in script.journal if line.startswith("note")] == [f"note {NUDGE}"] * 2

    asked = Entry(2, "this", 0, UserSaid("go on"))
    earlier = [Entry(1, "earlier", 0, note), asked, Entry(3, "this", 0, note)]
    script = Script([announced] * 2, entries=earlier)
    assert await play(script) == Answered(announced)
    assert script.journal == [f"note {NUDGE}"]


async def test_without_tools_no_model_is_reminded_of_them() -> None:
    announced = said("Let me check the log.")
    script = Script([announced], limit_after=0, limit_pauses=False)
    assert await play(script) == Answered(announced)
    assert script.journal == ["limit enough"]
