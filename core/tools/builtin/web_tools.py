"""`http`: one request to a web address and its answer as text. `web_search`: a search of the web at the
operator's own search engine, which speaks SearXNG's JSON.

core.safety.network decides where a request may go. Only a GET without personal data runs without consent; a
request that can't be sent at all is refused before a person is asked.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field
from yarl import URL

from core.errors import InvalidArguments, ToolError, ToolFailed
from core.lazy import LazyModule, dataclass
from core.safety.network import NetworkGuard
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, Workspace, use_limits
from core.tools.definition import tool
from core.web import WebAnswer, WebRequest, web_request

if TYPE_CHECKING:
    from core.tools import web_client as client
    from core.tools.web_client import WebClient
else:
    # It takes a fifth of a second to load, and many hubs never use it.
    client = LazyModule("core.tools.web_client")


FETCH_LIMIT_S = 60.0
OWN_SHARE_OF_DEADLINE = 0.9
"""The request ends before its call does, so that the result can still be reported."""
_SHOWN_HEADERS = ("content-type", "location", "retry-after", "allow", "last-modified", "etag")
"""Headers that help the model continue. Others are left out, cookies above all."""

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Body = str | dict[str, Any] | list[Any]


def http_tool(guard: NetworkGuard, tls: Callable[[], ssl.SSLContext]) -> Tool:
    """Return the tool. `tls` is called once, in a thread, for the first request."""
    clients: list[WebClient] = []

    # One declaration covers all calls, so it is the careful one: only some methods may be repeated.
    @tool(
        requirement=Requirement.NEVER,
        effect=Effect.EFFECT,
        data=Data.NONE,
        rate=_rating(guard),
        timeout_s=FETCH_LIMIT_S,
        limits=use_limits(per_minute=30, per_hour=500),
    )
    async def http(
        call: CallContext,
        url: Annotated[str, "the URL, starting with https:// or http://", Field(min_length=1)],
        method: Method = "GET",
        headers: Annotated[dict[str, str] | None, "header names and values"] = None,
        body: Annotated[Body | None, "text or JSON; not for GET and HEAD"] = None,
    ) -> str:
        """Send one request to a public web address. Returns status and content; pages come as plain text.

        Private and local addresses are blocked unless the operator allowed one. A GET without headers or
        login follows redirects. The hub adds an Idempotency-Key to requests that may change something.
        """
        request = _request(guard, url, method, headers, body)
        if not clients:
            clients.append(await asyncio.to_thread(web_client, guard, tls))
        sent = request.with_idempotency_key(call.idempotency_key)
        limit_s = call.deadline_s * OWN_SHARE_OF_DEADLINE
        answer = await clients[0].fetch(sent, limit_s, call.interceptor)
        return await asyncio.to_thread(_as_text, answer)

    return http


def web_client(guard: NetworkGuard, tls: Callable[[], ssl.SSLContext]) -> "WebClient":
    """Return a client for requests that the guard lets pass. Called in a thread."""
    return client.WebClient(guard, tls())


def _request(
    guard: NetworkGuard, url: str, method: str, headers: Mapping[str, str] | None, body: Body | None
) -> WebRequest:
    """Return the request. Raises ToolDenied, InvalidArguments."""
    sent = dict(headers or {})
    named = {name.lower() for name in sent}
    data = body
    if isinstance(data, dict | list):
        data = json.dumps(data, ensure_ascii=False)
        if "content-type" not in named:
            sent["Content-Type"] = "application/json"
    elif data is not None and "content-type" not in named:
        sent["Content-Type"] = "text/plain; charset=utf-8"
    try:
        encoded = None if data is None else data.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments("body: contains a lone surrogate") from error
    return web_request(method, guard.web_address(url), sent, encoded)


def _rating(guard: NetworkGuard) -> Callable[[Arguments, Workspace], Risk]:
    """Return a rating by which "always" covers one method at one origin."""

    def rate(arguments: Arguments, _workspace: Workspace) -> Risk:
        try:
            request = _request(
                guard,
                str(arguments.get("url", "")),
                str(arguments.get("method", "GET")),
                arguments.get("headers"),
                arguments.get("body"),
            )
        except ToolError as error:
            return Risk(Requirement.ASK, blocked=str(error))
        pattern = f"{request.method} {request.url.origin()}"
        if request.method != "GET":
            return Risk(Requirement.ASK, pattern)
        if request.carries_credentials:
            return Risk(Requirement.ASK, pattern, reason="The request may carry credentials.")
        return Risk(Requirement.NEVER, pattern)

    return rate


def _as_text(answer: WebAnswer) -> str:
    """Return status, address, the headers that matter, and the content."""
    lines = [f"{answer.status} {answer.reason}".rstrip(), str(answer.url)]
    lines += [f"{name}: {answer.headers[name]}" for name in _SHOWN_HEADERS if name in answer.headers]
    media_type, charset = _content_type(answer.headers.get("content-type", ""))
    text = client.readable(media_type, charset, answer.body, answer.url) if answer.body else ""
    if text is None:
        text = f"[{len(answer.body)} bytes of binary data.]"
    return "\n".join([*lines, "", text]) if text else "\n".join(lines)


def _content_type(header: str) -> tuple[str, str]:
    """Return media type and charset, in lower case; each may be empty."""
    media_type, *parameters = header.lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return media_type.strip(), value.strip(" \"'")
    return media_type.strip(), ""


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
        return await asyncio.to_thread(_results, answer, query, engine.results)

    return web_search


def _results(answer: WebAnswer, query: str, limit: int) -> str:
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
