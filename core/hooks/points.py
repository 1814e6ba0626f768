"""Hooks for people's messages, called after a message is accepted and before a turn takes it.

A message is stored and acknowledged as usual, and then waits in the store until hooks have
judged it, also over a restart. Credentials were removed from it before, and commands are not
input, so hooks see neither. For words that answer a question, hooks are called when the turn
that asked continues; see core.hooks.chain.AnswerHooks.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

from yarl import URL

from core.clock import SECOND_US, Clock
from core.errors import HubError, MessageRejected, StoreUnavailable, ToolFailed
from core.hooks.chain import Chain, Change, HookEvent, Passed, Point, Reject, Rejected, Reply
from core.hooks.summaries import Unfinished
from core.ids import Ids
from core.inbound.judge import ALBUM_WAIT_US
from core.lazy import dataclass
from core.messages import Markdown, Message, Plain, plain
from core.off_loop import json_off_loop
from core.ports import OutboxListener, OutboxRow
from core.store.facets import HeldInput, HeldInputs, SessionChange
from core.web import Interceptor, WebAnswer, WebRequest

MAX_AT_ONCE = 32
AGAIN_S = 5.0
REFUSED = "I did not accept your message: {reason}"

logger = logging.getLogger(__name__)


class Starts(Protocol):
    """The start of threads that have input: `AlbumCollector` of core.runs.actors."""

    def expect(self, thread_id: str, due_us: int) -> None:
        """Start the waiting input of the thread at that time."""
        ...


class InboundHooks:
    """A worker that has waiting messages judged and releases them."""

    def __init__(
        self, chain: Chain, held: HeldInputs, starts: Starts, listener: OutboxListener, clock: Clock
    ) -> None:
        self._chain = chain
        self._held = held
        self._starts = starts
        self._listener = listener
        self._clock = clock
        self._some = asyncio.Event()

    def wake(self) -> None:
        """Signal that a message waits. Never blocks and never fails."""
        self._some.set()

    async def run(self) -> None:
        """Judge waiting messages until cancelled, beginning with those left from before a restart."""
        while True:
            self._some.clear()
            try:
                held = await self._held.held_inputs(MAX_AT_ONCE)
                well = await self._all(held)
            except StoreUnavailable:  # the store has logged it already; the messages keep waiting
                well = False
                held = ()
            if not well:
                await self._clock.sleep(AGAIN_S)
            elif not held:
                await self._some.wait()

    async def _all(self, held: Sequence[HeldInput]) -> bool:
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(self._asked(one), name=f"hooks about message {one.id}") for one in held
            ]
        return all(task.result() for task in asked)

    async def _asked(self, held: HeldInput) -> bool:
        try:
            await self._ask(held)
        except StoreUnavailable:
            return False
        except Exception:  # a defect triggered by one message: the others continue
            logger.exception("hook.message_crashed message=%d", held.id)
            return False
        return True

    async def _ask(self, held: HeldInput) -> None:
        event = HookEvent(
            Point.BEFORE_INBOUND,
            text=held.text,
            user_id=held.user_id,
            thread_id=held.thread_id,
            channel=held.channel,
        )
        match await self._chain.judge(event):
            case Passed(told):
                due_us = await self._held.release_input(held, told.text, album_wait_us=ALBUM_WAIT_US)
                if due_us is not None:
                    self._starts.expect(held.thread_id, due_us)
            case Rejected(hook, reason):
                logger.info("hook.message_blocked message=%d hook=%s", held.id, hook)
                outcome = f"refused: by the hook {hook}"
                told_row = await self._held.refuse_input(held, outcome, plain(REFUSED.format(reason=reason)))
                self._listener.outbox_ready(told_row)


# Hooks for outgoing messages, called before the first request: answers, notices, cards, the hub's
# own texts.
#
# The result is stored before the message is sent, so that hooks are called once, however often
# sending is tried.


class OutboundHooks:
    """The hooks for outgoing messages: implements core.ports.OutboundGate."""

    def __init__(self, chain: Chain, held: HeldInputs) -> None:
        self._chain = chain
        self._held = held
        self._asked: dict[int, asyncio.Task[Message]] = {}

    async def released(self, row: OutboxRow) -> Message:
        if not row.message.blocks or row.marks:
            return row.message  # it removes a message, contains only files, or shows what was sent before
        # The search for another message reads this one too. It must not call the hooks a second time.
        if (asked := self._asked.get(row.id)) is not None:
            await asyncio.wait([asked])
            return await self.released(row) if asked.cancelled() else asked.result()
        asked = self._asked[row.id] = asyncio.create_task(self._judged(row), name=f"hooks about row {row.id}")
        try:
            return await asked
        finally:
            del self._asked[row.id]

    async def _judged(self, row: OutboxRow) -> Message:
        kept = await self._held.outbound_judged(row.id)
        if kept is not None:
            return kept
        text = "\n\n".join(block.text for block in row.message.blocks)
        event = HookEvent(Point.BEFORE_OUTBOUND, text=text, channel=row.channel, address=row.address)
        match await self._chain.judge(event):
            case Rejected(hook, reason):
                raise MessageRejected(f"blocked by the hook {hook}: {reason}")
            case Passed(told, changed):
                message = _saying(row.message, told.text) if changed else row.message
        await self._held.judge_outbound(row.id, message)
        return message


def _saying(message: Message, text: str) -> Message:
    """Return the message with the new text. Raises MessageRejected for a card: people approve its
    exact content, so it is sent unchanged or not at all."""
    if message.gate_id is not None or message.choices:
        raise MessageRejected("a hook changed a card; cards can only be sent unchanged or blocked")
    plain = all(isinstance(block, Plain) for block in message.blocks)
    return replace(message, blocks=((Plain if plain else Markdown)(text),))


# Notifications to hooks that a session began or ended.

LOOK_EVERY_S = 30.0


class SessionHooks:
    """A periodic check for sessions. A session ends after `idle_s` without a message from its person."""

    def __init__(
        self, begin: Chain | None, end: Chain | None, held: HeldInputs, idle_s: float, unfinished: Unfinished
    ) -> None:
        self._begin = begin
        self._end = end
        self._held = held
        self._idle_us = int(idle_s * SECOND_US)
        self._unfinished = unfinished

    async def look(self) -> None:
        """Tell what changed since the last look. Nothing can be said to it. Raises StoreUnavailable.

        Each change is found once, so a hub that stops meanwhile still tells it."""
        changes = await self._held.session_changes(self._idle_us)
        if changes:
            await asyncio.shield(self._unfinished.begin(self._tell(changes), "hooks about sessions"))

    async def _tell(self, changes: Sequence[SessionChange]) -> None:
        for change in changes:
            chain = self._begin if change.began else self._end
            point = Point.SESSION_START if change.began else Point.SESSION_END
            if chain is not None:
                event = HookEvent(point, user_id=change.user_id, thread_ids=change.thread_ids)
                await chain.judge(event)


# Webhooks: hooks called over the web, by requests whose origin the receiver can verify.
#
# Signed as "Standard Webhooks" specifies (https://www.standardwebhooks.com): `webhook-id`,
# `webhook-timestamp` (seconds) and `webhook-signature`, which is `v1,` and, in base64, the
# HMAC-SHA256 of `id.timestamp.body` under the secret. No redirect is followed, and only addresses
# that tools may reach are called.
#
# A webhook that is only notified learns where an event happens and how large it is, never its
# content; its answer changes nothing. A webhook that is waited for sees the event as hooks do, and
# answers with nothing (continue), or with JSON: `{"reject": "reason"}`, `{"text": "…"}`,
# `{"arguments": {…}}`.

IN_FLIGHT = 32
"""Maximum number of simultaneous notifications; further ones are dropped and logged."""
TELL_TIMEOUT_S = 2.0
ANSWER_LIMIT_BYTES = 1_048_576
"""Limit of a webhook's answer: a text of `TEXT_LIMIT_CHARS`, however it is escaped, with room to spare."""
_SECRET_PREFIX = "whsec_"  # noqa: S105 - what marks a secret written in base64


class Fetches(Protocol):
    """A client for web requests: `WebClient` of core.tools.web_client."""

    async def fetch(self, request: WebRequest, limit_s: float, interceptor: Interceptor) -> WebAnswer:
        """Send the request and return the answer. Raises ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook to call. `secret`: as text, or in base64 after `whsec_`."""

    name: str
    url: URL
    secret: str
    timeout_s: float


class WebhookSender:
    """A sender of signed requests."""

    def __init__(self, client: Fetches, interceptor: Interceptor, clock: Clock, ids: Ids) -> None:
        self._client = client
        self._interceptor = interceptor
        self._clock = clock
        self._ids = ids

    async def send(self, target: Target, page: Mapping[str, Any]) -> bytes:
        """Send the request and return the body of a successful answer. Raises ToolError, and ToolFailed
        for any other answer."""
        body = json.dumps(page, ensure_ascii=False).encode("utf-8", "replace")
        sent_id, at = self._ids.row_id(), str(self._clock.now() // SECOND_US)
        headers = {
            "content-type": "application/json",
            "webhook-id": sent_id,
            "webhook-timestamp": at,
            "webhook-signature": f"v1,{signature(target.secret, sent_id, at, body)}",
        }
        request = WebRequest("POST", target.url, headers, body)
        answer = await self._client.fetch(request, target.timeout_s, self._interceptor)
        if not 200 <= answer.status < 300:
            raise ToolFailed(f"{target.url.host} responded with HTTP {answer.status}.")
        return answer.body


class AskingWebhook:
    """A hook that waits for its webhook's answer."""

    def __init__(self, sender: WebhookSender, target: Target) -> None:
        self._sender = sender
        self._target = target

    async def __call__(self, event: HookEvent) -> Reply:
        """Call the webhook. Raises ToolError, and ValueError for an answer without meaning or too long."""
        body = await self._sender.send(self._target, _whole(event))
        if len(body) > ANSWER_LIMIT_BYTES:
            raise ValueError(f"the answer has {len(body)} bytes; at most {ANSWER_LIMIT_BYTES} are read")
        return _reply(await json_off_loop(body) if body.strip() else {})


class WebhookNotifier:
    """A sender for webhooks that are notified without waiting for an answer; `run` does so in the
    background."""

    def __init__(self, sender: WebhookSender) -> None:
        self._sender = sender
        self._waiting: asyncio.Queue[tuple[Target, Mapping[str, Any]]] = asyncio.Queue(IN_FLIGHT)

    def tell(self, target: Target, event: HookEvent) -> None:
        """Queue a notification. Never blocks and never fails."""
        try:
            self._waiting.put_nowait((target, _outline(event)))
        except asyncio.QueueFull:
            logger.warning("hook.notice_dropped hook=%s in_progress=%d", target.name, IN_FLIGHT)

    async def run(self) -> None:
        """Send notifications until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(IN_FLIGHT // 4):
                group.create_task(self._work(), name=f"hooks told {number}")

    async def _work(self) -> None:
        while True:
            target, page = await self._waiting.get()
            try:
                await self._sender.send(target, page)
            except HubError as error:
                logger.warning("hook.notice_failed hook=%s error=%s", target.name, error)
            except Exception:  # a defect triggered by one request: the others are still sent
                logger.exception("hook.notice_crashed hook=%s", target.name)


class ToldWebhook:
    """A hook that notifies its webhook."""

    def __init__(self, notifier: WebhookNotifier, target: Target) -> None:
        self._notifier = notifier
        self._target = target

    async def __call__(self, event: HookEvent) -> Reply:
        # A webhook that is only notified never objects.
        self._notifier.tell(self._target, event)
        return None


def signature(secret: str, sent_id: str, at: str, body: bytes) -> str:
    """Return the signature in base64."""
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
        "thread_ids": list(event.thread_ids),
    }


def _outline(event: HookEvent) -> Mapping[str, Any]:
    return {
        "point": event.point.value,
        "text_chars": len(event.text),
        "tool": event.tool,
        "arguments": None if event.arguments is None else len(event.arguments),
        "channel": event.channel,
    }


def _reply(page: Any) -> Reply:
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
            raise ValueError("the answer is not valid: use {} or one of reject, text and arguments")
