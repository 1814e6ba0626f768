"""Conversations as the API shows them: the list, and one with its lines and what runs."""

from typing import Literal

from bot.web.approvals import ApprovalPage
from bot.web.blocks import Page
from bot.web.items import Item, ThreadPage, WaitingView


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
    """What the running turn has said and done beyond the lines."""

    turn: str
    offset: Literal[0] = 0
    text: str
    steps: tuple[LiveStep, ...]


class ConversationPage(Page):
    """A thread with some of its lines in order. `more`: there are lines before them; `last_seq`: go on from
    there by stream; `waiting`: messages that no turn has taken yet, each a line once one has."""

    thread: ThreadPage
    items: tuple[Item, ...]
    first_seq: int
    last_seq: int
    more: bool
    live: LiveView | None
    waiting: tuple[WaitingView, ...]
    approvals: tuple[ApprovalPage, ...]
