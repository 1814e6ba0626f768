"""The worker inside a container: the agentic loop, whose model, journal and messages are the hub's.

It asks the hub for one thing after the other, each request with the next number, and repeats a request until
it is answered: the hub may be killed at any moment, and answers a repeated request as it did the first time.
It ends by itself once it has not reached a hub for `LOST_S` seconds.

Needs nothing but the standard library. Its first line of input is the token that the hub knows it by.
"""

import asyncio
import ctypes
import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.model.base import CallRequest, ModelReply, StopReason
from core.runs.budget import Exhausted
from core.runs.loop import LoopOutcome, run_agentic_loop
from core.sandbox.policy import PROJECT, SOCKET_DIRECTORY, SOCKET_NAME, TEMPORARY
from core.sandbox.worker_tools import WorkerTools
from core.transcript import Entry, Origin, ResultStatus
from core.usage import NOTHING_USED

LOST_S = 600.0
"""How long the worker goes on without a hub."""
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0
ANSWER_LIMIT_S = 3_600.0
"""How long the answer to one request may take: a model's reply."""
PATH = "/v1/requests"
ORIGIN = Origin("hub", "proxy")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": TEMPORARY,
    "TMPDIR": TEMPORARY,
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The environment of the model's commands."""
PR_SET_DUMPABLE = 4
LOST, REFUSED = 3, 4
"""Exit codes: no hub for too long; the hub answers this worker no more."""


class HubLost(Exception):
    """No hub has answered for too long."""


class HubRefused(Exception):
    """The hub does not answer this worker any more."""


class JobOver(Exception):
    """The hub ended the job."""


class _Connection(http.client.HTTPConnection):
    """HTTP on the socket to the hub."""

    def __init__(self, path: str) -> None:
        super().__init__("hub", timeout=ANSWER_LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class HubClient:
    """The hub, asked for one thing at a time."""

    def __init__(self, path: str, token: str, lost_s: float = LOST_S) -> None:
        self._path = path
        self._token = token
        self._lost_s = lost_s
        self._seq = 0

    async def ask(self, kind: str, **more: Any) -> dict[str, Any]:
        """Return the answer to the next request. Raises HubLost, HubRefused, JobOver."""
        self._seq += 1
        body = json.dumps({"seq": self._seq, "kind": kind, **more}).encode()
        reached_s, wait_s = time.monotonic(), FIRST_WAIT_S
        while True:
            began_s = time.monotonic()
            try:
                status, said = await asyncio.to_thread(self._post, body)
            except (OSError, http.client.HTTPException):
                if time.monotonic() - began_s > LONGEST_WAIT_S:
                    reached_s = time.monotonic()  # it was connected for a while
            else:
                if status == http.client.OK:
                    return _judged(json.loads(said))
                if status in {http.client.UNAUTHORIZED, http.client.CONFLICT}:
                    raise HubRefused(said.decode(errors="replace"))
            if time.monotonic() - reached_s > self._lost_s:
                raise HubLost
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    def _post(self, body: bytes) -> tuple[int, bytes]:
        connection = _Connection(self._path)
        try:
            connection.request("POST", PATH, body, {"Authorization": f"Bearer {self._token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _judged(answer: dict[str, Any]) -> dict[str, Any]:
    if answer.get("ended"):
        raise JobOver
    return answer


class ContainerDelegate:
    """Implementation of core.runs.loop.LoopDelegate in a container. Nobody is asked about its calls."""

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
        """Do nothing: the hub is told by a request."""

    def failed(self) -> None:
        """Do nothing: the hub sees that the container ended."""

    def transcript(self) -> Sequence[Entry]:
        """Return nothing: the journal is the hub's."""
        return ()


async def work(hub: HubClient, tools: WorkerTools) -> None:
    """Work until the hub takes the result. Raises HubLost, HubRefused, JobOver."""
    delegate = ContainerDelegate(hub, tools)
    while True:
        await run_agentic_loop(delegate)
        if (await hub.ask("complete"))["over"]:
            return


def main() -> int:
    """Work on one job; return the exit code."""
    # What the model's commands run as the same user may not look into this process, which knows the token.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    token = sys.stdin.readline().strip()
    if not token:
        return REFUSED
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    hub = HubClient(f"{SOCKET_DIRECTORY}/{SOCKET_NAME}", token)
    try:
        asyncio.run(work(hub, WorkerTools(Path(PROJECT), ENVIRONMENT)))
    except HubLost:
        return LOST
    except HubRefused:
        return REFUSED
    except JobOver:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
