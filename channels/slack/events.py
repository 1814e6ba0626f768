"""Events, presses and commands that Slack brings by HTTP, each signed; 200 once what they hold is durable."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

from channels.channel import HttpRequest, HttpResponse
from channels.slack.reading import Reader
from channels.slack.signature import refusal
from core.clock import Clock
from core.errors import InboxUnavailable
from core.off_loop import off_loop

logger = logging.getLogger(__name__)

EVENTS, INTERACTIVITY, COMMANDS = "/events", "/interactivity", "/commands"

_LATER = HttpResponse(503, b"not now\n", {"Retry-After": "5"})


class HttpReceiver:
    """Receives for one bot; believes nothing that `signing_secret` did not sign."""

    def __init__(self, name: str, signing_secret: str, clock: Clock) -> None:
        self._name = name
        self._secret = signing_secret
        self._clock = clock
        self._reader: Reader | None = None

    async def run(self, reader: Reader, connected: Callable[[], None]) -> None:
        """Take requests until cancelled; before and after, Slack is told to come again."""
        self._reader = reader
        connected()
        try:
            await asyncio.Event().wait()
        finally:
            self._reader = None

    async def events(self, request: HttpRequest) -> HttpResponse:
        """The Events API's request URL."""

        async def take(reader: Reader, body: bytes) -> HttpResponse:
            payload = await off_loop(len(body), partial(_object, body))
            if payload is None:
                return HttpResponse(400, b"not a JSON object\n")
            if payload.get("type") == "url_verification":
                return HttpResponse(200, str(payload.get("challenge", "")).encode())
            await reader.event(payload)
            return HttpResponse(200)

        return await self._believed(request, take)

    async def interactivity(self, request: HttpRequest) -> HttpResponse:
        """The request URL of buttons."""

        async def take(reader: Reader, body: bytes) -> HttpResponse:
            payload = await off_loop(len(body), partial(_form_object, body))
            if payload is None:
                return HttpResponse(400, b"no payload\n")
            answer = await reader.press(payload)
            if answer is None:
                return HttpResponse(200)
            return HttpResponse(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

        return await self._believed(request, take)

    async def commands(self, request: HttpRequest) -> HttpResponse:
        """The request URL of the slash command."""

        async def take(reader: Reader, body: bytes) -> HttpResponse:
            form = await off_loop(len(body), partial(_form, body))
            if form.get("ssl_check") == "1":
                return HttpResponse(200)
            acceptance = await reader.command(form)
            if acceptance is None or not acceptance.answer:
                return HttpResponse(200)
            said = {"response_type": "ephemeral", "text": acceptance.answer}
            return HttpResponse(200, json.dumps(said).encode(), {"Content-Type": "application/json"})

        return await self._believed(request, take)

    async def _believed(
        self, request: HttpRequest, take: Callable[[Reader, bytes], Awaitable[HttpResponse]]
    ) -> HttpResponse:
        why = refusal(self._secret, request.headers, request.body, self._clock.now())
        if why is not None:
            logger.warning("%s: a request to %s is refused: %s", self._name, request.path, why)
            return HttpResponse(401, b"not signed by Slack\n")
        if self._reader is None:
            return _LATER
        try:
            return await take(self._reader, request.body)
        except InboxUnavailable as error:
            logger.warning("%s: a request is left to be brought again: %s", self._name, error)
            return _LATER


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _form_object(body: bytes) -> Mapping[str, Any] | None:
    return _object(_form(body).get("payload", "").encode())


def _form(body: bytes) -> Mapping[str, str]:
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100))
