"""Trials of a text and of a routine that is being written, before anything is run or kept."""

from dataclasses import replace
from typing import Any

import pytest

from core.clock import SECOND_US
from core.routine import Definition, Event, Guardrails, Lightweight, Manual, SystemEvent, Trigger, Webhook
from core.routines.definitions import text_of
from core.routines.trial import Moment, try_page, try_text, what_fires
from core.store.routine_rows import RoutineRow
from core.users import Principal, Role
from tests.core.routines.test_schedule import us

NOW = us("2026-03-28T12:00Z")
AT = Moment(Principal("owner", Role.OWNER, "Olivia"), NOW, "Europe/Berlin")
WATCH = Definition(
    "watch",
    Event("deploy (\\w+)(!)?", channel="telegram", sender="ada", thread_id="t1"),
    Lightweight("Look into it.", context_paths=("notes.md",)),
    guardrails=Guardrails(cooldown_s=60),
)
PAGE: dict[str, Any] = {
    "name": "watch",
    "trigger": {"type": "event", "pattern": "deploy (\\w+)"},
    "action": {"type": "lightweight", "prompt": "Look into it."},
}


def row(definition: Definition = WATCH, **other: Any) -> RoutineRow:
    text = text_of(definition, None)
    kept = RoutineRow("r", "owner", text, True, None, None, 0, None, None, 0, 0, 0, "", None, 1, NOW, NOW)
    return replace(kept, **other)


def test_a_text_that_matches_shows_what_the_model_would_get() -> None:
    trial = try_text(row(state="seen 3"), "please deploy production", AT)
    assert (trial.fires, trial.why) == (
        True,
        "the pattern matches 'deploy production' (groups 1: 'production', 2: None)",
    )
    assert trial.system is not None
    assert 'the routine "watch" for "Olivia"' in trial.system
    assert "2026-03-28 13:00 (Europe/Berlin)" in trial.system
    assert trial.model_input is not None
    assert trial.model_input.startswith("Look into it.\n\n# Context: notes.md\n")
    for part in (
        "seen 3",
        "channel: telegram",
        'from: "ada"',
        "group 1: production",
        "please deploy production",
    ):
        assert part in trial.model_input


def test_a_text_that_does_not_match_says_why() -> None:
    trial = try_text(row(), "nothing of the kind", AT)
    assert (trial.fires, trial.model_input) == (False, None)
    assert trial.why == "the pattern 'deploy (\\\\w+)(!)?' does not match the text"
    by_hand = try_text(row(replace(WATCH, trigger=Manual())), "deploy it", AT)
    assert by_hand.why == "its trigger is manual, not a message"


@pytest.mark.parametrize(
    "other, why",
    [
        ({"enabled": False}, "it is paused; otherwise it would fire: the pattern"),
        (
            {"cools_until": NOW + SECOND_US},
            "it is resting until 2026-03-28 12:00:01 UTC; otherwise",
        ),
    ],
)
def test_a_matching_routine_that_cannot_fire_says_why(other: dict[str, Any], why: str) -> None:
    trial = try_text(row(**other), "deploy it", AT)
    assert not trial.fires
    assert trial.why.startswith(why)
    assert trial.model_input is not None
    assert try_text(row(cools_until=NOW), "deploy it", AT).fires


def test_a_draft_lists_all_its_errors() -> None:
    wrong = {**PAGE, "name": " ", "trigger": {"type": "event", "pattern": "(?=x)"}}
    draft = try_page(wrong, "x", AT)
    assert [problem.field for problem in draft.problems] == ["name", "trigger.pattern"]
    assert (draft.fires_on, draft.trial) == (None, None)
    nameless = try_page({**PAGE, "name": ""}, "deploy it", AT)
    assert ([problem.field for problem in nameless.problems], nameless.trial is not None) == (["name"], True)
    member = replace(AT, by=Principal("ben", Role.MEMBER, "Ben"))
    reading = {**PAGE, "action": {**PAGE["action"], "context_paths": ["a.md"]}}
    assert [problem.field for problem in try_page(reading, None, member).problems] == ["action.context_paths"]


def test_a_valid_draft_shows_when_it_runs_and_what_it_does() -> None:
    draft = try_page(PAGE, "deploy it", AT)
    assert (draft.problems, draft.fires_on) == ((), "A message in which “deploy (\\w+)” matches")
    assert draft.trial is not None
    assert draft.trial.fires
    assert draft.slots == ()
    cron = {**PAGE, "trigger": {"type": "cron", "schedule": "0 9 * * 1-5"}}
    timed = try_page(cron, "deploy it", AT)
    assert timed.fires_on == "At 09:00 on Monday to Friday (Europe/Berlin)"
    # A Saturday: the Monday after has summer time.
    assert timed.slots[:2] == (us("2026-03-30T09:00+02:00"), us("2026-03-31T09:00+02:00"))
    assert timed.trial is None


@pytest.mark.parametrize(
    "trigger, words",
    [
        (Event("x", channel="slack", sender="ada"), "A message on slack by ada in which “x” matches"),
        (SystemEvent("github", "push"), "The event github push"),
        (
            SystemEvent("github", "push", (("ref", "main"), ("by", "ada"))),
            "The event github push where ref is “main” and by is “ada”",
        ),
        (Webhook("github"), "A request to /api/webhooks/github"),
        (Manual(), "Started by a person only"),
    ],
)
def test_triggers_are_described_in_words(trigger: Trigger, words: str) -> None:
    assert what_fires(trigger) == words
