"""getUpdates, setWebhook, deleteWebhook, getWebhookInfo."""

import re
from typing import Any
from urllib.parse import urlsplit

from tests.simulators.telegram.errors import bad_request
from tests.simulators.telegram.limits import MAX_SECRET_TOKEN_CHARS
from tests.simulators.telegram.registry import Call, method
from tests.simulators.telegram.updates import BY_SET_WEBHOOK
from tests.simulators.telegram.webhooks import Webhook

Json = dict[str, Any]


@method("getUpdates")
async def get_updates(call: Call) -> list[Json]:
    """https://core.telegram.org/bots/api#getupdates."""
    polls = call.sim.polls[call.bot.id]
    if not polls.webhook_active:
        polls.queue.allow(_allowed(call))
    records = await polls.get_updates(
        call.params.integer("offset"),
        call.params.integer("limit", 100),
        call.params.integer("timeout"),
        call.record,
    )
    now = call.sim.clock()
    for record in records:
        record.deliveries.append({"at": now, "via": "poll", "request": call.record.number})
        call.record.update_ids.append(record.update_id)
    return [{"update_id": record.update_id, **record.payload} for record in records]


@method("setWebhook")
async def set_webhook(call: Call) -> bool:
    """https://core.telegram.org/bots/api#setwebhook.

    Plain HTTP is accepted, so that it works on one machine.
    """
    url = call.params.text("url")
    if not url:
        return await delete_webhook(call)
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise bad_request("invalid webhook URL specified")
    secret = call.params.text("secret_token")
    if len(secret) > MAX_SECRET_TOKEN_CHARS:
        raise bad_request("secret token is too long")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
        raise bad_request("secret token contains unallowed characters")
    queue, polls = call.sim.queues[call.bot.id], call.sim.polls[call.bot.id]
    max_connections = min(max(call.params.integer("max_connections", 40), 1), 100)
    drop_pending = call.params.flag("drop_pending_updates")
    current = call.sim.webhooks.get(call.bot.id)
    if current is not None and not drop_pending and current.is_same(url, secret, max_connections):
        queue.allow(_allowed(call))
        return True
    polls.abort(BY_SET_WEBHOOK)
    await _close(call)
    if drop_pending:
        queue.drop_all("dropped by setWebhook")
    queue.allow(_allowed(call))
    webhook = Webhook(
        url,
        queue,
        secret=secret,
        max_connections=max_connections,
        retry_s=call.sim.webhook_retry_s,
        clock=call.sim.clock,
        changed=call.sim.changed,
    )
    call.sim.webhooks[call.bot.id] = webhook
    polls.webhook_active = True
    queue.on_push = webhook.push
    return True


@method("deleteWebhook")
async def delete_webhook(call: Call) -> bool:
    """https://core.telegram.org/bots/api#deletewebhook."""
    await _close(call)
    if call.params.flag("drop_pending_updates"):
        call.sim.queues[call.bot.id].drop_all("dropped by deleteWebhook")
    return True


async def _close(call: Call) -> None:
    webhook = call.sim.webhooks.pop(call.bot.id, None)
    if webhook is not None:
        await webhook.close()
    polls = call.sim.polls[call.bot.id]
    polls.webhook_active = False
    polls.queue.on_push = lambda _record: polls.wake()


@method("getWebhookInfo")
def get_webhook_info(call: Call) -> Json:
    """https://core.telegram.org/bots/api#getwebhookinfo."""
    webhook, queue = call.sim.webhooks.get(call.bot.id), call.sim.queues[call.bot.id]
    info: Json = {
        "url": webhook.url if webhook else "",
        "has_custom_certificate": False,
        "pending_update_count": len(queue.pending),
    }
    if webhook is not None:
        info["max_connections"] = webhook.max_connections
        if webhook.last_error is not None:
            info["last_error_date"], info["last_error_message"] = webhook.last_error
    if queue.allowed != queue.default_allowed:
        info["allowed_updates"] = sorted(queue.allowed)
    return info


def _allowed(call: Call) -> list[str] | None:
    raw = call.params.json("allowed_updates", "allowed updates")
    return [str(kind) for kind in raw] if isinstance(raw, list) else None
