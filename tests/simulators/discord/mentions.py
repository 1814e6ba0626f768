"""Whom a message notifies: https://docs.discord.com/developers/resources/message#allowed-mentions-object."""

from typing import Any

from tests.simulators.discord import limits
from tests.simulators.discord.forms import Form
from tests.simulators.discord.markdown import mentions
from tests.simulators.discord.permissions import MENTION_EVERYONE, can
from tests.simulators.discord.world import Channel, Message, User

Json = dict[str, Any]
PARSE_TYPES = ("roles", "users", "everyone")
_KIND_OF = {"user": "users", "role": "roles", "everyone": "everyone", "here": "everyone"}


def read_allowed(form: Form) -> Json | None:
    """The body's ``allowed_mentions``, checked; None if absent."""
    allowed = form.form("allowed_mentions")
    if allowed is None:
        return None
    parse = allowed.items("parse", len(PARSE_TYPES)) or []
    for n, kind in enumerate(parse):
        if kind not in PARSE_TYPES:
            message = "Value must be one of ('roles', 'users', 'everyone')."
            allowed.errors.add((*allowed.path, "parse", n), "BASE_TYPE_CHOICES", message)
    named: Json = {"parse": parse, "replied_user": allowed.flag("replied_user")}
    for kind, most in (("users", limits.MAX_ALLOWED_USERS), ("roles", limits.MAX_ALLOWED_ROLES)):
        ids = allowed.items(kind, most) or []
        if ids and kind in parse:
            message = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            form.wrong("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", message)
        named[kind] = {int(one) for one in ids}
    return named


def pings(
    content: str,
    channel: Channel,
    author: User,
    users: dict[int, User],
    *,
    allowed: Json | None = None,
    reply_to: Message | None = None,
) -> Json:
    """Whom this content notifies: ``{"users": [ids], "roles": [ids], "everyone": bool}``.

    Without ``allowed`` everything it names; an answered author by default too.
    """
    may_broadcast = can(channel, author.id, MENTION_EVERYONE)
    result: Json = {"users": [], "roles": [], "everyone": False}
    for kind, number in mentions(content):
        group = _KIND_OF.get(kind)
        if group is None or not _is_allowed(allowed, group, number):
            continue
        if group == "everyone":
            result["everyone"] = result["everyone"] or (may_broadcast and channel.guild is not None)
        elif group == "users" and number in users:
            result["users"] += [number] if number not in result["users"] else []
        elif group == "roles" and channel.guild is not None and number in channel.guild.roles:
            role = channel.guild.roles[number]
            if (role.mentionable or may_broadcast) and number not in result["roles"]:
                result["roles"].append(number)
    answered = None if reply_to is None else reply_to.author.id
    if (
        answered is not None
        and answered not in result["users"]
        and (allowed is None or allowed["replied_user"])
    ):
        result["users"].append(answered)
    return result


def _is_allowed(allowed: Json | None, group: str, number: int) -> bool:
    return allowed is None or group in allowed["parse"] or number in allowed.get(group, ())
