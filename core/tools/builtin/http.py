"""`http`: one request to a web address and its answer as text.

Where a request may go is core.safety.network's business. Only a GET that carries nothing of anybody's runs
without consent; what cannot be sent at all is refused before anybody is asked.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from core.errors import InvalidArguments, ToolError
from core.safety.network import NetworkGuard
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, use_limits
from core.tools.definition import tool
from core.tools.readable import readable
from core.tools.web import WebAnswer, WebRequest, web_request

if TYPE_CHECKING:
    from core.tools.web_client import WebClient

FETCH_LIMIT_S = 60.0
_OWN_SHARE_OF_DEADLINE = 0.9
"""The request is given up before its call is: then it can be told what came of it."""
_SHOWN_HEADERS = ("content-type", "location", "retry-after", "allow", "last-modified", "etag")
"""What helps to go on. Others are left out, cookies above all."""

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Body = str | dict[str, Any] | list[Any]


def http_tool(guard: NetworkGuard, tls: Callable[[], ssl.SSLContext]) -> Tool:
    """The tool. `tls` is called once, in a thread, when the first request is made."""
    clients: list[WebClient] = []

    # One declaration holds for all calls, so the careful one: most methods must not be repeated, GET may.
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
        url: Annotated[str, "the address, beginning with https:// or http://", Field(min_length=1)],
        method: Method = "GET",
        headers: Annotated[dict[str, str] | None, "header names and values"] = None,
        body: Annotated[Body | None, "text, or JSON as it is; not for GET and HEAD"] = None,
    ) -> str:
        """Send one request to a public web address and return status and content; pages come as plain text.

        Private and local addresses cannot be reached, unless the operator opened one. A GET without headers
        and login follows redirects. Requests that may change something carry an Idempotency-Key of the hub's.
        """
        request = _request(guard, url, method, headers, body)
        if not clients:
            clients.append(await asyncio.to_thread(_client, guard, tls))
        sent = request.with_idempotency_key(call.idempotency_key)
        answer = await clients[0].fetch(sent, call.deadline_s * _OWN_SHARE_OF_DEADLINE)
        return await asyncio.to_thread(_told, answer)

    return http


def _client(guard: NetworkGuard, tls: Callable[[], ssl.SSLContext]) -> "WebClient":
    # Imported here: it takes a fifth of a second, and many hubs never fetch anything.
    from core.tools.web_client import WebClient

    return WebClient(guard, tls())


def _request(
    guard: NetworkGuard, url: str, method: str, headers: Mapping[str, str] | None, body: Body | None
) -> WebRequest:
    """Raises ToolDenied, InvalidArguments."""
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
        raise InvalidArguments("body: contains half a character (a lone surrogate)") from error
    return web_request(method, guard.web_address(url), sent, encoded)


def _rating(guard: NetworkGuard) -> Callable[[Arguments], Risk]:
    """An "always" covers one method at one origin."""

    def rate(arguments: Arguments) -> Risk:
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


def _told(answer: WebAnswer) -> str:
    """Status, address, the headers that matter, and the content."""
    lines = [f"{answer.status} {answer.reason}".rstrip(), str(answer.url)]
    lines += [f"{name}: {answer.headers[name]}" for name in _SHOWN_HEADERS if name in answer.headers]
    media_type, charset = _content_type(answer.headers.get("content-type", ""))
    text = readable(media_type, charset, answer.body, answer.url) if answer.body else ""
    if text is None:
        text = f"[{len(answer.body)} bytes that are no text.]"
    return "\n".join([*lines, "", text]) if text else "\n".join(lines)


def _content_type(header: str) -> tuple[str, str]:
    """Media type and charset, in small letters; each may be empty."""
    media_type, *parameters = header.lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return media_type.strip(), value.strip(" \"'")
    return media_type.strip(), ""
