"""What every platform adapter is: one configured bot on one platform.

A channel turns what its platform says into the values of `core.messages` and shows what the hub says as
well as its platform can. It keeps no state that matters: what must survive lives in the store. Errors are
those of `core.errors.ChannelError`; anything else escaping from a channel is a defect and is logged as one.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Inbox, PostContext, Posted

Payload = Mapping[str, object]
"""What one request to the platform carries: made by a channel's `render`, read by the same channel only."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came: header names in lower case, the body's raw bytes (signatures cover them)."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The answer to a platform's request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint the platform calls, below `/channels/{name}`; `path` begins with a slash."""

    method: str
    path: str
    handle: Callable[[HttpRequest], Awaitable[HttpResponse]]


Look = Callable[[], Awaitable[PostContext]]
"""What is known around the unanswered request by now."""


class Connected(Protocol):
    """Told that the platform answers; `remark`: what works badly all the same, and what to do about it."""

    def __call__(self, remark: str | None = None) -> None: ...


class Channel(Protocol):
    """One configured bot on one platform. Every method but `run` works whatever `run` is doing."""

    @property
    def name(self) -> str:
        """Its key in the configuration, unique among the channels."""
        ...

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        """HTTP endpoints the platform calls; empty where the channel asks the platform itself."""
        ...

    async def check(self) -> None:
        """Ask the platform whether it knows us. Raises AuthRejected or another ChannelError."""
        ...

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        """Receive until cancelled; `connected` is called when the platform is known to answer.

        Everything received goes to `inbox.accept`, and is acknowledged to the platform only after that
        returned. Short drops are resumed inside. Raises AuthRejected (final: only a person can help);
        any other ChannelError or InboxUnavailable means: run again after a while. May be run again.
        """
        ...

    def render(self, message: Message) -> tuple[Payload, ...]:
        """The platform messages it takes to show this one, in order, with choices on the last; empty if
        nothing of it is visible.

        Pure and deterministic: the same message gives the same parts in every process. A prompt's card and
        the same card with its outcome have as many parts, and differ only in the last.
        """
        ...

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        """Show one rendered part. `nonce` is the same when a part is sent again, for platforms that then
        show it once, or can be asked for it; `repeated`: an earlier request may have been taken. Raises
        ChannelError."""
        ...

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """Make a shown part say this; saying so already is success. Raises ChannelError."""
        ...

    async def retract(self, ref: MessageRef) -> bool:
        """Take a shown part away; False if the platform does not let us. Raises ChannelError."""
        ...

    async def typing(self, to: Address) -> None:
        """Show for some seconds that an answer is being written, where the platform can. Raises
        ChannelError."""
        ...

    async def acknowledge(self, ref: MessageRef) -> None:
        """Give a received message a sign that it was seen and waits, where the platform has one; elsewhere do
        nothing. The sign stays when the message is answered: seen it was. Raises ChannelError."""
        ...

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        """Find the message that an unanswered `post` with this nonce may have made, and make it say
        `payload`. No message of another row is changed.

        None: the platform cannot tell, or there is none close by; at most a few requests are spent on it.
        Raises ChannelError.
        """
        ...

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """Download a received file. Raises AttachmentTooLarge or another ChannelError."""
        ...

    def direct(self, platform_user_id: str) -> Address:
        """Where to speak to this person alone."""
        ...

    async def close(self) -> None:
        """Let connections go; nothing is called after it."""
        ...


@runtime_checkable
class Threaded(Protocol):
    """What a channel also is if its platform has threads that a bot can open."""

    async def open_thread(self, at: Address, title: str, nonce: str) -> Address | None:
        """Open a thread of that title at a place, or at the place around it; None where there are no threads.
        Raises ChannelError."""
        ...


@runtime_checkable
class LiveMessages(Protocol):
    """What a channel also is if its platform has messages that grow while they are written.

    What such a message says is for the time being: `Channel.edit` of it ends the growing and shows what is
    rendered instead; `Channel.retract` takes it away; `Channel.recover_post` finds one that went unanswered.
    """

    async def begin(self, to: Address, said: Message, nonce: str) -> Posted | None:
        """Show a message that will grow. None: there is none to be had here, `post` one. Raises
        ChannelError."""
        ...

    async def grow(self, ref: MessageRef, said: Message) -> bool:
        """Let a message say more. False: it does not grow, or not to say this; `edit` it. Raises
        ChannelError."""
        ...


@runtime_checkable
class PostRecovery(Protocol):
    """What a channel also is if its platform neither knows nonces nor tells what it shows: before an
    unanswered `post` of any message is repeated, `recover_post` looks for it."""

    @property
    def taken_within_s(self) -> float:
        """How long after a request was made the platform may still take it; nothing is looked for before."""
        ...
