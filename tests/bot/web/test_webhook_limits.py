"""The webhook endpoint's limits, at a clock that stands: forged requests use up nothing of the sender's."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import httpx

from bot.web.webhooks import AT_ONCE, WebhookEndpoint
from core.routines.webhooks import Proven, Refusal, Refused, Taken, Webhooks
from tests.clock import ManualClock


class OneHook:
    """As much of core.routines.webhooks.Webhooks as the endpoint uses. Its sender signs with `ours`."""

    def opens(self, _path: str) -> bool:
        return True

    def unsigned(self, _path: str, _headers: object) -> None:
        return None

    async def prove(self, _path: str, headers: Mapping[str, str], _body: bytes) -> Proven | Refused:
        return cast("Proven", "ours") if headers["signature"] == "ours" else Refused(Refusal.UNPROVEN, "no")

    async def deliver(self, _proven: Proven) -> Taken:
        return Taken("run", repeated=False)


async def test_forged_requests_do_not_use_up_the_senders_limit() -> None:
    app: Any = WebhookEndpoint(cast("Webhooks", OneHook()), ManualClock())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://h") as http:

        async def statuses(signature: str, times: int, path: str = "ci") -> Counter[int]:
            sent = {"signature": signature, "content-type": "application/json"}
            url = f"/api/webhooks/{path}"
            asked = [await http.post(url, content=b"{}", headers=sent) for _ in range(times)]
            return Counter(answer.status_code for answer in asked)

        assert await statuses("forged", 2 * AT_ONCE) == {401: AT_ONCE, 429: AT_ONCE}
        assert await statuses("ours", AT_ONCE + 1) == {202: AT_ONCE, 429: 1}
        assert await statuses("forged", 1, "another") == {401: 1}
        assert await statuses("ours", 1, "another") == {202: 1}
