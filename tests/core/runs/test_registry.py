"""The registry of runs: what it knows while one runs, and that nothing is left of it however it ends."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from core import texts
from core.errors import ContextOverflow, ModelFault, StaleTurn
from core.events import (
    NO_MODELS,
    CandidateFailed,
    ModelSelected,
    ModelTrace,
    RunEnded,
    RunKind,
    RunResult,
    RunStarted,
    TurnEvent,
    Verbosity,
)
from core.runs.registry import MAX_FAILURES_KEPT, RunRegistry

FAILED = CandidateFailed("openai", "main", "down", 1, 2, 1.0)


class Told:
    """The reports to listeners and the owner, and the fields of log records."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, TurnEvent]] = []
        self.owner: list[str] = []
        self.bound: dict[str, str] = {}
        self.kept: list[tuple[str, ModelTrace]] = []
        self.registry = RunRegistry(self, self.tell_owner, self.keep, self.bind)

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        self.events.append((thread_id, turn_id, event))

    async def keep(self, run_id: str, models: ModelTrace) -> None:
        self.kept.append((run_id, models))

    async def tell_owner(self, text: str, once: str = "") -> None:
        del once
        self.owner.append(text)

    @contextmanager
    def bind(self, **fields: str) -> Iterator[None]:
        self.bound = fields
        try:
            yield
        finally:
            self.bound = {}


def test_a_run_is_known_by_its_id_while_it_runs() -> None:
    told = Told()
    with told.registry.running("run-1", "thread-1", RunKind.CHAT, Verbosity.FULL) as run:
        assert (run.thread_id, run.kind, run.verbosity) == ("thread-1", RunKind.CHAT, Verbosity.FULL)
        assert told.bound == {"run": "run-1", "thread": "thread-1"}
        assert told.registry.trace("run-1") == NO_MODELS
        run.report(ModelSelected("openai", "main", "off"))
        run.report(FAILED)
        assert told.registry.trace("run-1") == ModelTrace("main", (FAILED,))
        assert told.registry.trace("run-2") == NO_MODELS
        run.result = RunResult.SUCCESS
    assert (len(told.registry), told.bound) == (0, {})
    assert told.registry.trace("run-1") == NO_MODELS
    assert [event for *_, event in told.events] == [
        RunStarted(RunKind.CHAT, Verbosity.FULL),
        ModelSelected("openai", "main", "off"),
        FAILED,
        RunEnded(RunResult.SUCCESS),
    ]
    assert {(thread, run) for thread, run, _ in told.events} == {("thread-1", "run-1")}


@pytest.mark.parametrize("error", [ValueError("a defect"), StaleTurn("taken over"), asyncio.CancelledError()])
def test_nothing_is_left_of_a_run_that_ends_in_any_other_way(error: BaseException) -> None:
    told = Told()
    with pytest.raises(type(error)), told.registry.running("run-1", "thread-1", RunKind.ROUTINE):
        raise error
    assert (len(told.registry), told.bound) == (0, {})
    assert told.events[-1] == ("thread-1", "run-1", RunEnded(RunResult.STOPPED))


def test_a_long_run_keeps_its_newest_failures() -> None:
    told = Told()
    with told.registry.running("run-1", "thread-1", RunKind.CHAT) as run:
        for number in range(MAX_FAILURES_KEPT + 5):
            run.report(CandidateFailed("openai", f"m{number}", "down", 1, 1))
        assert [one.model for one in run.failures][-1] == f"m{MAX_FAILURES_KEPT + 4}"
        assert len(run.failures) == MAX_FAILURES_KEPT


# ---------------------------------------------------------------- messages, one test each


def test_each_fault_says_what_is_wrong_and_how_to_mend_it() -> None:
    said = {fault: texts.model_fault("main", fault) for fault in ModelFault}
    assert len(set(said.values())) == len(ModelFault)
    for text in said.values():
        assert text.startswith("The language model main can't answer: ")
        assert text.endswith(".")
    assert "api_key" in said[ModelFault.KEY]
    assert "credits" in said[ModelFault.CREDITS]
    assert "base_url" in said[ModelFault.ADDRESS]


def test_a_limit_that_was_exceeded_names_the_reserve_and_says_to_try_again() -> None:
    text = texts.model_failure(ContextOverflow("long"), {}, was_reset=True)
    assert "agent.reserve_tokens" in text
    assert "4000 or more" in text
    assert "Try again" in text


def test_an_overflow_and_an_order_conflict_point_to_a_new_conversation() -> None:
    assert texts.CONTEXT_TOO_LONG != texts.MODEL_ORDER_CONFLICT
    assert "/new" in texts.CONTEXT_TOO_LONG
    assert "/new" in texts.MODEL_ORDER_CONFLICT


def test_details_name_the_last_failure_of_each_model_and_the_log() -> None:
    other = CandidateFailed("openai", "backup", "refused", 2, 2)
    said = texts.agent_failed([FAILED, FAILED, other], texts.ModelError("a provider's body"), "0190-ref")
    assert said == ("Agent failed before reply: main: down; backup: refused. Logs: hubbub logs -f · 0190-ref")
    said = texts.agent_failed([], ValueError("/home/secret/path"), "0190-ref")
    assert said == ("Agent failed before reply: internal error (ValueError). Logs: hubbub logs -f · 0190-ref")


def test_unreachable_models_say_to_try_again() -> None:
    assert "try again" in texts.MODEL_UNREACHABLE
