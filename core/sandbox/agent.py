"""The driver of an agent CLI inside a container: its models, its events and its messages are the hub's.

The CLI works with its own tools and speaks its provider's protocol (OpenAI's chat completions or responses,
or Anthropic's messages) to a port of loopback. The driver passes each call on as a request to the hub, which
meters it and answers it once, so that a restart of the hub is a wait for the CLI. The CLI's lines of
stream-JSON become the events of the job. Needs nothing but the standard library.
"""

import asyncio
import contextlib
import http.client
import json
import os
import shlex
import signal
import sys
import tomllib
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import core.model
from core.errors import HubError
from core.lazy import dataclass
from core.sandbox.hub_client import (
    ENVIRONMENT,
    CredentialRefused,
    HubClient,
    credential,
    forwarding,
    run_inside,
)
from core.sandbox.policy import EGRESS_NAME, PROJECT, SOCKET_DIRECTORY, TEMPORARY
from core.sandbox.provider_wire import OUTPUT_TOKENS, WIRES, Json, objects_in, texts_of
from core.sandbox.worker import polite

AGENTS = "/opt/agents"
"""Where the image has Node, and the programs of the agents."""
LINE_LIMIT_BYTES = 16_000_000
BODY_LIMIT_BYTES = 8_000_000
HEAD_LIMIT_BYTES = 32_768
PING_EVERY_S = 10.0
"""Programs give up on a stream that says nothing for a while."""
CHARS_PER_TOKEN = 4
CREDENTIAL = "/v1/credential"
PORT_FILE = f"{TEMPORARY}/agent/port"
EXIT_LIMIT_S = 10.0
FAILED = 5
"""Exit code: the CLI ended without a result."""


class AgentFailed(Exception):
    """The CLI did not do its work; the message says why."""


class NotUnderstood(Exception):
    """A call of a model that can't be passed on; the message says why."""


# Presets.


@dataclass(frozen=True, slots=True)
class AgentPreset:
    """One agent CLI in a job, see cli.toml. `live`: it takes further messages while it runs."""

    arguments: tuple[str, ...]
    resume: tuple[str, ...]
    environment: Mapping[str, str]
    path: str
    live: bool


def presets() -> Mapping[str, AgentPreset]:
    """Return the agents that can do jobs, by name."""
    text = Path(core.model.__file__).with_name("cli.toml").read_text(encoding="utf-8")
    rows: Mapping[str, Mapping[str, Any]] = tomllib.loads(text)
    return {name: _preset(row, row["job"]) for name, row in rows.items() if "job" in row}


def _preset(row: Mapping[str, Any], job: Mapping[str, Any]) -> AgentPreset:
    environment = {**row["environment"], **job.get("environment", {})}
    arguments, resume = tuple(job["arguments"]), tuple(row["resume"])
    return AgentPreset(arguments, resume, environment, job.get("path", ""), bool(job.get("live")))


def environment_of(preset: AgentPreset, port: int) -> Mapping[str, str]:
    """Return the environment of an agent. There is no key in it: the hub has them."""
    values = {
        "{model}": "hub",
        "{api_key}": "hub",
        "{base_url}": f"http://127.0.0.1:{port}{preset.path}",
        "{home}": f"{TEMPORARY}/agent",
        "{max_output_tokens}": str(OUTPUT_TOKENS),
        "{thinking_tokens}": "0",
    }
    filled = {name: values.get(value, value) for name, value in preset.environment.items()}
    return {name: value for name, value in filled.items() if value}


# The port that the CLI takes for its provider.


class Hub:
    """The requests to the hub, one at a time."""

    def __init__(self, client: HubClient) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ask(self, kind: str, **more: Any) -> Json:
        """Return an answer. Raises HubLost, HubRefused, JobOver, which `lost` carries from then on."""
        async with self._asking:
            try:
                return await self._client.ask(kind, **more)
            except Exception as error:
                if not self.lost.done():
                    self.lost.set_exception(error)
                raise


class ModelPort:
    """The port. It answers every program in the container: each spends what the job may spend."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._number = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[int]:
        """Serve; give the port."""
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            yield server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            try:
                method, path, body = await _read(reader)
                if method == "POST" and path.endswith("/count_tokens"):
                    _whole(writer, 200, {"input_tokens": len(json.dumps(body)) // CHARS_PER_TOKEN})
                elif method == "POST" and path == CREDENTIAL:
                    _whole(writer, 200, await self._hub.ask("credential", name=str(body["name"])))
                elif method == "POST" and path in WIRES:
                    await self._model(writer, path, body)
                else:
                    _whole(writer, 404, _problem("not_found_error", "there is no such endpoint"))
            except (NotUnderstood, KeyError, TypeError, ValueError, asyncio.LimitOverrunError) as error:
                _whole(writer, 400, _problem("invalid_request_error", f"this can't be passed on: {error!r}"))
            await writer.drain()

    async def _model(self, writer: asyncio.StreamWriter, path: str, body: Json) -> None:
        read, write, ping = WIRES[path]
        stream = bool(body.get("stream"))
        asked = read(body)
        self._number += 1
        kind = "text/event-stream" if stream else "application/json"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
        asking = asyncio.ensure_future(self._hub.ask("reply", **asked))
        while not asking.done():
            if stream:
                writer.write(ping)
            await asyncio.wait([asking], timeout=PING_EVERY_S)
        if asking.exception() is None:  # otherwise the job is over
            for piece in write(asking.result(), self._number, stream=stream):
                writer.write(piece)


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, Json]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    if sum(map(len, head)) > HEAD_LIMIT_BYTES:
        raise NotUnderstood("the head of the request is too long")
    method, target, _ = head[0].split(" ", 2)
    named = (line.partition(":") for line in head[1:])
    fields = {name.strip().lower(): value.strip() for name, _, value in named}
    size = int(fields.get("content-length", "0"))
    if not 0 <= size <= BODY_LIMIT_BYTES:
        raise NotUnderstood(f"a request has at most {BODY_LIMIT_BYTES} bytes")
    body: Any = json.loads(await reader.readexactly(size)) if size else {}
    if not isinstance(body, dict):
        raise NotUnderstood("a request is an object")
    return method, target.partition("?")[0], cast("Json", body)


def _problem(kind: str, text: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": text}}


def _whole(writer: asyncio.StreamWriter, status: int, body: Json) -> None:
    said = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + said)


# The CLI.


class AgentRun:
    """The work of a CLI on a job. `command`: the CLI with its arguments; `environment`: its own."""

    def __init__(
        self, hub: Hub, preset: AgentPreset, command: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._hub = hub
        self._preset = preset
        self._command = command
        self._environment = environment
        self._calls: dict[str, str] = {}
        self._session = ""
        self._unheard = 0
        """The messages that the CLI has taken and its model has not heard yet."""

    async def work(self) -> None:
        """Work until the hub takes the result. Raises AgentFailed, and what Hub.ask raises."""
        words: str | None = (await self._hub.ask("task"))["text"]
        while words is not None:
            words = await self._process(words)

    async def _process(self, words: str) -> str | None:
        """Let one process work; return the words for the next one, or None at the end."""
        resume = [one.replace("{session}", self._session) for one in self._preset.resume]
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *(resume if self._session else ()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=PROJECT,
            env=self._environment,
            start_new_session=True,
            preexec_fn=polite,
            limit=LINE_LIMIT_BYTES,
        )
        assert process.stdin is not None  # noqa: S101 - it was asked for
        assert process.stdout is not None  # noqa: S101 - it was asked for
        self._say(process.stdin, words)
        while line := await process.stdout.readline():
            answered = bool(self._calls)
            over = await self._line(line)
            if self._preset.live and answered and not self._calls:
                for text in await self._waiting():
                    self._say(process.stdin, text)
            if not over or self._unheard:
                continue  # its model hears a message next
            more = await self._more()
            if more is None:
                return None
            if not self._preset.live:
                await self._ended(process)
                return more
            self._say(process.stdin, more)
        raise AgentFailed(f"the agent ended with exit code {await process.wait()} and without a result")

    async def _ended(self, process: asyncio.subprocess.Process) -> None:
        """Let a process write down its session, and end it with all it left."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_LIMIT_S):
                await process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def _say(self, stdin: asyncio.StreamWriter, words: str) -> None:
        if self._preset.live:
            self._unheard += 1
            message = {"type": "user", "message": {"role": "user", "content": words}}
            stdin.write(json.dumps(message).encode() + b"\n")
            return
        stdin.write(words.encode())
        stdin.write_eof()

    async def _more(self) -> str | None:
        """Return what people have said meanwhile; None if the job is done."""
        while not (await self._hub.ask("complete"))["over"]:
            if texts := await self._waiting():
                return "\n\n".join(texts)
        return None

    async def _waiting(self) -> Sequence[str]:
        """Return the messages that wait, which the job's journal has from then on."""
        return (await self._hub.ask("messages", texts=True))["texts"]

    async def _line(self, line: bytes) -> bool:
        """Report a line of its output; return whether it is its result. Raises AgentFailed."""
        try:
            event = json.loads(line)
        except ValueError:
            return False  # a warning in plain text
        if not isinstance(event, dict):
            return False
        event = cast("Json", event)
        self._session = str(event.get("session_id") or self._session)
        message = objects_in([event.get("message")])
        content = objects_in(message[0].get("content")) if message else ()
        match event.get("type"):
            case "assistant":
                await self._said(content)
            case "user" if event.get("isReplay"):
                self._unheard -= 1
            case "user":
                await self._results(content)
            case "result":
                if event.get("is_error"):
                    raise AgentFailed(str(event.get("result") or event.get("subtype"))[:500])
                return True
            case _:
                pass
        return False

    async def _said(self, blocks: Sequence[Json]) -> None:
        text = "\n\n".join(str(one.get("text", "")) for one in blocks if one.get("type") == "text").strip()
        made = [one for one in blocks if one.get("type") == "tool_use"]
        if not text and not made:
            return
        calls = [{"tool": str(one.get("name")), "arguments": json.dumps(one.get("input"))} for one in made]
        given = (await self._hub.ask("said", text=text, calls=calls))["calls"]
        self._calls.update(zip((str(one.get("id")) for one in made), given, strict=True))

    async def _results(self, blocks: Sequence[Json]) -> None:
        for block in blocks:
            call = self._calls.pop(str(block.get("tool_use_id")), None)
            if call is not None:
                status = "error" if block.get("is_error") else "ok"
                await self._hub.ask("result", call=call, status=status, text=texts_of(block.get("content")))


async def work(mode: str, client: HubClient) -> None:
    """Let an agent work until the hub takes the result. Raises HubLost, HubRefused, JobOver, AgentFailed."""
    hub, preset = Hub(client), presets()[mode]
    async with forwarding(f"{SOCKET_DIRECTORY}/{EGRESS_NAME}") as proxies, ModelPort(hub).serving() as port:
        environment = {**ENVIRONMENT, **proxies, **environment_of(preset, port)}
        environment["PATH"] = f"{AGENTS}:{ENVIRONMENT['PATH']}"
        await asyncio.to_thread(Path(PORT_FILE).write_text, str(port))
        program = (f"{AGENTS}/node", "--require", f"{AGENTS}/user.cjs", f"{AGENTS}/{mode}/cli.js")
        working = asyncio.ensure_future(
            AgentRun(hub, preset, (*program, *preset.arguments), environment).work()
        )
        await asyncio.wait([working, hub.lost], return_when=asyncio.FIRST_COMPLETED)
        if hub.lost.done():
            working.cancel()
            hub.lost.result()
        await working


def say_credential(name: str) -> int:
    """Write the line of a shell that sets the variable of a credential; return the exit code."""
    connection = http.client.HTTPConnection("127.0.0.1", int(Path(PORT_FILE).read_text("ascii")))
    connection.request("POST", CREDENTIAL, json.dumps({"name": name}))
    try:
        variable, value = credential(json.loads(connection.getresponse().read()))
    except CredentialRefused as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"export {variable}={shlex.quote(value)}\n")
    return 0


def main() -> int:
    """Let the agent that the first argument names work on one job; return the exit code."""
    if sys.argv[1] == "credential":
        return say_credential(sys.argv[2])
    os.makedirs(f"{TEMPORARY}/agent", exist_ok=True)
    try:
        return run_inside(partial(work, sys.argv[1]))
    except (AgentFailed, HubError, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
