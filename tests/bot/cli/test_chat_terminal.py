"""`hubbub chat` at a terminal, as a person sees it: the screen is tmux's."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.bot.cli.multiplexer import CARD, ENDED, LIMIT_S, READY, terminal
from tests.harness.process import HubProcess, hubbub
from tests.plugins.profile import Profile
from tests.simulators.model import Hold, ModelSimulator
from tests.tree import ROOT

pytestmark = [pytest.mark.tmux]
WAITING = "^waiting for your answer:"
PAGE = ROOT / "docs" / "terminal.txt"
CAPTIONS = (
    "`hubbub chat`: somebody has written `run: ls`, and is asked.",
    "They have pressed `a`.",
)
PROMPT_ID = re.compile(r"(?<=/approve )\S{10}|(?<=/deny )\S{10}")
ANY_PORT = {"HUBBUB__HTTP__PORT": "0"}


async def test_a_newcomer_approves_a_tool_and_sees_its_output(tmp_path: Path, profile: Profile) -> None:
    """The README's recording is what the terminal shows; profile `proof` writes the page anew."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a file.txt").touch()
    async with terminal(tmp_path, columns=80, rows=24) as screen:
        await screen.opens_chat()
        await screen.writes("run: ls")
        card = await screen.shows(WAITING)
        await screen.type("a")
        await screen.shows(r"^a file\.txt")
        done = await screen.shows(READY)
        await screen.press("C-d")
        assert f"{ENDED} 0" in await screen.shows(ENDED)
    pictures = "".join(
        f"{said}\n\n{_framed(shown)}\n" for said, shown in zip(CAPTIONS, (card, done), strict=True)
    )
    if profile.name == "proof":
        PAGE.write_text(pictures)
    assert pictures == PAGE.read_text(), "the screen has changed; HUBBUB_PROFILE=proof writes the page anew"


def _framed(screen: str) -> str:
    """A screen as a picture of text; ids are chosen by chance."""
    lines = PROMPT_ID.sub("k3f9a7mzq2", screen.strip("\n")).splitlines()
    return "\n".join(["┌" + "─" * 80, *(f"│{line}".rstrip() for line in lines), "└" + "─" * 80, ""])


@pytest.mark.slow
async def test_after_a_kill_the_hub_shows_the_open_gate_again(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("run: echo done")
        asked = await screen.shows(CARD)
        assert "Run `echo done`?" in asked
        assert "command: echo done" in asked
        os.kill(await screen.process(), signal.SIGKILL)
        await screen.shows(ENDED)

        await screen.start("chat")
        await screen.shows(r"Run `echo done`\?")
        again = await screen.shows(WAITING)
        assert again.count("Run `echo done`?") == 1
        assert "› run: echo done" in again
        await screen.type("a")
        done = await screen.shows(r"^done$")
        assert "┗ Approved by owner" in done
        assert "✓ shell" in done


@pytest.mark.slow
async def test_ctrl_c_stops_what_runs_and_the_second_one_leaves(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("run: sleep 600")
        await screen.shows(CARD)
        await screen.type("a")
        await screen.shows("working…")
        await screen.press("C-c")
        await screen.shows(r"^Stopped\.")
        await screen.press("C-c")
        assert f"{ENDED} 0" in await screen.shows(ENDED)


@pytest.mark.slow
async def test_a_word_that_starts_with_a_shortcut_key_is_text(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("run: ls")
        await screen.shows(CARD)
        await screen.writes("also tell me the time")
        said = await screen.shows("Your message is queued")
        assert "› also tell me the time" in said
        assert "Approved" not in said
        await screen.type("d")
        await screen.shows("┗ Denied by owner")
        await screen.shows("You said: also tell me the time")


@pytest.mark.slow
async def test_pasted_lines_and_wide_characters_are_one_message(tmp_path: Path) -> None:
    async with terminal(tmp_path, columns=40) as screen:
        await screen.opens_chat()
        await screen.paste("第一行中文\nsecond line 👍\nthird")
        assert "You said" not in await screen.shows("third")
        await screen.press("Enter")
        said = await screen.shows("You said: 第一行中文\n")
        assert "› 第一行中文\n  second line 👍\n  third\n" in said
        await screen.press("Up")
        await screen.shows("› 第一行中文\n  second line 👍\n  third\n\n?(.*\n)*hubbub")
        assert oct((tmp_path / "data" / "chat_history").stat().st_mode)[-3:] == "600"


@pytest.mark.slow
async def test_commands_are_completed_and_answered(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.type("/st")
        offered = await screen.shows("show the current run and what is waiting")
        assert "/status" in offered
        await screen.type("a")
        await screen.press("Tab")
        await screen.shows("^› /status")
        await screen.press("Enter")
        await screen.shows("Nothing is running here")


@pytest.mark.slow
async def test_a_key_does_not_approve_a_card_of_a_conversation_that_was_left(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("run: touch made")
        await screen.shows(WAITING)
        await screen.writes("/new")
        await screen.shows("1 request is open in the previous conversation")
        await screen.shows(READY)
        await screen.writes("a")
        await screen.shows("^You said: a")
        assert not (tmp_path / "workspace" / "made").exists()


@pytest.mark.slow
async def test_another_hub_is_refused_while_the_terminal_has_one(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        number = await screen.process()
        ended = await hubbub(tmp_path, "run", env=ANY_PORT)
        assert ended.code == 1
        assert ended.complaint.startswith(f"hubbub: the hub with process id {number} uses {tmp_path}/data")


# ---------------------------------------------------------------- a client of the running hub


@pytest.mark.slow
async def test_chat_uses_the_running_hub_and_continues_after_it_ends(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        async with HubProcess(tmp_path, env=ANY_PORT) as hub:
            await screen.start("chat")
            await screen.shows("^hubbub · the running hub")
            await screen.writes("run: echo one; echo two")
            await screen.shows(CARD)
            hub.process.kill()
            await screen.shows("^the hub does not respond .*; retrying")
        async with HubProcess(tmp_path, env=ANY_PORT):
            await screen.shows("^waiting for your answer:")
            await screen.type("a")
            said = await screen.shows("^one\ntwo$")
            assert said.count("› run: echo one; echo two") == 1
            assert said.count("Run `echo one; echo two`?") == 1
            assert said.index("┗ Approved by owner") < said.index("✓ shell echo one; echo two")
            await screen.press("C-d")
            assert f"{ENDED} 0" in await screen.shows(ENDED)


@pytest.mark.slow
async def test_a_chat_begun_without_a_hub_continues_with_the_hub(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("run: ls")
        await screen.shows(CARD)
        await screen.press("C-d")
        await screen.shows(ENDED)
        async with HubProcess(tmp_path, env=ANY_PORT):
            await screen.start("chat")
            assert "owner › run: ls" in await screen.shows("^waiting for your answer:")
            (waiting,) = json.loads((await hubbub(tmp_path, "approvals", "list", "--json")).out)
            await hubbub(tmp_path, "approvals", "decide", waiting["id"], "deny")
            said = await screen.shows("^I did not run ls")
            assert "┗ Denied by owner" in said
            await screen.writes("/new")
            await screen.shows("^Started a new conversation")
            await screen.writes("hello there")
            await screen.shows("^You said: hello there")


def use(model: ModelSimulator, directory: Path) -> None:
    """Have the hub there ask a simulated provider."""
    (directory / "hubbub.toml").write_text(
        '[[models]]\nname = "main"\nprovider = "openai"\nmodel = "sim-1"\napi_key = "key"\n'
        f'base_url = "{model.openai_base_url}"\n'
    )


@pytest.mark.slow
async def test_a_reply_is_shown_as_it_is_written_and_then_stays_once(tmp_path: Path) -> None:
    async with ModelSimulator(api_key="key", models=("sim-1",)) as model, terminal(tmp_path) as screen:
        use(model, tmp_path)
        model.fault(Hold(at="mid_stream"))
        await screen.start("chat")
        await screen.shows("^hubbub · main")
        await screen.writes("tell me **everything** there is to tell about it, at length")
        await model.wait_requests(state="held", timeout_s=LIMIT_S)
        await screen.shows("^You said")
        await screen.shows("working…")
        model.release()
        said = await screen.shows("^You said: tell me everything there is to tell about it, at length")
        await screen.shows("^hubbub · main")
        assert said.count("You said") == 1


@pytest.mark.slow
async def test_escape_sequences_of_an_answer_do_nothing(tmp_path: Path) -> None:
    async with ModelSimulator(api_key="key", models=("sim-1",)) as model, terminal(tmp_path) as screen:
        use(model, tmp_path)
        model.enqueue("first\x1b]0;owned\x07 second \x1b[2J\x1b[31;7m third \x9b41m \u202etxt.exe `\x1b[3J`")
        await screen.start("chat")
        await screen.shows("^hubbub · main")
        title = await screen.title()
        await screen.writes("hello")
        await screen.shows("^first.* second .* third ")
        said = await screen.shows("^hubbub · main")
        assert "› hello" in said
        assert "\u202e" not in said
        answer = next(line for line in (await screen.screen(colours=True)).splitlines() if "first" in line)
        assert not re.search(r"\x1b\[(?:\d+;)*(?:7|31|41)m", answer)
        assert await screen.title() == title
