"""The meaning of a text, decided by its grammar alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.gates import Option
from core.inbound.submission import (
    AnswerGate,
    ApprovePairing,
    BareAnswer,
    Branch,
    Clear,
    Close,
    Help,
    Invite,
    Link,
    NewThread,
    Redo,
    Rename,
    Resume,
    Retry,
    Start,
    Status,
    Stop,
    Threads,
    Undo,
    UnknownCommand,
    UserInput,
    UseThread,
    parse_submission,
)


@pytest.mark.parametrize(
    "text, meaning",
    [
        ("/new", NewThread("")),
        ("/new  a\nthing ", NewThread("a thing")),
        ("/thread new", NewThread("")),
        ("/thread My  talk", UseThread("My talk")),
        ("/thread", Threads()),
        ("/threads", Threads()),
        ("/rename X", Rename("X")),
        ("/close", Close()),
        ("/undo", Undo(1)),
        ("/undo 3", Undo(3)),
        ("/undo 0", Undo(None)),
        ("/undo two", Undo(None)),
        ("/undo 99999999999", Undo(None)),
        ("/redo", Redo()),
        ("/retry", Retry()),
        ("/clear", Clear()),
        ("/resume", Resume()),
        ("/branch", Branch(0)),
        ("/branch 4", Branch(4)),
        ("/branch x", Branch(None)),
        (" /STOP ", Stop()),
        ("/interrupt", Stop()),
        ("/stop it, please", Stop()),
        ("/status", Status()),
        ("/help", Help()),
        ("/help@hubbub_bot", Help()),
        ("/start", Start("")),
        ("/start a1B2", Start("a1B2")),
        ("/approve k3f9a7mzq2", AnswerGate("k3f9a7mzq2", Option.APPROVE)),
        ("/approve K3F9-A7MZQ2", AnswerGate("k3f9a7mzq2", Option.APPROVE)),
        ("/approve k3f9a7mzqO", AnswerGate("k3f9a7mzq0", Option.APPROVE)),
        ("/approve k3f9a7mzq2 always", AnswerGate("k3f9a7mzq2", Option.ALWAYS)),
        ("/deny k3f9a7mzq2", AnswerGate("k3f9a7mzq2", Option.DENY)),
        ("/approve two words here", UnknownCommand("approve")),
        (
            "/approve Telegram k3f9-a7mz",
            ApprovePairing("/approve Telegram k3f9-a7mz", "telegram", "K3F9A7MZ", command=True),
        ),
        (
            "approve work-2 K3F9A7MZ",
            ApprovePairing("approve work-2 K3F9A7MZ", "work-2", "K3F9A7MZ", command=False),
        ),
        ("/approve telegram K3F9A7M0", UnknownCommand("approve")),  # no code holds a 0
        (
            "/approve k3f9a7mzq2 ABCDEFGH",
            ApprovePairing("/approve k3f9a7mzq2 ABCDEFGH", "k3f9a7mzq2", "ABCDEFGH", command=True),
        ),
        ("/deny telegram K3F9A7MZ", UnknownCommand("deny")),
        ("/link", Link("")),
        ("/invite Mia  Li", Invite("Mia Li")),
        ("/link k3f9-a7mz ", Link("K3F9A7MZ")),
        ("/link@hubbub_bot not a code", Link("NOTACODE")),
        ("/approve", BareAnswer("/approve", Option.APPROVE, command=True)),
        ("Yes", BareAnswer("Yes", Option.APPROVE, command=False)),
        ("no ", BareAnswer("no ", Option.DENY, command=False)),
        ("always", BareAnswer("always", Option.ALWAYS, command=False)),
        ("/frobnicate now", UnknownCommand("frobnicate")),
        ("/heartbeat", UnknownCommand("heartbeat")),  # it is the owner's routine, and fired as one
        ("/redo 2", UnknownCommand("redo")),
        ("/clear all", UnknownCommand("clear")),
        ("/close it", UnknownCommand("close")),
    ],
)
def test_commands_and_answers_are_recognized(text: str, meaning: object) -> None:
    assert parse_submission(text) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "a",
        "y",
        "n",
        "cancel",
        "yes please",
        "approve it",
        "approve telegram K3F9A7M0",
        "approve K3F9A7MZ",
        "/etc/hosts is empty",
        "/ new",
        "",
        "  hi  ",
        "是",
    ],
)
def test_everything_else_is_input_exactly_as_written(text: str) -> None:
    assert parse_submission(text) == UserInput(text)


@given(st.text())
def test_any_text_has_a_meaning_and_input_is_never_changed(text: str) -> None:
    meaning = parse_submission(text)
    if isinstance(meaning, UserInput):
        assert meaning.text == text
