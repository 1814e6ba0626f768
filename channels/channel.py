"""The interface of platform adapters: one configured bot on one platform; and what they share.

A channel turns platform events into the values of `core.messages` and shows the hub's messages as
well as its platform can. It keeps no essential state: anything that must survive is in the store.
Its errors are those of `core.errors.ChannelError`. Any other exception is a defect and is logged
as one.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from core.errors import AttachmentTooLarge, ChannelError, MessageRejected, Unanswered, Unavailable
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Inbox, PostContext, Posted

if TYPE_CHECKING:
    import aiohttp

FILE = "file"
"""The key of the file in a part that is one."""

Payload = Mapping[str, object]
"""The content of one platform request, made by a channel's `render` and read only by the same channel."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as received: header names in lower case, and the body's raw bytes, which signatures cover."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response to a platform's request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint that the platform calls, below `/channels/{name}`. `path` begins with a slash."""

    method: str
    path: str
    handle: Callable[[HttpRequest], Awaitable[HttpResponse]]


Look = Callable[[], Awaitable[PostContext]]
"""Returns the current facts about the posts around the unanswered request."""


class Connected(Protocol):
    """A callback for when the platform answers. `remark`: a remaining problem and how to fix it."""

    def __call__(self, remark: str | None = None) -> None: ...


class Channel(Protocol):
    """One configured bot on one platform. Every method but `run` works regardless of the state of `run`."""

    @property
    def name(self) -> str:
        """The channel's key in the configuration, unique among the channels."""
        ...

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        """Return the HTTP endpoints that the platform calls. Empty if the channel fetches its events."""
        ...

    async def check(self) -> None:
        """Check with the platform that it accepts our credentials.

        Raises AuthRejected or another ChannelError."""
        ...

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        """Receive until cancelled. `connected` is called once the platform is known to answer.

        All events go to `inbox.accept` and are acknowledged to the platform only after it returns. Short
        disconnections are handled internally. Raises AuthRejected (final: only a person can help); any
        other ChannelError or InboxUnavailable means: run again after a while. May be run again.
        """
        ...

    def render(self, message: Message) -> tuple[Payload, ...]:
        """Return the platform messages that show this message, in order. Choices are on the last one.

        Empty if nothing of it is visible. Pure and deterministic: the same message gives the same parts
        in every process. A gate's card and the same card with its outcome have the same number of parts
        and differ only in the last. A message and the same one with a mark also have the same number of
        parts, and differ only in the last that is not a file.
        """
        ...

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        """Show one rendered part. Raises ChannelError.

        `nonce` stays the same when a part is sent again. Some platforms then show it only once, or can be
        searched for it.
        `repeated`: an earlier request may have been accepted."""
        ...

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """Replace the content of a shown part. Identical content is a success. Raises ChannelError."""
        ...

    async def retract(self, ref: MessageRef) -> bool:
        """Remove a shown part. Returns False if the platform does not allow that. Raises ChannelError."""
        ...

    async def typing(self, to: Address) -> None:
        """Show a typing indicator for some seconds, if the platform has one. Raises ChannelError."""
        ...

    async def acknowledge(self, ref: MessageRef) -> None:
        """Mark a received message as seen and waiting, if the platform has a sign for that.

        The sign stays after the message is answered. Raises ChannelError."""
        ...

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        """Find the message that an unanswered `post` with this nonce may have made, and show `payload` in it.

        Messages of other rows are not changed. Returns None if the platform cannot tell or there is none
        close by. Uses at most a few requests. Raises ChannelError.
        """
        ...

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """Download a received file. Raises AttachmentTooLarge or another ChannelError."""
        ...

    def direct(self, platform_user_id: str) -> Address:
        """Return the address of this person's private conversation."""
        ...

    async def close(self) -> None:
        """Close all connections. Nothing is called afterwards."""
        ...


@runtime_checkable
class Threaded(Protocol):
    """A channel whose platform has threads that a bot can open."""

    async def open_thread(self, at: Address, title: str, nonce: str) -> Address | None:
        """Open a thread with that title at an address, or in the conversation around it.

        Returns None if there are no threads. Raises ChannelError."""
        ...


@runtime_checkable
class Spaced(Protocol):
    """A channel whose platform takes fewer than one message a second at an address, for as long as one
    likes."""

    def interval_s(self, to: Address) -> float:
        """Return the seconds between messages or changes of messages that the platform takes there."""
        ...


@runtime_checkable
class LiveMessages(Protocol):
    """A channel whose platform has live messages, which grow while they are written.

    The content of a live message is provisional. `Channel.edit` ends the growth and shows rendered
    content instead, `Channel.retract` removes the message, and `Channel.recover_post` finds one after an
    unanswered request.
    """

    async def begin(self, to: Address, said: Message, nonce: str) -> Posted | None:
        """Show a message that will grow. Returns None if that is not possible here: `post` one instead.

        Raises ChannelError."""
        ...

    async def grow(self, ref: MessageRef, said: Message) -> bool:
        """Extend a live message. Returns False if it cannot grow to this content: `edit` it instead.

        Raises ChannelError."""
        ...


@runtime_checkable
class PostRecovery(Protocol):
    """A channel whose platform neither recognizes nonces nor lists its messages.

    Before any unanswered `post` is repeated, `recover_post` searches for its message."""

    @property
    def taken_within_s(self) -> float:
        """The time after a request during which the platform may still accept it. No search starts
        earlier."""
        ...


# The order of a conversation's events where a platform delivers them in parallel: one at a time, and
# missed events before live ones.


class KeyedLocks:
    """Locks by conversation, granted in order of arrival."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    def lane(self, conversation: str) -> "KeyedLock":
        """Return the lock of a conversation, for use with `async with`."""
        return KeyedLock(self._locks, conversation)


class KeyedLock:
    """The lock of one conversation."""

    def __init__(self, locks: dict[str, tuple[asyncio.Lock, int]], key: str) -> None:
        self._locks, self._key = locks, key

    async def __aenter__(self) -> None:
        lock, users = self._locks.get(self._key, (asyncio.Lock(), 0))
        self._locks[self._key] = (lock, users + 1)
        try:
            await lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._locks[self._key][0].release()
        self._leave()

    def _leave(self) -> None:
        lock, users = self._locks[self._key]
        if users == 1:
            del self._locks[self._key]
        else:
            self._locks[self._key] = (lock, users - 1)


class HeldConversations:
    """The conversations whose live events wait."""

    def __init__(self) -> None:
        self._released: set[str] = set()
        self._all = False
        self._changed = asyncio.Event()

    def release(self, conversation: str) -> None:
        """Mark a conversation as caught up."""
        self._released.add(conversation)
        self.wake()

    def release_all(self) -> None:
        """Release all conversations."""
        self._all = True
        self.wake()

    def holds(self, conversation: str) -> bool:
        """Return whether the conversation still waits."""
        return not self._all and conversation not in self._released

    async def changed(self) -> None:
        """Wait until a conversation is released or `wake` is called."""
        await self._changed.wait()

    def wake(self) -> None:
        """Make all waiters check again."""
        self._changed.set()
        self._changed = asyncio.Event()


class CatchUpBarrier:
    """A barrier at which live events wait until missed events have been delivered.

    Only the newest `hold` counts: events that waited for an earlier one keep waiting."""

    def __init__(self) -> None:
        self._held: HeldConversations | None = None

    def hold(self) -> HeldConversations:
        """Hold the live events of each conversation until it is released."""
        before, self._held = self._held, HeldConversations()
        if before is not None:
            before.wake()
        return self._held

    async def passed(self, conversation: str) -> None:
        """Wait until the conversation's live events may proceed."""
        while (held := self._held) is not None and held.holds(conversation):
            await held.changed()


# Files that platforms serve over HTTP.

CHUNK_BYTES = 64 * 1024


async def downloaded(
    request: "AbstractAsyncContextManager[aiohttp.ClientResponse]", limit_bytes: int, platform: str
) -> bytes:
    """Return the file that `request` fetches. Content is discarded once it exceeds the limit.

    Raises MessageRejected if the platform does not provide it, AttachmentTooLarge, Unanswered.
    """
    import aiohttp  # which a hub without such a platform does without

    try:
        async with request as answer:
            if answer.status != 200:
                raise MessageRejected(f"{platform} refused the download (HTTP {answer.status})")
            content = bytearray()
            async for piece in answer.content.iter_chunked(CHUNK_BYTES):
                content += piece
                if len(content) > limit_bytes:
                    raise AttachmentTooLarge(f"the file is larger than {limit_bytes} bytes")
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Unanswered(f"could not download the file ({type(error).__name__})") from error
    return bytes(content)


DEFAULT_WAIT_S = 30.0
"""The wait after a rate limit if the platform specifies none, or none that can be read."""
LONGEST_WAIT_S = 86_400.0


def wait_s(headers: Mapping[str, str]) -> float:
    """Return the wait that the Retry-After of a refused request asks for, in seconds: 1 to
    LONGEST_WAIT_S."""
    try:
        asked_s = float(headers.get("Retry-After") or DEFAULT_WAIT_S)
    except ValueError:
        return DEFAULT_WAIT_S
    return DEFAULT_WAIT_S if math.isnan(asked_s) else min(max(asked_s, 1.0), LONGEST_WAIT_S)


def request_error(error: BaseException, platform: str) -> ChannelError:
    """Return the hub's error for a request without a readable response: Unavailable if it was never sent."""
    import aiohttp  # which a hub without such a platform does without

    never_sent = (
        aiohttp.ClientConnectorError,  # refused, unreachable, no such host, TLS
        aiohttp.ConnectionTimeoutError,
        aiohttp.ClientHttpProxyError,
        aiohttp.InvalidURL,
        aiohttp.NonHttpUrlClientError,
    )
    name = type(error).__name__
    if isinstance(error, never_sent):
        return Unavailable(f"could not reach {platform} ({name})")
    if isinstance(error, aiohttp.ClientError | OSError):  # timeouts included
        return Unanswered(f"no response from {platform} ({name})")
    return Unanswered(f"could not read {platform}'s response ({name})")
