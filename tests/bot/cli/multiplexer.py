"""A terminal that a person would sit at: tmux keeps the screen, tests press keys and look."""

import asyncio
import contextlib
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from tests.harness.process import environment
from tests.patience import PATIENCE_S

LOOK_AGAIN_S = 0.05
LIMIT_S = PATIENCE_S
ENDED = "the command exited with"
READY = "^hubbub · demo"
CARD = r"^┃ a Approve"


class Pane:
    """One screen. Keys have tmux's names (`Enter`, `C-c`); text is typed as it is."""

    def __init__(self, sockets: Path, directory: Path, columns: int, rows: int) -> None:
        self._sockets = sockets
        self._starts = 0
        self._directory = directory
        self._columns = columns
        self._rows = rows

    async def start(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = (sys.executable, "-m", "bot"),
    ) -> None:
        """Start `hubbub` with these words in a new terminal; its end is said on the screen, with its code."""
        surroundings = environment(TERM="tmux-256color", LANG="C.UTF-8", **(env or {}))
        command = shlex.join(["env", "-i", *(f"{k}={v}" for k, v in surroundings.items())])
        command += f" {shlex.join((*program, *words))}; echo {ENDED} $?; cat"
        await self.close()
        self._starts += 1  # a server that was told to end may still be there for a moment
        size = ("-x", str(self._columns), "-y", str(self._rows))
        await self._tmux("new-session", "-d", *size, "-c", str(self._directory), command)

    async def close(self) -> None:
        """Close the terminal, if there is one."""
        with contextlib.suppress(AssertionError):
            await self._tmux("kill-server")

    async def type(self, text: str) -> None:
        """Type a text."""
        await self._tmux("send-keys", "-l", "--", text)

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self._tmux("send-keys", *keys)

    async def writes(self, line: str) -> None:
        """Type a line and end it."""
        await self.type(line)
        await self.press("Enter")

    async def opens_chat(self) -> None:
        """`hubbub chat`, until it waits for a line."""
        await self.start("chat")
        await self.shows(READY)

    async def paste(self, text: str) -> None:
        """Paste a text, as terminals do for programs that ask to be told (bracketed paste)."""
        await self._tmux("set-buffer", "--", text)
        await self._tmux("paste-buffer", "-p")

    async def resize(self, columns: int) -> None:
        """Make the window narrower or wider."""
        await self._tmux("resize-window", "-x", str(columns), "-y", str(self._rows))

    async def title(self) -> str:
        """The window's title, which programs may set."""
        return (await self._tmux("display-message", "-p", "#{pane_title}")).strip()

    async def screen(self, *, colours: bool = False) -> str:
        """Return what is on the screen, what was scrolled off it included."""
        return await self._tmux("capture-pane", "-p", "-S", "-", *(["-e"] if colours else []))

    async def shows(self, pattern: str, limit_s: float = LIMIT_S) -> str:
        """Until the screen shows the pattern; the screen then."""
        screen = ""
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    screen = await self.screen()
                    if re.search(pattern, screen, re.MULTILINE):
                        return screen
                    await asyncio.sleep(LOOK_AGAIN_S)
        except TimeoutError as error:
            raise AssertionError(f"never shown: {pattern}\n{screen}") from error

    async def process(self) -> int:
        """The id of the hub's process."""
        shell = (await self._tmux("display-message", "-p", "#{pane_pid}")).strip()
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])

    async def _tmux(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "tmux",
            "-S",
            str(self._sockets / str(self._starts)),
            "-f",
            "/dev/null",
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(LANG="C.UTF-8"),
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()


@contextlib.asynccontextmanager
async def terminal(directory: Path, columns: int = 100, rows: int = 40) -> AsyncIterator[Pane]:
    """A terminal whose programs start in `directory`."""
    # The path of a socket is at most 107 bytes long, and a test's own directory may take more.
    sockets = Path(tempfile.mkdtemp(prefix="hubbub-"))
    pane = Pane(sockets, directory, columns, rows)
    try:
        yield pane
    finally:
        await pane.close()
        shutil.rmtree(sockets, ignore_errors=True)
