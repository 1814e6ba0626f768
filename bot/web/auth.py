"""Callers: the token of this machine's user, a member's token, or a logged-in browser.

The owner is the caller with the token of `api.json`, which only this machine's user can read, or with the
session of
a browser that was logged in with a link made by that token. Members have tokens made for them.

All of these are headers that a program or the console's script sends on purpose. Cookies are never read: a
browser sends them to every port of a host, and every port of it can set them.
"""

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.web.files import FileLinks
from bot.web.responses import error_response
from core.errors import StoreUnavailable
from core.lazy import dataclass
from core.store.port import KeyKind, Keys, People
from core.users import Principal, Role

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
SESSION_HEADER = "X-Hubbub-Session"
KEY_BYTES = 32
LONGEST_KEY = 200
_OWN_FETCHES = frozenset({"same-origin", "none"})
"""Values that browsers send with requests no other origin caused."""
_SCOPE_KEY = "hubbub.caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """A person, and how they proved to be it. `key_hash`: of the key brought, if it is one of the store's;
    `by_link`: by an address signed for one file."""

    principal: Principal
    by_session: bool = False
    key_hash: str = ""
    by_link: bool = False

    @property
    def is_owner(self) -> bool:
        """Return whether everything may be seen and done."""
        return self.principal.role is Role.OWNER


def new_key() -> str:
    """Return a key that cannot be guessed."""
    return secrets.token_urlsafe(KEY_BYTES)


def hash_of(key: str) -> str:
    """Return the stored form of a key; keys are random and long, so a plain hash reveals nothing."""
    return hashlib.sha256(key.encode()).hexdigest()


def hash_of_session(secret: str) -> str:
    """Return the stored form of a session's secret. Former cookies are no such secrets: every port of the
    machine has seen
    them."""
    return hash_of(f"{SESSION_HEADER}: {secret}")


def caller_of(request: Request) -> Caller:
    """Return the caller of this request."""
    caller: Caller = request.scope[_SCOPE_KEY]
    return caller


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The rules callers are judged by. `token`: of `api.json`; `links`: of files; `public_url`: the hub's
    outside address,
    empty for this machine only."""

    token: str
    owner: Principal
    keys: Keys
    people: People
    links: FileLinks
    public_url: str = ""

    def refusal_of_host(self, headers: Headers) -> Response | None:
        """Return the refusal of a request for a host name that is not the hub's, or None. It keeps
        out pages of other sites whose names resolve to this machine."""
        host = headers.get("host", "").lower()
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if name in LOOPBACK_HOSTS or (self.public_url and host == urlsplit(self.public_url).netloc.lower()):
            return None
        where = self.public_url or "127.0.0.1"
        return error_response(403, "forbidden_host", f"the hub does not serve this host name: use {where}")

    async def caller(self, headers: Headers) -> Caller | None:
        """Return the caller with a valid key."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme:
            return await self._by_token(scheme, given.strip())
        session = headers.get(SESSION_HEADER, "")
        if not session or len(session) > LONGEST_KEY:
            return None
        hash_ = hash_of_session(session)
        holder = await self.keys.key_holder(hash_, KeyKind.SESSION)
        return None if holder is None else Caller(holder, by_session=True, key_hash=hash_)

    async def linked(self, scope: Scope) -> Caller | None:
        """Return the person for whom the address asked for was signed; the signature is taken off it."""
        opened = self.links.opened_by(scope["path"], scope["query_string"].decode("latin-1"))
        holder = None if opened is None else await self.people.user(opened[0])
        if opened is None or holder is None:
            return None
        scope["query_string"] = opened[1].encode("latin-1")
        return Caller(holder, by_link=True)

    async def still_holds(self, caller: Caller) -> bool:
        """Return whether a caller's key is still good, and theirs as they were when they brought it."""
        if not caller.key_hash:
            return True
        kind = KeyKind.SESSION if caller.by_session else KeyKind.TOKEN
        return await self.keys.key_holder(caller.key_hash, kind) == caller.principal

    async def _by_token(self, scheme: str, given: str) -> Caller | None:
        if scheme.lower() != "bearer" or not given or len(given) > LONGEST_KEY:
            return None
        if hmac.compare_digest(given.encode(), self.token.encode()):
            return Caller(self.owner)
        hash_ = hash_of(given)
        holder = await self.keys.key_holder(hash_, KeyKind.TOKEN)
        return None if holder is None else Caller(holder, key_hash=hash_)

    def forged(self, headers: Headers) -> Response | None:
        """Refuse what a page of another origin made a browser send, another port of this machine included."""
        if headers.get("sec-fetch-site", "none") in _OWN_FETCHES and self._own_origin(headers):
            return None
        return error_response(403, "forged", "the console works only from the hub's own pages")

    def _own_origin(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None:
            return True
        own = {f"http://{headers.get('host', '')}".lower(), self.public_url.lower()}
        return bool(origin) and origin.lower() in own


class ApiGuard:
    """Guard that passes requests of known callers; see AccessRules. Others learn nothing more."""

    def __init__(self, app: ASGIApp, gate: AccessRules) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = await self._refusal(scope)
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        refusal = self._gate.refusal_of_host(headers)
        if refusal is not None:
            return refusal
        try:
            caller = await self._gate.caller(headers) or await self._gate.linked(scope)
        except StoreUnavailable as error:
            return error_response(503, "unavailable", str(error))
        if caller is None:
            return error_response(
                401,
                "unauthorized",
                "run `hubbub login` for a link, or send a token as Authorization: Bearer",
                headers={"WWW-Authenticate": "Bearer"},
            )
        scope[_SCOPE_KEY] = caller
        return self._gate.forged(headers) if caller.by_session or caller.by_link else None


class SoleCaller:
    """A guard for an application that nobody else can reach: every request is one caller's."""

    def __init__(self, app: ASGIApp, caller: Caller) -> None:
        self._app = app
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_SCOPE_KEY] = self._caller
        await self._app(scope, receive, send)
