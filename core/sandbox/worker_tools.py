"""The tools of a worker in a container: a shell, and files inside its project. The container is their limit.

Needs nothing but the standard library, as all of the worker.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from core.errors import HubError
from core.model.base import ToolSpec
from core.safety.fencing import HeadAndTail, head_and_tail, read_arguments
from core.transcript import ResultStatus

OUTPUT_LIMIT_BYTES = 64_000
FILE_LIMIT_BYTES = 5_000_000
READ_LIMIT_CHARS = 60_000
LISTED = 500
SHELL_TIMEOUT_S = 120
MAX_SHELL_TIMEOUT_S = 1_800
CHUNK_BYTES = 1 << 16


class ToolError(HubError):
    """Error for a call that did not do what it was asked for; the text is for the model."""


def _spec(name: str, description: str, required: Mapping[str, Any], optional: Mapping[str, Any]) -> ToolSpec:
    parameters = {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, parameters)


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


PATH = {"path": _text("of the file, from the project on")}
SPECS = (
    _spec(
        "shell",
        "Run a command with sh in the project. There is no network.",
        {"command": _text("the command")},
        {"timeout_s": {"type": "integer", "minimum": 1, "maximum": MAX_SHELL_TIMEOUT_S}},
    ),
    _spec(
        "read_file",
        "Read a text file of the project.",
        PATH,
        {"first_line": {"type": "integer", "minimum": 1}, "lines": {"type": "integer", "minimum": 1}},
    ),
    _spec(
        "write_file",
        "Write a whole text file of the project, also a new one.",
        {**PATH, "content": _text("all of it")},
        {},
    ),
    _spec(
        "edit_file",
        "Replace a text that occurs once in a file of the project.",
        {**PATH, "old": _text("the text there is, exactly"), "new": _text("the text to be there")},
        {},
    ),
    _spec("list_files", "List a directory of the project.", {}, PATH),
)


class WorkerTools:
    """The tools in a project. `environment`: of the commands."""

    def __init__(self, project: Path, environment: Mapping[str, str]) -> None:
        self._project = project
        self._environment = dict(environment)
        self._tools: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[str]]] = {
            "shell": self._shell,
            "read_file": self._read_file,
            "write_file": self._write_file,
            "edit_file": self._edit_file,
            "list_files": self._list_files,
        }

    async def call(self, tool: str, arguments: str) -> tuple[ResultStatus, str]:
        """Make a call; return how it ended, and its text for the model."""
        make = self._tools.get(tool)
        if make is None:
            return ResultStatus.ERROR, f"There is no tool {tool[:64]!r}."
        try:
            return ResultStatus.OK, await make(read_arguments(arguments))
        except HubError as error:
            return ResultStatus.ERROR, str(error)
        except (KeyError, TypeError, ValueError) as error:
            return ResultStatus.ERROR, f"These arguments can't be used: {error!r}"
        except OSError as error:
            return ResultStatus.ERROR, f"{error.strerror or error}"

    # --- the shell -------------------------------------------------------------------------------------

    async def _shell(self, given: Mapping[str, Any]) -> str:
        timeout_s = min(int(given.get("timeout_s", SHELL_TIMEOUT_S)), MAX_SHELL_TIMEOUT_S)
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            str(given["command"]),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._project,
            env=self._environment,
            start_new_session=True,
        )
        output = HeadAndTail(OUTPUT_LIMIT_BYTES)
        try:
            async with asyncio.timeout(timeout_s):
                await _drain(process, output)
                code = await process.wait()
        except TimeoutError:
            raise ToolError(f"{output.text()}\nStopped after {timeout_s} s.") from None
        finally:
            _end_group(process)
        text = output.text()
        if code in {-signal.SIGKILL, 128 + signal.SIGKILL}:
            raise ToolError(f"{text}\nThe command was killed; it may have used up the container's memory.")
        if code != 0:
            raise ToolError(f"{text}\nThe command ended with exit code {code}.")
        return text or "The command printed nothing."

    # --- files -----------------------------------------------------------------------------------------

    def _inside(self, path: object) -> Path:
        found = (self._project / str(path)).resolve()
        if not found.is_relative_to(self._project.resolve()):
            raise ToolError("The path leads out of the project.")
        return found

    def _text_of(self, path: Path) -> str:
        if not path.is_file():
            raise ToolError("There is no such file.")
        if path.stat().st_size > FILE_LIMIT_BYTES:
            raise ToolError(f"The file has more than {FILE_LIMIT_BYTES} bytes; use the shell.")
        return path.read_bytes().decode(errors="replace")

    async def _read_file(self, given: Mapping[str, Any]) -> str:
        lines = self._text_of(self._inside(given["path"])).splitlines(keepends=True)
        first = int(given.get("first_line", 1)) - 1
        text = "".join(lines[first : first + int(given.get("lines", len(lines)))])
        return head_and_tail(text, READ_LIMIT_CHARS)[0]

    async def _write_file(self, given: Mapping[str, Any]) -> str:
        path, content = self._inside(given["path"]), str(given["content"]).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return f"Wrote {len(content)} bytes."

    async def _edit_file(self, given: Mapping[str, Any]) -> str:
        path, old = self._inside(given["path"]), str(given["old"])
        text = self._text_of(path)
        if (found := text.count(old)) != 1:
            raise ToolError(f"The text occurs {found} times in the file, not once.")
        path.write_bytes(text.replace(old, str(given["new"])).encode())
        return "Replaced it."

    async def _list_files(self, given: Mapping[str, Any]) -> str:
        with os.scandir(self._inside(given.get("path", "."))) as entries:
            names = sorted(one.name + ("/" if one.is_dir(follow_symlinks=False) else "") for one in entries)
        more = [] if len(names) <= LISTED else [f"… and {len(names) - LISTED} more"]
        return "\n".join([*names[:LISTED], *more]) or "The directory is empty."


async def _drain(process: asyncio.subprocess.Process, output: HeadAndTail) -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while chunk := await process.stdout.read(CHUNK_BYTES):
        output.add(chunk)


def _end_group(process: asyncio.subprocess.Process) -> None:
    """Kill what the command left, in its own process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
