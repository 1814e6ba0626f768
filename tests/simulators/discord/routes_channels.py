"""Channels, threads, typing and guilds: https://docs.discord.com/developers/resources/channel, …/guild."""

from typing import Any

from tests.simulators.discord import errors, limits
from tests.simulators.discord.drafts import check_says_something, read_draft
from tests.simulators.discord.errors import ApiError
from tests.simulators.discord.forms import Form
from tests.simulators.discord.mentions import pings
from tests.simulators.discord.payloads import (
    channel_json,
    guild_json,
    member_json,
    thread_member_json,
    user_json,
)
from tests.simulators.discord.permissions import (
    CREATE_PRIVATE_THREADS,
    CREATE_PUBLIC_THREADS,
    MANAGE_THREADS,
    SEND_MESSAGES,
    VIEW_CHANNEL,
    can,
    needed_to_send,
)
from tests.simulators.discord.registry import NO_CONTENT, Call, Created, route
from tests.simulators.discord.routes_messages import check_extras
from tests.simulators.discord.world import DM, FORUM, PRIVATE_THREAD, PUBLIC_THREAD, TEXT, Channel

Json = dict[str, Any]


@route("getChannel", "GET", "/channels/{channel_id}")
def get_channel(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/channel#get-channel."""
    return channel_json(call.channel(), call.bot.id)


@route("triggerTyping", "POST", "/channels/{channel_id}/typing")
def trigger_typing(call: Call) -> object:
    """https://docs.discord.com/developers/resources/channel#trigger-typing-indicator."""
    channel = call.channel()
    call.need(channel, needed_to_send(channel))
    call.sim.types(channel, call.bot.user)
    return NO_CONTENT


@route("createDm", "POST", "/users/@me/channels")
def create_dm(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/user#create-dm: or the one that is there already."""
    form, collected = call.form()
    user_id = form.snowflake("recipient_id", required=True)
    collected.refuse_if_any()
    user = call.sim.world.users.get(user_id or 0)
    if user is None or user.is_bot:
        raise ApiError(400, 50033, "Invalid Recipient(s)")
    return channel_json(call.sim.open_dm(call.bot, user), call.bot.id)


# -- threads


def _thread_name(form: Form) -> str:
    return form.text("name", limits.MAX_THREAD_NAME_CHARS, least=1, required=True) or ""


def _archive_minutes(form: Form) -> int:
    minutes: int = form.choice("auto_archive_duration", limits.AUTO_ARCHIVE_MINUTES, default=1440)
    return minutes


@route("startThreadFromMessage", "POST", "/channels/{channel_id}/messages/{message_id}/threads")
def start_thread_from_message(call: Call) -> Created:
    """https://docs.discord.com/developers/resources/channel#start-thread-from-message: with its id."""
    channel = call.channel()
    if channel.kind != TEXT:
        raise errors.wrong_channel_type()
    message = call.message(channel)
    call.need(channel, CREATE_PUBLIC_THREADS)
    form, collected = call.form()
    name, minutes = _thread_name(form), _archive_minutes(form)
    collected.refuse_if_any()
    if message.thread is not None:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    thread = call.sim.open_thread(channel, call.bot.user, name, message=message, minutes=minutes)
    call.touched(message)
    return Created(channel_json(thread, call.bot.id))


@route("startThread", "POST", "/channels/{channel_id}/threads")
def start_thread(call: Call) -> Created:
    """https://docs.discord.com/developers/resources/channel#start-thread-without-message; a forum's post."""
    channel = call.channel()
    form, collected = call.form()
    name, minutes = _thread_name(form), _archive_minutes(form)
    if channel.kind == FORUM:
        return Created(_forum_post(call, channel, form, name, minutes))
    if channel.kind != TEXT:
        raise errors.wrong_channel_type()
    kind = form.choice("type", (PUBLIC_THREAD, PRIVATE_THREAD), default=PRIVATE_THREAD)
    collected.refuse_if_any()
    call.need(channel, CREATE_PUBLIC_THREADS if kind == PUBLIC_THREAD else CREATE_PRIVATE_THREADS)
    thread = call.sim.open_thread(channel, call.bot.user, name, kind=kind, minutes=minutes)
    return Created(channel_json(thread, call.bot.id))


def _forum_post(call: Call, channel: Channel, form: Form, name: str, minutes: int) -> Json:
    """https://docs.discord.com/developers/resources/channel#start-thread-in-forum-or-media-channel."""
    call.need(channel, SEND_MESSAGES)
    if form.values.get("message") is None:
        form.wrong("message", "BASE_TYPE_REQUIRED", "This field is required")
    form.errors.refuse_if_any()
    draft = read_draft(call.body, "message")
    check_says_something(draft)
    check_extras(call, channel, draft)
    thread = call.sim.open_thread(channel, call.bot.user, name, minutes=minutes)
    content = draft.content or ""
    message = call.sim.post(
        thread,
        call.bot.user,
        content,
        message_id=thread.id,
        embeds=draft.embeds or [],
        components=draft.components or [],
        attachments=[call.sim.store(upload, about) for upload, about in draft.uploads],
        pings=pings(content, thread, call.bot.user, call.sim.world.users, allowed=draft.allowed),
        request=call.record.number,
    )
    return channel_json(thread, call.bot.id) | {"message": call.shown(call.touched(message))}


@route("modifyChannel", "PATCH", "/channels/{channel_id}")
def modify_channel(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/channel#modify-channel: threads only."""
    thread = call.channel()
    if not thread.is_thread:
        raise errors.missing_permissions()
    form, collected = call.form()
    name = form.text("name", limits.MAX_THREAD_NAME_CHARS, least=1)
    archived, locked = form.flag("archived", thread.archived), form.flag("locked", thread.locked)
    collected.refuse_if_any()
    if locked != thread.locked or thread.owner_id != call.bot.id:
        call.need(thread, MANAGE_THREADS)
    thread.name, thread.archived, thread.locked = name or thread.name, archived, locked
    call.sim.announce_channel("THREAD_UPDATE", thread)
    return channel_json(thread, call.bot.id)


@route("joinThread", "PUT", "/channels/{channel_id}/thread-members/@me")
def join_thread(call: Call) -> object:
    """https://docs.discord.com/developers/resources/channel#join-thread."""
    thread = call.channel()
    if not thread.is_thread:
        raise errors.wrong_channel_type()
    if thread.archived:
        raise errors.archived_thread()
    thread.thread_members.setdefault(call.bot.id, call.sim.clock())
    return NO_CONTENT


@route("leaveThread", "DELETE", "/channels/{channel_id}/thread-members/@me")
def leave_thread(call: Call) -> object:
    """https://docs.discord.com/developers/resources/channel#leave-thread."""
    call.channel().thread_members.pop(call.bot.id, None)
    return NO_CONTENT


@route("listActiveThreads", "GET", "/guilds/{guild_id}/threads/active")
def list_active_threads(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/guild#list-active-guild-threads."""
    guild = call.guild()
    found = [c for c in guild.channels.values() if c.is_thread and not c.archived and not c.deleted]
    return _thread_list(call, [c for c in found if can(c, call.bot.id, VIEW_CHANNEL)])


@route("listArchivedThreads", "GET", "/channels/{channel_id}/threads/archived/public")
def list_archived_threads(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/channel#list-public-archived-threads."""
    found = [t for t in call.sim.world.threads_of(call.channel()) if t.archived and t.kind == PUBLIC_THREAD]
    return _thread_list(call, found) | {"has_more": False}


def _thread_list(call: Call, threads: list[Channel]) -> Json:
    own = [t for t in threads if call.bot.id in t.thread_members]
    return {
        "threads": [channel_json(thread, call.bot.id) for thread in reversed(threads)],
        "members": [thread_member_json(thread, call.bot.id) for thread in own],
    }


# -- guilds and people


@route("getGuild", "GET", "/guilds/{guild_id}")
def get_guild(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/guild#get-guild."""
    return guild_json(call.guild())


@route("listGuildChannels", "GET", "/guilds/{guild_id}/channels")
def list_guild_channels(call: Call) -> list[Json]:
    """https://docs.discord.com/developers/resources/guild#get-guild-channels: threads left out."""
    found = [c for c in call.guild().channels.values() if not c.is_thread and not c.deleted]
    return [channel_json(channel, call.bot.id) for channel in found if channel.kind != DM]


@route("getMember", "GET", "/guilds/{guild_id}/members/{user_id}")
def get_member(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/guild#get-guild-member."""
    found = call.guild().members.get(call.number("user_id"))
    if found is None:
        raise ApiError(404, 10007, "Unknown Member")
    return member_json(found)


@route("getUser", "GET", "/users/{user_id}")
def get_user(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/user#get-user."""
    found = call.sim.world.users.get(call.number("user_id"))
    if found is None:
        raise errors.unknown_user()
    return user_json(found)
