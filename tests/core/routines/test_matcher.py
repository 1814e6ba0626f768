"""Which routines a message fires: filters, changes, thousands at once."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.routine import Event
from core.routines.matching.matcher import Grams, Heard, Listener, Matcher, folded, needed_texts
from core.routines.matching.nodes import PatternRefused
from core.routines.matching.pattern import Pattern, Subject
from tests.core.routines.people import PATTERNS
from tests.plugins.profile import Profile

ANN = frozenset({"ann"})


def heard(text: str, *, readers: frozenset[str] = ANN, channel: str = "telegram") -> Heard:
    return Heard(text, readers, channel, sender=("4711", "AnnLee"), thread_id="t1")


def fired(matcher: Matcher, message: Heard) -> list[str]:
    return [hit.listener.routine_id for hit in matcher.match(message)]


def listening(event: Event, owner: str = "ann") -> Matcher:
    matcher = Matcher()
    matcher.put(Listener("r1", owner, event))
    return matcher


def test_all_matching_routines_fire_oldest_first() -> None:
    matcher = Matcher()
    for routine_id in ("r2", "r1", "r3"):
        matcher.put(Listener(routine_id, "ann", Event("deploy.*production")))
    matcher.put(Listener("r4", "ann", Event("staging")))
    assert fired(matcher, heard("deploy to production now")) == ["r1", "r2", "r3"]
    assert fired(matcher, heard("check the staging")) == ["r4"]
    assert fired(matcher, heard("nothing of the kind")) == []


@pytest.mark.parametrize(
    "event,fires",
    [
        (Event("alert"), True),
        (Event("alert", channel="Telegram"), True),
        (Event("alert", channel="discord"), False),
        (Event("alert", sender="4711"), True),
        (Event("alert", sender="annlee"), True),
        (Event("alert", sender="bob"), False),
        (Event("alert", thread_id="t1"), True),
        (Event("alert", thread_id="t2"), False),
        (Event("ALERT"), False),
        (Event("ALERT", ignore_case=True), True),
    ],
)
def test_channel_sender_and_thread_narrow_what_matches(event: Event, fires: bool) -> None:
    assert bool(fired(listening(event), heard("an alert"))) is fires


def test_a_routine_matches_only_what_its_owner_may_read() -> None:
    matcher = listening(Event("alert"), owner="bob")
    assert fired(matcher, heard("alert")) == []
    assert fired(matcher, heard("alert", readers=frozenset({"ann", "bob"}))) == ["r1"]


def test_groups_are_what_re_finds_in_the_message_as_it_was_written() -> None:
    matcher = listening(Event(r"(?i)\bdeploy (?P<what>[\w-]+)(?: to (\w+))?$"))
    (hit,) = matcher.match(heard("bitte DEPLOY größe-部署\n"))
    assert hit.found.text == "DEPLOY größe-部署"
    assert hit.found.groups == ("größe-部署", None)
    assert hit.found.names == (("what", "größe-部署"),)


def test_a_change_takes_effect_at_once() -> None:
    matcher = listening(Event("first"))
    matcher.put(Listener("r2", "ann", Event("another")))
    matcher.put(Listener("r1", "ann", Event("second")))
    assert fired(matcher, heard("first")) == []
    assert fired(matcher, heard("second")) == ["r1"]
    with pytest.raises(PatternRefused):
        matcher.put(Listener("r1", "ann", Event("(?=x)")))
    assert fired(matcher, heard("second")) == ["r1"], "a refused change changes nothing"
    matcher.remove("r1")
    matcher.remove("never there")
    assert (fired(matcher, heard("first, second, another")), len(matcher)) == (["r2"], 1)


async def test_an_unusable_pattern_is_reported_and_the_others_work() -> None:
    matcher = Matcher()
    broken = Listener("r2", "ann", Event("(?=broken)"))
    refused = await matcher.load([Listener("r1", "ann", Event("fine")), broken])
    assert [listener for listener, _ in refused] == [broken]
    assert fired(matcher, heard("fine, not broken")) == ["r1"]


@pytest.mark.parametrize("pattern", [r"\b\d{6}\b", "!", r"^[a-z]\W", r"(?i)i+", r"[^a]b?"])
def test_patterns_without_any_fixed_text_are_matched_too(pattern: str) -> None:
    matcher = listening(Event(pattern))
    for text in ("123456", "wow!", "a b", "IİıI", "x", "aaa"):
        assert bool(fired(matcher, heard(text))) is bool(re.search(pattern, text)), text


def test_lone_surrogates_do_no_harm() -> None:
    assert fired(listening(Event("alert")), heard("\ud83d alert")) == ["r1"]
    assert fired(listening(Event(r"^.\W\b(alert)\b")), heard("\ud83d alert")) == ["r1"]


def test_text_beyond_the_limit_is_not_matched() -> None:
    assert fired(listening(Event("alert")), heard("x" * 8192 + "alert")) == []


def test_catastrophic_patterns_are_answered_quickly() -> None:
    assert Pattern("(a+)+$").search(Subject("a" * 3_999 + "!")) is None


async def test_thousands_of_patterns_together_fire_what_each_fires_alone(profile: Profile) -> None:
    generator = random.Random(profile.seed)
    words = [text for _, sample in PATTERNS for text in sample.split()]
    names = [
        f"{generator.choice('bdfgkl')}{number:x}" for number in range(profile.pick(test=600, proof=3_000))
    ]
    said = [pattern for pattern, _ in PATTERNS]
    said += [rf"(?i)\b{name} (up|down)\b" for name in names]
    matcher = Matcher()
    refused = await matcher.load(
        Listener(f"{number:05}", "ann", Event(pattern)) for number, pattern in enumerate(said)
    )
    assert len(refused) <= 10
    for listener, _ in refused:
        said[int(listener.routine_id)] = "(?!)"
    alone = [re.compile(pattern) for pattern in said]
    for _ in range(profile.pick(test=25, ci=200, proof=1000)):
        picked = [*generator.choices(words, k=8), f"{generator.choice(names).upper()} down"]
        text = " ".join(generator.sample(picked, len(picked)))
        assert [int(one) for one in fired(matcher, heard(text))] == [
            number for number, one in enumerate(alone) if one.search(text)
        ], text


texts = st.binary(min_size=2, max_size=9) | st.text("abc", min_size=2, max_size=9).map(str.encode)


@given(st.lists(st.tuples(texts, st.integers(0, 5)), max_size=12), st.lists(texts, max_size=8), st.data())
def test_grams_find_the_texts_a_message_contains(
    filed: list[tuple[bytes, int]], parts: list[bytes], data: st.DataObject
) -> None:
    grams = Grams[int]()
    for text, key in filed:
        grams.add(text, key)
    gone = data.draw(st.lists(st.sampled_from(filed), unique=True)) if filed else []
    for text, key in gone:
        grams.discard(text, key)
    left = set(filed) - set(gone)
    message = b"".join([*parts, *(text for text, _ in filed[::2])])
    assert grams.found(message) == {key for text, key in left if text in message}
    for text, key in left:
        grams.discard(text, key)
    assert grams.found(message) == set()


def test_required_grams_occur_in_every_match() -> None:
    for pattern, text in PATTERNS:
        try:
            sets = needed_texts(Event(pattern))
        except PatternRefused:
            continue
        message = folded(text).encode()
        assert all(any(needed in message for needed in each) for each in sets), pattern
