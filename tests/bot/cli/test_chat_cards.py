"""`hubbub chat` at a terminal: editing a call, answering a question, and screens that are not as usual."""

import re
from pathlib import Path

import pytest

from tests.bot.cli.multiplexer import CARD, ENDED, READY, terminal

pytestmark = [pytest.mark.tmux, pytest.mark.slow]
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d|10\d)[;\d]*m")


async def test_arguments_are_edited_before_the_call_is_approved(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("run: echo no > out.txt")
        await screen.shows(CARD)
        await screen.type("e")
        await screen.shows(r'^  +"command": "echo no > out\.txt"\n +}')
        await screen.press("BSpace")
        await screen.press("Enter")
        await screen.shows("^this is not JSON: (.|\n)*; fix it, or press Esc to( |\n)discard(.|\n)*$")
        assert not (tmp_path / "workspace" / "out.txt").exists()
        await screen.press("C-u", "BSpace", "C-u", "BSpace", "C-u")
        await screen.writes('{"command": "echo edited > out.txt; cat out.txt"}')
        done = await screen.shows("^edited$")
        assert "┗ Approved by owner, edited" in done
        assert 'ran with: {"command": "echo edited > ' in " ".join(done.split())
        assert (tmp_path / "workspace" / "out.txt").read_text() == "edited\n"


async def test_a_question_is_answered_by_a_number_or_in_words_and_quit_leaves(tmp_path: Path) -> None:
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.writes("ask: Which colour? | red | dark green")
        asked = await screen.shows("^┃ 1 red  ·  2 dark green$")
        assert "┃ Which colour?" in asked
        await screen.type("2")
        await screen.shows("^┗ owner chose: dark green$")
        await screen.shows(READY)
        await screen.writes("ask: What shall it be called?")
        await screen.shows("^┃ type your answer$")
        await screen.writes("1001 nights")
        answered = await screen.shows("^┗ .*1001 nights")
        assert "› 1001 nights" in answered
        await screen.shows(READY)
        await screen.writes("/quit")
        assert f"{ENDED} 0" in await screen.shows(ENDED)


@pytest.mark.parametrize("asked", ["1", ""])
async def test_colors_can_be_turned_off(tmp_path: Path, asked: str) -> None:
    async with terminal(tmp_path) as screen:
        await screen.start("chat", env={"NO_COLOR": asked})
        await screen.shows(READY)
        await screen.writes("run: ls")
        await screen.shows(CARD)
        await screen.shows("^waiting for your answer:")
        assert bool(COLOUR.search(await screen.screen(colours=True))) is not bool(asked)


async def test_after_narrowing_the_window_the_next_table_is_shown_as_lines(
    tmp_path: Path,
) -> None:
    table = "look:\n\n| name | says |\n|---|---|\n| Ann | one two three four five six seven |"
    async with terminal(tmp_path) as screen:
        await screen.opens_chat()
        await screen.paste(table)
        await screen.press("Enter")
        await screen.shows(r"^Ann +\| one two three four five six seven$")
        await screen.shows(READY)
        await screen.resize(30)
        narrow = await screen.shows("^hubbub · demo.*…$")
        assert narrow.count("You said: look:") == 1
        assert re.search(r"^Ann +\| one two three four", narrow, re.MULTILINE)
        for line in table.splitlines():
            await screen.type(line)
            await screen.press("M-Enter")
        await screen.press("Enter")
        await screen.shows("^name: Ann\nsays: one two three four\nfive six seven$")
        await screen.shows("^hubbub · demo.*…$")
