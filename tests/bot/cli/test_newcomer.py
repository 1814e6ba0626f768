"""A newcomer at a terminal who has read nothing but the README's first screen, and how they go on."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bot.cli.multiplexer import CARD, ENDED, Pane, terminal
from tests.bot.web.api_client import client
from tests.bot.web.test_login import handed_in
from tests.harness.clone import Newcomers, newcomers_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import ModelSimulator
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


def test_the_readmes_first_screen_has_at_most_24_lines() -> None:
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


class Day:
    """What somebody does at two terminals; each line that is written and each key counts as an action."""

    def __init__(self, hub: Newcomers, chat: Pane, other: Pane, began: float) -> None:
        self._hub = hub
        self.chat = chat
        self.other = other
        self.took: dict[str, dict[str, float]] = {}
        self._actions = 0
        self._began = began

    async def says(self, *lines: str) -> None:
        """Write lines in the chat, or press a card's key; each is followed by what the screen shows then."""
        for line, seen in zip(lines[::2], lines[1::2], strict=True):
            await (self.chat.type(line) if len(line) == 1 else self.chat.writes(line))
            await self.chat.shows(seen)
            self._actions += 1

    async def runs(self, *words: str, answers: Sequence[str] = ()) -> str:
        """Run a command in the other terminal and answer its questions; what it showed."""
        await self.other.start(*words, env={"PATH": ""}, program=self._hub.program)  # without systemd
        for question, answer in zip(answers[::2], answers[1::2], strict=True):
            await self.other.shows(question)
            await self.other.writes(answer)
        self._actions += 1 + len(answers) // 2
        shown = await self.other.shows(ENDED)
        assert f"{ENDED} 0" in shown, shown
        return shown

    def did(self, what: str, more: int = 0) -> None:
        """End a part of the day. `more`: actions elsewhere."""
        took_s = round(time.monotonic() - self._began, 1)
        self.took[what] = {"actions": self._actions + more, "took_s": took_s}
        self._actions, self._began = 0, time.monotonic()


MAX_ACTIONS_A_DAY = {"first_tool": 4, "routine": 4, "live_output": 3, "member": 2, "model": 9, "pause": 2}


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_newcomers_day_in_a_terminal(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    async with (
        ModelSimulator(api_key="k-new", models=("sim-1",)) as simulator,
        newcomers_hub(tmp_path, profile) as hub,
        terminal(hub.directory) as chat,
        terminal(hub.directory, columns=300) as other,
    ):
        day = Day(hub, chat, other, began)
        await chat.start("chat", program=hub.program)
        await chat.shows("^hubbub · the running hub")
        await day.says("run: date", CARD, "a", "✓ shell")
        day.did("first_tool", more=2)  # `make run` and `hubbub chat`

        await day.says("every weekday at 9: what time is it", "Create routine `", "a", "✓ routine_create")
        name, *_ = re.findall(r'"name": "([^"]+)"', await day.runs("routines", "list", "--json"))
        await day.runs("routines", "fire", name)
        await chat.shows("You said: what time is it")
        day.did("routine")

        command = "run: echo begun; sleep 600"
        await day.says(command, "command: echo begun", "a", r"^  begun\s*$", "/stop", r"^Stopped\.")
        day.did("live_output")

        (link,) = re.findall(r"http\S+/login#code=\S+", await day.runs("users", "invite", "Mia"))
        async with client(hub.directory) as theirs:
            assert (await handed_in(theirs, link))[0] == 201
        day.did("member", more=1)

        answers = (
            "Platforms",
            "none",
            "by number or name",
            "other",
            "API base URL",
            simulator.openai_base_url,
        )
        answers += ("leave empty for none", "k-new", "Model name", "sim-1")
        made = await day.runs("init", answers=answers)
        assert "model main: ok" in made
        assert "config reload" in made
        await day.runs("config", "reload")
        called = len(simulator.log)
        await day.says("good evening", "^(You said: )?good evening$")
        await simulator.wait_requests(after=called)
        day.did("model")

        await day.says("/pause", "All tools are paused", "/unpause", "Tools can run again")
        day.did("pause")
    with capsys.disabled():
        for what, took in day.took.items():
            print(f"\nnewcomer in a terminal, {what}: {took['actions']} actions, {took['took_s']} s", end="")
    proof_record("newcomer-terminal", **day.took)
    over = {what: took for what, took in day.took.items() if took["actions"] > MAX_ACTIONS_A_DAY[what]}
    assert over == {}


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
