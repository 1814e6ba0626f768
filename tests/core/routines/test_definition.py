"""A routine's definition: read from JSON, written back, judged, changed, and shown in one word."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.messages import Address
from core.routine import (
    MAX_INPUT_CHARACTERS,
    Cron,
    Definition,
    Downtime,
    Event,
    FullJob,
    Guardrails,
    Lightweight,
    Manual,
    ManualInput,
    MessageInput,
    Notify,
    OnMatch,
    Progress,
    QuietHours,
    RunInput,
    RunStatus,
    Signature,
    SlotInput,
    SystemEvent,
    SystemInput,
    Webhook,
    WebhookInput,
    claim_key,
    kept,
)
from core.routine_json import Problem, definition_to_json, input_from_json, input_to_json, read_definition
from core.routines.definitions import (
    DisplayStatus,
    change,
    display_status,
    fingerprint,
    not_permitted,
    validate,
)
from core.users import Principal, Role

CRON = {"type": "cron", "schedule": "0 9 * * 1-5"}
ASK = {"type": "lightweight", "prompt": "What is on today?"}
PAGE: dict[str, Any] = {"name": "morning", "trigger": CRON, "action": ASK}


def trigger(**fields: Any) -> dict[str, Any]:
    return PAGE | {"trigger": fields}


def cron(**fields: Any) -> dict[str, Any]:
    return PAGE | {"trigger": CRON | fields}


def action(**fields: Any) -> dict[str, Any]:
    return PAGE | {"action": ASK | fields}


def limits(**fields: Any) -> dict[str, Any]:
    return PAGE | {"guardrails": fields}


def notices(**fields: Any) -> dict[str, Any]:
    return PAGE | {"notify": fields}


def valid(page: Mapping[str, object]) -> Definition:
    definition = validate(page, "Europe/Berlin")
    assert isinstance(definition, Definition), definition
    return definition


def faults(page: Mapping[str, object]) -> dict[str, str]:
    found = validate(page)
    assert isinstance(found, tuple)
    return {problem.field: problem.message for problem in found}


def test_omitted_fields_take_their_defaults() -> None:
    assert valid(PAGE) == Definition(
        name="morning",
        trigger=Cron("0 9 * * 1-5", "Europe/Berlin", Downtime.ONE_CATCH_UP),
        action=Lightweight("What is on today?", (), 4096, False, 3, ()),
        guardrails=Guardrails(cooldown_s=300, max_concurrent=1),
        notify=Notify(on_success=False, on_failure=True, on_attention=True),
        enabled=True,
    )


def test_a_full_job_has_25_rounds_and_no_more_than_200() -> None:
    action = {"type": "full_job", "title": "t", "description": "d"}
    assert valid(PAGE | {"action": action}).action == FullJob("t", "d", 25)
    wrong = {**action, "max_iterations": 201, "description": "d" * 16_001, "grants": ["shell"]}
    assert set(faults(PAGE | {"action": wrong})) == {
        "action.max_iterations",
        "action.description",
        "action.grants",
    }


def test_a_full_job_is_refused_where_jobs_are_turned_off() -> None:
    page = PAGE | {"action": {"type": "full_job", "title": "t", "description": "d"}}
    (problem,) = not_permitted(valid(page), Principal("owner", Role.OWNER, "Olivia"), priced=True)
    assert (problem.field, "jobs are turned off" in problem.message) == ("action.type", True)


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
maybe = st.none() | words.map(str.strip)
pairs = st.dictionaries(words, words, max_size=3).map(lambda held: tuple(held.items()))
lists = st.lists(words.map(str.strip), max_size=3, unique=True).map(tuple)
counts = st.integers(0, 10**6)
some = st.none() | counts
triggers = st.one_of(
    st.builds(Cron, words, words, st.sampled_from(Downtime), counts, counts),
    st.builds(Event, words, st.booleans(), maybe, maybe, maybe, st.sampled_from(OnMatch)),
    st.builds(SystemEvent, words, words, pairs),
    st.builds(Webhook, words, maybe, st.sampled_from(Signature), pairs, lists),
    st.just(Manual()),
)
actions = st.one_of(
    st.builds(Lightweight, words, lists, counts, st.booleans(), counts, lists, lists),
    st.builds(FullJob, words, words, counts, lists, lists),
)
minutes = st.integers(0, 24 * 60 - 1)
definitions = st.builds(
    Definition,
    words.map(str.strip),
    triggers,
    actions,
    words,
    st.builds(Guardrails, counts, counts, some, some, some, some, counts, counts, st.booleans()),
    st.builds(
        Notify,
        maybe,
        maybe.map(lambda value: None if value is None else Address(value)),
        maybe,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.none() | st.builds(QuietHours, minutes, minutes),
    ),
    st.booleans(),
)


@given(definitions, st.booleans())
def test_a_written_definition_is_read_back(definition: Definition, whole: bool) -> None:
    page = definition_to_json(definition, whole=whole)
    assert read_definition(page) == definition


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("no name", PAGE | {"name": None}, "name", "is missing"),
    ("a blank name", PAGE | {"name": "  "}, "name", "must not be empty"),
    ("a long name", PAGE | {"name": "n" * 101}, "name", "at most 100"),
    ("a name of two lines", PAGE | {"name": "a\nb"}, "name", "one line"),
    ("a name with a line's end of its own", PAGE | {"name": "a\u2028b"}, "name", "one line"),
    ("a name that turns what follows round", PAGE | {"name": "\u202eevil"}, "name", "visible characters"),
    ("a thread of too long a name", notices(thread_id="t" * 201), "notify.thread_id", "at most 200"),
    ("too long a sender", trigger(type="event", pattern="x", sender="s" * 201), "trigger.sender", "at most"),
    ("no trigger", {"name": "n", "action": ASK}, "trigger.type", "one of cron, event"),
    ("a trigger that is text", PAGE | {"trigger": "cron"}, "trigger", "must be an object"),
    ("an unknown trigger", trigger(type="moon"), "trigger.type", "one of cron"),
    ("no schedule", trigger(type="cron"), "trigger.schedule", "is missing"),
    (
        "an unknown zone",
        cron(timezone="Fake/Zone"),
        "trigger.timezone",
        "Europe/Berlin",
    ),
    (
        "a zone that is a folder",
        cron(timezone="Europe"),
        "trigger.timezone",
        "time zone",
    ),
    (
        "a path out of the zones",
        cron(timezone="../x"),
        "trigger.timezone",
        "time zone",
    ),
    (
        "an unknown policy",
        cron(downtime="never"),
        "trigger.downtime",
        "one_catch_up",
    ),
    (
        "text for a number",
        limits(cooldown_s="300"),
        "guardrails.cooldown_s",
        "a whole number",
    ),
    (
        "truth for a number",
        limits(cooldown_s=True),
        "guardrails.cooldown_s",
        "whole number",
    ),
    ("a negative cooldown", limits(cooldown_s=-1), "guardrails.cooldown_s", "from 0 to"),
    (
        "no run at a time",
        limits(max_concurrent=0),
        "guardrails.max_concurrent",
        "from 1 to 10",
    ),
    (
        "too many rounds",
        action(max_tool_rounds=9999),
        "action.max_tool_rounds",
        "1 to 20",
    ),
    (
        "a grant without a pattern",
        action(use_tools=True, allowed_tools=["shell"], grants=["shell"]),
        "action.grants",
        "a tool and a pattern",
    ),
    (
        "a grant without end",
        action(use_tools=True, allowed_tools=["shell"], grants=[f"shell {'x' * 16_001}"]),
        "action.grants",
        "at most 16000 characters each",
    ),
    (
        "too many grants",
        action(use_tools=True, allowed_tools=["shell"], grants=[f"shell {n}" for n in range(21)]),
        "action.grants",
        "at most 20",
    ),
    (
        "a grant without tools",
        action(grants=["shell rm old"]),
        "action.use_tools",
        "must be true for a routine with grants",
    ),
    ("no run a day", limits(daily_runs=0), "guardrails.daily_runs", "from 1"),
    ("no token a day", limits(daily_tokens=0), "guardrails.daily_tokens", "from 1"),
    ("tools without tools", action(allowed_tools=["t"]), "action.use_tools", "be true"),
    (
        "a list of numbers",
        action(context_paths=[1]),
        "action.context_paths",
        "list of strings",
    ),
    ("an unknown field", PAGE | {"schedule": "0 9 * * *"}, "schedule", "is unknown here; known keys: action"),
    (
        "a field of another trigger",
        cron(pattern="x"),
        "trigger.pattern",
        "is unknown to triggers of type cron; known keys",
    ),
    (
        "quiet hours in words",
        notices(quiet_hours="at night"),
        "notify.quiet_hours",
        "22:00-07:00",
    ),
    (
        "an hour too late",
        notices(quiet_hours="22:00-24:00"),
        "notify.quiet_hours",
        "two times",
    ),
    ("an address on no channel", notices(address="1"), "notify.channel", "is required"),
    (
        "a path of folders",
        trigger(type="webhook", path="a/b", secret_name="s"),
        "trigger.path",
        "a-z",
    ),
    ("a webhook for everybody", trigger(type="webhook", path="a"), "trigger.secret_name", "secret"),
    (
        "a filter that is a list",
        PAGE | {"trigger": {"type": "system_event", "source": "s", "event_type": "t", "filters": {"a": [1]}}},
        "trigger.filters.a",
        "must be text, a number",
    ),
]


@pytest.mark.parametrize("page,field,told", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_an_invalid_definition_names_the_field(page: dict[str, Any], field: str, told: str) -> None:
    found = faults(page)
    assert set(found) == {field}
    assert told in found[field]
    assert faults(page) == found, "a second look found something else"


def test_all_faults_are_reported_at_once() -> None:
    page = {
        "name": "",
        "trigger": {"type": "cron", "schedule": " ", "timezone": "x"},
        "action": {"type": "full_job"},
    }
    assert faults(page).keys() == {"action.title", "action.description"}
    page["action"] = ASK
    assert faults(page).keys() == {"name", "trigger.schedule", "trigger.timezone"}


def test_lists_are_trimmed_and_filters_become_text() -> None:
    assert valid(action(context_paths=[" a ", "", "a", "b"])).action == Lightweight(
        "What is on today?", ("a", "b")
    )
    emitted = {"type": "system_event", "source": "s", "event_type": "t", "filters": {"public": True, "n": 42}}
    assert valid(PAGE | {"trigger": emitted}).trigger == SystemEvent(
        "s", "t", (("public", "true"), ("n", "42"))
    )


def test_a_change_keeps_what_it_does_not_name_and_null_resets_a_field() -> None:
    before = valid(PAGE | {"guardrails": {"cooldown_s": 5, "dedup_window_s": 60}, "description": "d"})
    after = change(before, {"guardrails": {"dedup_window_s": None}, "trigger": {"schedule": "@daily"}})
    assert isinstance(after, Definition)
    assert after.guardrails == Guardrails(cooldown_s=5)
    assert after.trigger == Cron("@daily", "Europe/Berlin")
    assert (after.name, after.description, after.action) == ("morning", "d", before.action)
    reset = change(after, {"guardrails": None})
    assert isinstance(reset, Definition)
    assert reset.guardrails == Guardrails()


def test_a_stray_field_does_not_turn_one_trigger_into_another() -> None:
    before = valid(trigger(type="event", pattern="deploy"))
    after = change(before, {"trigger": {"schedule": "@daily"}})
    assert isinstance(after, tuple)
    assert [problem.field for problem in after] == ["trigger.schedule"]
    named = change(before, {"trigger": {"type": "cron", "schedule": "@daily"}}, "Asia/Kathmandu")
    assert isinstance(named, Definition)
    assert named.trigger == Cron("@daily", "Asia/Kathmandu")


def test_the_fingerprint_follows_behaviour_alone() -> None:
    emitted = {"type": "system_event", "source": "s", "event_type": "t", "filters": {"a": "1", "b": "2"}}
    first = valid(PAGE | {"trigger": emitted})
    same = [
        {"name": "other"},
        {"description": "d"},
        {"enabled": False},
        {"notify": {"on_success": True}},
        {"trigger": {"filters": {"b": "2", "a": "1"}}},
        {"guardrails": {"cooldown_s": 300}},
    ]
    for page in same:
        changed = change(first, page)
        assert isinstance(changed, Definition)
        assert fingerprint(changed) == fingerprint(first), page
    others = [{"trigger": {"source": "x"}}, {"action": {"prompt": "x"}}, {"guardrails": {"cooldown_s": 1}}]
    for page in others:
        changed = change(first, page)
        assert isinstance(changed, Definition)
        assert fingerprint(changed) != fingerprint(first), page
    assert "What is on" not in fingerprint(first)
    assert len(bytes.fromhex(fingerprint(first))) == 32


def test_one_word_gives_the_state_of_a_routine() -> None:
    definition = valid(PAGE)
    good = fingerprint(definition)
    off = valid(PAGE | {"enabled": False})
    table = [
        (off, Progress(running=1, tested_as=good), DisplayStatus.DISABLED),
        (definition, Progress(paused_because="5 failures", running=1), DisplayStatus.PAUSED),
        (definition, Progress(running=1, consecutive_failures=2), DisplayStatus.RUNNING),
        (definition, Progress(tested_as="of another behaviour"), DisplayStatus.UNTESTED),
        (definition, Progress(tested_as=good, consecutive_failures=1), DisplayStatus.FAILING),
        (definition, Progress(tested_as=good, last_status=RunStatus.ATTENTION), DisplayStatus.ATTENTION),
        (definition, Progress(tested_as=good, last_status=RunStatus.OK), DisplayStatus.ACTIVE),
    ]
    for what, progress, word in table:
        assert display_status(what, progress) is word


@pytest.mark.parametrize(
    "start,end,quiet,loud",
    [
        (22 * 60, 7 * 60, [22 * 60, 23 * 60, 0, 7 * 60 - 1], [7 * 60, 12 * 60, 22 * 60 - 1]),
        (60, 120, [60, 119], [59, 120, 0]),
        (60, 60, [], [0, 60, 61, 1439]),
    ],
)
def test_quiet_hours_may_pass_midnight(start: int, end: int, quiet: list[int], loud: list[int]) -> None:
    hours = QuietHours(start, end)
    assert all(hours.cover(minute) for minute in quiet)
    assert not any(hours.cover(minute) for minute in loud)


INPUTS: list[tuple[RunInput, str]] = [
    (SlotInput(1_000_000, skipped=3), "slot:1000000"),
    (MessageInput("tg:1:m:2:3", "telegram", "4", "hi", ("a", None), (("n", None),)), "message:tg:1:m:2:3"),
    (SystemInput("e1", "github", "issue.opened", '{"n": 1}'), "event:e1"),
    (WebhookInput("d1", '{"n": 1}'), "delivery:d1"),
    (ManualInput("r1", "u1"), "manual:r1"),
]


@pytest.mark.parametrize("fired_by,key", INPUTS, ids=[key for _, key in INPUTS])
def test_a_trigger_is_stored_and_claimed_once(fired_by: RunInput, key: str) -> None:
    assert input_from_json(input_to_json(fired_by)) == fired_by
    assert claim_key(fired_by) == key


def test_long_input_is_cut_and_says_so() -> None:
    assert kept("x" * MAX_INPUT_CHARACTERS) == "x" * MAX_INPUT_CHARACTERS
    cut = kept("x" * (MAX_INPUT_CHARACTERS + 1))
    assert len(cut) == MAX_INPUT_CHARACTERS
    assert cut.endswith("[… cut here]")


def test_a_problem_names_one_field() -> None:
    assert validate({}) == (
        Problem("name", "is missing"),
        Problem("trigger.type", "must be one of cron, event, system_event, webhook, manual"),
        Problem("action.type", "must be one of lightweight, full_job, reminder"),
    )
