"""The suite's stage on `hubbub chat`: the command, on pipes, as a client of the running hub.

It is one person's window on the console's channel, so most of the contract is that channel's own: see ABSENT.
How it draws is shown in tests/bot/chat.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.messages import Attachment
from tests.contracts.channel.subject import HubSubject, Shown
from tests.harness.process import environment
from tests.harness.telegram_hub import Hub, open_hub
from tests.patience import PATIENCE_S

ABSENT: Mapping[str, str] = {
    "redelivery": "the command alone hands in what is typed, and tries again by itself under one key",
    "delivery": "it asks over the console's HTTP, where strangers are refused",
    "acknowledgement": "what the hub does not take is refused to the person's face",
    "growth": "a program gets the whole reply; what a person sees grow: tests/bot/terminal",
    "limits": "a terminal shows whatever is said",
    "company": "a terminal is one person's",
    "rates": "nothing is sent: the command reads what the hub keeps",
    "files": "it sends none",
    "refs": "what is printed stays",
    "connection": "the hub connects to nothing; how the command goes on after a cut: tests/bot/chat",
    "token": "the hub proves nothing to anybody: the command proves to it who it is",
}
START_LIMIT_S = PATIENCE_S


class TerminalSubject(HubSubject):
    """See Subject."""

    name = "web"
    limit = 0

    def __init__(self, house: Hub, process: asyncio.subprocess.Process) -> None:
        super().__init__(house)
        self._process = process
        self._shown: list[Shown] = []
        self._news = asyncio.Event()

    def in_company(self) -> None:
        raise NotImplementedError(ABSENT["company"])

    # --- saying ------------------------------------------------------------------------------------------
    def says(self, text: str) -> None:
        self._write({"text": text})

    def _write(self, line: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        assert not stranger, ABSENT["company"]
        self._write({"gate_id": shown.id, "choice": button})
        return ""

    def sends_file(self, name: str, content: bytes) -> None:
        raise NotImplementedError(ABSENT["files"])

    def received_file(self) -> Attachment:
        raise NotImplementedError(ABSENT["files"])

    def delivered_again(self) -> None:
        raise NotImplementedError(ABSENT["redelivery"])

    async def forges(self, text: str) -> int:
        raise NotImplementedError(ABSENT["delivery"])

    async def listens(self) -> None:
        """Until the command answers; what it was asked for that is forgotten."""
        self.says("/status")
        await self.until(self.shown)
        self._shown.clear()

    # --- seeing ------------------------------------------------------------------------------------------
    async def read(self) -> None:
        """Take in what the command writes, until it ends."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._take(json.loads(line))
            self._news.set()

    def _take(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "said", "by": "assistant" | "hub", "text": str(text)}:
                self._shown.append(_seen(f"line {len(self._shown)}", text))
            case {"type": "asked", "gate_id": str(gate_id), "text": str(text), "choices": list(choices)}:
                # Programs are told the words to answer with, people see them begin with a capital.
                labels = tuple(str(choice).capitalize() for choice in choices)
                self._shown.append(replace(_seen(gate_id, text), buttons=labels))
            case {"type": "settled", "gate_id": str(gate_id), "outcome": str(outcome)}:
                self._shown = [
                    replace(one, text=f"{one.text}\n{outcome}", buttons=()) if one.id == gate_id else one
                    for one in self._shown
                ]
            case {"type": "error", "message": message}:
                raise AssertionError(f"the command complains: {message}")
            case _:
                pass

    def shown(self) -> Sequence[Shown]:
        return self._shown

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(START_LIMIT_S):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    async def hears(self, text: str) -> Shown:
        await self.until(lambda: any(text in one.text for one in self.shown()))
        return next(one for one in reversed(self.shown()) if text in one.text)

    async def settled(self) -> None:
        """Return what was heard was taken."""

    def is_acknowledged(self) -> bool:
        raise NotImplementedError(ABSENT["acknowledgement"])

    # --- trouble it has none of ---------------------------------------------------------------------------
    def limit_rate(self, times: int) -> None:
        raise NotImplementedError(ABSENT["rates"])

    async def cut(self, seconds: float) -> None:
        raise NotImplementedError(ABSENT["connection"])

    def revoke(self) -> None:
        raise NotImplementedError(ABSENT["token"])


def _seen(name: str, text: str) -> Shown:
    return Shown(name, text, (), len(text))


@contextlib.asynccontextmanager
async def terminal(directory: Path, mode: str) -> AsyncIterator[TerminalSubject]:
    """Up and running."""
    async with open_hub(directory) as house:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "chat", "--json"),
            cwd=directory,
            env=environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        stage = TerminalSubject(house, process)
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(stage.read(), name="what the command writes")
                await stage.listens()
                yield stage
                reading.cancel()
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
