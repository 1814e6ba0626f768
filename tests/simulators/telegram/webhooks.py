"""Deliveries by webhook: https://core.telegram.org/bots/api#setwebhook.

Updates of one chat (and presses of one person) go out in order, one at a time; different ones side by side,
at most ``max_connections`` at once. A delivery is repeated until the answer is 2xx; the header
``X-Telegram-Bot-Api-Secret-Token`` carries the secret. A method call in the answer's body is not executed.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import aiohttp

from tests.simulators.telegram.log import UpdateRecord
from tests.simulators.telegram.updates import UpdateQueue

Json = dict[str, Any]


class Webhook:
    """One bot's webhook and the tasks that feed it.

    Create it with a running event loop; ``close`` ends the tasks.
    """

    def __init__(
        self,
        url: str,
        queue: UpdateQueue,
        *,
        secret: str,
        max_connections: int,
        retry_s: float,
        clock: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        self.url = url
        self.max_connections = max_connections
        self._secret = secret
        self.last_error: tuple[int, str] | None = None
        self._queue = queue
        self._headers = {"Content-Type": "application/json"}
        if secret:
            self._headers["X-Telegram-Bot-Api-Secret-Token"] = secret
        self._retry_s = retry_s
        self._clock = clock
        self._changed = changed
        self._lanes: dict[tuple[str, int], asyncio.Queue[UpdateRecord]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(max_connections)
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=max_connections))
        for record in list(queue.pending):
            self.push(record)

    def is_same(self, url: str, secret: str, max_connections: int) -> bool:
        """Return whether setting these again would change nothing."""
        return (self.url, self._secret, self.max_connections) == (url, secret, max_connections)

    def push(self, record: UpdateRecord) -> None:
        """Puts an update at the end of its lane."""
        lane = _lane(record)
        if lane not in self._lanes:
            self._lanes[lane] = asyncio.Queue()
            task = asyncio.create_task(self._feed(self._lanes[lane]), name=f"webhook-lane-{lane}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._lanes[lane].put_nowait(record)

    async def close(self) -> None:
        """Stops all deliveries; what was not confirmed stays in the queue."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def _feed(self, lane: asyncio.Queue[UpdateRecord]) -> None:
        while True:
            record = await lane.get()
            pause_s = self._retry_s
            while record.discarded is None:
                async with self._slots:
                    status = await self._post(record)
                if status is not None and 200 <= status < 300:
                    self._queue.confirm_one(record)
                    self._changed()
                    break
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, 60 * self._retry_s)

    async def _post(self, record: UpdateRecord) -> int | None:
        body = json.dumps({"update_id": record.update_id, **record.payload}).encode()
        delivery: Json = {"at": self._clock(), "via": "webhook", "status": None}
        record.deliveries.append(delivery)
        self._changed()
        reason = "Connection timed out"
        with contextlib.suppress(TimeoutError):
            try:
                async with (
                    asyncio.timeout(60),
                    self._session.post(self.url, data=body, headers=self._headers) as response,
                ):
                    await response.read()
                    delivery["status"] = response.status
                    reason = f"Wrong response from the webhook: {response.status} {response.reason}"
            except aiohttp.ClientConnectorError:
                reason = "Connection refused"
            except aiohttp.ClientError:
                reason = "Connection reset by peer"
        status = delivery["status"]
        if status is None or not 200 <= status < 300:
            self.last_error = (int(self._clock()), reason)
        return status


def _lane(record: UpdateRecord) -> tuple[str, int]:
    body = record.payload.get(record.kind, {})
    if not isinstance(body, dict):
        return "other", 0
    if record.kind == "callback_query":
        return "callback", body.get("from", {}).get("id", 0)
    kind = "message" if record.kind.removeprefix("edited_") in {"message", "channel_post"} else record.kind
    return kind, body.get("chat", {}).get("id", 0)
