"""Whole conversations as the API changes them: titles, tags, archived, closed, open and deleted."""

from typing import Annotated

from pydantic import Field

from bot.views import DecisionView, ThreadView
from bot.web.endpoints import Call, Endpoint, Given
from bot.web.errors import ApiError
from bot.web.threads import thread_seen_by
from core.errors import IllegalChange
from core.store.port import Store
from core.store.rows import ThreadChange

MAX_TITLE_CHARS = 80
MAX_TAGS = 20
Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS, pattern=r"^[^\n\r]+$")]
Tag = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\s,]+$")]


class ThreadChanges(Given):
    """Changes of a thread; what is null stays as it is. `tags`: all of them, each a word; `archived`: left
    out of lists; `closed`: the next message there starts a new conversation."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS, pattern=r"^[^\n\r]+$")] | None = (
        None
    )
    tags: Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS)] | None = None
    archived: bool | None = None
    closed: bool | None = None


class ConversationsApi:
    """One method per endpoint."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "PATCH", "/threads/{id}", self.change, ThreadView, body=ThreadChanges, refusals=(404, 409)
            ),
            Endpoint("DELETE", "/threads/{id}", self.delete, DecisionView, refusals=(404, 409)),
        ]

    async def change(self, call: Call) -> ThreadView:
        """Rename, tag, archive, close or reopen a thread. Its person and the owner may."""
        wanted: ThreadChanges = call.body
        glance = await thread_seen_by(self._store.feed, call)
        change = ThreadChange(wanted.title, wanted.tags, wanted.archived, wanted.closed)
        try:
            await self._store.threads.change_thread(glance.thread.id, change)
        except IllegalChange as error:
            message = "something runs or waits in this thread; stop it first"
            raise ApiError(409, "refused", message, "closed") from error
        return ThreadView.of(await thread_seen_by(self._store.feed, call))

    async def delete(self, call: Call) -> DecisionView:
        """Delete a thread with all that was said in it. Its person and the owner may."""
        glance = await thread_seen_by(self._store.feed, call)
        try:
            await self._store.threads.delete_thread(glance.thread.id, call.caller.principal.user_id)
        except IllegalChange as error:
            message = "something runs, waits or is being sent in this thread; stop it first"
            raise ApiError(409, "refused", message) from error
        return DecisionView(id=glance.thread.id, outcome="deleted")
