"""Hooks that are asked over the web, by requests that whoever gets them can prove to be ours.

Signed as the document "Standard Webhooks" says (https://www.standardwebhooks.com): `webhook-id`,
`webhook-timestamp` (seconds) and `webhook-signature`, which is `v1,` and, in base64, the HMAC-SHA256 of
`id.timestamp.body` under the secret. No redirect is followed, and only addresses are asked that tools may
reach.

One that does not wait is told where something happens, and how much of it, never what; its answer changes
nothing. One that waits is shown what a hook is shown, and answers with nothing (go on), or with JSON:
`{"reject": "reason"}`, `{"text": "…"}`, `{"arguments": {…}}`.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from yarl import URL

from core.clock import SECOND_US, Clock
from core.errors import HubError, ToolFailed
from core.hooks.values import Change, HookEvent, Reject, Reply
from core.ids import Ids
from core.tools.web import WebAnswer, WebRequest

IN_FLIGHT = 32
"""So many are told at a time; further ones are not told, which is logged."""
TELL_TIMEOUT_S = 2.0
_SECRET_PREFIX = "whsec_"  # noqa: S105 - what marks a secret written in base64

logger = logging.getLogger(__name__)


class Fetches(Protocol):
    """See core.tools.web_client.WebClient."""

    async def fetch(self, request: WebRequest, limit_s: float) -> WebAnswer:
        """The answer. Raises ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """Who is asked. `secret`: as text, or in base64 after `whsec_`."""

    name: str
    url: URL
    secret: str
    timeout_s: float


class WebhookSender:
    """Signs requests and sends them."""

    def __init__(self, client: Fetches, clock: Clock, ids: Ids) -> None:
        self._client = client
        self._clock = clock
        self._ids = ids

    async def send(self, target: Target, page: Mapping[str, Any]) -> bytes:
        """The body of a good answer. Raises ToolError, among them ToolFailed for any other answer."""
        body = json.dumps(page, ensure_ascii=False).encode("utf-8", "replace")
        sent_id, at = self._ids.row_id(), str(self._clock.now() // SECOND_US)
        headers = {
            "content-type": "application/json",
            "webhook-id": sent_id,
            "webhook-timestamp": at,
            "webhook-signature": f"v1,{signature(target.secret, sent_id, at, body)}",
        }
        answer = await self._client.fetch(WebRequest("POST", target.url, headers, body), target.timeout_s)
        if not 200 <= answer.status < 300:
            raise ToolFailed(f"{target.url.host} answered {answer.status}.")
        return answer.body


class AskingWebhook:
    """A hook whose answer is waited for."""

    def __init__(self, sender: WebhookSender, target: Target) -> None:
        self._sender = sender
        self._target = target

    async def __call__(self, event: HookEvent) -> Reply:
        """See core.hooks.values. Raises ToolError, and ValueError for an answer that means nothing."""
        return _reply(await self._sender.send(self._target, _whole(event)))


class TellingWebhooks:
    """Webhooks that are told and not waited for; `run` carries that out beside everything else."""

    def __init__(self, sender: WebhookSender) -> None:
        self._sender = sender
        self._waiting: asyncio.Queue[tuple[Target, Mapping[str, Any]]] = asyncio.Queue(IN_FLIGHT)

    def tell(self, target: Target, event: HookEvent) -> None:
        """Never blocks and never fails."""
        try:
            self._waiting.put_nowait((target, _outline(event)))
        except asyncio.QueueFull:
            logger.warning("hook %s is not told: %d others are under way", target.name, IN_FLIGHT)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(IN_FLIGHT // 4):
                group.create_task(self._work(), name=f"hooks told {number}")

    async def _work(self) -> None:
        while True:
            target, page = await self._waiting.get()
            try:
                await self._sender.send(target, page)
            except HubError as error:
                logger.warning("hook %s was not told: %s", target.name, error)
            except Exception:  # a defect met by one request: the others go out
                logger.exception("hook %s could not be told", target.name)


class ToldWebhook:
    """A hook that is told."""

    def __init__(self, telling: TellingWebhooks, target: Target) -> None:
        self._telling = telling
        self._target = target

    async def __call__(self, event: HookEvent) -> Reply:
        """See core.hooks.values: nothing stands against it."""
        self._telling.tell(self._target, event)
        return None


def signature(secret: str, sent_id: str, at: str, body: bytes) -> str:
    """In base64."""
    key = secret.encode()
    if secret.startswith(_SECRET_PREFIX):
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX))
    signed = b".".join((sent_id.encode(), at.encode(), body))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _whole(event: HookEvent) -> Mapping[str, Any]:
    return {
        "point": event.point.value,
        "text": event.text,
        "tool": event.tool,
        "arguments": None if event.arguments is None else dict(event.arguments),
        "user_id": event.user_id,
        "thread_id": event.thread_id,
        "channel": event.channel,
        "address": event.address,
    }


def _outline(event: HookEvent) -> Mapping[str, Any]:
    return {
        "point": event.point.value,
        "text_chars": len(event.text),
        "tool": event.tool,
        "arguments": None if event.arguments is None else len(event.arguments),
        "channel": event.channel,
    }


def _reply(body: bytes) -> Reply:
    if not body.strip():
        return None
    page: Any = json.loads(body)
    match page:
        case {"reject": str(reason)}:
            return Reject(reason[:500])
        case {"text": str(text)}:
            return Change(text=text)
        case {"arguments": dict()}:
            return Change(arguments=cast("dict[str, Any]", page["arguments"]))
        case {} if not page:
            return None
        case _:
            raise ValueError("the answer is none that a hook may give")
