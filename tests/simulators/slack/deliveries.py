"""Getting events and interactions to apps: by socket or by signed HTTP request, again if need be.

https://docs.slack.dev/apis/events-api#error-handling, https://docs.slack.dev/apis/events-api/using-socket-mode,
https://docs.slack.dev/authentication/verifying-requests-from-slack. Events are tried again three times;
interactions and slash commands never: the person is shown that the app did not answer.
"""

import asyncio
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import aiohttp

from tests.simulators.slack.log import DeliveryRecord
from tests.simulators.slack.posting import Posting
from tests.simulators.slack.sockets import Sockets
from tests.simulators.slack.world import App

Json = dict[str, Any]
EVENT = "events_api"
_REASONS = {"timeout": "http_timeout", "http_error": "http_error"}


class Deliveries(Posting):
    """Delivers what ``deliver`` is given, each in a task of its own, started in order."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.sockets = Sockets(self.ids, self.clock, self.changed)
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None

    def deliver(self, record: DeliveryRecord) -> None:
        """Starts to deliver; needs a running event loop."""
        self._start(self._try_all(record), record)

    def deliver_again(self, record: DeliveryRecord) -> None:
        """One more delivery of something known, whatever became of the earlier ones."""
        retry = len(record.deliveries)
        self._start(self._try_once(record, retry, "timeout" if retry else ""), record)

    def _start(self, work: Any, record: DeliveryRecord) -> None:
        task = asyncio.create_task(work, name=f"deliver-{record.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close_deliveries(self) -> None:
        """Ends every delivery that is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _try_all(self, record: DeliveryRecord) -> None:
        result = await self._try_once(record, 0, "")
        if record.kind == EVENT:
            for retry, delay_s in enumerate(self.retry_delays_s, start=1):
                if result in {"acked", "no_retry"}:
                    break
                await asyncio.sleep(delay_s)
                result = await self._try_once(record, retry, result)
        if record.state == "pending":
            record.state = "failed"
        self.changed()

    async def _try_once(self, record: DeliveryRecord, retry: int, reason: str) -> str:
        app = self.world.apps[record.app_id]
        delivery: Json = {
            "at": self.clock(),
            "via": app.mode,
            "retry": retry,
            "reason": reason,
            "result": None,
        }
        record.deliveries.append(delivery)
        try:
            async with asyncio.timeout(self.ack_timeout_s):
                if app.mode == "socket":
                    response = await self._by_socket(app, record, delivery)
                else:
                    response = await self._by_http(app, record, delivery)
        except TimeoutError:
            delivery["result"] = "timeout"
        except aiohttp.ClientResponseError as error:
            delivery["result"] = "no_retry" if "x-slack-no-retry" in (error.headers or {}) else "http_error"
        except (aiohttp.ClientError, ConnectionError) as error:
            closed = isinstance(error, ConnectionResetError)
            delivery["result"] = "closed" if closed else "connection_failed"
        else:
            delivery |= {"result": "acked", "acked_at": self.clock()}
            record.state, record.response = "acked", response
        self.changed()
        return str(delivery["result"])

    # -- socket

    async def _by_socket(self, app: App, record: DeliveryRecord, delivery: Json) -> Any:
        connection = self.sockets.pick(app.id)
        if connection is None:
            raise ConnectionError("the app has no open connection")
        envelope: Json = {
            "envelope_id": self.ids.uuid(),
            "payload": record.payload,
            "type": record.kind,
            "accepts_response_payload": record.accepts_response,
        }
        if record.kind == EVENT:
            envelope |= {"retry_attempt": delivery["retry"], "retry_reason": delivery["reason"]}
        delivery |= {"envelope_id": envelope["envelope_id"], "connection": connection.number}
        self.changed()
        answer = await self.sockets.send(connection, envelope)
        return answer.get("payload")

    # -- HTTP

    async def _by_http(self, app: App, record: DeliveryRecord, delivery: Json) -> Any:
        url, body, content_type = _http_form(app, record)
        if not url:
            raise ConnectionError("the app has no request URL for this")
        headers = {"Content-Type": content_type, **self.signature(app, body)}
        if delivery["retry"]:
            reason = _REASONS.get(delivery["reason"], "connection_failed")
            headers |= {"X-Slack-Retry-Num": str(delivery["retry"]), "X-Slack-Retry-Reason": reason}
        return await self._post(url, body, headers, delivery)

    async def _post(self, url: str, body: bytes, headers: dict[str, str], delivery: Json) -> Any:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
        self.changed()
        async with self._session.post(url, data=body, headers=headers) as response:
            text = await response.text()
            delivery["status"] = response.status
            response.raise_for_status()
            return _decoded(text)

    def signature(self, app: App, body: bytes) -> dict[str, str]:
        """The headers that prove a request is Slack's."""
        at = str(self.now())
        digest = hmac.new(app.signing_secret.encode(), b"v0:" + at.encode() + b":" + body, hashlib.sha256)
        return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest.hexdigest()}"}

    async def verify_url(self, app: App, url: str) -> bool:
        """Sends the ``url_verification`` challenge; whether the app gave it back."""
        challenge = self.ids.secret()
        payload = {
            "token": "verification-token-not-for-use",
            "challenge": challenge,
            "type": "url_verification",
        }
        body = json.dumps(payload).encode()
        headers = {"Content-Type": "application/json", **self.signature(app, body)}
        try:
            async with asyncio.timeout(self.ack_timeout_s):
                answer = await self._post(url, body, headers, {})
        except (aiohttp.ClientError, TimeoutError):
            return False
        given = answer.get("challenge") if isinstance(answer, dict) else answer
        return given in {challenge, f"challenge={challenge}"}


def _http_form(app: App, record: DeliveryRecord) -> tuple[str, bytes, str]:
    """URL, body and content type of a record's request."""
    form = "application/x-www-form-urlencoded"
    if record.kind == EVENT:
        return app.events_url, json.dumps(record.payload).encode(), "application/json"
    if record.kind == "slash_commands":
        return app.commands_url, urlencode(record.payload).encode(), form
    return app.interactivity_url, urlencode({"payload": json.dumps(record.payload)}).encode(), form


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text or None
