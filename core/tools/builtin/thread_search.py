"""`thread_search`: a search in a person's earlier conversations."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Protocol

from pydantic import Field

from core.clock import SECOND_US
from core.store.search import QUERY_LIMIT_CHARS, THREADS_AT_ONCE, SearchHit, SearchWanted, parse_search
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool

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
        await threads.index_said(THREADS_AT_ONCE)  # also what was said since the hub last did so
        found = await threads.search(replace(own, limit=limit))
        return "\n".join(map(_line, found)) or f"Nothing was found for {query!r}."

    return thread_search


def _line(hit: SearchHit) -> str:
    said = datetime.fromtimestamp(hit.at // SECOND_US, UTC)
    return f"- {said:%Y-%m-%d %H:%M} UTC, {hit.kind} in {hit.title!r} on {hit.channel}: {hit.shown}"
