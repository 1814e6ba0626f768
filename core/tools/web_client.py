"""Requests to the public web, limited in time and size, and their answers as text; every connection uses a
judged address.

Nothing is shared between two requests: no cookie, no connection, no lookup. Logins and proxies
in the hub's environment are not used.
"""

import asyncio
import codecs
import errno
import re
import socket
import ssl
from collections.abc import Mapping
from html.parser import HTMLParser

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from core.errors import ToolDenied, ToolFailed, ToolTimeout
from core.lazy import dataclass
from core.safety.network import NetworkGuard
from core.web import Interceptor, WebAnswer, WebRequest

MAX_REDIRECTS = 3
ANSWER_LIMIT_BYTES = 5_000_000
CONNECT_TIMEOUT_S = 10.0
"""Limit for one address; also for the lookup and all addresses together."""
SILENCE_TIMEOUT_S = 20.0
"""Limit before the answer's headers, and between two pieces of its body."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PIECE_BYTES = 65_536
_HEADERS = {"User-Agent": "hubbub"}
_AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]


class WebClient:
    """Client for requests. `tls`: shared by all of them."""

    def __init__(self, guard: NetworkGuard, tls: ssl.SSLContext) -> None:
        self._guard = guard
        self._tls = tls

    async def fetch(self, request: WebRequest, limit_s: float, interceptor: Interceptor) -> WebAnswer:
        """Return the answer, whatever its status, after at most MAX_REDIRECTS redirects, or the interceptor's
        own.

        Redirects are followed for requests without personal data; others get the redirect itself. Raises
        ToolDenied for
        addresses that may not be reached, ToolTimeout after `limit_s`, ToolFailed for everything else that
        goes wrong; the
        message says so where a request that changes something may have been taken.
        """
        found = interceptor.answer(request)
        if found is not None:
            return found
        answer: WebAnswer | None = None
        try:
            async with asyncio.timeout(limit_s):
                answer = await self._follow(request)
                return answer
        except TimeoutError:
            text = f"{request.url.host} sent no complete response within {limit_s:g} s."
            raise ToolTimeout(text + _perhaps_taken(request)) from None
        finally:
            interceptor.answered(request, answer)

    async def _follow(self, request: WebRequest) -> WebAnswer:
        url = request.url
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send(request, url)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None or not request.may_be_redirected:
                return answer
            url = self._redirected(url, location)
        raise ToolFailed(f"{request.url.host} redirects more than {MAX_REDIRECTS} times.")

    def _redirected(self, url: URL, location: str) -> URL:
        try:
            joined = str(url.join(URL(location)))
        except ValueError as error:
            raise ToolFailed(f"{url.host} redirects to an invalid address.") from error
        target = self._guard.web_address(joined)
        if target.user is not None or target.password is not None:
            raise ToolDenied(f"{url.host} redirects to an address that contains a login")
        return target

    async def _send(self, request: WebRequest, url: URL) -> WebAnswer:
        """Send one request on one connection. Raises like `fetch`, and TimeoutError only for the whole
        limit."""
        try:
            async with (
                self._session() as session,
                session.request(
                    request.method, url, headers=request.headers, data=request.body, allow_redirects=False
                ) as response,
            ):
                return await _answer(url, response)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise ToolFailed(f"can't reach {url.host}: {_cause(error)}") from error
        except aiohttp.ServerTimeoutError as error:
            raise ToolFailed(f"{url.host} stopped responding.{_perhaps_taken(request)}") from error
        except aiohttp.ClientError as error:
            text = f"{url.host} sent a response that is not readable: {_cause(error)}"
            raise ToolFailed(text + _perhaps_taken(request)) from error

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self._tls,
            resolver=_CheckedResolver(self._guard),
            use_dns_cache=False,
            force_close=True,
            socket_factory=self._socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=_HEADERS,
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=CONNECT_TIMEOUT_S,
                sock_connect=CONNECT_TIMEOUT_S,
                sock_read=SILENCE_TIMEOUT_S,
            ),
        )

    def _socket(self, address: _AddressInfo) -> socket.socket:
        """Create a socket after a last check: this exact address is about to be connected to."""
        family, kind, protocol, _, endpoint = address
        host, port = str(endpoint[0]), endpoint[1]
        if not isinstance(port, int) or not self._guard.reachable(host, port):
            raise PermissionError(errno.EACCES, f"{host} is not on the public internet")
        return socket.socket(family, kind, protocol)


class _CheckedResolver(AbstractResolver):
    """A resolver by which aiohttp connects to the judged addresses alone: it looks nothing up by itself."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._guard = guard

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 — both are looked up
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._guard.addresses(host, port)
        ]

    async def close(self) -> None:
        pass  # this class does not own the lookup


async def _answer(url: URL, response: aiohttp.ClientResponse) -> WebAnswer:
    body = bytearray()
    async for piece in response.content.iter_chunked(_PIECE_BYTES):
        body += piece
        if len(body) > ANSWER_LIMIT_BYTES:
            raise ToolFailed(
                f"{url.host} responded with HTTP {response.status}, but with more than "
                f"{ANSWER_LIMIT_BYTES} bytes, which is too much to read."
            )
    headers = {name.lower(): value for name, value in response.headers.items()}
    return WebAnswer(url.with_user(None), response.status, response.reason or "", headers, bytes(body))


def _perhaps_taken(request: WebRequest) -> str:
    return "" if request.only_reads else f" The {request.method} request may or may not have been processed."


def _cause(error: aiohttp.ClientError) -> str:
    said = str(error)
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        said = error.os_error.strerror or said
    text = " ".join(said.split()) or type(error).__name__
    return f"{text[:300].rstrip('.')}."


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
