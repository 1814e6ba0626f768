"""The world on the wire: users, guilds, channels and messages as JSON objects.

https://docs.discord.com/developers/resources/. Ids are text. ``message_json`` empties a message's content for
who lacks the message content intent (events/gateway#message-content-intent).
"""

from collections.abc import Callable
from typing import Any

from tests.simulators.discord.permissions import permissions_in
from tests.simulators.discord.snowflakes import iso
from tests.simulators.discord.world import (
    DM,
    FORUM,
    PRIVATE_THREAD,
    Attachment,
    Channel,
    Guild,
    Member,
    Message,
    User,
)

Json = dict[str, Any]
AttachmentUrl = Callable[[Channel, Attachment], str]


def user_json(user: User) -> Json:
    """https://docs.discord.com/developers/resources/user#user-object."""
    body: Json = {
        "id": str(user.id),
        "username": user.username,
        "discriminator": "0000" if user.is_bot else "0",
        "global_name": user.global_name,
        "avatar": None,
        "banner": None,
        "accent_color": None,
        "public_flags": 0,
    }
    return body | {"bot": True} if user.is_bot else body


def member_json(member: Member, *, with_user: bool = True) -> Json:
    """https://docs.discord.com/developers/resources/guild#guild-member-object."""
    body: Json = {
        "nick": member.nick,
        "avatar": None,
        "banner": None,
        "roles": [str(role) for role in member.roles],
        "joined_at": iso(member.joined_at),
        "premium_since": None,
        "communication_disabled_until": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
    }
    return body | {"user": user_json(member.user)} if with_user else body


def channel_json(channel: Channel, viewer_id: int | None = None) -> Json:
    """https://docs.discord.com/developers/resources/channel#channel-object."""
    last = max(channel.messages, default=None)
    body: Json = {
        "id": str(channel.id),
        "type": channel.kind,
        "flags": 0,
        "last_message_id": None if last is None else str(last),
    }
    if channel.kind == DM:
        others = [user_json(user) for user in channel.recipients if user.id != viewer_id]
        return body | {"recipients": others}
    assert channel.guild is not None
    body |= {
        "guild_id": str(channel.guild.id),
        "name": channel.name,
        "parent_id": None if channel.parent is None else str(channel.parent.id),
        "rate_limit_per_user": 0,
    }
    return body | (_thread_json(channel, viewer_id) if channel.is_thread else _place_json(channel))


def _place_json(channel: Channel) -> Json:
    body: Json = {
        "position": 0,
        "nsfw": False,
        "topic": channel.topic,
        "permission_overwrites": [
            {"id": str(o.id), "type": o.type, "allow": str(o.allow), "deny": str(o.deny)}
            for o in channel.overwrites
        ],
    }
    if channel.kind == FORUM:
        body |= {
            "available_tags": [],
            "default_reaction_emoji": None,
            "default_sort_order": None,
            "default_forum_layout": 0,
            "default_auto_archive_duration": 1440,
            "default_thread_rate_limit_per_user": 0,
        }
    return body


def _thread_json(thread: Channel, viewer_id: int | None) -> Json:
    shown = thread.shown()
    body: Json = {
        "owner_id": str(thread.owner_id),
        "message_count": len(shown),
        "total_message_sent": len(thread.messages),
        "member_count": len(thread.thread_members),
        "applied_tags": [],
        "thread_metadata": {
            "archived": thread.archived,
            "auto_archive_duration": thread.auto_archive_minutes,
            "archive_timestamp": iso(thread.created_at),
            "create_timestamp": iso(thread.created_at),
            "locked": thread.locked,
        },
    }
    if thread.kind == PRIVATE_THREAD:
        body["thread_metadata"]["invitable"] = True
    if viewer_id in thread.thread_members:
        body["member"] = thread_member_json(thread, viewer_id)
    return body


def thread_member_json(thread: Channel, user_id: int) -> Json:
    """https://docs.discord.com/developers/resources/channel#thread-member-object."""
    joined = iso(thread.thread_members[user_id])
    return {"id": str(thread.id), "user_id": str(user_id), "join_timestamp": joined, "flags": 0}


def guild_json(guild: Guild) -> Json:
    """https://docs.discord.com/developers/resources/guild#guild-object."""
    nothing = ("icon", "splash", "discovery_splash", "afk_channel_id", "application_id", "system_channel_id")
    more = ("rules_channel_id", "public_updates_channel_id", "safety_alerts_channel_id", "description")
    rest = ("vanity_url_code", "banner", "widget_channel_id")
    return {name: None for name in (*nothing, *more, *rest)} | {
        "id": str(guild.id),
        "name": guild.name,
        "owner_id": str(guild.owner_id),
        "roles": [
            {
                "id": str(role.id),
                "name": role.name,
                "permissions": str(role.permissions),
                "color": 0,
                "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
                "hoist": False,
                "position": n,
                "managed": False,
                "mentionable": role.mentionable,
                "icon": None,
                "unicode_emoji": None,
                "flags": 0,
            }
            for n, role in enumerate(guild.roles.values())
        ],
        "emojis": [],
        "stickers": [],
        "features": [],
        "afk_timeout": 300,
        "widget_enabled": False,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "system_channel_flags": 0,
        "preferred_locale": "en-US",
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "premium_progress_bar_enabled": False,
        "nsfw_level": 0,
        "nsfw": False,
        "incidents_data": None,
    }


def guild_create_json(guild: Guild, bot_id: int) -> Json:
    """https://docs.discord.com/developers/events/gateway-events#guild-create: with channels and members.

    ``unavailable`` is there only for guilds that READY announced.
    """
    seen = [c for c in guild.channels.values() if not c.deleted and permissions_in(c, bot_id)]
    return guild_json(guild) | {
        "joined_at": iso(guild.members[bot_id].joined_at),
        "large": False,
        "member_count": len(guild.members),
        "voice_states": [],
        "members": [member_json(member) for member in guild.members.values()],
        "channels": [channel_json(c, bot_id) for c in seen if not c.is_thread],
        "threads": [channel_json(c, bot_id) for c in seen if c.is_thread and not c.archived],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def attachment_json(channel: Channel, attachment: Attachment, url: AttachmentUrl) -> Json:
    """https://docs.discord.com/developers/resources/message#attachment-object."""
    where = url(channel, attachment)
    body: Json = {
        "id": str(attachment.id),
        "filename": attachment.name,
        "size": len(attachment.content),
        "url": where,
        "proxy_url": where,
    }
    if attachment.media_type is not None:
        body["content_type"] = attachment.media_type
    if attachment.description is not None:
        body["description"] = attachment.description
    return body


def message_json(
    message: Message,
    users: dict[int, User],
    url: AttachmentUrl,
    *,
    viewer_id: int | None = None,
    readable: bool = True,
    with_reference: bool = True,
) -> Json:
    """https://docs.discord.com/developers/resources/message#message-object.

    Not ``readable``: without what the message content intent protects.
    """
    mentioned = [users[user_id] for user_id in message.pings["users"]]
    body: Json = {
        "id": str(message.id),
        "channel_id": str(message.channel.id),
        "author": user_json(message.author),
        "content": message.content if readable else "",
        "timestamp": iso(message.sent_at),
        "edited_timestamp": None if message.edited_at is None else iso(message.edited_at),
        "tts": False,
        "mention_everyone": message.pings["everyone"],
        "mentions": [user_json(user) for user in mentioned],
        "mention_roles": [str(role) for role in message.pings["roles"]],
        "mention_channels": [],
        "attachments": [attachment_json(message.channel, a, url) for a in message.attachments if readable],
        "embeds": message.embeds if readable else [],
        "components": message.components if readable else [],
        "pinned": False,
        "type": message.type,
        "flags": message.flags,
    }
    if message.reactions:
        body["reactions"] = [_reaction(name, by, viewer_id) for name, by in message.reactions.items()]
    if message.application_id is not None:
        body["application_id"] = body["webhook_id"] = str(message.application_id)
    if message.interaction is not None:
        body["interaction_metadata"] = message.interaction
    if message.thread is not None:
        body["thread"] = channel_json(message.thread, viewer_id)
    if message.reply_to_id is not None and with_reference:
        body |= _reference(message, users, url, viewer_id, readable)
    return body


def _reference(
    message: Message, users: dict[int, User], url: AttachmentUrl, viewer_id: int | None, readable: bool
) -> Json:
    place = message.channel if message.reply_to is None else message.reply_to.channel
    reference = {"type": 0, "message_id": str(message.reply_to_id), "channel_id": str(place.id)}
    if place.guild is not None:
        reference["guild_id"] = str(place.guild.id)
    answered = message.reply_to
    if answered is None or answered.deleted:
        return {"message_reference": reference, "referenced_message": None}
    own = answered.author.id == viewer_id
    shown = message_json(
        answered, users, url, viewer_id=viewer_id, readable=readable or own, with_reference=False
    )
    return {"message_reference": reference, "referenced_message": shown}


def _reaction(name: str, by: list[int], viewer_id: int | None) -> Json:
    return {
        "emoji": {"id": None, "name": name},
        "count": len(by),
        "count_details": {"burst": 0, "normal": len(by)},
        "me": viewer_id in by,
        "me_burst": False,
        "burst_colors": [],
    }
