"""`GET /api/events?thread=…`: one thread exactly, as server-sent events.

A thread's stream is the thread's lines behind a position, in order, each once and with its position as the
event's id; between them what its turn is doing. Lines are read from the store whenever it says that there are
new ones, so a stream that is cut and taken up at its last id misses nothing and repeats nothing.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from bot.web.callers import Caller
from bot.web.live import Live, LiveTurn, Subscription
from bot.web.presenting import Presenter
from core.events import AutoLoop, Began, Failed, Finished, Rested, Step, TurnEvent
from core.messages import Address
from core.prompts import PromptState
from core.store.feed import CardSettled, CardShown, FeedItem, Feeds
from core.transcript import AssistantSaid

BATCH = 200


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream; `seq` is its id, where it carries a line of the thread."""

    type: str
    data: Any
    thread_id: str | None = None
    seq: int | None = None

    def encoded(self, at: int) -> bytes:
        """As it goes over the wire."""
        page: dict[str, Any] = {"type": self.type, "at": at, "data": _plain(self.data)}
        if self.thread_id is not None:
            page["thread_id"] = self.thread_id
        if self.seq is not None:
            page["seq"] = self.seq
        lines = [
            f"event: {self.type}",
            f"data: {json.dumps(page, ensure_ascii=False, separators=(',', ':'))}",
        ]
        if self.seq is not None:
            lines.insert(0, f"id: {self.seq}")
        return ("\n".join(lines) + "\n\n").encode()


def _plain(data: Any) -> Any:
    return data.model_dump(mode="json") if isinstance(data, BaseModel) else data


class Onlooker:
    """What one stream is made of."""

    def __init__(
        self, feeds: Feeds, live: Live, presenter: Presenter, caller: Caller, subscription: Subscription
    ) -> None:
        self._feeds = feeds
        self._live = live
        self._presenter = presenter
        self._caller = caller
        self._on = subscription

    async def prompts(self, prompt_ids: Mapping[str, str]) -> AsyncIterator[Event]:
        """How prompts stand now, as far as the caller may know of them."""
        for prompt_id in prompt_ids:
            glance = await self._feeds.prompt_glance(prompt_id)
            if glance is None or not self._concerns(glance.prompt.requester_id, glance.prompt.rule.named):
                continue
            approval = self._presenter.approval(glance, self._caller.principal)
            if glance.prompt.state is PromptState.CLOSED:
                yield Event("approval_resolved", approval, approval.thread_id)
            else:
                yield Event("approval_needed", approval, approval.thread_id)
                yield Event("gate_required", approval, approval.thread_id)

    def _concerns(self, requester_id: str, named: tuple[str, ...]) -> bool:
        user_id = self._caller.principal.user_id
        return self._caller.is_owner or user_id == requester_id or user_id in named


class ThreadStream(Onlooker):
    """One thread's stream."""

    def __init__(
        self,
        feeds: Feeds,
        live: Live,
        presenter: Presenter,
        caller: Caller,
        subscription: Subscription,
        thread_id: str,
        after: int,
    ) -> None:
        super().__init__(feeds, live, presenter, caller, subscription)
        self._thread_id = thread_id
        self._after = after
        self._turn: LiveTurn | None = None
        self._reply = 0
        self._told_chars = 0
        self._told_pieces = 0
        self._met = False

    async def news(self) -> AsyncIterator[Event]:
        """What there is to tell now. Lines first: whatever a turn says it did is committed by then."""
        on = self._on
        prompts, on.prompts = on.prompts, {}
        while on.changed:
            on.changed = False
            items = await self._feeds.feed_after(self._thread_id, self._after, BATCH)
            for item in items:
                self._meet(item, prompts)
                (shown,) = await self._presenter.items(self._thread_id, [item])
                yield Event("item", shown, self._thread_id, item.seq)
                self._after = item.seq
            on.changed = on.changed or len(items) == BATCH
        async for event in self.prompts(prompts):
            yield event
        if not self._met:
            self._met = True
            on.news.clear()
            for event in self._meet_turn():
                yield event
        while on.news:
            turn_id, event = on.news.popleft()
            yield Event(*_turn_event(turn_id, event), self._thread_id)
        for event in self._text():
            yield event

    def _meet(self, item: FeedItem, prompts: dict[str, str]) -> None:
        match item.shown:
            case CardShown(prompt) | CardSettled(prompt, _):
                prompts[prompt.id] = prompt.thread_id
            case AssistantSaid(text):
                turn = self._live.turn(self._thread_id)
                if turn is not None and turn.turn_id == item.turn_id and turn.text.strip() == text.strip():
                    self._follow(turn)  # it is told as a line just now
                    self._told_chars, self._told_pieces = turn.chars, len(turn.pieces)
            case _:
                pass

    def _follow(self, turn: LiveTurn) -> None:
        """Begin with the reply that is being written, unless it was begun with before."""
        if self._turn is not turn or self._reply != turn.reply:
            self._turn, self._reply = turn, turn.reply
            self._told_chars = self._told_pieces = 0

    def _meet_turn(self) -> list[Event]:
        """Where a stream begins in the middle of a turn: what was told of it before."""
        turn = self._live.turn(self._thread_id)
        if turn is None:
            return []
        steps = [(turn.turn_id, Step(call_id, *step)) for call_id, step in turn.steps.items()]
        loop = [] if turn.loop is None else [(turn.turn_id, turn.loop)]
        news = [(turn.turn_id, Began("", Address(""))), *steps, *loop]
        return [Event(*_turn_event(turn_id, event), self._thread_id) for turn_id, event in news]

    def _text(self) -> list[Event]:
        turn = self._live.turn(self._thread_id)
        if turn is None:
            self._turn = None
            return []
        self._follow(turn)
        if turn.chars == self._told_chars:
            return []
        text = turn.text_from(self._told_pieces)
        delta = {"turn": turn.turn_id, "offset": self._told_chars, "text": text}
        self._told_chars, self._told_pieces = turn.chars, len(turn.pieces)
        return [Event("turn_delta", delta, self._thread_id)]


def _turn_event(turn_id: str, event: TurnEvent) -> tuple[str, dict[str, Any]]:
    match event:
        case Began():
            return "turn_started", {"turn": turn_id}
        case Step(call_id, tool, state):
            return "turn_step", {"turn": turn_id, "call_id": call_id, "tool": tool, "state": state.value}
        case AutoLoop(phase):
            return f"auto_loop_{phase.value}", {
                "turn": turn_id,
                "tool": event.tool,
                "depth": event.depth,
                "executed": event.executed,
                "max_rounds": event.max_rounds,
                "max_tools": event.max_tools,
                "reason": event.reason,
            }
        case Finished():
            return "turn_finished", {"turn": turn_id}
        case Failed(text):
            return "turn_failed", {"turn": turn_id, "text": text}
        case Rested():
            return "turn_rested", {"turn": turn_id}
        case _:
            raise TypeError("text is told by offset")
