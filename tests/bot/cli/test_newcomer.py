"""A newcomer at a terminal who has read nothing but the README's first screen."""

import re
import time
from pathlib import Path

import pytest

from tests.bot.cli.multiplexer import terminal
from tests.plugins.proof import ProofRecord
from tests.tree import ROOT

pytestmark = [pytest.mark.tmux]
MAX_ACTIONS = 5
FIRST_TOOL_LIMIT_S = 60.0
ANY_PORT = {"HUBBUB__HTTP__PORT": "0"}


def first_screen() -> tuple[list[str], str, str]:
    """The commands that the README names first, the message to write, and the key to press."""
    page = (ROOT / "README.md").read_text().partition("\n## Why")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    (written,) = re.findall(r"Write `([^`]+)`", page)
    (key,) = re.findall(r"in the terminal `([^`]+)`", page)
    return commands, written, key


def test_the_first_screen_is_a_screen() -> None:
    page = (ROOT / "README.md").read_text().partition("\n## Why")[0]
    assert len(page.splitlines()) <= 24
    assert "](docs/img/approve.png)" in page


async def test_the_first_screen_leads_to_an_approved_tool(
    tmp_path: Path, proof_record: ProofRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most five actions; the commands are the README's, on the environment of these tests instead of a
    clone's (which `test_fresh_clone.py` makes)."""
    (run, chat), written, key = first_screen()
    assert (run, chat) == ("make run", ".venv/bin/hubbub chat")
    began = time.monotonic()
    actions = 0
    async with terminal(tmp_path) as first, terminal(tmp_path) as second:
        await first.start("run", env=ANY_PORT)
        actions += 1
        await first.shows("^Terminal: ")
        await second.start("chat")
        actions += 1
        await second.shows("^hubbub · the running hub")
        await second.writes(written)
        actions += 1
        await second.shows("^waiting for your answer:")
        await second.type(key)
        actions += 1
        await second.shows("┗ Approved by owner")
        said = await second.shows(r"^exit code: 0\n.*\d{4}")
    took_s = round(time.monotonic() - began, 1)
    with capsys.disabled():
        print(f"\nnewcomer in a terminal: first approved tool after {actions} actions, {took_s} s")
    assert "✓ shell date" in said
    assert actions <= MAX_ACTIONS
    proof_record("newcomer-terminal", actions=actions, took_s=took_s, limit_s=FIRST_TOOL_LIMIT_S)


async def test_conversations_are_listed_switched_and_searched(tmp_path: Path) -> None:
    """By number, with the words of every other platform."""
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("note: the roof is blue")
        await screen.shows("^Noted: the roof is blue")
        await screen.writes("/new second")
        await screen.shows("^Started a new conversation")
        await screen.writes("hello there")
        await screen.shows("^You said: hello there")
        await screen.writes("/threads")
        await screen.shows("^press a number:")
        await screen.type("2")
        await screen.shows("^Continuing “note: the roof is blue”")
        await screen.writes("/search roof")
        await screen.shows(r"^20\d\d-\d\d-\d\d · ")
