"""`hubbub chat` without a terminal: on pipes, for people's scripts and for programs."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.bot.cli.in_process import command
from tests.harness.process import Ended, environment, hubbub
from tests.harness.simulators import open_simulators, write_config
from tests.patience import PATIENCE_S
from tests.simulators.model import Drop
from tests.simulators.model.replies import text as reply

LIMIT_S = PATIENCE_S


async def piped(directory: Path, text: str, *words: str) -> Ended:
    """`echo TEXT | hubbub chat`."""
    return await hubbub(directory, "chat", *words, stdin=text.encode())


@pytest.mark.slow
async def test_a_piped_message_is_answered_and_open_gates_are_reported(tmp_path: Path) -> None:
    greeted = await piped(tmp_path, "hello\n**you**\n")
    assert (greeted.code, greeted.err) == (0, "")
    assert greeted.out.startswith("You said: hello\nyou\n\nI am the built-in demo model.")
    asked = await piped(tmp_path, "run: echo ok > out.txt\n")
    assert asked.code == 1
    (thread,) = json.loads((await asyncio.to_thread(command, tmp_path, "threads", "list", "--json")).out)
    shown = await asyncio.to_thread(command, tmp_path, "threads", "show", thread["id"])
    assert "user: hello\n    **you**\n" in shown.out.replace("user: \n    ", "user: ")
    assert "user: run: echo ok > out.txt\n" in shown.out  # the line end that `echo` writes is none of it
    assert "assistant: \n" not in shown.out.replace("assistant: \n    ", "")  # only what was said
    assert "You said" not in asked.out
    assert "command: echo ok > out.txt" in asked.out
    (waiting,) = json.loads((await hubbub(tmp_path, "approvals", "list", "--json")).out)
    assert f"`hubbub approvals decide {waiting['id']} approve`" in asked.out
    assert not (tmp_path / "workspace" / "out.txt").exists()


async def test_an_empty_message_is_refused(tmp_path: Path) -> None:
    ended = await piped(tmp_path, "\n")
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint.startswith("hubbub: Standard input is empty; pipe in a message")


@pytest.mark.parametrize("words", [(), ("--json",)])
async def test_a_broken_off_reply_is_not_written_but_the_next_attempt_is(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    async with open_simulators() as around:
        write_config(tmp_path, around.model_section())
        around.model.enqueue(
            reply("Broken " * 20, chunk_chars=12), fault=Drop(at="mid_stream", after_events=9)
        )
        around.model.enqueue(reply("Whole at last."))
        line = json.dumps({"text": "tell me"}) if words else "tell me"
        ended = await piped(tmp_path, f"{line}\n", *words)
        assert len(around.model.log) == 2
    assert (ended.code, ended.err) == (0, "")
    assert "Broken" not in ended.out
    texts = [json.loads(one).get("text") for one in ended.out.splitlines()] if words else [ended.out]
    assert "".join(filter(None, texts)).strip() == "Whole at last."


class Program:
    """A program that talks to `hubbub chat --json`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def send(self, **page: object) -> None:
        """One line in."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(page).encode() + b"\n")

    async def hears(self, kind: str) -> Mapping[str, Any]:
        """The next line out of that type."""
        assert self._process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            while line := await self._process.stdout.readline():
                page = json.loads(line)
                if page["type"] == kind:
                    return page
        raise AssertionError(f"it ended without saying {kind}")

    async def ends(self) -> int:
        """Close its input; the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(LIMIT_S):
            return await self._process.wait()


@contextlib.asynccontextmanager
async def started(directory: Path) -> AsyncIterator[Program]:
    """`hubbub chat --json` of the configuration there."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "chat", "--json", cwd=directory, env=environment(),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    yield Program(process)
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest_asyncio.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    async with started(tmp_path) as opened:
        yield opened


async def test_a_program_talks_and_decides_in_json_lines(tmp_path: Path, program: Program) -> None:
    program.send(text="run: echo ok > out.txt")
    asked = await program.hears("asked")
    assert asked["choices"] == ["approve", "deny", "always"]
    assert "command: echo ok > out.txt" in asked["text"]
    program.send(nonsense=1)
    assert "send {" in (await program.hears("error"))["message"]
    program.send(gate_id=asked["gate_id"], choice="perhaps")
    assert (await program.hears("error"))["message"] == (
        "perhaps is not an answer to this request; use one of approve, deny, always"
    )
    program.send(gate_id=asked["gate_id"], choice="approve")
    assert (await program.hears("settled"))["outcome"] == "Approved by owner"
    assert (await program.hears("stepped"))["tool"] == "shell"
    said = await program.hears("said")
    assert said["text"].startswith("I ran echo ok > out.txt.")
    assert (tmp_path / "workspace" / "out.txt").read_text() == "ok\n"
    assert await program.ends() == 0


async def test_a_closed_output_pipe_ends_chat_without_a_traceback(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "chat", "--json", cwd=tmp_path, env=environment(),
        stdin=asyncio.subprocess.PIPE, stdout=writer, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    os.close(writer)
    async with asyncio.timeout(LIMIT_S):
        _, complaints = await process.communicate(b'{"text": "hello"}\n')
    assert process.returncode == 1
    assert b"something broke" not in complaints
    assert b"Traceback" not in (tmp_path / "data" / "chat.log").read_bytes()


@pytest.mark.slow
async def test_a_program_edits_a_call_before_approving_it(tmp_path: Path, program: Program) -> None:
    program.send(text="run: echo no > out.txt")
    asked = await program.hears("asked")
    assert asked["arguments"] == {"command": "echo no > out.txt"}
    program.send(gate_id=asked["gate_id"], arguments={"command": "echo edited > out.txt"})
    await program.hears("settled")
    await program.hears("said")
    assert (tmp_path / "workspace" / "out.txt").read_text() == "edited\n"
    assert await program.ends() == 0
