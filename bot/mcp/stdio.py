"""A server that is started as a child and spoken with over its standard input and output.

The SDK's own transport takes lines of any length; ours is bounded (core.tools.mcp.child), and hands on only
what a client needs: answers, questions (to be refused) and word that the list has changed.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from bot.mcp.session import SdkConnection, greeted
from core.tools.mcp.child import ServerChild
from core.tools.mcp.connection import ServerFailed
from core.tools.mcp.listing import MOST_LISTED
from core.tools.processes import end_marked

_LONG_LINE_BYTES = 64 * 1024
_WANTED = "notifications/tools/list_changed"
Lost = Callable[[str], None]

logger = logging.getLogger(__name__)


class StdioConnector:
    """Implements core.tools.mcp.connection.Connector. `mark`: names the server's processes, and no others."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: str,
        mark: str,
        limit_s: float,
    ) -> None:
        self._name = name
        self._argv = argv
        self._environment = environment
        self._directory = directory
        self._mark = mark
        self._limit_s = limit_s

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[SdkConnection]:
        """See Connector."""
        if await end_marked(self._mark):
            logger.warning("mcp %s: ended what an earlier hub had left of it", self._name)
        child = ServerChild(self._argv, self._environment, self._directory, self._mark)
        try:
            await child.connect()
            async with self._spoken_with(child) as connection:
                yield connection
        finally:
            await child.end()
            if complaints := child.errors.text().strip():
                logger.info("mcp %s: its standard error said:\n%s", self._name, complaints)

    @contextlib.asynccontextmanager
    async def _spoken_with(self, child: ServerChild) -> AsyncIterator[SdkConnection]:
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
        told: list[SdkConnection] = []
        failed: ServerFailed | None = None

        def lost(because: str) -> None:
            for connection in told:
                connection.lose(because)

        async with asyncio.TaskGroup() as pumps:
            tasks = (
                pumps.create_task(_hear(child, heard_in, lost), name=f"mcp {self._name} hears"),
                pumps.create_task(_say(child, said_out, lost), name=f"mcp {self._name} says"),
            )
            try:
                async with greeted((heard, said), child.info, self._limit_s, told) as connection:
                    yield connection
            except ServerFailed as error:
                failed = error
            for task in tasks:
                task.cancel()
        if failed is not None:
            raise failed


async def _hear(child: ServerChild, into: MemoryObjectSendStream[Any], lost: Lost) -> None:
    async with into:
        try:
            while True:
                message = await _message(await child.line())
                if message is not None:
                    await into.send(SessionMessage(message))
        except ServerFailed as error:
            lost(str(error))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the session is over


async def _say(child: ServerChild, source: MemoryObjectReceiveStream[SessionMessage], lost: Lost) -> None:
    async with source:
        try:
            async for sent in source:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await child.say(text.encode() + b"\n")
        except ServerFailed as error:
            lost(str(error))


def _shorter(read: dict[str, Any]) -> dict[str, Any]:
    """A list of tools without those that are too many to look at."""
    match read:
        case {"result": {"tools": [*tools], **rest}} if len(tools) > MOST_LISTED:
            return {**read, "result": {**rest, "tools": tools[:MOST_LISTED]}}
        case _:
            return read


async def _message(line: bytes) -> types.JSONRPCMessage | None:
    """What a line holds that a client needs; None for anything else, such as a log line that went astray."""
    try:
        long = len(line) > _LONG_LINE_BYTES
        read: Any = await asyncio.to_thread(json.loads, line) if long else json.loads(line)
        if not isinstance(read, dict) or ("id" not in read and read.get("method") != _WANTED):
            return None
        return types.jsonrpc_message_adapter.validate_python(_shorter(read), by_name=False)
    except (ValueError, RecursionError, ValidationError):
        return None
