"""Conversations and what was said there: https://docs.slack.dev/reference/methods?family=conversations."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.errors import SlackError, missing
from tests.simulators.slack.ids import ts_key
from tests.simulators.slack.registry import Call, method
from tests.simulators.slack.world import IM, MPIM, PRIVATE, PUBLIC, Channel, Message

Json = dict[str, Any]
_TYPES = {"public_channel": PUBLIC, "private_channel": PRIVATE, "im": IM, "mpim": MPIM}


def _page(call: Call, items: list[Any], limit: int) -> tuple[list[Any], str]:
    """One page of a list and the cursor of the next (empty: none)."""
    cursor = call.params.text("cursor")
    start = 0
    if cursor:
        try:
            start = int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
        except (ValueError, binascii.Error):
            raise SlackError("invalid_cursor") from None
    more = start + limit < len(items)
    return items[start : start + limit], base64.b64encode(
        f"next:{start + limit}".encode()
    ).decode() if more else ""


def _limit(call: Call, default: int, most: int) -> int:
    limit = call.params.integer("limit", default)
    if not 1 <= limit <= most:
        raise SlackError("invalid_limit")
    return limit


def _window(call: Call) -> Callable[[Message], bool]:
    """Return whether a message lies between ``oldest`` and ``latest``."""
    oldest = call.params.ts("oldest", "invalid_ts_oldest")
    latest = call.params.ts("latest", "invalid_ts_latest")
    low, high = ts_key(oldest), ts_key(latest)
    inclusive = call.params.flag("inclusive")

    def inside(message: Message) -> bool:
        at = ts_key(message.ts)
        above = not oldest or low < at or (inclusive and low == at)
        below = not latest or at < high or (inclusive and high == at)
        return above and below

    return inside


def _shown(call: Call, messages: list[Message]) -> list[Json]:
    metadata = "all" if call.params.flag("include_all_metadata") else "type"
    return [message.to_json(metadata=metadata) for message in messages]


@method("conversations.history", scope="channels:history")
def history(call: Call) -> Json:
    channel = call.joined(call.channel())
    inside = _window(call)
    limit = _limit(call, limits.HISTORY_DEFAULT, limits.HISTORY_LIMIT)
    found = [
        message
        for message in channel.messages.values()
        if not message.deleted
        and (not message.is_reply or message.body.get("subtype") == "thread_broadcast")
        and inside(message)
    ]
    found.sort(key=lambda message: ts_key(message.ts), reverse=True)
    page, cursor = _page(call, found, limit)
    answer: Json = {"ok": True, "messages": _shown(call, page), "has_more": bool(cursor), "pin_count": 0}
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer


@method("conversations.replies", scope="channels:history")
def replies(call: Call) -> Json:
    channel = call.joined(call.channel())
    named = channel.living(call.params.ts("ts", "thread_not_found"))
    if named is None:
        raise SlackError("thread_not_found")
    parent = channel.messages.get(named.thread_ts or named.ts, named)
    inside = _window(call)
    limit = _limit(call, limits.REPLIES_LIMIT, limits.REPLIES_LIMIT)
    found = [message for message in channel.replies(parent.ts) if inside(message)]
    page, cursor = _page(call, found, limit)
    answer: Json = {"ok": True, "messages": _shown(call, [parent, *page]), "has_more": bool(cursor)}
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer


@method("conversations.info", scope="channels:read")
def info(call: Call) -> Json:
    channel = call.channel()
    return {"ok": True, "channel": channel.to_json(call.app.user.id)}


@method("conversations.list", scope="channels:read", tier=2)
def list_conversations(call: Call) -> Json:
    return _listed(call, lambda channel: channel.kind == PUBLIC or call.app.user.id in channel.members)


@method("users.conversations", scope="channels:read")
def own_conversations(call: Call) -> Json:
    user_id = call.params.text("user") or call.app.user.id
    if user_id not in call.sim.world.users:
        raise SlackError("user_not_found")
    return _listed(call, lambda channel: user_id in channel.members)


def _listed(call: Call, wanted: Callable[[Channel], bool]) -> Json:
    kinds = set()
    for name in (call.params.text("types") or "public_channel").split(","):
        if name.strip() not in _TYPES:
            raise SlackError("invalid_types")
        kinds.add(_TYPES[name.strip()])
    found = [
        channel
        for channel in call.sim.world.channels.values()
        if channel.kind in kinds
        and wanted(channel)
        and not (channel.archived and call.params.flag("exclude_archived"))
    ]
    page, cursor = _page(call, found, _limit(call, 100, limits.LIST_LIMIT))
    listed = [channel.to_json(call.app.user.id) for channel in page]
    return {"ok": True, "channels": listed, "response_metadata": {"next_cursor": cursor}}


@method("conversations.members", scope="channels:read", tier=4)
def members(call: Call) -> Json:
    channel = call.channel()
    page, cursor = _page(call, channel.members, _limit(call, 100, limits.LIST_LIMIT))
    return {"ok": True, "members": page, "response_metadata": {"next_cursor": cursor}}


@method("conversations.open", scope="im:write")
def open_conversation(call: Call) -> Json:
    world, now = call.sim.world, call.sim.clock()
    if call.params.text("channel"):
        channel = call.channel()
        if channel.kind not in {IM, MPIM}:
            raise SlackError("method_not_supported_for_channel_type")
        return {"ok": True, "no_op": True, "already_open": True, "channel": _opened(call, channel)}
    names = [name.strip() for name in call.params.text("users").split(",") if name.strip()]
    if not names:
        raise SlackError("users_list_not_supplied")
    if len(names) > limits.MAX_DM_USERS:
        raise SlackError("too_many_users")
    for name in names:
        person = world.users.get(name)
        if person is None:
            raise SlackError("user_not_found")
        if person.deleted:
            raise SlackError("user_disabled")
    channel, there = world.direct(list(dict.fromkeys([call.app.user.id, *names])), now)
    call.record.channel = channel.id
    answer: Json = {"ok": True, "channel": _opened(call, channel)}
    return answer | {"no_op": True, "already_open": True} if there else answer


def _opened(call: Call, channel: Channel) -> Json:
    if call.params.flag("return_im"):
        return channel.to_json(call.app.user.id)
    return {"id": channel.id}


@method("conversations.join", scope="channels:join")
def join(call: Call) -> Json:
    channel = call.channel()
    if channel.kind != PUBLIC:
        raise SlackError("method_not_supported_for_channel_type")
    if channel.archived:
        raise SlackError("is_archived")
    if call.app.user.id in channel.members:
        body = channel.to_json(call.app.user.id)
        return {"ok": True, "channel": body, "warning": "already_in_channel"}
    channel.members.append(call.app.user.id)
    call.sim.told_of_joining(channel, call.app.user.id, None)
    return {"ok": True, "channel": channel.to_json(call.app.user.id)}


@method("users.info", scope="users:read", tier=4)
def user_info(call: Call) -> Json:
    user_id = call.params.text("user")
    if not user_id:
        raise missing("user")
    if user_id not in call.sim.world.users:
        raise SlackError("user_not_found")
    return {"ok": True, "user": call.sim.world.users[user_id].to_json()}


@method("users.list", scope="users:read", tier=2)
def list_users(call: Call) -> Json:
    page, cursor = _page(call, list(call.sim.world.users.values()), _limit(call, 200, limits.LIST_LIMIT))
    found = [user.to_json() for user in page]
    return {
        "ok": True,
        "members": found,
        "cache_ts": call.sim.now(),
        "response_metadata": {"next_cursor": cursor},
    }


@method("auth.test", tier=4)
def auth_test(call: Call) -> Json:
    world, app = call.sim.world, call.app
    return {
        "ok": True,
        "url": f"https://{world.team_domain}.slack.com/",
        "team": world.team_name,
        "user": app.user.name,
        "team_id": world.team_id,
        "user_id": app.user.id,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }
