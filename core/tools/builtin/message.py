"""`message`: a message to the person in another of their conversations."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field

from core.errors import InvalidArguments, NobodyToTell, ToolFailed
from core.lazy_module import LazyModule
from core.messages import Markdown, Message
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool

if TYPE_CHECKING:
    from core.people.notices import Recipient

if TYPE_CHECKING:
    from core.people import notices
else:
    notices = LazyModule("core.people.notices")

TEXT_LIMIT_CHARS = 10_000


class Notifier(Protocol):
    """Delivery of messages (see core.people.notices.Notices)."""

    async def send(self, key: str, to: "Recipient", message: Message) -> bool:
        """Send it, once for each key. Raises NobodyToTell if there is no such address."""
        ...


class Owned(Protocol):
    """A conversation."""

    @property
    def owner_id(self) -> str:
        """Id of its owner."""
        ...


class Threads(Protocol):
    """The conversations (the part of `core.store.port.Store` this tool needs)."""

    async def thread(self, thread_id: str) -> Owned | None:
        """Return a thread."""
        ...


def message_tool(threads: Threads, notifier: Callable[[], Notifier] | None) -> Tool:
    """Return the tool. `notifier` is called on first use; None: nothing can be sent."""

    # Idempotent: a message under a call's key is not sent again.
    @tool(requirement=Requirement.NEVER, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def message(
        call: CallContext,
        text: Annotated[str, "the message, in Markdown", Field(min_length=1, max_length=TEXT_LIMIT_CHARS)],
        channel: Annotated[str | None, "the name of a channel where the person has an account"] = None,
        thread: Annotated[str | None, "or the ID of another conversation of the person"] = None,
    ) -> str:
        """Send a message to the person you are talking to, in another of their conversations."""
        if (channel is None) == (thread is None):
            raise InvalidArguments("channel: use either a channel or a thread")
        if notifier is None:
            raise ToolFailed("Sending to other conversations is not available now.")
        to = await _recipient(threads, call.principal.user_id, channel, thread)
        try:
            await notifier().send(f"call:{call.idempotency_key}", to, Message((Markdown(text),)))
        except NobodyToTell as error:
            raise ToolFailed(f"The message can't be sent there: {error}") from error
        return "The message is queued for sending."

    return message


async def _recipient(threads: Threads, user_id: str, channel: str | None, thread: str | None) -> "Recipient":
    if thread is None:
        return notices.ToPerson(user_id, channel)
    found = await threads.thread(thread)
    if found is None or found.owner_id != user_id:
        raise ToolFailed("The person has no conversation with that ID.")
    return notices.ToThread(thread)
