"""What a connection to a server is, whatever carries it: the port between the tools and a client library."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from core.tool import Arguments, ProcessInfo
from core.tools.mcp.listing import Listed

ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
"""Of one answer, however it comes."""
ANSWER_LIMIT_EVENTS = 1_000
"""Of what comes before an answer, where that comes with it."""


IDEMPOTENCY_META = "hubbub/idempotency-key"
"""Name of the idempotency key in a call's `_meta`."""


class ServerFailed(Exception):
    """The server cannot be worked with; the message says why, in our words, never in the server's."""


class NotCalled(ServerFailed):
    """It was gone before a call reached it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call came to. `structured`: the part of it that has a schema, None if there is none."""

    text: str
    failed: bool = False
    structured: Any = None


class Connection(Protocol):
    """One server, greeted and ready. Its methods may be used by several tasks at once."""

    @property
    def process(self) -> ProcessInfo | None:
        """The server, where it is a child of the hub."""
        ...

    async def tools(self) -> Sequence[Listed]:
        """All it lists, or the first hundreds. Raises ServerFailed."""
        ...

    async def call(self, tool: str, arguments: Arguments, idempotency_key: str) -> Reply:
        """Call a tool by the server's own name; the key goes with it as `IDEMPOTENCY_META`. Raises NotCalled,
        and ServerFailed: then it may have been carried out.

        Cancelling it ends what can be ended: a child is killed, since nothing else is certain to stop it.
        """
        ...

    async def changed(self) -> None:
        """Wait until the server says that its list is another. Raises ServerFailed once it is gone."""
        ...


class Connector(Protocol):
    """Makes connections to one server."""

    def open(self) -> AbstractAsyncContextManager[Connection]:
        """Start or reach it and exchange greetings; entering raises ServerFailed. On leaving, whatever was
        started is gone."""
        ...


class Known(Protocol):
    """Keeps what a server listed, so that its tools are known before it is reached again."""

    def load(self) -> Sequence[Listed]:
        """What was kept; nothing if it was of another server, or cannot be read."""
        ...

    def save(self, listed: Sequence[Listed]) -> None:
        """Keep it. Blocks; failing is logged, not raised."""
        ...
