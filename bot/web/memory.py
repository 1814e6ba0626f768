"""What the hub remembers for a person, as the API shows it: each person has their own."""

from typing import Annotated

from pydantic import Field

from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Given, Limit, RemovedView, UndoOf
from bot.web.errors import ApiError, not_found
from core.store.facets import Memory, MemoryNote

SHOWN_CHARS = 2_000
"""The beginning of a text in a list; documents may be long."""
NoteId = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,17}$")]
TOO_LATE = "this can't be brought back any more: it is too late, or something else was saved in its place"


class MemoryQuery(Given):
    """`query`: words that a note must hold, all of them; empty: the newest. `id`: one note, with its whole
    text."""

    query: Annotated[str, Field(max_length=200)] = ""
    id: NoteId | None = None
    limit: Limit = 100


class NoteOf(Given):
    """A note."""

    id: NoteId


class NotePage(Page):
    """A note, or a document with its `path`. `text`: its beginning in a list; `chars`: its whole length."""

    id: str
    text: str
    chars: int
    created_at: int
    path: str | None


class MemoryPage(Page):
    """Notes and documents, newest first. `more`: there are others after these."""

    notes: tuple[NotePage, ...]
    more: bool


class MemoryApi:
    """One method per endpoint."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        refusals = (404, 503)
        forget = Endpoint("POST", "/memory/forget", self.forget, RemovedView, body=NoteOf, refusals=refusals)
        restore = Endpoint(
            "POST", "/memory/restore", self.restore, RemovedView, body=UndoOf, refusals=(409, 503)
        )
        read = Endpoint("GET", "/memory", self.notes, MemoryPage, MemoryQuery, refusals=(404,))
        return [read, forget, restore]

    async def notes(self, call: Call) -> MemoryPage:
        """Return the caller's notes and documents, or one of them whole."""
        query: MemoryQuery = call.query
        user_id = call.principal.user_id
        if query.id is not None:
            note = await self._memory.memory_note(user_id, query.id)
            if note is None:
                raise not_found("no note has this ID")
            return MemoryPage(notes=(_page(note, len(note.text)),), more=False)
        found = await self._memory.search_memory(user_id, query.query, query.limit + 1)
        shown = tuple(_page(note, SHOWN_CHARS) for note in found[: query.limit])
        return MemoryPage(notes=shown, more=len(found) > query.limit)

    async def forget(self, call: Call) -> RemovedView:
        """Forget a note or document of the caller. It can be restored for five minutes."""
        body: NoteOf = call.body
        undo = await self._memory.forget_memory(call.principal.user_id, body.id)
        if undo is None:
            raise not_found("no note has this ID")
        return RemovedView(id=body.id, outcome="forgotten", undo=undo)

    async def restore(self, call: Call) -> RemovedView:
        """Restore a note or document that the caller has just forgotten."""
        body: UndoOf = call.body
        if not await self._memory.restore_memory(call.principal.user_id, body.undo):
            raise ApiError(409, "refused", TOO_LATE)
        return RemovedView(id=body.undo, outcome="restored", undo=None)


def _page(note: MemoryNote, most: int) -> NotePage:
    return NotePage(
        id=note.id,
        text=note.text[:most],
        chars=len(note.text),
        created_at=note.created_at,
        path=note.path,
    )
