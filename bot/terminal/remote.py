"""A conversation with a running hub, over its API.

Follows one thread of the channel `web`: the person's latest one, and another one as soon as what they say
leads there (`/new`). A stream that is cut is taken up where it ended, so nothing is missed or shown twice.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, assert_never

from pydantic import TypeAdapter, ValidationError

from bot.terminal.talk import (
    Asked,
    Author,
    Began,
    Card,
    CardChoice,
    Cut,
    Event,
    Feed,
    HubApi,
    ModelFailed,
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
from bot.web import blocks as pages
from bot.web import items
from bot.web.blocks import ApprovalPage
from bot.web.threads import ConversationPage, ThreadsPage
from channels.text import blocks
from channels.text.blocks import Mark, showable
from channels.webchat import WEB
from core import texts
from core.consent import card_texts
from core.events import CandidateFailed, Output, Verbosity
from core.gates import Option
from core.store.accept import ASKED_FOR

# What the API says of a conversation, as the values a terminal shows.

ITEM: TypeAdapter[items.Item] = TypeAdapter(items.Item)
SUMMARIZED = "— A summary now stands for the earlier messages. —"
_DETAIL_NAMES = ("command", "path", "url", "query", "text")
"""Arguments that say best what a call does, in this order."""


def said_in(item: items.Item, calls: Mapping[str, items.CallItem], *, past: bool) -> Event | None:
    """Return an item's display; None for items shown otherwise. `calls`: earlier calls, by id."""
    match item:
        case items.UserItem():
            names = tuple(file.name for file in item.attachments)
            return Said(Author.PERSON, plain(item.text), item.sender.name, names, past, item.undone)
        case items.AssistantItem() if item.text.strip():
            return Said(Author.ASSISTANT, blocks_in(item.blocks), past=past, undone=item.undone)
        case items.OperatorItem():
            return Said(Author.OPERATOR, blocks_in(item.blocks), item.by, past=past, undone=item.undone)
        case items.NoticeItem():
            names = tuple(file.name for file in item.files)
            return Said(Author.HUB, blocks_in(item.blocks), files=names, past=past)
        case items.ResultItem() if not past:
            call = calls.get(item.call_id)
            tool, detail = ("a tool", "") if call is None else (call.tool, detail_of(call.arguments))
            return Stepped(item.call_id, tool, StepState.ENDED, detail, item.status)
        case items.OutcomeItem():
            return Settled(item.gate_id, item.text)
        case items.SummaryItem():
            return Said(Author.HUB, plain(SUMMARIZED), past=past, undone=item.undone)
        case items.AssistantItem() | items.ResultItem() | items.CallItem() | items.GateItem():
            return None
        case _:
            assert_never(item)


def detail_of(arguments: Mapping[str, Any]) -> str:
    """Return a call's arguments in one line: the most telling one, or all."""
    for name in _DETAIL_NAMES:
        if isinstance(value := arguments.get(name), str):
            return value
    return json.dumps(dict(arguments), ensure_ascii=False) if arguments else ""


def card_in(approval: ApprovalPage) -> Card:
    """Return the card of a gate."""
    parts: list[blocks.Block] = [*plain(approval.title)]
    if approval.calls:
        for number, call in enumerate(approval.calls, start=1):
            parts += plain(card_texts.joint_heading(number, call.tool, call.reason))
            parts.append(blocks.CodeBlock(showable("\n".join(call.lines))))
    elif approval.details:
        parts.append(blocks.CodeBlock(showable("\n".join(approval.details))))
    if approval.always:
        parts += plain(approval.always)
    if approval.link:
        parts += plain(f"{card_texts.SIGN_IN}: {approval.link}")
    if approval.votes:
        approved = f"{len(approval.votes)} of {approval.quorum} approved: {', '.join(approval.votes)}"
        parts += plain(approved)
    mine = approval.may_decide
    if mine and any(choice.option == Option.APPROVE for choice in approval.choices):
        parts += plain(f"/approve {approval.gate_id}, /deny {approval.gate_id}")
    return Card(
        gate_id=approval.gate_id,
        blocks=tuple(parts),
        choices=tuple(CardChoice(choice.label, choice.option) for choice in approval.choices if mine),
        arguments=approval.arguments if mine and approval.editable else None,
        free_text=mine and approval.free_text,
        secret=mine and approval.secret,
        first_choice=approval.choices[0].index if approval.choices else 0,
    )


def menu_in(item: items.Item) -> Card | None:
    """Return the choices below a line; None if it has none."""
    if not isinstance(item, items.NoticeItem | items.AssistantItem) or item.menu is None:
        return None
    labels = [
        label.removeprefix(f"{number}. ")  # the key is the number
        for number, label in enumerate(item.menu.labels, start=1)
    ]
    choices = tuple(map(CardChoice, labels))
    return Card(item.menu.menu_id, (), choices, first_choice=item.menu.first, menu=True)


def plain(text: str) -> tuple[blocks.Block, ...]:
    """Return text as a paragraph, unchanged."""
    return (blocks.Paragraph(blocks.Text(showable(text))),)


def blocks_in(given: Sequence[pages.Block]) -> tuple[blocks.Block, ...]:
    """Return blocks as they were before JSON, with styles for each run of text."""
    return tuple(map(_block, given))


def _block(page: pages.Block) -> blocks.Block:
    match page:
        case pages.Paragraph(spans=spans):
            return blocks.Paragraph(_text(spans))
        case pages.Heading(level=level, spans=spans):
            return blocks.Heading(level, _text(spans))
        case pages.Code(text=text, language=language):
            return blocks.CodeBlock(showable(text), language)
        case pages.Quote(blocks=children):
            return blocks.Quote(blocks_in(children))
        case pages.List(items=items, start=start, tight=tight):
            return blocks.List(tuple(map(blocks_in, items)), start, tight)
        case pages.Table(alignments=alignments, header=header, rows=rows):
            cells = tuple(tuple(map(_text, row)) for row in rows)
            return blocks.Table(alignments, tuple(map(_text, header)), cells)
        case pages.Rule():
            return blocks.Rule()
        case _:
            assert_never(page)


def _text(runs: Sequence[pages.Span]) -> blocks.Text:
    """Return text with links. Neighboring runs with the same address are one link."""
    texts = [showable(run.text) for run in runs]
    spans: list[blocks.Span] = []
    start = 0
    for place, run in enumerate(runs):
        end = start + len(texts[place])
        if run.link is not None and (place == 0 or runs[place - 1].link != run.link):
            spans.append(blocks.Span(start, _end_of_link(runs, texts, place, start), blocks.Link(run.link)))
        spans += [blocks.Span(start, end, Mark(style)) for style in run.styles]
        start = end
    return blocks.Text("".join(texts), tuple(spans))


def _end_of_link(runs: Sequence[pages.Span], texts: Sequence[str], place: int, start: int) -> int:
    end = start
    for run, text in zip(runs[place:], texts[place:], strict=True):
        if run.link != runs[place].link:
            break
        end += len(text)
    return end


logger = logging.getLogger(__name__)

SHOWN_BEFORE = 12
"""The thread's last lines that are shown when a terminal is opened."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 5.0
OTHER_VERSION = "the running hub's response does not match this version; restart the hub with this version"
CALLS_REMEMBERED = 1_000
ECHOES_REMEMBERED = 100
MENUS_REMEMBERED = 100
LOOKED_AT = 20

T = TypeVar("T")


class RemoteTalk:
    """A conversation over the API of a running hub. `run` must run at the same time."""

    def __init__(self, api: HubApi, new_key: Callable[[], str]) -> None:
        self._api = api
        self._new_key = new_key
        self._feed = Feed()
        self._thread_id: str | None = None
        self._seen = 0
        self._moved = asyncio.Event()
        self._calls: dict[str, items.CallItem] = {}
        self._headings: dict[int, str] = {}
        self._asked: set[str] = set()
        self._menus: deque[str] = deque(maxlen=MENUS_REMEMBERED)
        self._running = False
        self._verbosity = Verbosity.OFF
        self._cut = False
        self._echoes: deque[str] = deque(maxlen=ECHOES_REMEMBERED)

    # --- asking ------------------------------------------------------------------------------------------

    async def say(self, text: str) -> bool:
        """Send a message. Its key stays the same on each try, so it counts once."""
        body: dict[str, Any] = {"text": text, "client_key": self._new_key()}
        if self._thread_id is not None:
            body["thread_id"] = self._thread_id
        self._echoes.append(text)
        return self._follow_to(await self._api.post("/api/chat/send", body))

    def _follow_to(self, sent: Mapping[str, Any]) -> bool:
        """Follow the conversation in which the hub answers; return whether it keeps what was sent."""
        match sent:
            case {"thread_id": str(thread_id)}:
                if thread_id != self._thread_id:
                    self._go_to(thread_id, 0)
            case {
                "answer": str(answer)
            }:  # there is no thread that it is told in: none yet, or it was deleted
                self._thread_id = None
                self._moved.set()
                self._feed.put(Said(Author.HUB, plain(answer)))
            case _:
                pass
        return not str(sent.get("outcome", "")).startswith(ASKED_FOR)

    async def decide(self, gate_id: str, choice: int) -> str:
        if gate_id in self._menus:
            body = {"menu_id": gate_id, "choice": choice, "client_key": self._new_key()}
            sent = await self._api.post("/api/chat/press", body)
            self._follow_to(sent)
            return str(sent.get("outcome", ""))
        return await self._resolve(request_id=gate_id, action=str(choice))

    async def approve_edited(self, gate_id: str, arguments: Mapping[str, Any], choice: int) -> str:
        return await self._resolve(request_id=gate_id, action=str(choice), arguments=dict(arguments))

    async def _resolve(self, **body: object) -> str:
        return str((await self._api.post("/api/chat/gate/resolve", body)).get("outcome", ""))

    # --- looking -----------------------------------------------------------------------------------------

    async def next(self) -> Event:
        return await self._feed.get()

    async def standing(self) -> Standing | None:
        """Return the conversation's standing, but only once everything the hub has said by now was
        given, cards included."""
        if self._thread_id is None:
            return Standing.IDLE if self._feed.empty else None
        found = await self._conversation(self._thread_id, 1)
        asked = {approval.gate_id for approval in found.approvals if approval.state == "open"}
        if not self._feed.empty or self._seen < found.thread.last_seq or asked - self._asked:
            return None
        if found.thread.turn is None:
            return Standing.IDLE
        return Standing.WAITING if found.thread.turn.state == "waiting" else Standing.RUNNING

    async def open(self) -> None:
        """Begin with the latest messages and open gates. Raises TalkFailed if the hub cannot be asked."""
        page = _read(ThreadsPage, await self._api.get("/api/threads", channel=WEB, limit=LOOKED_AT))
        own = [thread for thread in page.threads if thread.own and not thread.group]
        if not own:
            return
        # Notices make theirs the newest, though nobody talks there.
        mine = next((thread for thread in own if thread.active), own[0])
        found = await self._conversation(mine.id, SHOWN_BEFORE)
        for item in found.items:
            self._take_item(item, past=True)
        for item in found.items[-1:]:
            self._offer_menu(item)
        for approval in found.approvals:
            if approval.state == "open":
                self._take_approval(approval)
        self._go_to(mine.id, found.last_seq)

    async def _conversation(self, thread_id: str, lines: int) -> ConversationPage:
        return _read(ConversationPage, await self._api.get(f"/api/threads/{thread_id}", limit=lines))

    # --- following ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the thread until cancelled, whatever happens to the hub."""
        pause_s = FIRST_PAUSE_S
        while True:
            self._moved.clear()
            while self._thread_id is None:
                await self._moved.wait()
                self._moved.clear()
            reason = await self._follow_until_moved()
            if reason is None:
                pause_s = FIRST_PAUSE_S
                continue
            if reason:
                self._cut = True
                self._feed.put(Cut(f"{reason}; retrying"))
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
        """Return why the stream ended; empty if the hub ended it; None: follow another thread."""
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
        """Report that the stream has begun. A turn that ended while it was cut no longer counts as
        running; a running one says so itself."""
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
                item = _read(ITEM, data)
                self._take_item(item, past=False)
                self._seen = item.seq
            case "item_changed":
                self._take_change(_read(ITEM, data))
            case "approval_needed" | "approval_resolved":
                self._take_approval(_read(ApprovalPage, data))
            case "turn_delta":
                self._feed.put(Wrote(data["turn"], data["attempt"], data["offset"], data["text"]))
            case "turn_step":
                self._take_step(data["call_id"], data["tool"], StepState(data["state"]))
            case "turn_output":
                self._feed.put(Output(data["call_id"], data["offset"], data["text"]))
            case "run_started":
                self._verbosity = Verbosity(data["verbosity"])
            case "candidate_failed":
                self._take_failure(data)
            case "turn_started" | "turn_rested" as turn:
                self._running = turn == "turn_started"
                self._feed.put(Began() if self._running else Rested())
            case _:
                pass  # the same is told by an item, or concerns lists

    def _take_change(self, item: items.Item) -> None:
        # What is printed stays: a new first line is printed below.
        heading = item.text.partition("\n")[0] if isinstance(item, items.NoticeItem) else ""
        if self._headings.get(item.seq, "") != heading:
            self._headings[item.seq] = heading
            self._feed.put(Said(Author.HUB, plain(heading)))

    def _take_failure(self, data: Mapping[str, Any]) -> None:
        if self._verbosity is not Verbosity.OFF:
            failure = CandidateFailed(**{name: value for name, value in data.items() if name != "run"})
            self._feed.put(ModelFailed(texts.model_retry(failure, self._verbosity)))

    def _take_item(self, item: items.Item, *, past: bool) -> None:
        if isinstance(item, items.CallItem):
            self._calls[item.call_id] = item
            if len(self._calls) > CALLS_REMEMBERED:
                del self._calls[next(iter(self._calls))]
        if not past and isinstance(item, items.UserItem) and item.text in self._echoes:
            self._echoes.remove(item.text)  # it stands on the screen since it was typed
            return
        if (event := said_in(item, self._calls, past=past)) is not None:
            self._feed.put(event)
        if not past:
            self._offer_menu(item)

    def _offer_menu(self, item: items.Item) -> None:
        if (menu := menu_in(item)) is not None:
            self._menus.append(menu.gate_id)
            self._feed.put(Asked(menu))

    def _take_step(self, call_id: str, tool: str, state: StepState) -> None:
        """Take a step; its end comes with its result, which is an item."""
        if state is not StepState.ENDED:
            call = self._calls.get(call_id)
            self._feed.put(Stepped(call_id, tool, state, "" if call is None else detail_of(call.arguments)))

    def _take_approval(self, approval: ApprovalPage) -> None:
        call = self._calls.get(approval.call_id or "")
        if call is not None and approval.arguments is not None:  # they may have been changed on the card
            self._calls[call.call_id] = call.model_copy(update={"arguments": approval.arguments})
        if approval.state == "open":
            self._asked.add(approval.gate_id)
            self._feed.put(Asked(card_in(approval)))
        else:
            self._asked.discard(approval.gate_id)
            self._feed.put(Settled(approval.gate_id, approval.outcome.text if approval.outcome else ""))


def _read(shape: type[T] | TypeAdapter[T], page: Any) -> T:
    try:
        return (shape if isinstance(shape, TypeAdapter) else TypeAdapter(shape)).validate_python(page)
    except ValidationError as error:
        raise TalkFailed(OTHER_VERSION) from error
