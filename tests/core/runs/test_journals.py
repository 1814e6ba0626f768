"""Transcripts kept between turns: used only while nothing was journalled behind their back."""

import pytest

from core.messages import Address
from core.runs.runner import THREAD_LIMIT_CHARS, Journals
from core.store.rows import ThreadRow, TurnStart
from core.transcript import AssistantSaid, Entry, UserSaid
from core.users import Principal, Role

ANN = Principal("ann", Role.OWNER, "Ann")


def start(first_seq: int, *, thread: str = "t1", resumed: bool = False) -> TurnStart:
    row = ThreadRow(thread, "ann", "telegram", "-", Address("1"), "", 0, 0)
    inputs = () if resumed else (Entry(first_seq, "u2", 5, UserSaid("and now?")),)
    return TurnStart("u2", 2, row, ANN, first_seq, first_seq, 1, resumed=resumed, inputs=inputs)


def exchange(text: str = "hello") -> tuple[Entry, ...]:
    return (Entry(1, "u1", 1, UserSaid("hi")), Entry(2, "u1", 2, AssistantSaid(text)))


def test_the_first_turn_of_a_thread_reads_nothing_from_the_store() -> None:
    loaded = Journals().take(start(1))
    assert loaded is not None
    assert [entry.said for entry in loaded.entries] == [UserSaid("and now?")]


def test_the_next_turn_continues_from_the_cached_transcript() -> None:
    journals = Journals()
    journals.keep("t1", exchange())
    loaded = journals.take(start(3))
    assert loaded is not None
    assert [entry.seq for entry in loaded.entries] == [1, 2, 3]
    assert (loaded.rounds, loaded.tools_run, loaded.spent_us, loaded.calls) == (0, 0, 0, ())


@pytest.mark.parametrize(
    "turn",
    [start(4), start(2), start(3, resumed=True), start(3, thread="t2")],
    ids=["gap", "less", "on", "other"],
)
def test_anything_else_is_read_from_the_store(turn: TurnStart) -> None:
    journals = Journals()
    journals.keep("t1", exchange())
    assert journals.take(turn) is None


def test_a_taken_journal_is_no_longer_cached() -> None:
    journals = Journals()
    journals.keep("t1", exchange())
    journals.take(start(4))
    assert journals.take(start(3)) is None


def test_the_least_recently_used_transcripts_make_room() -> None:
    journals = Journals(total_limit_chars=250)
    for thread in ("t1", "t2", "t3"):
        journals.keep(thread, exchange("x" * 98))
    assert journals.take(start(3, thread="t1")) is None
    assert journals.take(start(3, thread="t2")) is not None
    journals.keep("t2", exchange("x" * 98))
    journals.keep("t4", exchange("x" * 98))
    assert journals.take(start(3, thread="t3")) is None
    assert journals.take(start(3, thread="t2")) is not None


def test_a_very_long_transcript_is_not_kept() -> None:
    journals = Journals()
    journals.keep("t1", exchange("x" * THREAD_LIMIT_CHARS))
    assert journals.take(start(3)) is None
