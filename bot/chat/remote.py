"""A conversation with a running hub, over its API.

Follows one thread of the channel `web`: the person's latest one, and another one as soon as what they say
leads there (`/new`). A stream that is cut is taken up where it ended, so nothing is missed or shown twice.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bot.chat.feed import Feed
from bot.chat.hub_api import HubApi
from bot.chat.talk import (
    Asked,
    Author,
    Began,
    Cut,
    Event,
    Moved,
    Rested,
    Resumed,
    Said,
    Settled,
    Standing,
    Stepped,
    StepState,
    TalkFailed,
    Wrote,
)
from bot.chat.wire import ITEM, card_in, detail_of, plain, said_in
from bot.web.approvals import ApprovalPage
from bot.web.conversation_pages import ConversationPage, ThreadsPage
from bot.web.items import CallItem, Item, UserItem
from channels.webchat import WEB
from core.store.accept import ASKED_FOR

logger = logging.getLogger(__name__)

SHOWN_BEFORE = 12
"""So many of the thread's last lines are shown when a terminal is opened."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 5.0
OTHER_VERSION = "the hub that runs answers otherwise than this command expects; restart it with this version"
CALLS_REMEMBERED = 1_000
ECHOES_REMEMBERED = 100
LOOKED_AT = 20

Model = TypeVar("Model", bound=BaseModel)


class RemoteTalk:
    """See Talk. `run` has to run beside it."""

    def __init__(self, api: HubApi, new_key: Callable[[], str]) -> None:
        self._api = api
        self._new_key = new_key
        self._feed = Feed()
        self._thread_id: str | None = None
        self._seen = 0
        self._moved = asyncio.Event()
        self._calls: dict[str, CallItem] = {}
        self._asked: set[str] = set()
        self._running = False
        self._cut = False
        self._echoes: deque[str] = deque(maxlen=ECHOES_REMEMBERED)

    # --- asking ------------------------------------------------------------------------------------------

    async def say(self, text: str) -> bool:
        """See Talk. The same key each time it is tried: it counts once."""
        body: dict[str, Any] = {"text": text, "client_key": self._new_key()}
        if self._thread_id is not None:
            body["thread_id"] = self._thread_id
        self._echoes.append(text)
        sent = await self._api.post("/api/chat/send", body)
        match sent:
            case {"thread_id": str(thread_id)}:
                if thread_id != self._thread_id:
                    self._go_to(thread_id, 0)
            case {"answer": str(answer)} if self._thread_id is None:
                self._feed.put(Said(Author.HUB, plain(answer)))  # there is no thread yet that it is told in
            case _:
                pass
        return not str(sent.get("outcome", "")).startswith(ASKED_FOR)

    async def decide(self, prompt_id: str, choice: int) -> str:
        """See Talk."""
        return await self._resolve(request_id=prompt_id, action=str(choice))

    async def approve_edited(self, prompt_id: str, arguments: Mapping[str, Any], choice: int) -> str:
        """See Talk."""
        return await self._resolve(request_id=prompt_id, action=str(choice), arguments=dict(arguments))

    async def _resolve(self, **body: object) -> str:
        return str((await self._api.post("/api/chat/gate/resolve", body)).get("outcome", ""))

    # --- looking -----------------------------------------------------------------------------------------

    async def next(self) -> Event:
        """See Talk."""
        return await self._feed.get()

    async def standing(self) -> Standing | None:
        """See Talk. Told only once everything that the hub has said by now was given, cards included."""
        if self._thread_id is None:
            return Standing.IDLE if self._feed.empty else None
        found = await self._conversation(self._thread_id, 1)
        asked = {approval.prompt_id for approval in found.approvals}
        if not self._feed.empty or self._seen < found.thread.last_seq or asked - self._asked:
            return None
        if found.thread.turn is None:
            return Standing.IDLE
        return Standing.WAITING if found.thread.turn.state == "waiting" else Standing.RUNNING

    async def open(self) -> None:
        """Begin with what was said last, and what waits. Raises TalkFailed if the hub cannot be asked."""
        page = _read(ThreadsPage, await self._api.get("/api/threads", channel=WEB, limit=LOOKED_AT))
        mine = next((thread for thread in page.threads if thread.own and not thread.group), None)
        if mine is None:
            return
        found = await self._conversation(mine.id, SHOWN_BEFORE)
        for item in found.items:
            self._take_item(item, past=True)
        for approval in found.approvals:
            self._take_approval(approval)
        self._go_to(mine.id, found.last_seq)

    async def _conversation(self, thread_id: str, lines: int) -> ConversationPage:
        return _read(ConversationPage, await self._api.get(f"/api/threads/{thread_id}", limit=lines))

    # --- following ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the thread until cancelled, whatever becomes of the hub meanwhile."""
        pause_s = FIRST_PAUSE_S
        while True:
            if self._thread_id is None:
                await self._moved.wait()
            self._moved.clear()
            reason = await self._follow_until_moved()
            if reason is None:
                pause_s = FIRST_PAUSE_S
                continue
            if reason:
                self._cut = True
                self._feed.put(Cut(f"{reason}; trying again"))
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2) if reason else FIRST_PAUSE_S

    def _go_to(self, thread_id: str, seen: int) -> None:
        if self._thread_id is not None:
            self._asked.clear()
            self._running = False
            self._feed.put(Moved())
        self._thread_id, self._seen = thread_id, seen
        self._moved.set()

    async def _follow_until_moved(self) -> str | None:
        """Why the stream ended; empty if the hub ended it; None: another thread is to be followed."""
        following = asyncio.create_task(self._follow(), name="stream")
        moved = asyncio.create_task(self._moved.wait(), name="thread changed")
        try:
            await asyncio.wait({following, moved}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            following.cancel()
            moved.cancel()
            outcome, _ = await asyncio.gather(following, moved, return_exceptions=True)
        if isinstance(outcome, asyncio.CancelledError):
            return None
        if isinstance(outcome, TalkFailed):
            return str(outcome)
        if isinstance(outcome, BaseException):
            raise outcome
        return ""

    async def _follow(self) -> None:
        async for data in self._api.events(thread=self._thread_id or "", after=self._seen):
            if data:
                self._take(json.loads(data))
            else:
                self._is_begun()

    def _is_begun(self) -> None:
        """A turn that ended while the stream was cut says so no more; one that runs says that it began."""
        if self._running:
            self._running = False
            self._feed.put(Rested())
        if self._cut:
            self._cut = False
            self._feed.put(Resumed())

    def _take(self, page: Mapping[str, Any]) -> None:
        data = page["data"]
        match page["type"]:
            case "item":
                try:
                    item = ITEM.validate_python(data)
                except ValidationError as error:
                    raise TalkFailed(OTHER_VERSION) from error
                self._take_item(item, past=False)
                self._seen = item.seq
            case "approval_needed" | "approval_resolved":
                self._take_approval(_read(ApprovalPage, data))
            case "turn_delta":
                self._feed.put(Wrote(data["turn"], data["offset"], data["text"]))
            case "turn_step":
                self._take_step(data["call_id"], data["tool"], StepState(data["state"]))
            case "turn_started":
                self._running = True
                self._feed.put(Began())
            case "turn_rested":
                self._running = False
                self._feed.put(Rested())
            case _:
                pass  # the same is told by an item, or concerns lists

    def _take_item(self, item: Item, *, past: bool) -> None:
        if isinstance(item, CallItem):
            self._calls[item.call_id] = item
            if len(self._calls) > CALLS_REMEMBERED:
                del self._calls[next(iter(self._calls))]
        if not past and isinstance(item, UserItem) and item.text in self._echoes:
            self._echoes.remove(item.text)  # it stands on the screen since it was typed
            return
        event = said_in(item, self._calls, past=past)
        if event is not None:
            self._feed.put(event)

    def _take_step(self, call_id: str, tool: str, state: StepState) -> None:
        """Its end is told by its result, which is an item."""
        if state is not StepState.ENDED:
            call = self._calls.get(call_id)
            self._feed.put(Stepped(call_id, tool, state, "" if call is None else detail_of(call.arguments)))

    def _take_approval(self, approval: ApprovalPage) -> None:
        call = self._calls.get(approval.call_id or "")
        if call is not None and approval.arguments is not None:  # they may have been changed on the card
            self._calls[call.call_id] = call.model_copy(update={"arguments": approval.arguments})
        if approval.state == "open":
            self._asked.add(approval.prompt_id)
            self._feed.put(Asked(card_in(approval)))
        else:
            self._asked.discard(approval.prompt_id)
            self._feed.put(Settled(approval.prompt_id, approval.outcome.text if approval.outcome else ""))


def _read(model: type[Model], page: Any) -> Model:
    try:
        return model.model_validate(page)
    except ValidationError as error:
        raise TalkFailed(OTHER_VERSION) from error
