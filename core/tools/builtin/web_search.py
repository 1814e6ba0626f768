"""`web_search`: a search of the web at the operator's own search engine, which speaks SearXNG's JSON."""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field
from yarl import URL

from core.errors import ToolFailed
from core.lazy import dataclass
from core.safety.network import NetworkGuard
from core.tool import CallContext, Data, Effect, Requirement, Tool, use_limits
from core.tools.builtin.http import OWN_SHARE_OF_DEADLINE, web_client
from core.tools.definition import tool
from core.web import WebAnswer, WebRequest

if TYPE_CHECKING:
    from core.tools.web_client import WebClient

QUERY_LIMIT_CHARS = 400
TITLE_CHARS, ADDRESS_CHARS, EXCERPT_CHARS = 200, 1_000, 500
"""The limits of what is shown of one result."""
SUGGESTIONS = 5


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """The configured search engine. `base_url`: the address its `/search` is below. `results`: shown at most.
    `timeout_s`: for one search."""

    base_url: str
    results: int
    timeout_s: float


def web_search_tool(engine: SearchEngine, guard: NetworkGuard, tls: Callable[[], ssl.SSLContext]) -> Tool:
    """Return the tool. `guard`: lets the engine be reached. `tls` is called once, in a thread, for the first
    search."""
    clients: list[WebClient] = []
    address = URL(engine.base_url) / "search"

    @tool(
        requirement=Requirement.NEVER,
        effect=Effect.NONE,
        data=Data.NONE,
        timeout_s=engine.timeout_s,
        limits=use_limits(per_minute=30, per_hour=500),
    )
    async def web_search(
        call: CallContext,
        query: Annotated[
            str, "words to search for; no personal data", Field(min_length=1, max_length=QUERY_LIMIT_CHARS)
        ],
        page: Annotated[int, "1 for the best results, then 2, 3 …", Field(ge=1, le=10)] = 1,
        newer_than: Annotated[
            Literal["day", "month", "year"] | None, "only results of the last day, month or year"
        ] = None,
    ) -> str:
        """Search the web. Returns titles, addresses and excerpts; read a page whole with http."""
        if not clients:
            clients.append(await asyncio.to_thread(web_client, guard, tls))
        asked = {"q": query, "format": "json", "pageno": str(page)}
        if newer_than is not None:
            asked["time_range"] = newer_than
        request = WebRequest("GET", address.with_query(asked), {"Accept": "application/json"})
        limit_s = call.deadline_s * OWN_SHARE_OF_DEADLINE
        answer = await clients[0].fetch(request, limit_s, call.interceptor)
        return await asyncio.to_thread(_told, answer, query, engine.results)

    return web_search


def _told(answer: WebAnswer, query: str, limit: int) -> str:
    """Return the results as text. Raises ToolFailed."""
    found = _read(answer)
    results = [one for one in _objects(found.get("results")) if isinstance(one.get("url"), str)]
    lines: list[str] = []
    for number, result in enumerate(results[:limit], start=1):
        title = _line(result.get("title"), TITLE_CHARS) or "(no title)"
        excerpt = _line(result.get("content"), EXCERPT_CHARS)
        where = _line(result.get("url"), ADDRESS_CHARS)
        lines += [f"{number}. {title}", f"   {where}", *([f"   {excerpt}"] if excerpt else [])]
    if not lines:
        lines.append(f"Nothing was found for {query!r}.")
        if silent := _silent(found.get("unresponsive_engines")):
            lines.append(f"These search engines did not answer: {silent}.")
    listed = found.get("suggestions")
    named = cast("Sequence[Any]", listed) if isinstance(listed, list) else ()
    if suggestions := [_line(one, TITLE_CHARS) for one in named[:SUGGESTIONS]]:
        lines.append(f"Also searched for: {'; '.join(suggestions)}")
    return "\n".join(lines)


def _read(answer: WebAnswer) -> Mapping[str, Any]:
    """Return the engine's JSON. Raises ToolFailed with what to do."""
    host = answer.url.host
    match answer.status:
        case 200:
            pass
        case 403:
            raise ToolFailed(
                f"the search engine at {host} does not give out JSON (403); its operator adds json to"
                " search.formats in its settings.yml."
            )
        case 429:
            raise ToolFailed(
                f"the search engine at {host} has had too many searches (429); search again later, or its"
                " operator lets the hub pass its limiter."
            )
        case status:
            raise ToolFailed(f"the search engine at {host} could not search: {status} {answer.reason}.")
    try:
        found: object = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise ToolFailed(_not_an_engine(host)) from error
    page = cast("Mapping[str, Any]", found if isinstance(found, dict) else {})
    if not isinstance(page.get("results"), list):
        raise ToolFailed(_not_an_engine(host))
    return page


def _not_an_engine(host: str | None) -> str:
    return (
        f"{host} does not answer like SearXNG; check base_url of [web_search] in the configuration, it is the"
        " address without /search."
    )


def _objects(listed: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(listed, list):
        return ()
    return [cast("Mapping[str, Any]", one) for one in cast("list[object]", listed) if isinstance(one, dict)]


def _line(text: object, limit: int) -> str:
    """Return a text on one line, so that no result can look like two."""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _silent(listed: object) -> str:
    """Return which engines failed: a list of pairs, a name and the reason."""
    if not isinstance(listed, list):
        return ""
    pairs = [cast("list[object]", one) for one in cast("list[object]", listed) if isinstance(one, list)]
    return ", ".join(": ".join(_line(part, 80) for part in pair[:2]) for pair in pairs[:SUGGESTIONS])
