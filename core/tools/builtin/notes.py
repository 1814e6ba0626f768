"""Things kept for a person: `memory_write` and `memory_search` for notes that they ask the hub to save,
`thread_search` for their earlier conversations."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Protocol

from pydantic import Field

from core.clock import SECOND_US
from core.errors import InvalidArguments, ToolFailed
from core.store.conversations import QUERY_LIMIT_CHARS, SearchHit, SearchWanted, index_all, parse_search
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool

# `memory_read` and `memory_tree`: a person's documents, by path; see also `memory_write`.

MAX_LISTED = 500
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+){0,7}")
_PATH_LIMIT_CHARS = 200


class Kept(Protocol):
    """A document."""

    @property
    def text(self) -> str:
        """The stored text."""
        ...


class Place(Protocol):
    """The path and size of a document."""

    @property
    def path(self) -> str:
        """Its path."""
        ...

    @property
    def size_chars(self) -> int:
        """Length of the document."""
        ...


class Documents(Protocol):
    """The documents (the part of `core.store.port.Store` these tools need)."""

    async def document(self, user_id: str, path: str) -> Kept | None:
        """Return a person's document under a path."""
        ...

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Place]:
        """Return a person's documents at or below a path."""
        ...


def document_path(path: str) -> str:
    """Return a path in its stored form. Raises InvalidArguments; `..` is not a valid name."""
    clean = path.strip().strip("/")
    dots = any(set(name) == {"."} for name in clean.split("/"))
    if len(clean) > _PATH_LIMIT_CHARS or dots or not _PATH.fullmatch(clean):
        raise InvalidArguments("path: use names separated by /, such as projects/garden")
    return clean


def document_tools(kept: Documents) -> tuple[Tool, Tool]:
    """Return both tools. A person reaches only their own documents."""
    return _read_tool(kept), _tree_tool(kept)


def _read_tool(kept: Documents) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def memory_read(call: CallContext, path: Annotated[str, "such as projects/garden"]) -> str:
        """Read a document saved for the person you are talking to."""
        wanted = document_path(path)
        found = await kept.document(call.principal.user_id, wanted)
        if found is None:
            raise ToolFailed(f"There is no document at {wanted}.")
        return found.text

    return memory_read


def _tree_tool(kept: Documents) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def memory_tree(
        call: CallContext, path: Annotated[str, "only at or below this path; default: all"] = ""
    ) -> str:
        """List the documents saved for the person you are talking to."""
        folder = document_path(path) if path.strip("/ ") else ""
        found = await kept.documents(call.principal.user_id, folder, MAX_LISTED)
        return "\n".join(f"{one.path}  {one.size_chars}" for one in found) or "There are no documents here."

    return memory_tree


_NOTE_LIMIT_CHARS = 10_000
_MAX_FOUND = 50
_MAX_DOCUMENTS = 1_000


class Note(Protocol):
    """A saved note or document; `created_at` is microseconds UTC."""

    @property
    def text(self) -> str:
        """The stored text."""
        ...

    @property
    def created_at(self) -> int:
        """Time of creation."""
        ...

    @property
    def path(self) -> str | None:
        """Path of a document."""
        ...


class Notes(Protocol):
    """The notes (the part of `core.store.port.Store` these tools need)."""

    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        """Save a note; the same `key` is saved once."""
        ...

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> object | None:
        """Save a text under a path; return None if there are already `most`."""
        ...

    async def search_memory(self, user_id: str, query: str, limit: int) -> Sequence[Note]:
        """Return notes that contain all words of the query, newest first; an empty query finds all."""
        ...


def memory_tools(notes: Notes) -> tuple[Tool, Tool]:
    """Return `memory_write` and `memory_search` over a store. A person reaches only their own notes."""
    return _write_tool(notes), _search_tool(notes)


def _write_tool(notes: Notes) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def memory_write(
        call: CallContext,
        text: Annotated[
            str,
            "the note, worded so that it makes sense later on its own",
            Field(min_length=1, max_length=_NOTE_LIMIT_CHARS),
        ],
        path: Annotated[
            str | None,
            "save it as a document at this path, such as projects/garden; default: save it as a note",
        ] = None,
        append: Annotated[bool, "append to the document instead of replacing it"] = False,
    ) -> str:
        """Remember something for the person you are talking to, across conversations."""
        if path is not None:
            return await _kept(notes, call, document_path(path), text, append=append)
        await notes.write_memory(call.principal.user_id, call.idempotency_key, text)
        return f"Noted: {text}"

    return memory_write


async def _kept(notes: Notes, call: CallContext, path: str, text: str, *, append: bool) -> str:
    kept = await notes.write_document(
        call.principal.user_id, call.idempotency_key, path, text, append=append, most=_MAX_DOCUMENTS
    )
    if kept is None:
        raise ToolFailed(f"There are already {_MAX_DOCUMENTS} documents, the maximum.")
    return f"{'Added to' if append else 'Saved as'} {path}."


def _search_tool(notes: Notes) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def memory_search(
        call: CallContext,
        query: Annotated[str, "words that must all occur in the note; empty: the newest notes"] = "",
        limit: Annotated[int, "maximum number of notes", Field(ge=1, le=_MAX_FOUND)] = 10,
    ) -> str:
        """Find notes and documents saved for the person you are talking to, newest first."""
        found = await notes.search_memory(call.principal.user_id, query, limit)
        if not found:
            return f"No note contains {query!r}." if query else "There are no notes yet."
        return "\n".join(_line(note) for note in found)

    return memory_search


def _line(note: Note) -> str:
    where = "" if note.path is None else f" {note.path}"
    return f"- {_day(note.created_at)}{where}: {note.text}"


def _day(at: int) -> str:
    return f"{datetime.fromtimestamp(at // SECOND_US, UTC):%Y-%m-%d}"


# `thread_search`: a search in a person's earlier conversations.

MAX_FOUND = 30


class Threads(Protocol):
    """The conversations (the part of `core.store.port.Store` this tool needs)."""

    async def search(self, wanted: SearchWanted) -> Sequence[SearchHit]:
        """Return the messages that fit, newest first."""
        ...

    async def index_said(self, limit: int) -> bool:
        """Make new messages of at most `limit` threads searchable. Return whether there may be more."""
        ...


def thread_search_tool(threads: Threads) -> Tool:
    """Return the tool. A person reaches only their own conversations, in a group only that one."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def thread_search(
        call: CallContext,
        query: Annotated[
            str,
            "words that must all occur in one turn, and filters such as channel:NAME after:2026-01-31 "
            "before:2026-02-28; word* matches beginnings",
            Field(min_length=1, max_length=QUERY_LIMIT_CHARS),
        ],
        limit: Annotated[int, "maximum number of results", Field(ge=1, le=MAX_FOUND)] = 10,
    ) -> str:
        """Search the messages of earlier conversations with the person you are talking to, newest first."""
        own = replace(parse_search(query), owner_id=call.principal.user_id, asked_in=call.thread_id)
        await index_all(threads)  # also what was said since the hub last did so
        found = await threads.search(replace(own, limit=limit))
        return "\n".join(map(_hit_line, found)) or f"Nothing was found for {query!r}."

    return thread_search


def _hit_line(hit: SearchHit) -> str:
    said = datetime.fromtimestamp(hit.at // SECOND_US, UTC)
    return f"- {said:%Y-%m-%d %H:%M} UTC, {hit.kind} in {hit.title!r} on {hit.channel}: {hit.shown}"
