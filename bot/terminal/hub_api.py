"""The running hub's API, as a conversation needs it: requests, and one thread's stream."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from bot.ops.api_access import ApiAccess
from bot.runtime import HTTPX_COMMAND_LINE, left_out
from bot.terminal.talk import TalkFailed
from core.errors import ModelReplyInvalid
from core.model.sse import SseParser

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

ANSWER_LIMIT_S = 15.0
SILENCE_LIMIT_S = 45.0
"""A stream says something every 15 s; one that says nothing for so long is cut."""
TRIES = 4
PAUSE_S = 0.5


class HubUnreachable(TalkFailed):
    """The hub does not answer."""


class HubApi:
    """`access`: where the API is now, and its token; both change when another hub is started."""

    def __init__(self, client: "httpx.AsyncClient", access: Callable[[], ApiAccess | None]) -> None:
        self._client = client
        self._access = access

    async def get(self, path: str, **query: str | int) -> Any:
        """Return the answer's JSON. Raises TalkFailed with the hub's own words if it is an error."""
        return await self._answer("GET", path, params=query)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post likewise; the caller makes repeating it harmless."""
        return await self._answer("POST", path, json=dict(body))

    async def events(self, **query: str | int) -> AsyncIterator[str]:
        """Yield the data of a stream's events until it is cut. The first item, an empty text, says
        that it has begun. Raises HubUnreachable if it can't be begun."""
        import httpx

        limit = httpx.Timeout(ANSWER_LIMIT_S, read=SILENCE_LIMIT_S)
        url, headers = self._where("/api/events")
        parser = SseParser()
        try:
            async with self._client.stream(
                "GET", url, params=query, headers=headers, timeout=limit
            ) as answer:
                if answer.status_code != httpx.codes.OK:
                    await answer.aread()
                    raise _refusal(answer)
                yield ""
                async for chunk in answer.aiter_raw():
                    for data in parser.feed(chunk):
                        yield data
        except (httpx.HTTPError, ModelReplyInvalid) as error:
            raise _unanswered(error) from error

    async def _answer(self, method: str, path: str, **given: Any) -> Any:
        """Ask, and ask again for a while: a hub may be restarting."""
        for tries_left in reversed(range(TRIES)):
            try:
                return await self._once(method, path, given)
            except HubUnreachable:
                if not tries_left:
                    raise
                await asyncio.sleep(PAUSE_S)
        raise AssertionError("every try returns or raises")

    async def _once(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
        import httpx

        url, headers = self._where(path)
        try:
            answer = await self._client.request(method, url, headers=headers, **given)
            if answer.status_code >= httpx.codes.BAD_REQUEST:
                raise _refusal(answer)
            return answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise _unanswered(error) from error

    def _where(self, path: str) -> tuple[str, Mapping[str, str]]:
        access = self._access()
        if access is None:
            raise HubUnreachable("no hub is running; start it with `hubbub run`")
        # The name the API answers to, also where the hub listens on one of this machine's other addresses.
        return access.url + path, {"Host": "localhost", "Authorization": f"Bearer {access.token}"}


@contextlib.asynccontextmanager
async def hub_api(access: Callable[[], ApiAccess | None]) -> AsyncIterator[HubApi]:
    """Open a client of the hub on this machine: without TLS and past any configured proxy."""
    with left_out(HTTPX_COMMAND_LINE):
        import httpx

    no_authorities = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(trust_env=False, verify=no_authorities, timeout=ANSWER_LIMIT_S) as client:
        yield HubApi(client, access)


def _refusal(answer: "httpx.Response") -> TalkFailed:
    """Return the hub's own words as an error. A hub that only asks to try again later counts as
    unreachable."""
    try:
        page = answer.json()
    except ValueError:
        page = None
    match page:
        case {"error": {"code": "unavailable" | "unauthorized", "message": str(message)}}:
            return HubUnreachable(message)
        case {"error": {"message": str(message)}}:
            return TalkFailed(message)
        case _:
            return HubUnreachable(f"the hub responded with HTTP {answer.status_code}")


def _unanswered(error: Exception) -> HubUnreachable:
    return HubUnreachable(f"the hub does not respond ({str(error) or type(error).__name__})")
