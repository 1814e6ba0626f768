"""Threads of all channels: the list, one thread's lines, its next prompt, and the owner's answers there."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from bot.live import Live, TooManySubscribers
from bot.views import PromptPartView, PromptView
from bot.web.approvals import ApprovalPage
from bot.web.auth import AccessRules
from bot.web.blocks import Page
from bot.web.endpoints import Call, Cursor, Endpoint, Given, Limit, cursor_of, position_of
from bot.web.errors import ApiError, not_found
from bot.web.items import Item, Presenter, ThreadPage, WaitingView
from bot.web.stream import ChannelStates, EventStream, ListStream, Onlooker, ThreadStream, resumed_at
from channels.webchat import WebChannel
from core.clock import Clock
from core.gates import ToolSetting
from core.ids import Ids
from core.inbound.hub import Hub
from core.messages import Sender
from core.runs.context import (
    MINUTE_US,
    ChatPrompts,
    PromptPart,
    build_conversation,
    estimate_tokens,
    time_note,
    tool_tokens,
)
from core.store.feed import Feeds, ThreadGlance, ThreadsWanted
from core.store.port import Store
from core.tools.pipeline import CallPipeline
from core.transcript import Note, UserSaid

# Conversations as the API shows them: the list, and one with its lines and what runs.


class ThreadsPage(Page):
    """The latest active first."""

    threads: tuple[ThreadPage, ...]
    next: str | None


class LiveStep(Page):
    """A call that began, ended or waits."""

    call_id: str
    tool: str
    state: str


class LiveView(Page):
    """Text and steps of the running turn beyond the lines."""

    turn: str
    attempt: int
    offset: Literal[0] = 0
    text: str
    steps: tuple[LiveStep, ...]


class ConversationPage(Page):
    """A thread with some of its lines in order. `more`: there are earlier lines; `last_seq`: where a
    stream continues; `waiting`: queued messages, which become lines once a turn takes them."""

    thread: ThreadPage
    items: tuple[Item, ...]
    first_seq: int
    last_seq: int
    more: bool
    live: LiveView | None
    waiting: tuple[WaitingView, ...]
    approvals: tuple[ApprovalPage, ...]


# Which threads a caller of the API may know of.


async def thread_seen_by(feeds: Feeds, call: Call) -> ThreadGlance:
    """Return the thread that the path names. Raises ApiError; another person's thread counts as
    missing."""
    glance = await feeds.thread_glance(call.thread_id)
    caller = call.caller
    if glance is None or not (caller.is_owner or glance.owner.user_id == caller.principal.user_id):
        raise not_found("no thread has this ID")
    return glance


Seq = Annotated[int, Field(ge=0, le=2**53)]
ClientKey = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]
MessageText = Annotated[str, Field(min_length=1, max_length=30_000)]


class ThreadsQuery(Given):
    """`query`: part of the title, the person's name, or anything said; `before`: `next` of the page
    before."""

    query: Annotated[str, Field(max_length=200)] = ""
    channel: Annotated[str, Field(max_length=64)] | None = None
    before: Cursor | None = None
    limit: Limit = 100


class ItemsQuery(Given):
    """Lines before that position; without it the newest."""

    before: Annotated[int, Field(ge=1, le=2**53)] | None = None
    limit: Limit = 100


class EventsQuery(Given):
    """`thread`: the thread to stream, or null for hints for lists; `after`: the last position seen."""

    thread: Annotated[str, Field(max_length=64)] | None = None
    after: Seq | None = None


class OperatorAnswer(Given):
    """A reply from the owner; the same `client_key` is sent once."""

    text: MessageText
    client_key: ClientKey | None = None


class Answered(Page):
    """The accepted message; `duplicate`: it had been accepted before."""

    thread_id: str
    duplicate: bool


class Stopped(Page):
    """The result of a stop. `stopped`: false if nothing ran or waited."""

    thread_id: str
    stopped: bool


STOP_COMMAND = "/stop"
MAX_WAITING = 100


class Threads:
    """One method per endpoint."""

    def __init__(
        self,
        store: Store,
        live: Live,
        presenter: Presenter,
        web: WebChannel,
        hub: Hub,
        states: ChannelStates,
        gate: AccessRules,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._live = live
        self._presenter = presenter
        self._web = web
        self._hub = hub
        self._states = states
        self._gate = gate
        self._clock = clock
        self._ids = ids

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/threads", self.list, ThreadsPage, ThreadsQuery),
            Endpoint("GET", "/threads/{id}", self.read, ConversationPage, ItemsQuery, refusals=(404,)),
            Endpoint(
                "POST",
                "/threads/{id}/answer",
                self.answer,
                Answered,
                body=OperatorAnswer,
                refusals=(404, 409),
                owner_only=True,
                status=202,
            ),
            Endpoint("POST", "/threads/{id}/stop", self.stop, Stopped, refusals=(404,), status=202),
            Endpoint(
                "GET",
                "/events",
                self.events,
                None,
                EventsQuery,
                refusals=(404, 429, 503),
                media_type="text/event-stream",
            ),
        ]

    async def list(self, call: Call) -> ThreadsPage:
        """List threads, most recently active first."""
        query: ThreadsQuery = call.query
        wanted = ThreadsWanted(
            limit=query.limit + 1,
            before=None if query.before is None else position_of(query.before),
            owner_id=None if call.caller.is_owner else call.caller.principal.user_id,
            text=query.query.strip(),
            channel=query.channel,
        )
        found = await self._store.feed.thread_glances(wanted)
        page = found[: query.limit]
        shown = tuple(self._presenter.thread(glance, call.caller.principal) for glance in page)
        more = len(found) > query.limit
        return ThreadsPage(
            threads=shown,
            next=cursor_of(page[-1].thread.last_active_at, page[-1].thread.id) if more else None,
        )

    async def read(self, call: Call) -> ConversationPage:
        """Return a thread with its newest lines, or those before a position."""
        query: ItemsQuery = call.query
        glance = await thread_seen_by(self._store.feed, call)
        thread_id = glance.thread.id
        found = await self._store.feed.feed_before(thread_id, query.before, query.limit + 1)
        items = found[-query.limit :]
        gates = await self._store.feed.open_gates_of(thread_id)
        return ConversationPage(
            thread=self._presenter.thread(glance, call.caller.principal),
            items=await self._presenter.items(thread_id, items),
            first_seq=items[0].seq if items else 0,
            last_seq=items[-1].seq if items else 0,
            more=len(found) > query.limit,
            live=self._live_view(thread_id),
            waiting=tuple(
                map(self._presenter.waiting, await self._store.feed.waiting_in(thread_id, MAX_WAITING))
            ),
            approvals=tuple(self._presenter.approval(one, call.caller.principal) for one in gates),
        )

    async def answer(self, call: Call) -> Answered:
        """Reply in a thread as the owner, through the thread's own channel."""
        said: OperatorAnswer = call.body
        glance = await thread_seen_by(self._store.feed, call)
        if glance.thread.channel not in self._states():
            raise ApiError(409, "refused", f"the channel {glance.thread.channel} no longer exists")
        person = call.caller.principal
        key = f"operator:{said.client_key or self._ids.row_id()}"
        event = self._web.message(Sender(person.user_id, person.name), key, None, said.text)
        taken = await self._hub.speak(event, person, glance.thread.id)
        return Answered(thread_id=glance.thread.id, duplicate=not taken)

    async def stop(self, call: Call) -> Stopped:
        """Stop a thread's run and discard its queued messages."""
        glance = await thread_seen_by(self._store.feed, call)
        person = call.caller.principal
        event = self._web.message(
            Sender(person.user_id, person.name), f"stop:{self._ids.row_id()}", None, STOP_COMMAND
        )
        accepted = await self._hub.stop(event, person, glance.thread.id)
        return Stopped(thread_id=glance.thread.id, stopped=accepted.answer is not None)

    async def events(self, call: Call) -> EventStream:
        """Stream a thread's lines and turns, or hints for lists (server-sent events)."""
        query: EventsQuery = call.query
        glance = None
        if query.thread is not None:
            call.request.path_params["id"] = query.thread
            glance = await thread_seen_by(self._store.feed, call)
        try:
            on = self._live.subscribe(None if glance is None else glance.thread.id, call.caller.principal)
        except TooManySubscribers as error:
            raise ApiError(429, "too_many", "too many streams are open; close one") from error
        onlooker = Onlooker(self._store.feed, self._live, self._presenter, call.caller, on)
        if glance is None:
            stream = ListStream(onlooker, self._states, self._store.routines, self._store.run_views)
        else:
            stream = ThreadStream(onlooker, glance.thread.id, resumed_at(call.request, query.after))
        may_read = partial(self._gate.still_holds, call.caller)
        return EventStream(self._live, on, stream, may_read, self._clock)

    def _live_view(self, thread_id: str) -> LiveView | None:
        turn = self._live.turn(thread_id)
        if turn is None:
            return None
        steps = tuple(
            LiveStep(call_id=call_id, tool=tool, state=state.value)
            for call_id, (tool, state) in turn.steps.items()
        )
        return LiveView(turn=turn.turn_id, attempt=turn.attempt, text=turn.text, steps=steps)


# The prompt that a thread's next message would have, in parts with their sizes.

MAX_ENTRIES = 100_000
"""The number of a thread's newest entries that are read: more than fit into any context."""
_NO_LIMIT_TOKENS = 10**12


class PromptQuery(Given):
    """`message`: the next message, which may activate skills."""

    message: str = Field(default="", max_length=30_000)


class PromptsApi:
    """Prompts, assembled by the code that assembles a turn's."""

    def __init__(
        self, store: Store, prompts: ChatPrompts, pipeline: Callable[[], CallPipeline], clock: Clock
    ) -> None:
        self._store = store
        self._prompts = prompts
        self._pipeline = pipeline
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "GET",
                "/threads/{id}/prompt",
                self.prompt,
                PromptView,
                PromptQuery,
                refusals=(404,),
                owner_only=True,
            )
        ]

    async def prompt(self, call: Call) -> PromptView:
        """Return the prompt that the thread's next message would have."""
        query: PromptQuery = call.query
        store, settings = self._store, self._prompts.settings
        thread = await store.threads.thread(call.thread_id)
        owner = None if thread is None else await store.people.user(thread.owner_id)
        if thread is None or owner is None:
            raise not_found("no thread has this ID")
        entries = await store.threads.entries(thread.id, MAX_ENTRIES)
        said = [entry.said for entry in entries if isinstance(entry.said, UserSaid)]
        following = UserSaid(query.message, said[-1].sender if said else "")
        prompt = await self._prompts.of_turn(owner, thread.channel, [following])
        own = await store.consents.tool_settings(owner.user_id)
        disabled = frozenset(one.tool for one in own if one.setting is ToolSetting.DISABLED)
        tools = self._pipeline().offered(owner, disabled, prompt.mode)
        names = tuple(tool.name for tool in tools)
        model = next(iter(settings.models), "")
        conversation = build_conversation(entries, _NO_LIMIT_TOKENS, settings.timezone)
        return PromptView(
            thread_id=thread.id,
            user_id=owner.user_id,
            model=model,
            prompt=prompt.system(names, model, with_tools=True),
            parts=tuple(map(_page, prompt.parts(names, model))),
            time=time_note(self._clock.now() // MINUTE_US, settings.timezone).text,
            tools=names,
            tools_tokens=tool_tokens(tools),
            messages=len(conversation),
            messages_tokens=sum(map(estimate_tokens, conversation)),
        )


def _page(part: PromptPart) -> PromptPartView:
    tokens = estimate_tokens(Note(part.text))
    return PromptPartView(name=part.name, chars=len(part.text), tokens=tokens, text=part.text)
