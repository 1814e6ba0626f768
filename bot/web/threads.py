"""Threads of all channels: the list, one thread's lines, its next prompt, and the owner's answers there."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from bot.live import Live, TooManySubscribers
from bot.views import PromptPartView, PromptView
from bot.web.auth import AccessRules
from bot.web.blocks import ApprovalPage, Page
from bot.web.endpoints import Call, Cursor, Endpoint, Limit, cursor_of, position_of
from bot.web.items import Item, Presenter, ThreadPage, WaitingView
from bot.web.responses import ApiError, EventStream, Given, not_found, resumed_at
from bot.web.stream import ChannelStates, ListStream, Onlooker, ThreadStream
from channels.webchat import WebChannel
from core.clock import Clock
from core.gates import ToolSetting
from core.ids import Ids
from core.inbound.hub import Hub
from core.messages import Sender
from core.model.base import text_tokens
from core.runs.context import (
    MINUTE_US,
    NO_LIMIT,
    ChatPrompts,
    PromptPart,
    build_window,
    time_note,
    tool_tokens,
)
from core.store.conversations import QUERY_LIMIT_CHARS, index_all, parse_search
from core.store.feed import CardShown, FeedItem, Feeds, ThreadGlance, ThreadsWanted
from core.store.port import Store
from core.tools.pipeline import CallPipeline
from core.transcript import UserSaid, since_summary

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
    stream continues; `waiting`: queued messages, which become lines once a turn takes them; `approvals`: open
    gates of the thread, and those whose cards are among the lines; `model`: the one that its next turn tries
    first, of the hub's `models`."""

    thread: ThreadPage
    items: tuple[Item, ...]
    first_seq: int
    last_seq: int
    more: bool
    live: LiveView | None
    waiting: tuple[WaitingView, ...]
    approvals: tuple[ApprovalPage, ...]
    model: str
    models: tuple[str, ...]


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
    """`query`: part of the title or of the person's name, or a search for messages; `before`: `next` of the
    page before; `archived`: archived threads as well, which `query` always finds; `mine`: the caller's own;
    `waiting`: those with an open gate."""

    query: Annotated[str, Field(max_length=200)] = ""
    channel: Annotated[str, Field(max_length=64)] | None = None
    before: Cursor | None = None
    limit: Limit = 100
    archived: bool = False
    mine: bool = False
    waiting: bool = False


class SearchQuery(Given):
    """`query`: words, and filters such as `channel:telegram`; see /search in chats."""

    query: Annotated[str, Field(min_length=1, max_length=QUERY_LIMIT_CHARS)]
    limit: Limit = 20


class FoundMessage(Page):
    """A message in which the words of a search were found, or the beginning of its turn."""

    thread_id: str
    title: str
    channel: str
    owner: str
    seq: int
    at: int
    kind: Literal["user", "assistant", "operator"]
    excerpt: str
    undone: bool


class FoundPage(Page):
    """The newest first. `words`: the words searched for, in lower case, without filters and small words."""

    found: tuple[FoundMessage, ...]
    words: tuple[str, ...]


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


def first_model(chosen: str | None, models: Collection[str]) -> str:
    """Return the model that is tried first; "" if none is configured."""
    return chosen if chosen is not None and chosen in models else next(iter(models), "")


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
        models: Collection[str],
    ) -> None:
        self._store = store
        self._models = models
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
            Endpoint("GET", "/search", self.search, FoundPage, SearchQuery),
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
        if query.query.strip():
            await index_all(self._store.threads)
        wanted = ThreadsWanted(
            limit=query.limit + 1,
            before=None if query.before is None else position_of(query.before),
            owner_id=None if call.caller.is_owner and not query.mine else call.caller.principal.user_id,
            text=query.query.strip(),
            channel=query.channel,
            archived=query.archived,
            waiting=query.waiting,
        )
        found = await self._store.feed.thread_glances(wanted)
        page = found[: query.limit]
        shown = tuple(self._presenter.thread(glance, call.caller.principal) for glance in page)
        more = len(found) > query.limit
        return ThreadsPage(
            threads=shown,
            next=cursor_of(page[-1].thread.last_active_at, page[-1].thread.id) if more else None,
        )

    async def search(self, call: Call) -> FoundPage:
        """Search messages of the caller's conversations; the owner searches everyone's."""
        query: SearchQuery = call.query
        await index_all(self._store.threads)
        owner_id = None if call.caller.is_owner else call.caller.principal.user_id
        wanted = replace(parse_search(query.query), limit=query.limit, owner_id=owner_id)
        found = await self._store.threads.search(wanted)
        return FoundPage(
            found=tuple(FoundMessage.model_validate(hit, from_attributes=True) for hit in found),
            words=tuple(phrase.written for phrase in wanted.phrases),
        )

    async def read(self, call: Call) -> ConversationPage:
        """Return a thread with its newest lines, or those before a position."""
        query: ItemsQuery = call.query
        glance = await thread_seen_by(self._store.feed, call)
        thread_id = glance.thread.id
        found = await self._store.feed.feed_before(thread_id, query.before, query.limit + 1)
        items = found[-query.limit :]
        cards = [item.shown.gate.id for item in items if isinstance(item.shown, CardShown)]
        gates = await self._store.feed.gates_in(thread_id, cards)
        preferred = (await self._store.people.preferences(glance.owner.user_id)).chosen
        chosen = glance.thread.settings.chosen.over(preferred).model
        return ConversationPage(
            model=first_model(chosen, self._models),
            models=tuple(self._models),
            thread=self._presenter.thread(glance, call.caller.principal),
            items=await self._presenter.items(thread_id, items),
            first_seq=items[0].seq if items else 0,
            last_seq=items[-1].seq if items else 0,
            more=len(found) > query.limit,
            live=self._live_view(thread_id, items),
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
            store = self._store
            stream = ListStream(onlooker, self._states, store.routines, store.run_views, lambda: store.jobs)
        else:
            stream = ThreadStream(onlooker, glance.thread.id, resumed_at(call.request, query.after))
        may_read = partial(self._gate.still_holds, call.caller)
        return EventStream(self._live, on, stream, may_read, self._clock)

    def _live_view(self, thread_id: str, lines: Sequence[FeedItem]) -> LiveView | None:
        """Return what runs. Its text is what no line shows yet."""
        turn = self._live.turn(thread_id)
        if turn is None:
            return None
        text = "" if any(map(turn.is_told_by, lines)) else turn.text
        steps = tuple(
            LiveStep(call_id=call_id, tool=tool, state=state.value)
            for call_id, (tool, state) in turn.steps.items()
        )
        return LiveView(turn=turn.turn_id, attempt=turn.attempt, text=text, steps=steps)


# The prompt that a thread's next message would have, in parts with their sizes.

MAX_ENTRIES = 100_000
"""The number of a thread's newest entries that are read: more than fit into any context."""


class PromptQuery(Given):
    """`message`: the next message, which may activate skills. It stands in the URL, where a character takes
    up to 12 bytes; the server takes 64 kB in all."""

    message: str = Field(default="", max_length=4_000)


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
        store = self._store
        thread = await store.threads.thread(call.thread_id)
        owner = None if thread is None else await store.people.user(thread.owner_id)
        if thread is None or owner is None:
            raise not_found("no thread has this ID")
        entries = await store.threads.entries(thread.id, MAX_ENTRIES)
        said = [entry.said for entry in entries if isinstance(entry.said, UserSaid)]
        following = UserSaid(query.message, said[-1].sender if said else "")
        preferences = await store.people.preferences(owner.user_id)
        prompt = await self._prompts.of_turn(owner, thread.channel, [following], preferences)
        settings = prompt.settings
        own = await store.consents.tool_settings(owner.user_id)
        disabled = frozenset(one.tool for one in own if one.setting is ToolSetting.DISABLED)
        tools = self._pipeline().offered(owner, disabled, prompt.mode)
        names = tuple(tool.name for tool in tools)
        model = first_model(thread.settings.chosen.over(preferences.chosen).model, settings.models)
        window = build_window(since_summary(entries), NO_LIMIT, settings.timezone)
        return PromptView(
            thread_id=thread.id,
            user_id=owner.user_id,
            model=model,
            prompt=prompt.system(names, model, with_tools=True),
            parts=tuple(map(_page, prompt.parts(names, model))),
            time=time_note(self._clock.now() // MINUTE_US, settings.timezone).text,
            tools=names,
            tools_tokens=tool_tokens(tools),
            messages=len(window.said),
            messages_tokens=window.tokens,
        )


def _page(part: PromptPart) -> PromptPartView:
    tokens = text_tokens(part.text)
    return PromptPartView(name=part.name, chars=len(part.text), tokens=tokens, text=part.text)
