"""The hub's commands behind Slack's one: what is typed, and what people are told to type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.inbound import meant_by, typed_here
from core import texts
from core.messages import Code, Markdown, Plain


@pytest.mark.parametrize(
    "typed, meant",
    [
        ("", "/help"),
        ("  ", "/help"),
        ("status", "/status"),
        ("Stop", "/Stop"),
        ("/status", "/status"),
        ("approve k3f9a7mzq2", "/approve k3f9a7mzq2"),
        ("approvals manual", "/approvals manual"),
        ("link K3F9A7MZ", "/link K3F9A7MZ"),
        ("help me with a letter", "help me with a letter"),
        ("new ideas, please", "/new ideas, please"),
        ("undo 3", "/undo 3"),
        ("close the door", "close the door"),
        ("stop that", "/stop that"),
        ("help\nme", "help\nme"),
        ("what is up?", "what is up?"),
    ],
)
def test_typed_text_is_a_command_or_a_message(typed: str, meant: str) -> None:
    assert meant_by(typed) == meant


@pytest.mark.parametrize(
    "said, shown",
    [
        ("or type /approve k3f9a7mzq2 or /deny k3f9a7mzq2",
         "or type /hubbub approve k3f9a7mzq2 or /hubbub deny k3f9a7mzq2"),
        ("Try again, or start over with /new.", "Try again, or start over with /hubbub new."),
        ("Type /help for the commands.", "Type /hubbub help for the commands."),
        ("Send me this from your other account: /link K3F9A7MZ", None),
        ("The owner sends me: /approve slack K3F9A7MZ", None),
        ("Unknown command: /nosuch.", None),
        ("cat /new/help.txt and a/stop", None),
    ],
)  # fmt: skip
def test_the_help_lists_commands_of_this_channel(said: str, shown: str | None) -> None:
    assert typed_here([Plain(said)]) == (Plain(shown or said),)


def test_every_command_of_the_help_can_be_typed_as_it_stands() -> None:
    (shown,) = typed_here([Plain(texts.help_text())])
    assert isinstance(shown, Plain)
    lines = [line.partition(" — ")[0] for line in shown.text.splitlines() if " — " in line]
    assert lines == [f"/hubbub {name}" for name, _ in texts.COMMANDS]
    assert [meant_by(line.removeprefix("/hubbub ")) for line in lines] == [
        f"/{name}" for name, _ in texts.COMMANDS
    ]


@given(st.text())
def test_model_and_tool_text_is_shown_unchanged(text: str) -> None:
    said = (Markdown(f"/new {text}"), Code(f"/stop {text}"))
    assert typed_here(said) == said
