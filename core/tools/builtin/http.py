"""`http`: one request to a web address and its answer as text.

core.safety.network decides where a request may go. Only a GET without personal data runs without consent;
a request
that can't be sent at all is refused before a person is asked.
"""

import asyncio
import codecs
import json
import re
import ssl
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from yarl import URL

from core.errors import InvalidArguments, ToolError
from core.lazy import dataclass
from core.safety.network import NetworkGuard
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, Workspace, use_limits
from core.tools.definition import tool
from core.web import WebAnswer, WebRequest, web_request

if TYPE_CHECKING:
    from core.tools.web_client import WebClient


# A server's answer as text a model can read: HTML without its markup, other text as it is.

HTML_LIMIT_CHARS = 1_000_000
"""Longer markup is cut: the worst takes two seconds of one core per million characters."""

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = re.compile(r"text/.*|application/(?:.*\+)?(?:json|xml|javascript|yaml|x-www-form-urlencoded)")
_ENCODINGS = re.compile(
    r"ascii|utf-?(?:8|8-sig|16|16-le|16-be|32)|iso8859-\d+|latin-?1|cp\d+|koi8-[ru]|mac-\w+"
    r"|gb2312|gbk|gb18030|hz|big5(?:hkscs)?|shift_jis(?:x0213)?|euc_(?:jp|kr)|iso2022_(?:jp|kr).*|johab|tis-620"
)
"""Python's names for text encodings; its other codecs are traps that a server could choose."""
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_SNIFFED_BYTES = 2048

_SILENT = frozenset(
    {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select"}
)
_SILENT_DEPTH = 32
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "details", "dialog", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p"}
    | {"br", "pre", "section", "summary", "table", "title", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_APART = frozenset(
    {"p", "pre", "table", "ul", "ol", "dl", "blockquote", "title", "h1", "h2", "h3", "h4", "h5", "h6"}
)
"""Blocks with an empty line before and after them."""


def readable(media_type: str, charset: str, body: bytes, url: URL) -> str | None:
    """Return a body of that declared type and charset (each may be empty) as text; None if it is no
    text.

    `url`: the base of its links.
    """
    if media_type in _HTML_TYPES or (not media_type and body.lstrip()[:1] == b"<"):
        found = _META_CHARSET.search(body[:_SNIFFED_BYTES])
        text = _decoded(body, charset or (found[1].decode("ascii", "replace") if found else ""))
        return html_text(text, url)
    if charset or _TEXT_TYPES.fullmatch(media_type):
        return _decoded(body, charset)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def html_text(html: str, url: URL) -> str:
    """Return the text of a page: title, headings, paragraphs, lists and tables on a line each, links
    with their address. Never raises; takes time in proportion to the length."""
    reader = _PageReader(url)
    # `<![` begins a section HTML does not have; the parser gives up at it, browsers skip it.
    reader.feed(f"{html[:HTML_LIMIT_CHARS].replace('<![', '<! [')}<br>")
    text = reader.text()  # not closed first: that would show a comment that never ends
    return f"{text}\n[The rest of the page was cut.]" if len(html) > HTML_LIMIT_CHARS else text


def _decoded(body: bytes, charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        name = "utf-8"
    if not _ENCODINGS.fullmatch(name):
        name = "utf-8"
    return body.decode("utf-8-sig" if name == "utf-8" else name, "replace")


@dataclass(frozen=True, slots=True)
class _Link:
    """An open link: its target, and the number of pieces and lines before its words."""

    href: str
    pieces: int
    lines: int


class _PageReader(HTMLParser):
    """Collector of lines. It treats unknown markup as text within a line."""

    def __init__(self, url: URL) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._lines: list[str] = []
        self._mark = ""
        self._pieces: list[str] = []
        self._silent: list[str] = []
        self._lists: list[int | None] = []
        self._link: _Link | None = None
        self._verbatim = False

    def text(self) -> str:
        """Return the collected text."""
        self._end_line()
        return "\n".join(self._lines).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT and len(self._silent) < _SILENT_DEPTH:
            self._silent.append(tag)
        if self._silent:
            return
        if tag in _BLOCKS:
            self._end_line(apart=self._stands_apart(tag))
        self._begin(tag, dict(attrs))

    def _begin(self, tag: str, given: Mapping[str, str | None]) -> None:
        match tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._mark = f"{'#' * int(tag[1])} "
            case "ul" | "ol":
                self._lists.append(1 if tag == "ol" else None)
            case "li":
                self._mark = self._bullet()
            case "pre":
                self._verbatim = True
            case "td" | "th":
                self._pieces.append(" | " if self._pieces else "")
            case "a":
                self._link = _Link(given.get("href") or "", len(self._pieces), len(self._lines))
            case "img":
                self._pieces.append(_image(given.get("alt") or ""))
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
            return
        if self._silent:
            return
        if tag == "a":
            self._end_link()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag in _BLOCKS:
            self._end_line(apart=self._stands_apart(tag))
            self._mark = ""
        if tag == "pre":
            self._verbatim = False

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if not self._verbatim:
            self._pieces.append(data)
            return
        first, *more = data.split("\n")
        self._pieces.append(first)
        for line in more:
            self._end_line()
            self._pieces.append(line)

    def _stands_apart(self, tag: str) -> bool:
        return tag in _APART and not (self._lists and tag in ("p", "ul", "ol"))

    def _bullet(self) -> str:
        """Return the beginning of an item; nested lists are indented, to a depth."""
        indent = "  " * min(max(len(self._lists) - 1, 0), 8)
        number = self._lists[-1] if self._lists else None
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _end_link(self) -> None:
        """Put the address after the words; none for links within the page or without words."""
        link, self._link = self._link, None
        if link is None:
            return
        words = "".join(self._pieces[link.pieces if len(self._lines) == link.lines else 0 :]).strip()
        try:
            target = self._url.join(URL(link.href.strip())).with_fragment(None)
        except ValueError:
            return
        if target.scheme not in ("http", "https") or target == self._url or str(target) == words:
            return
        if words:
            self._pieces.append(f" <{target}>")
        elif len(self._lines) > link.lines and self._lines[-1]:
            self._lines[-1] += f" <{target}>"

    def _end_line(self, *, apart: bool = False) -> None:
        """End a line. `apart`: with an empty line after it."""
        text = "".join(self._pieces)
        self._pieces.clear()
        if self._verbatim:
            self._lines.append(text.rstrip())
        elif words := text.split():
            self._lines.append(self._mark + " ".join(words))
            self._mark = ""
        if apart and self._lines and self._lines[-1]:
            self._lines.append("")


def _image(alternative: str) -> str:
    words = alternative.split()
    return f"[image: {' '.join(words)}]" if words else ""


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
        return await asyncio.to_thread(_told, answer)

    return http


def web_client(guard: NetworkGuard, tls: Callable[[], ssl.SSLContext]) -> "WebClient":
    """Return a client for requests that the guard lets pass. Called in a thread."""
    # Imported here: it takes a fifth of a second, and many hubs never use it.
    from core.tools.web_client import WebClient

    return WebClient(guard, tls())


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


def _told(answer: WebAnswer) -> str:
    """Return status, address, the headers that matter, and the content."""
    lines = [f"{answer.status} {answer.reason}".rstrip(), str(answer.url)]
    lines += [f"{name}: {answer.headers[name]}" for name in _SHOWN_HEADERS if name in answer.headers]
    media_type, charset = _content_type(answer.headers.get("content-type", ""))
    text = readable(media_type, charset, answer.body, answer.url) if answer.body else ""
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
