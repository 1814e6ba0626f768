"""Pages of lists for people who look on: threads and prompts, each one statement.

The rows of a page are chosen first and looked up more closely afterwards, so that a page costs no more where
there are ten thousand threads.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import Any

from core.store.feed import PromptGlance, PromptsWanted, ThreadGlance, ThreadsWanted
from core.store.sqlite.mapping import (
    ACTIVE_TURN,
    PRINCIPAL,
    THREAD,
    principal_of,
    thread_of,
)
from core.store.sqlite.prompt_mapping import PROMPT_VIEW, PROMPT_VIEW_FROM, prompt_views_of
from core.store.sqlite.transaction import Row

Ask = Callable[..., Awaitable[list[Row]]]
"""A statement and its parameters to its rows."""

PREVIEW_CHARS = 200

_SPOKEN = "e.thread_id = t.id AND e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''"
_GLANCE = (
    f"{THREAD}, {PRINCIPAL},"
    f" (SELECT substr(e.text, 1, {PREVIEW_CHARS}) FROM entries e WHERE {_SPOKEN} ORDER BY e.seq DESC"
    " LIMIT 1), (SELECT e.name IS NOT NULL FROM entries e WHERE e.thread_id = t.id AND e.kind = 'user'"
    " ORDER BY e.seq DESC LIMIT 1), a.stop_requested,"
    " (SELECT count(*) FROM prompts p WHERE p.thread_id = t.id AND p.state = 'open'), t.last_seq"
)
_GLANCE_FROM = f"threads t JOIN users u ON u.id = t.owner_id {ACTIVE_TURN}"
_PROMPT = f"rq.name, coalesce(ca.edited, ce.text), cb.name, p.closed_at, {PROMPT_VIEW}"
_PROMPT_FROM = (
    f"{PROMPT_VIEW_FROM} JOIN users rq ON rq.id = p.requester_id"
    " LEFT JOIN users cb ON cb.id = p.closed_by LEFT JOIN calls ca ON ca.id = p.call_id"
    " LEFT JOIN entries ce ON ce.thread_id = ca.thread_id AND ce.seq = ca.seq"
)
_OWN_COLUMNS = 4
"""So many come before those of PROMPT_VIEW."""


class Pages:
    """See core.store.feed.Feeds."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        """See Feeds."""
        rows = await self._ask(f"SELECT {_GLANCE} FROM {_GLANCE_FROM} WHERE t.id = ?", thread_id)
        return _glance_of(rows[0]) if rows else None

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]:
        """See Feeds."""
        conditions, parameters = _threads_where(wanted)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        page = (
            f"SELECT t.id FROM threads t JOIN users u ON u.id = t.owner_id {where}"
            " ORDER BY t.last_active_at DESC, t.id DESC LIMIT ?"
        )
        rows = await self._ask(
            f"SELECT {_GLANCE} FROM {_GLANCE_FROM} WHERE t.id IN ({page})"
            " ORDER BY t.last_active_at DESC, t.id DESC",
            *parameters,
            wanted.limit,
        )
        return [_glance_of(row) for row in rows]

    async def prompt_glance(self, prompt_id: str) -> PromptGlance | None:
        """See Feeds."""
        found = await self._prompts("p.id = ?", "p.id", prompt_id)
        return found[0] if found else None

    async def open_prompts_of(self, thread_id: str) -> Sequence[PromptGlance]:
        """See Feeds."""
        return await self._prompts("p.thread_id = ? AND p.state = 'open'", "p.created_at, p.id", thread_id)

    async def prompt_glances(self, wanted: PromptsWanted) -> Sequence[PromptGlance]:
        """See Feeds."""
        at, order, beyond = ("created_at", "", ">") if wanted.open else ("closed_at", " DESC", "<")
        conditions = [f"x.state = '{'open' if wanted.open else 'closed'}'"]
        parameters: list[Any] = []
        if wanted.before is not None:
            conditions.append(f"(x.{at}, x.id) {beyond} (?, ?)")
            parameters += wanted.before
        if wanted.concerning is not None:
            conditions.append(
                "(x.requester_id = ? OR EXISTS (SELECT 1 FROM json_each(x.approvers) y WHERE y.value = ?)"
                " OR x.escalated AND EXISTS (SELECT 1 FROM json_each(x.escalate_to) z WHERE z.value = ?))"
            )
            parameters += [wanted.concerning] * 3
        page = (
            f"SELECT x.id FROM prompts x WHERE {' AND '.join(conditions)}"
            f" ORDER BY x.{at}{order}, x.id{order} LIMIT ?"
        )
        return await self._prompts(
            f"p.id IN ({page})", f"p.{at}{order}, p.id{order}", *parameters, wanted.limit
        )

    async def _prompts(self, condition: str, order: str, *parameters: Any) -> Sequence[PromptGlance]:
        sql = f"SELECT {_PROMPT} FROM {_PROMPT_FROM} WHERE {condition} ORDER BY {order}, v.at"
        rows = await self._ask(sql, *parameters)
        return [_prompt_of(list(group)) for _, group in groupby(rows, key=lambda row: row[_OWN_COLUMNS])]


def _threads_where(wanted: ThreadsWanted) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    parameters: list[Any] = []
    if wanted.before is not None:
        conditions.append("(t.last_active_at, t.id) < (?, ?)")
        parameters += wanted.before
    if wanted.owner_id is not None:
        conditions.append("t.owner_id = ?")
        parameters.append(wanted.owner_id)
    if wanted.channel is not None:
        conditions.append("t.channel = ?")
        parameters.append(wanted.channel)
    if wanted.text:
        part = like(wanted.text)
        said = f"EXISTS (SELECT 1 FROM entries e WHERE {_SPOKEN} AND e.text LIKE ? ESCAPE '\\')"
        conditions.append(f"(t.title LIKE ? ESCAPE '\\' OR u.name LIKE ? ESCAPE '\\' OR {said})")
        parameters += [part, part, part]
    return conditions, parameters


_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def like(text: str) -> str:
    """A pattern of LIKE (with `ESCAPE '\\'`) for texts that hold this one."""
    return f"%{text.translate(_LITERAL)}%"


def _glance_of(row: Row) -> ThreadGlance:
    return ThreadGlance(
        thread=thread_of(row[:11]),
        owner=principal_of(row[11:14]),
        preview=row[14] or "",
        group=bool(row[15]),
        stopping=bool(row[16]),
        waiting=row[17],
        last_seq=row[18],
    )


def _prompt_of(rows: Sequence[Row]) -> PromptGlance:
    (view,) = prompt_views_of([row[_OWN_COLUMNS:] for row in rows])
    requester, arguments, closed_by, closed_at = rows[0][:_OWN_COLUMNS]
    return PromptGlance(view.prompt, view.votes, view.thread, requester, arguments, closed_by, closed_at)
