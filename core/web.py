"""A request to the web and its answer, as values; and which parts of a request may be a secret."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol, cast
from urllib.parse import parse_qsl

from yarl import URL

from core.errors import InvalidArguments
from core.lazy import dataclass

BODY_LIMIT_BYTES = 1_000_000
IDEMPOTENCY_HEADER = "Idempotency-Key"
"""Header of every request that may change something; its value is the call's idempotency key."""

SHORTEST_SECRET = 8
_NAME_CHARS = 100
"""A form begins with the name of a field."""
_HARMLESS_HEADERS = frozenset(
    {"accept", "accept-language", "cache-control", "pragma", "range", "user-agent"}
    | {"if-none-match", "if-modified-since"}
)
_NOT_TO_BE_SET = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"}
    | {"expect", "accept-encoding", "proxy-authorization", "proxy-connection"}
)
"""Headers that frame the request or name its target: only the hub sets them, so that no request
can pose as another."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, 5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]{0,8000}")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PARAMETER = re.compile(r'(?:^|[\s,])([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_SECRET_WORDS = frozenset(
    {"key", "apikey", "token", "secret", "password", "passwd", "pwd", "pass", "auth", "authorization"}
    | {"session", "sid", "sig", "signature", "credential", "credentials", "code", "jwt"}
)


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request with a judged address (see core.safety.network)."""

    method: str
    url: URL
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None

    @property
    def carries_credentials(self) -> bool:
        """Return whether anything in it may be a secret: a header that is not known to be harmless, a login
        in the address, a
        parameter named like a key. A body is not searched."""
        return (
            any(name.lower() not in _HARMLESS_HEADERS for name in self.headers)
            or self.url.user is not None
            or self.url.password is not None
            or any(_names_secret(name) for name in self.url.query)
        )

    @property
    def may_be_redirected(self) -> bool:
        """Return whether another host may get it than the one it was meant for: it carries no personal
        data."""
        return self.method == "GET" and self.body is None and not self.carries_credentials

    @property
    def only_reads(self) -> bool:
        """Return whether the method promises that nothing changes (RFC 9110, 9.2.1)."""
        return self.method in ("GET", "HEAD", "OPTIONS")

    def with_idempotency_key(self, key: str) -> "WebRequest":
        """Return the request as it is sent for the call with this key."""
        return self if self.only_reads else replace(self, headers={**self.headers, IDEMPOTENCY_HEADER: key})


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """A server's answer. `url`: the server that answered, after redirects, without a login. Header names are
    lower case.
    `body` is decompressed."""

    url: URL
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


def secrets_in(headers: Mapping[str, str], url: URL, body: bytes) -> Sequence[str]:
    """Return what a request or answer names like a secret: in its headers, its address, and its body if that
    is a form or JSON. Shorter values than SHORTEST_SECRET are left out."""
    found = [value.rpartition(" ")[2] for name, value in headers.items() if _names_secret(name)]
    found += [value for name, value in url.query.items() if _names_secret(name)]
    found += [url.password or ""]
    try:
        found += _secrets_in_json(json.loads(body))
    except (ValueError, RecursionError):
        text = body.decode("latin-1")
        form = parse_qsl(text) if "=" in text[:_NAME_CHARS] else ()
        found += [value for name, value in form if _names_secret(name)]
    return [value for value in found if len(value) >= SHORTEST_SECRET]


def _secrets_in_json(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, inner in cast("dict[str, Any]", value).items():
                if isinstance(inner, str) and _names_secret(name):
                    yield inner
                else:
                    yield from _secrets_in_json(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _secrets_in_json(inner)
        case _:
            pass


class Interceptor(Protocol):
    """What every HTTP request of a run's tools passes before it is sent: there is no way around it.

    Called on the loop only."""

    def answer(self, request: WebRequest) -> WebAnswer | None:
        """Return the answer to give instead of sending the request; None: it is sent. Raises ToolError: it
        is not sent, and has no answer."""
        ...

    def answered(self, request: WebRequest, answer: WebAnswer | None) -> None:
        """Hear the answer to a request that was sent; None: there was none, or not all of it."""
        ...


class Unintercepted:
    """An Interceptor that lets every request be sent."""

    def answer(self, request: WebRequest) -> WebAnswer | None:
        del request

    def answered(self, request: WebRequest, answer: WebAnswer | None) -> None:
        pass


UNINTERCEPTED = Unintercepted()


def web_request(method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> WebRequest:
    """Return the request. Raises InvalidArguments if it cannot be sent."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise InvalidArguments("headers: a name or value is not valid")
        if name.lower() in _NOT_TO_BE_SET:
            raise InvalidArguments(f"headers: leave out {name}; the hub sets it")
        if "idempotencykey" in _letters(name):
            raise InvalidArguments(
                f"headers: leave out {name}; the hub sends its own {IDEMPOTENCY_HEADER}, the same for"
                " every attempt of this call"
            )
    if body is not None and method in ("GET", "HEAD"):
        raise InvalidArguments(f"body: a {method} request can't have one")
    if body is not None and len(body) > BODY_LIMIT_BYTES:
        raise InvalidArguments(f"body: more than {BODY_LIMIT_BYTES} bytes")
    return WebRequest(method, url, headers, body)


def _letters(name: str) -> str:
    """Return a header's name without differences that servers and proxies treat differently: case,
    "-", "_", "."."""
    return "".join(character for character in name.lower() if character.isalnum())


def _names_secret(name: str) -> bool:
    return not _SECRET_WORDS.isdisjoint(word.lower() for word in _WORDS.findall(name))


@dataclass(frozen=True, slots=True)
class Challenge:
    """The parts of a server's refusal that say how to sign in (WWW-Authenticate of RFC 6750 and RFC 9728)."""

    metadata_url: str = ""
    scope: str = ""


def challenge_in(header: str) -> Challenge:
    """Return the challenge in a WWW-Authenticate header; an empty one if it says nothing."""
    found = {name.lower(): quoted or word for name, quoted, word in _PARAMETER.findall(header[:4096])}
    return Challenge(found.get("resource_metadata", ""), found.get("scope", ""))
