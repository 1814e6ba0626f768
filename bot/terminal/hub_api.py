"""The running hub's API, as a conversation needs it: requests, and one thread's stream."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any

from bot.ops.api_access import ApiAccess, Exchange, NoAnswer
from bot.terminal.talk import TalkFailed
from core.errors import ModelReplyInvalid
from core.model.provider_data import SseParser

SILENCE_LIMIT_S = 45.0
"""A stream says something every 15 s; one that says nothing for so long is cut."""
TRIES = 4
PAUSE_S = 0.5


class HubUnreachable(TalkFailed):
    """The hub does not answer."""


class HubApi:
    """`access`: where the API is now, and its token; both change when another hub is started."""

    def __init__(self, access: Callable[[], ApiAccess | None]) -> None:
        self._access = access

    async def get(self, path: str, **query: str | int) -> Any:
        """Return the answer's JSON. Raises TalkFailed with the hub's own words if it is an error."""
        return await self._answer("GET", path, query=query)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post likewise; the caller makes repeating it harmless."""
        return await self._answer("POST", path, body=body)

    async def events(self, **query: str | int) -> AsyncIterator[str]:
        """Yield the data of a stream's events until it is cut. The first item, an empty text, says
        that it has begun. Raises HubUnreachable if it can't be begun."""
        parser = SseParser()
        try:
            async with Exchange(self._where(), "GET", "/api/events", query=query) as answer:
                if answer.status != HTTPStatus.OK:
                    raise _refusal(answer.status, await answer.json())
                yield ""
                async for piece in answer.pieces(SILENCE_LIMIT_S):
                    for data in parser.feed(piece):
                        yield data
        except (NoAnswer, ModelReplyInvalid) as error:
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
        try:
            async with Exchange(self._where(), method, path, **given) as answer:
                page = await answer.json()
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    raise _refusal(answer.status, page)
                return page
        except NoAnswer as error:
            raise _unanswered(error) from error

    def _where(self) -> ApiAccess:
        access = self._access()
        if access is None:
            raise HubUnreachable("no hub is running; start it with `hubbub run`")
        return access


def _refusal(status: int, page: Any) -> TalkFailed:
    """Return the hub's own words as an error. A hub that only asks to try again later counts as
    unreachable."""
    match page:
        case {"error": {"code": "unavailable" | "unauthorized", "message": str(message)}}:
            return HubUnreachable(message)
        case {"error": {"message": str(message)}}:
            return TalkFailed(message)
        case _:
            return HubUnreachable(f"the hub responded with HTTP {status}")


def _unanswered(error: Exception) -> HubUnreachable:
    return HubUnreachable(f"the hub does not respond ({error})")
