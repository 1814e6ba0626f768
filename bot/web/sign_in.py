"""`GET /oauth/callback`: the page to which browsers return after people signed in at a server.

It is public: its caller is known by the `state` of the link that the person was shown, which is good once.
The page says how it went and nothing else; the conversation continues by itself.
"""

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.runtime import CALLBACK_PATH
from core.errors import SignInFailed, StoreError, VaultError
from core.tools.sign_in import SignIns

QUERY_LIMIT_CHARS = 8_000
MAX_PARAMETERS = 20
_CLOSE = "You can close this page and go back to the conversation."


def sign_in_routes(service: SignIns) -> list[Route]:
    """Return the route."""

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
