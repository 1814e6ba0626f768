"""The first start at a terminal: a few lines, the browser, a workspace that is not empty."""

import asyncio
import os
import re
import stat
from pathlib import Path

from tests.bot.cli.terminal import LIMIT_S, Terminal

LINES = (
    r"hubbub is running on http://\S+ \(models: demo \(demo\)\)\. Log: hubbub logs -f\. Ctrl-C stops it\.",
    r"Console: http://\S+/login#code=\S+ \(works once, within 15 minutes; .*\)",
    r"Terminal: hubbub chat",
    r"Next: hubbub init sets up a real model and a chat app",
)
BROWSER = """#!/bin/sh
printf '%s\\n' "$*" >called
cp "${1#file://}" page.html
ls -l "${1#file://}" >mode
echo done >done
"""


async def test_a_start_says_three_things_and_opens_the_browser(tmp_path: Path) -> None:
    """The link that logs in is on no command line, which other users of the machine can read."""
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    os.mkfifo(tmp_path / "done")
    env = {"BROWSER": str(browser), "HUBBUB__HTTP__PORT": "0"}
    async with Terminal(tmp_path, "run", env=env) as terminal:
        await terminal.shows("a chat app")
        async with asyncio.timeout(LIMIT_S):
            await asyncio.to_thread((tmp_path / "done").read_text)
        page = tmp_path / "data" / "console.html"
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        terminal.interrupts()
        assert await terminal.ended() == 0
    shown = terminal.shown.replace("\r", "").strip().splitlines()
    assert len(shown) == len(LINES), shown
    for line, expected in zip(shown, LINES, strict=True):
        assert re.fullmatch(expected, line), line
    link = shown[1].split()[1]
    assert (tmp_path / "called").read_text().strip() == page.as_uri()
    assert f'location.replace("{link}")' in (tmp_path / "page.html").read_text()
    assert not page.exists()
    assert '"message": "hub.serving' in (tmp_path / "data" / "hub.log").read_text()
    assert "run: date" in (tmp_path / "workspace" / "welcome.md").read_text()


async def test_no_browser_is_opened_when_it_is_turned_off(tmp_path: Path) -> None:
    """Not with `--no-browser`; a workspace that is there gets no page."""
    (tmp_path / "workspace").mkdir()
    env = {"BROWSER": "touch called", "HUBBUB__HTTP__PORT": "0"}
    async with Terminal(tmp_path, "run", "--no-browser", env=env) as terminal:
        await terminal.shows("a chat app")
        terminal.interrupts()
        assert await terminal.ended() == 0
    assert not (tmp_path / "data" / "console.html").exists()
    assert list((tmp_path / "workspace").iterdir()) == []
