"""Browser login: a link that works once, exchanged for a secret that the console sends as a header.

A link carries its code after `#`, which no browser sends: the console's script hands it in, once, and
stores the
secret it gets for its own origin. The owner's codes live in memory, for a quarter of an hour; invitations
of members and sessions are stored as hashes, so that a restart keeps them. A session's secret is made at
login, so it cannot be planted.
"""

import hmac
from collections import deque
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qs

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bot.runtime import CALLBACK_PATH, LOGIN_PATH
from bot.web.auth import LONGEST_KEY, SESSION_HEADER, AccessRules, hash_of, hash_of_session, new_key
from bot.web.endpoints import BODY_LIMIT_S, Given, body_of
from bot.web.responses import error_response, on_invalid
from core.clock import SECOND_US, Clock
from core.errors import SignInFailed, StoreError, StoreUnavailable, VaultError
from core.lazy import dataclass
from core.store.accounts import INVITATION_LIFE_US, invitation_hash
from core.store.port import KeyKind, Keys
from core.users import Principal

if TYPE_CHECKING:
    from core.tools.sign_in import SignIns

CODE_LIFE_US = 15 * 60 * SECOND_US
SESSION_LIFE_S = 14 * 86_400
MAX_CODES = 20
"""Links that are good at the same time; the oldest make room."""
MAX_WRONG = 10
WRONG_WINDOW_US = 60 * SECOND_US
"""Wrong codes in a minute, after which further ones must wait. A valid code is accepted all the same: it
can't be guessed, and another person's guesses must not keep the owner out."""
BODY_LIMIT_BYTES = 1024


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
            given = LoginCode.model_validate_json(await body_of(request, BODY_LIMIT_BYTES, BODY_LIMIT_S))
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
