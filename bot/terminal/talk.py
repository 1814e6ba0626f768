"""A conversation as a terminal sees it, whichever hub it is held with, and the API of a running hub."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Protocol

from bot.config.place import ApiAccess, Exchange, NoAnswer
from channels.text.blocks import Block
from core.errors import HubError, ModelReplyInvalid
from core.events import Output
from core.lazy import dataclass
from core.model.provider_data import SseParser


class TalkFailed(HubError):
    """A request to the hub that failed; the message says why, and the remedy."""


class Author(StrEnum):
    """The author of a message."""

    PERSON = "person"
    ASSISTANT = "assistant"
    OPERATOR = "operator"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said, to stay. `name`: of a person; `files`: names of what comes with it; `past`:
    it was said before this terminal was opened; `undone`: and was undone since."""

    author: Author
    blocks: tuple[Block, ...]
    name: str = ""
    files: tuple[str, ...] = ()
    past: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Wrote:
    """A piece of a reply as it is written; `attempt` and `offset` as in core.events.TextDelta."""

    turn: str
    attempt: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A failure of a model during the turn. `text`: the line that people see."""

    text: str


class StepState(StrEnum):
    """The progress of a tool call."""

    STARTED = "started"
    ENDED = "ended"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Stepped:
    """A tool call begins, ends or waits. `detail`: what it is called with; `outcome`: how it ended, if that
    is known."""

    call_id: str
    tool: str
    state: StepState
    detail: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class CardChoice:
    """One answer on offer; `option` is its name for programs (`approve`), empty if it has none."""

    label: str
    option: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """Something that waits for a person. The place of a choice in `choices`, counted from `first_choice`, is
    its identity: choices of a call that is changed get places that none had before.

    `arguments`: of the call that is asked about, where they can be edited; `free_text`: the next message is
    an answer, too; `secret`: that is a credential; `menu`: nothing waits for it, such as a list of
    conversations to switch to.
    """

    gate_id: str
    blocks: tuple[Block, ...]
    choices: tuple[CardChoice, ...]
    arguments: Mapping[str, Any] | None = None
    free_text: bool = False
    secret: bool = False
    first_choice: int = 0
    menu: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A card is open."""

    card: Card


@dataclass(frozen=True, slots=True)
class Settled:
    """A card is closed, and how."""

    gate_id: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Began:
    """A turn runs."""


@dataclass(frozen=True, slots=True)
class Rested:
    """Nothing works on the turn any more."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The hub does not answer; it is tried again until it does."""

    reason: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """The hub answers again; nothing was missed."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Another conversation is followed from here on. What waits in the one before is answered there."""


Event = (
    Said | Wrote | ModelFailed | Stepped | Output | Asked | Settled | Began | Rested | Cut | Resumed | Moved
)
OUTPUT_CHARS = 8_000
"""More is not shown of what a running call printed: its end."""


class Standing(StrEnum):
    """The state of the conversation."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"


class Talk(Protocol):
    """One person's conversation. Requests to the hub raise TalkFailed if they failed."""

    async def say(self, text: str) -> bool:
        """Send a message, a command, or the answer to a question; what the hub says comes as events. Returns
        whether the hub keeps it as it is: it does not keep what may be a credential."""
        ...

    async def decide(self, gate_id: str, choice: int) -> str:
        """Answer a card; the word that the hub answers with."""
        ...

    async def approve_edited(self, gate_id: str, arguments: Mapping[str, Any], choice: int) -> str:
        """Approve a call with other arguments than it had. `choice`: the first of its card."""
        ...

    async def next(self) -> Event:
        """Wait for what happens next. Single consumer."""
        ...

    async def standing(self) -> Standing | None:
        """Return the state; None while `next` has events to give."""
        ...


# The queue of events between a hub and a terminal.


class Feed:
    """Events in order. Pieces of the same reply, or of one call's output, are joined, so that a slow terminal
    piles up only the words really said."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._some = asyncio.Event()

    def put(self, event: Event) -> None:
        """Add an event. Never blocks and never fails."""
        last = self._events[-1] if self._events else None
        if (
            isinstance(event, Wrote)
            and isinstance(last, Wrote)
            and (last.turn, last.attempt) == (event.turn, event.attempt)
            and last.offset + len(last.text) == event.offset
        ):
            self._events[-1] = replace(last, text=last.text + event.text)
        elif isinstance(event, Output) and isinstance(last, Output) and last.call_id == event.call_id:
            self._events[-1] = event.joined_to(last, OUTPUT_CHARS)
        else:
            self._events.append(event)
        self._some.set()

    async def get(self) -> Event:
        """Return the next event."""
        await self._some.wait()
        event = self._events.popleft()
        if not self._events:
            self._some.clear()
        return event

    @property
    def empty(self) -> bool:
        """Return whether everything was taken."""
        return not self._events


# The running hub's API, as a conversation needs it: requests, and one thread's stream.

SILENCE_LIMIT_S = 45.0
"""A stream says something every 15 s; one that says nothing for so long is cut."""
TRIES = 4
PAUSE_S = 0.5


class HubUnreachable(TalkFailed):
    """The hub does not answer."""


class HubApi:
    """`access`: where the API is now, and its token; both change when another hub is started."""

    def __init__(self, access: Callable[[], ApiAccess | None]) -> None:
        self._access = access

    async def get(self, path: str, **query: str | int) -> Any:
        """Return the answer's JSON. Raises TalkFailed with the hub's own words if it is an error."""
        return await self._answer("GET", path, query=query)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post likewise; the caller makes repeating it harmless."""
        return await self._answer("POST", path, body=body)

    async def events(self, **query: str | int) -> AsyncIterator[str]:
        """Yield the data of a stream's events until it is cut. The first item, an empty text, says
        that it has begun. Raises HubUnreachable if it can't be begun."""
        parser = SseParser()
        try:
            async with Exchange(self._where(), "GET", "/api/events", query=query) as answer:
                if answer.status != HTTPStatus.OK:
                    raise _refusal(answer.status, await answer.json())
                yield ""
                async for piece in answer.pieces(SILENCE_LIMIT_S):
                    for data in parser.feed(piece):
                        yield data
        except (NoAnswer, ModelReplyInvalid) as error:
            raise _unanswered(error) from error

    async def _answer(self, method: str, path: str, **given: Any) -> Any:
        """Ask, and ask again for a while: a hub may be restarting."""
        for tries_left in reversed(range(TRIES)):
            try:
                return await self._once(method, path, given)
            except HubUnreachable:
                if not tries_left:
                    raise
                await asyncio.sleep(PAUSE_S)
        raise AssertionError("every try returns or raises")

    async def _once(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
        try:
            async with Exchange(self._where(), method, path, **given) as answer:
                page = await answer.json()
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    raise _refusal(answer.status, page)
                return page
        except NoAnswer as error:
            raise _unanswered(error) from error

    def _where(self) -> ApiAccess:
        access = self._access()
        if access is None:
            raise HubUnreachable("no hub is running; start it with `hubbub run`")
        return access


def _refusal(status: int, page: Any) -> TalkFailed:
    """Return the hub's own words as an error. A hub that only asks to try again later counts as
    unreachable."""
    match page:
        case {"error": {"code": "unavailable" | "unauthorized", "message": str(message)}}:
            return HubUnreachable(message)
        case {"error": {"message": str(message)}}:
            return TalkFailed(message)
        case _:
            return HubUnreachable(f"the hub responded with HTTP {status}")


def _unanswered(error: Exception) -> HubUnreachable:
    return HubUnreachable(f"the hub does not respond ({error})")
