"""The worker inside a container: the agentic loop, whose model, journal and messages are the hub's.

Needs nothing but the standard library. Its first line of input is the token that the hub knows it by.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import HubError
from core.model.base import CallRequest, ModelReply, StopReason, ToolSpec
from core.runs.loop import Exhausted, LoopOutcome, run_agentic_loop
from core.safety.fencing import HeadAndTail, head_and_tail, read_arguments
from core.sandbox.hub_client import ENVIRONMENT, HubClient, forwarding, run_inside
from core.sandbox.policy import EGRESS_NAME, PROJECT, SOCKET_DIRECTORY
from core.transcript import Entry, Origin, ResultStatus
from core.usage import NOTHING_USED

ORIGIN = Origin("hub", "proxy")

# The tools: a shell, and files inside the project. The container is their limit.

OUTPUT_LIMIT_BYTES = 64_000
FILE_LIMIT_BYTES = 5_000_000
READ_LIMIT_CHARS = 60_000
LISTED = 500
SHELL_TIMEOUT_S = 120
MAX_SHELL_TIMEOUT_S = 1_800
CHUNK_BYTES = 1 << 16
DRAIN_S = 2.0
"""How long the rest of the output of a command that ended is waited for."""
KILLS = 100
LOOK_AGAIN_S = 0.02
NICENESS = 19
FIRST_TO_GO = '{ echo 1000 > /proc/self/oom_score_adj; } 2> /dev/null; exec /bin/sh -c "$0"'
"""Of a container without memory, the commands are killed before the worker: it can't lower its own score."""


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


_FILE = {"path": _text("of the file, from the project on")}
SPECS = (
    _spec(
        "shell",
        "Run a command with sh in the project.",
        {"command": _text("the command")},
        {
            "timeout_s": {"type": "integer", "minimum": 1, "maximum": MAX_SHELL_TIMEOUT_S},
            "credentials": {
                "type": "array",
                "items": {"type": "string"},
                "description": "names of the person's secrets that the command gets as environment variables,"
                " github-token as $GITHUB_TOKEN. The person may be asked first; never print them.",
            },
        },
    ),
    _spec(
        "read_file",
        "Read a text file of the project.",
        _FILE,
        {"first_line": {"type": "integer", "minimum": 1}, "lines": {"type": "integer", "minimum": 1}},
    ),
    _spec(
        "write_file",
        "Write a whole text file of the project, also a new one.",
        {**_FILE, "content": _text("all of it")},
        {},
    ),
    _spec(
        "edit_file",
        "Replace a text that occurs once in a file of the project.",
        {**_FILE, "old": _text("the text there is, exactly"), "new": _text("the text to be there")},
        {},
    ),
    _spec("list_files", "List a directory of the project.", {}, _FILE),
)

FINISH = ToolSpec(
    "finish",
    "End the job with its result. Call it alone, once everything is done or nothing more can be done.",
    {
        "type": "object",
        "properties": {
            "result": {"type": "string", "description": "what was done and found, for the job's owner"},
            "test_output": {"type": "string", "description": "the end of what the tests printed, if any ran"},
            "artifacts": {
                "type": "array",
                "items": {"type": "string"},
                "description": "paths of the files that the owner should look at",
            },
            "open_points": {
                "type": "array",
                "items": {"type": "string"},
                "description": "what is not done, and why",
            },
        },
        "required": ["result"],
        "additionalProperties": False,
    },
)
"""The call that ends a job; plain words end it as well."""


class WorkerTools:
    """The tools in a project. `environment`: of the commands; `hub`: gives them credentials."""

    def __init__(self, project: Path, environment: Mapping[str, str], hub: HubClient) -> None:
        self._project = project
        self._hub = hub
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
        secrets = await self._hub.credentials([str(name) for name in given.get("credentials") or ()])
        # No thread and no further process is needed to wait for it: it may leave no room for one.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - a shell is what it is for
            ["/bin/sh", "-c", FIRST_TO_GO, str(given["command"])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._project,
            env={**self._environment, **secrets},
            start_new_session=True,
            preexec_fn=polite,
        )
        output = HeadAndTail(OUTPUT_LIMIT_BYTES)
        draining = asyncio.create_task(_drain(process, output))
        until_s = time.monotonic() + timeout_s
        try:
            while (code := process.poll()) is None and time.monotonic() < until_s:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_AGAIN_S)
        finally:
            # What it left in the background would keep its output open.
            await _end_group(process)
            await asyncio.wait([draining], timeout=DRAIN_S)
            draining.cancel()
        text = output.text()
        if code is None:
            raise ToolError(f"{text}\nStopped after {timeout_s} s.")
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


async def _drain(process: subprocess.Popen[bytes], output: HeadAndTail) -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, process.stdout)
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            output.add(chunk)
    finally:
        transport.close()


def polite() -> None:
    """Leave the worker the processor that it needs to end the command, however many processes this makes."""
    os.nice(NICENESS)


async def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and all it left in its process group, also what goes on forking."""
    for _ in range(KILLS):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        process.poll()
        await asyncio.sleep(LOOK_AGAIN_S)


class ContainerDelegate:
    """Implementation of core.runs.loop.LoopDelegate in a container. Its calls need no approval."""

    def __init__(self, hub: HubClient, tools: WorkerTools) -> None:
        self._hub = hub
        self._tools = tools
        self._open: list[CallRequest] = []
        self._all_failed = False
        self._offered = False

    async def settle_calls(self) -> None:
        """Make the calls in order; each result is the hub's before the next call begins."""
        calls, self._open = self._open, []
        failed: list[bool] = []
        for call in calls:
            status, text = await self._tools.call(call.tool, call.arguments)
            await self._hub.ask("result", call=call.provider_call_id, status=status.value, text=text)
            failed.append(status is not ResultStatus.OK)
        self._all_failed = bool(failed) and all(failed)

    async def join_input(self) -> bool:
        """Let the hub journal the messages that wait."""
        return bool((await self._hub.ask("messages"))["joined"])

    def last_batch_failed(self) -> bool:
        """Return whether every call of the last reply failed."""
        return self._all_failed

    def limit_reached(self) -> Exhausted | None:
        """Return None: the hub knows the limits, and ends the job at them."""
        return None

    async def at_limit(self, limit: Exhausted) -> None:
        """Do nothing: there is no limit here."""

    def offered_tools(self) -> bool:
        """Return whether the last request offered tools and was not answered by `finish`."""
        return self._offered

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        """Let the hub call its model on its journal of the job."""
        said = await self._hub.ask("model", tools=with_tools)
        self._offered = with_tools and not said["finished"]
        calls = tuple(CallRequest(one["id"], one["tool"], one["arguments"]) for one in said["calls"])
        return ModelReply(said["text"], calls, NOTHING_USED, ORIGIN, StopReason(said["stop"]))

    async def record_calls(self, reply: ModelReply) -> None:
        """Note the calls: the hub has journalled them with the reply."""
        self._open = list(reply.calls)

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        """Journal a note; the hub has the reply already, and its cut-off calls are no calls there."""
        del reply
        await self._hub.ask("note", text=note)

    def ended(self, outcome: LoopOutcome | None) -> None:
        """Do nothing: a request reports it."""

    def failed(self) -> None:
        """Do nothing: the hub sees that the container ended."""

    def transcript(self) -> Sequence[Entry]:
        """Return nothing: the journal is the hub's."""
        return ()


async def work(hub: HubClient) -> None:
    """Work until the hub takes the result. Raises HubLost, HubRefused, JobOver."""
    async with forwarding(f"{SOCKET_DIRECTORY}/{EGRESS_NAME}") as proxies:
        delegate = ContainerDelegate(hub, WorkerTools(Path(PROJECT), {**ENVIRONMENT, **proxies}, hub))
        while True:
            await run_agentic_loop(delegate)
            if (await hub.ask("complete"))["over"]:
                return


if __name__ == "__main__":
    sys.exit(run_inside(work))
