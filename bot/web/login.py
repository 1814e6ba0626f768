"""Logging a browser in: a link that works once, then a cookie.

Codes live in memory, for a quarter of an hour; sessions are kept hashed in the store, so that a restart keeps
them. A session's key is made at login, whatever the browser brought: nobody can plant one beforehand.
"""

import hmac
from collections import deque
from dataclasses import dataclass
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.web.callers import COOKIE, Gate, hash_of, new_key
from core.clock import SECOND_US, Clock
from core.store.keys import KeyKind, Keys
from core.users import Principal

CODE_LIFE_US = 15 * 60 * SECOND_US
SESSION_LIFE_S = 14 * 86_400
MOST_CODES = 20
"""Links that are good at the same time; the oldest make room."""
MOST_WRONG = 10
WRONG_WINDOW_US = 60 * SECOND_US
"""So many wrong codes in a minute, and no code is looked at for the rest of it."""


@dataclass(frozen=True, slots=True)
class _Code:
    hash: str
    until: int


class LoginDesk:
    """Makes links, and sessions of them."""

    def __init__(self, keys: Keys, owner: Principal, clock: Clock) -> None:
        self._keys = keys
        self._owner = owner
        self._clock = clock
        self._codes: deque[_Code] = deque(maxlen=MOST_CODES)
        self._wrong: deque[int] = deque(maxlen=MOST_WRONG)

    def new_code(self) -> str:
        """A code that logs the owner in, once, for a quarter of an hour."""
        code = new_key()
        self._codes.append(_Code(hash_of(code), self._clock.now() + CODE_LIFE_US))
        return code

    @property
    def overrun(self) -> bool:
        """Whether so many wrong codes came lately that none is looked at."""
        if len(self._wrong) < MOST_WRONG:
            return False
        return self._clock.now() - self._wrong[0] < WRONG_WINDOW_US

    async def log_in(self, code: str) -> str | None:
        """A new session's key for a good code, which is then used up; None for any other."""
        if not self._use_up(code):
            self._wrong.append(self._clock.now())
            return None
        key = new_key()
        until = self._clock.now() + SESSION_LIFE_S * SECOND_US
        await self._keys.keep_key(hash_of(key), KeyKind.SESSION, self._owner.user_id, until)
        return key

    def _use_up(self, code: str) -> bool:
        """Looks at every code there is, so that the time tells nothing."""
        given, now = hash_of(code), self._clock.now()
        found = [known for known in self._codes if hmac.compare_digest(known.hash, given)]
        for known in found:
            self._codes.remove(known)
        return any(now < known.until for known in found)


def login_url(url: str, login: LoginDesk) -> str:
    """A fresh link."""
    return f"{url}/login?code={login.new_code()}"


def login_routes(desk: LoginDesk, keys: Keys, gate: Gate) -> list[Route]:
    """`GET /login?code=…`."""

    async def login(request: Request) -> Response:
        refusal = gate.refusal_of_host(request.headers)
        if refusal is not None:
            return refusal
        if desk.overrun:
            return _page(429, "Too many wrong links. Wait a minute, then open the link again.")
        key = await desk.log_in(request.query_params.get("code", ""))
        if key is None:
            return _page(403, "This link is not good: it was used, is too old, or is not whole.")
        before = request.cookies.get(COOKIE)
        if before:
            await keys.drop_key(hash_of(before))
        answer = RedirectResponse("/", status_code=303)
        secure = gate.public_url.startswith("https://") and request.headers.get("host", "") in gate.public_url
        answer.set_cookie(
            COOKIE, key, max_age=SESSION_LIFE_S, path="/", secure=secure, httponly=True, samesite="strict"
        )
        return answer

    return [Route("/login", login)]


def _page(status: int, why: str) -> Response:
    """What is wrong, and what to do about it."""
    body = (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>hubbub</title><h1>Not logged in</h1><p>{escape(why)}</p>"
        "<p>Run <code>hubbub login</code> on the machine the hub runs on, and open the link it prints.</p>"
        "</html>"
    )
    return HTMLResponse(body, status)
