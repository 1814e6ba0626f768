"""Callers: the token of this machine's user, a member's token, or a logged-in browser, and its login.

The owner is the caller with the token of `api.json`, which only this machine's user can read, or with the
session of a browser that was logged in with a link made by that token. Members have tokens made for them.

All of these are headers that a program or the console's script sends on purpose. Cookies are never read: a
browser sends them to every port of a host, and every port of it can set them.

A login link works once. It carries its code after `#`, which no browser sends: the console's script exchanges
it for a secret that it stores for its own origin. The owner's codes live in memory, for a quarter of an hour;
invitations of members and sessions are stored as hashes, so that a restart keeps them. A session's secret is
made at login, so it cannot be planted.
"""

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.runtime import CALLBACK_PATH, LOGIN_PATH
from bot.web.files import FileLinks
from bot.web.responses import BODY_LIMIT_S, Given, body_of, error_response, on_invalid
from core.clock import SECOND_US, Clock
from core.errors import SignInFailed, StoreError, StoreUnavailable, VaultError
from core.lazy import dataclass
from core.store.accounts import INVITATION_LIFE_US, invitation_hash
from core.store.port import KeyKind, Keys
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.tools.sign_in import SignIns


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

    @property
    def kind(self) -> KeyKind:
        """The kind of the key brought."""
        return KeyKind.SESSION if self.by_session else KeyKind.TOKEN

    @property
    def key(self) -> str:
        """The kind and hash of the key brought; empty for the hub's own token."""
        return f"{self.kind.value}:{self.key_hash}" if self.key_hash else ""


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
        """Return the holder of the key for which the address was signed, if it is still good; the signature
        is taken off the address."""
        opened = self.links.opened_by(scope["path"], scope["query_string"].decode("latin-1"))
        if opened is None:
            return None
        key, query = opened
        kind, _, hash_ = key.partition(":")
        holder = await self.keys.key_holder(hash_, KeyKind(kind)) if key else self.owner
        if holder is None:
            return None
        scope["query_string"] = query.encode("latin-1")
        return Caller(holder, by_link=True)

    async def still_holds(self, caller: Caller) -> bool:
        """Return whether a caller's key is still good, and theirs as they were when they brought it."""
        if not caller.key_hash:
            return True
        return await self.keys.key_holder(caller.key_hash, caller.kind) == caller.principal

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


CODE_LIFE_US = 15 * 60 * SECOND_US
SESSION_LIFE_S = 14 * 86_400
MAX_CODES = 20
"""Links that are good at the same time; the oldest make room."""
MAX_WRONG = 10
WRONG_WINDOW_US = 60 * SECOND_US
"""Wrong codes in a minute, after which further ones must wait. A valid code is accepted all the same: it
can't be guessed, and another person's guesses must not keep the owner out."""
LOGIN_LIMIT_BYTES = 1024


@dataclass(frozen=True, slots=True)
class _Code:
    hash: str
    until: int


class LoginService:
    """Login links, and the sessions they start."""

    def __init__(self, keys: Keys, owner: Principal, clock: Clock) -> None:
        self._keys = keys
        self._owner = owner
        self._clock = clock
        self._codes: deque[_Code] = deque(maxlen=MAX_CODES)
        self._wrong: deque[int] = deque(maxlen=MAX_WRONG)

    def new_code(self) -> str:
        """Return a code that logs the owner in once, within a quarter of an hour."""
        code = new_key()
        self._codes.append(_Code(hash_of(code), self._clock.now() + CODE_LIFE_US))
        return code

    async def invite(self, user: Principal, by: Principal) -> tuple[str, int]:
        """Return a code that logs a member in once, and when it expires (microseconds UTC). It outlives
        restarts: the store holds its hash."""
        code, until = new_key(), self._clock.now() + INVITATION_LIFE_US
        await self._keys.keep_key(invitation_hash(code), KeyKind.INVITATION, user.user_id, until, by.user_id)
        return code, until

    @property
    def overrun(self) -> bool:
        """Return whether recent wrong codes are over the limit."""
        if len(self._wrong) < MAX_WRONG:
            return False
        return self._clock.now() - self._wrong[0] < WRONG_WINDOW_US

    async def log_in(self, code: str, before: str = "") -> str | None:
        """Return a new session's secret for a good code, which is then used up and ends the session `before`;
        None for any other code."""
        secret = new_key()
        until = self._clock.now() + SESSION_LIFE_S * SECOND_US
        if self._use_up(code):
            await self._keys.keep_key(hash_of_session(secret), KeyKind.SESSION, self._owner.user_id, until)
        elif not await self._redeem(code, hash_of_session(secret), until):
            if not self.overrun:
                self._wrong.append(self._clock.now())
            return None
        if before:
            await self._keys.drop_key(hash_of_session(before))
        return secret

    async def _redeem(self, code: str, session: str, until: int) -> bool:
        invitation = invitation_hash(code)
        # Read first: strangers' guesses cause no writes.
        if await self._keys.key_holder(invitation, KeyKind.INVITATION) is None:
            return False
        return await self._keys.redeem_invitation(invitation, session, until)

    def _use_up(self, code: str) -> bool:
        """Use up a code. Every stored code is compared, so that the time taken reveals nothing."""
        given, now = hash_of(code), self._clock.now()
        found = [known for known in self._codes if hmac.compare_digest(known.hash, given)]
        for known in found:
            self._codes.remove(known)
        return any(now < known.until for known in found)


class LoginCode(Given):
    """The code after the `#` of a login link."""

    code: Annotated[str, Field(max_length=LONGEST_KEY)]


def login_url(url: str, code: str) -> str:
    """Return the login link with this code."""
    return f"{url}{LOGIN_PATH}#code={code}"


def login_routes(service: LoginService, gate: AccessRules) -> list[Route]:
    """Return the route `POST /login`, where the console's script exchanges a code for a secret."""

    async def login(request: Request) -> Response:
        # Refused before anything is counted: other sites' pages can make a browser send as many as they like.
        refusal = gate.refusal_of_host(request.headers) or gate.forged(request.headers)
        if refusal is not None:
            return refusal
        try:
            given = LoginCode.model_validate_json(await body_of(request, LOGIN_LIMIT_BYTES, BODY_LIMIT_S))
        except ValidationError as error:
            return await on_invalid(request, error)
        waits = service.overrun
        try:
            secret = await service.log_in(given.code, request.headers.get(SESSION_HEADER, "")[:LONGEST_KEY])
        except StoreUnavailable as error:
            return error_response(503, "unavailable", str(error))
        if secret is not None:
            return JSONResponse({"secret": secret}, 201, {"Cache-Control": "no-store"})
        if waits:
            return error_response(429, "too_many", "Too many wrong links. Wait a minute, then try again.")
        return error_response(
            403, "forbidden", "This link is not valid: it was used, has expired, or is incomplete."
        )

    return [Route(LOGIN_PATH, login, methods=["POST"])]


# `GET /oauth/callback`: the page to which browsers return after people signed in at a server. It is public:
# its caller is known by the `state` of the link that the person was shown, which is good once. The page says
# how it went and nothing else; the conversation continues by itself.

QUERY_LIMIT_CHARS = 8_000
MAX_PARAMETERS = 20
_CLOSE = "You can close this page and go back to the conversation."


def sign_in_routes(service: "SignIns") -> list[Route]:
    """Return the callback's route."""

    async def returned(request: Request) -> Response:
        query = _query(request.url.query)
        if query is None:
            return _page("This is not the answer of an authorization server.", 400)
        try:
            return _page(f"{await service.returned(query)} {_CLOSE}", 200)
        except SignInFailed as error:
            return _page(str(error), 400)
        except (StoreError, VaultError):
            return _page("The hub can't store this right now. Try again in a moment.", 503)

    return [Route(CALLBACK_PATH, returned, methods=["GET"])]


def _query(text: str) -> Mapping[str, Sequence[str]] | None:
    try:
        return parse_qs(text, max_num_fields=MAX_PARAMETERS) if len(text) <= QUERY_LIMIT_CHARS else None
    except ValueError:
        return None


def _page(text: str, status: int) -> Response:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign-in</title>'
    no_icon = '<link rel="icon" href="data:,">'  # so that browsers don't ask for one, which is not there
    page = f"{head}{no_icon}<p>{escape(text)}</p></html>"
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})
