"""A model that fails, in every way, at every place of the list, before and after people saw text.

Judged by the requests the providers got, the events of the thread's stream, what is read on the platform, and
what the thread keeps."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest

from core import texts
from core.errors import ModelFault
from core.runs.compaction import RESET
from tests.harness.telegram_hub import LIMIT_S
from tests.scenarios.model_house import House, attempts_of, failures_in, open_house
from tests.simulators.model import (
    Drop,
    EmptyBody,
    EndEarly,
    Fault,
    Hold,
    HttpError,
    MalformedEvent,
    ModelSimulator,
    Reply,
    StreamError,
    ToolCall,
)

STORY = "Once upon a time there was a model that told a long story, word by word, until it broke off. " * 2
OTHER = "Another story, whole."
SEEN_EVENTS = 6
GO = "tell it"
CALL = ToolCall("shell", {"command": "echo ran > ran.txt", "timeout_s": 5})


TOLD = Reply(STORY, chunk_chars=12, delay_s=0.005)


class Kind(Enum):
    """The way a failure is handled."""

    TRIED_AGAIN = auto()
    NEXT = auto()
    OVERFLOW = auto()
    ANSWER = auto()
    EMPTY = auto()


@dataclass(frozen=True)
class Failure:
    """One row. `fault` None: the reply itself is the trouble; `said`: what is read when it stays so;
    `mends`: what the owner is told to mend."""

    name: str
    kind: Kind
    fault: Fault | Literal["refused"] | None
    said: str
    reply: Reply = TOLD
    seen: bool = False
    mends: ModelFault | None = None


def stream_error(kind: str, code: str | None = None) -> StreamError:
    return StreamError(after_events=SEEN_EVENTS, type=kind, code=code)


def body(message: str, code: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": code}})


AGAIN, NEXT, OVERFLOW, ANSWER, EMPTY = Kind
DOWN, BROKE, LONG = texts.MODEL_UNREACHABLE, texts.MODEL_BROKE_OFF, texts.CONTEXT_LIMIT_RESET
ARGUMENTS = Reply(calls=(CALL,), chunk_chars=6)
TEXT_AND_ARGUMENTS = Reply(STORY, calls=(CALL,), chunk_chars=12)
CUT_CALL = Drop(at="mid_stream", after_events=len(STORY) // 12 + 4)
HTML = "<!doctype html><title>Log in</title>"
ROLES = body("messages: roles must alternate between user and assistant")
FAILURES = [
    Failure("time-out", AGAIN, Hold(), DOWN),
    Failure("time-out", AGAIN, Hold(at="mid_stream", after_events=SEEN_EVENTS), DOWN, seen=True),
    Failure("refused connection", AGAIN, "refused", DOWN),
    Failure("401", NEXT, HttpError(401), "", mends=ModelFault.KEY),
    Failure("402", NEXT, HttpError(402), "", mends=ModelFault.CREDITS),
    Failure("429", AGAIN, HttpError(429), DOWN),
    Failure("429 within the stream", AGAIN, stream_error("tokens", "rate_limit_exceeded"), DOWN, seen=True),
    Failure("429 with Retry-After", AGAIN, HttpError(429, retry_after_s=2), DOWN),
    Failure("500", AGAIN, HttpError(500), DOWN),
    Failure("500 within the stream", AGAIN, stream_error("server_error"), DOWN, seen=True),
    Failure("529", AGAIN, HttpError(529), DOWN),
    Failure("529 within the stream", AGAIN, stream_error("overloaded_error"), DOWN, seen=True),
    Failure("malformed JSON", AGAIN, MalformedEvent(after_events=1), BROKE),
    Failure("malformed JSON", AGAIN, MalformedEvent(after_events=SEEN_EVENTS), BROKE, seen=True),
    Failure("HTML page", NEXT, HttpError(200, body=HTML), "", mends=ModelFault.ADDRESS),
    Failure("gateway's page", AGAIN, HttpError(502), DOWN),
    Failure("cut before text", AGAIN, Drop(at="after_headers"), DOWN),
    Failure("cut after text", AGAIN, Drop(at="mid_stream", after_events=SEEN_EVENTS), DOWN, seen=True),
    Failure("ended after text", AGAIN, EndEarly(after_events=SEEN_EVENTS), BROKE, seen=True),
    Failure("cut inside arguments", AGAIN, Drop(at="mid_stream", after_events=5), DOWN, ARGUMENTS),
    Failure("cut inside arguments", AGAIN, CUT_CALL, DOWN, TEXT_AND_ARGUMENTS, seen=True),
    Failure("overflow raised", OVERFLOW, HttpError(400, body=body("", "context_length_exceeded")), LONG),
    Failure(
        "overflow raised",
        OVERFLOW,
        stream_error("invalid_request_error", "context_length_exceeded"),
        LONG,
        seen=True,
    ),
    Failure("overflow in a success", OVERFLOW, None, LONG, Reply("", finish="model_context_window_exceeded")),
    Failure(
        "overflow in a success",
        OVERFLOW,
        None,
        LONG,
        Reply(STORY, finish="model_context_window_exceeded", chunk_chars=12),
        seen=True,
    ),
    Failure("order conflict", NEXT, HttpError(400, body=ROLES), texts.MODEL_ORDER_CONFLICT),
    Failure("refused request", NEXT, HttpError(400), texts.MODEL_REFUSED),
    Failure("empty body", AGAIN, EmptyBody(), BROKE),
    Failure("empty reply", EMPTY, None, texts.EMPTY_REPLY, Reply("")),
    Failure("thinking alone", EMPTY, None, texts.EMPTY_REPLY, Reply("<think>hm", chunk_chars=3)),
    Failure("content filter", NEXT, None, texts.MODEL_REFUSED, Reply("", finish="content_filter")),
    Failure(
        "content filter",
        ANSWER,
        None,
        f"{STORY.strip()}\n\n{texts.FILTERED}",
        Reply(STORY, finish="content_filter", chunk_chars=12),
        seen=True,
    ),
    Failure(
        "output limit",
        ANSWER,
        None,
        f"{STORY.strip()}\n\n{texts.CUT_OFF}",
        Reply(STORY, finish="length", chunk_chars=12),
        seen=True,
    ),
]
PLACES = ("only", "first", "last")
PROVIDERS = ("openai", "anthropic")


def each_at_one_place_and_at_length_at_all() -> Iterator[object]:
    """Half of the failures of the only model, half of the first of two; at length all, everywhere."""
    for number, row in enumerate(FAILURES):
        usual = {PLACES[number % 2], *(("first",) if row.name == "ended after text" else ())}
        for place, provider in product(PLACES, PROVIDERS):
            name = f"{row.name}-{'seen' if row.seen else 'unseen'}-{place}-{provider}"
            marks = [] if place in usual and provider == "openai" else [pytest.mark.slow]
            yield pytest.param(row, place, provider, id=name, marks=marks)


ON_ANTHROPIC: dict[str, Fault] = {
    "429 within the stream": stream_error("rate_limit_error"),
    "500 within the stream": stream_error("api_error"),
    "overflow raised": HttpError(400, body=body("prompt is too long: 210000 tokens > 200000 maximum")),
}
"""What the provider says in other words."""
OPENAI_ALONE = {("overflow raised", True)}
"""Anthropic counts a prompt before it says anything."""


def calls_expected(row: Failure, place: str) -> tuple[int, int]:
    """Calls of the failing model, and of the one after it."""
    match row.kind:
        case Kind.TRIED_AGAIN if place == "first":
            return (2, 1) if row.seen else (3, 1)
        case Kind.TRIED_AGAIN:
            return (3, 0) if row.seen else (4, 0)
        case Kind.NEXT if place == "first":
            return 1, 1
        case Kind.EMPTY | Kind.OVERFLOW:  # after an overflow once more, with less of the conversation
            return 2, 0
        case _:
            return 1, 0


def said_expected(row: Failure, place: str) -> list[str]:
    """Return what is read in the end: the answer or the failure, and a notice to the owner."""
    fixes = (
        [] if row.mends is None else [texts.model_fault("backup" if place == "last" else "main", row.mends)]
    )
    match row.kind, place:
        case Kind.TRIED_AGAIN | Kind.NEXT, "first":
            return [OTHER, *fixes]
        case Kind.NEXT, "last":  # as the first model, which refused the request
            return [texts.MODEL_REFUSED, *fixes]
        case _:
            return fixes or [row.said.strip()]


REASONS = {
    DOWN: "it is not reachable, or overloaded",
    BROKE: "its reply broke off, or was not readable",
    LONG: "the conversation is too long for it",
    texts.MODEL_ORDER_CONFLICT: "it refused the order of the messages",
    texts.MODEL_REFUSED: "it refused the request",
    texts.EMPTY_REPLY: texts.EMPTY_WITH_TOOLS,
}
"""The reason in the event of a failure, by what is read when it stays so."""
RATE_LIMITED = "its provider limits the rate of requests"


def reason_expected(row: Failure) -> str:
    if row.mends is not None:
        return texts.FAULTS[row.mends][0]
    return RATE_LIMITED if row.name.startswith("429") else REASONS[row.said]


def plant(row: Failure, at: ModelSimulator, provider: str) -> None:
    fault = None if row.fault == "refused" else row.fault
    if provider == "anthropic":
        fault = ON_ANTHROPIC.get(row.name, fault)
    at.rule(GO, row.reply, fault=fault)


@pytest.mark.parametrize("row, place, provider", list(each_at_one_place_and_at_length_at_all()))
async def test_a_failure_at_any_place_costs_bounded_calls_and_leaves_one_answer(
    tmp_path: Path, row: Failure, place: str, provider: str
) -> None:
    if provider == "anthropic" and (row.name, row.seen) in OPENAI_ALONE:
        return
    timeout_s = 0.25 if row.name == "time-out" else LIMIT_S
    models = 1 if place == "only" else 2
    async with open_house(tmp_path, models=models, provider=provider, read_timeout_s=timeout_s) as house:
        failing, other = (house.backup, house.main) if place == "last" else (house.main, house.backup)
        plant(row, failing, provider)
        other.rule(GO, Reply(OTHER), fault=HttpError(400) if place == "last" else None)
        before = failing.log.taken, other.log.taken
        if row.fault == "refused":
            await failing.stop()
        events = await house.told(GO)
        expected_calls, after = calls_expected(row, place)
        if row.fault != "refused":
            assert failing.log.taken - before[0] == expected_calls
        assert other.log.taken - before[1] == (1 if place == "last" else after)
        failing_name = "backup" if place == "last" else "main"
        failed = 0 if row.kind is Kind.ANSWER else expected_calls
        at, total = {"only": (1, 1), "first": (1, 2), "last": (2, 2)}[place]
        first = [("main", 1, 2)] if place == "last" else []
        met = [(failing_name, at, total)] * failed
        if row.kind is Kind.OVERFLOW and place == "last":
            met[1] = (failing_name, 1, 1)  # the first model refused, and is not called again
        assert failures_in(events) == first + met
        failures = [one["data"] for one in events if one["type"] == "candidate_failed"]
        reported = {(one["provider"], one["error"]) for one in failures if one["model"] == failing_name}
        assert reported == ({(provider, reason_expected(row))} if failed else set())
        selected = [one["data"] for one in events if one["type"] == "model_selected"]
        assert (selected[0]["provider"], selected[0]["model"]) == (provider, "main")
        said = said_expected(row, place)
        assert await house.says() == said
        _judge_events(events, row, place, said[0])
        await _judge_what_is_kept(house, row, said)


def _judge_events(events: Sequence[dict[str, Any]], row: Failure, place: str, said: str) -> None:
    shown = attempts_of(events)
    answered = row.kind in {Kind.ANSWER, Kind.EMPTY} or said == OTHER
    if row.seen and row.kind is not Kind.ANSWER:
        broken = shown[1 if place == "last" else 0]
        assert broken
        assert STORY.startswith(broken)
    if said == OTHER:
        assert shown[max(shown)] == OTHER, "the last attempt replaces what was shown before"
    types = [event["type"] for event in events]
    assert types.count("turn_finished") == (1 if answered else 0)
    assert types.count("turn_failed") == (0 if answered else 1)
    (ended,) = (event["data"] for event in events if event["type"] == "run_ended")
    (started,) = (event["data"] for event in events if event["type"] == "run_started")
    assert (started["kind"], started["verbosity"]) == ("chat", "off")
    assert ended == {"run": started["run"], "result": "success" if answered else "final"}
    turns = {event["data"].get("turn") or event["data"].get("run") for event in events} - {None}
    assert turns == {started["run"]}


async def _judge_what_is_kept(house: House, row: Failure, said: Sequence[str]) -> None:
    """The transcript holds the final reply alone; no call of a broken reply was recorded or run."""
    first, *fixes = said
    answered = row.kind in {Kind.ANSWER, Kind.EMPTY} or first == OTHER
    notices = [("notice", fix) for fix in fixes]
    marks = [("summary", RESET)] if row.kind is Kind.OVERFLOW and not answered else []
    told = ("assistant" if answered else "notice", first)
    assert await house.kept() == [("user", GO), *marks, told, *notices]
    assert not (house.hub.workspace / "ran.txt").exists()
