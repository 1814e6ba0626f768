"""Messages and reactions: https://docs.discord.com/developers/resources/message."""

from typing import Any
from urllib.parse import unquote

import regex

from tests.simulators.discord import errors, limits
from tests.simulators.discord.drafts import Draft, check_says_something, read_draft
from tests.simulators.discord.errors import ApiError, invalid
from tests.simulators.discord.mentions import pings
from tests.simulators.discord.payloads import user_json
from tests.simulators.discord.permissions import (
    ADD_REACTIONS,
    ATTACH_FILES,
    EMBED_LINKS,
    MANAGE_MESSAGES,
    READ_MESSAGE_HISTORY,
    can,
    needed_to_send,
)
from tests.simulators.discord.registry import NO_CONTENT, Call, route
from tests.simulators.discord.world import CATEGORY, DEFAULT, EPHEMERAL, FORUM, REPLY, Channel, Message

Json = dict[str, Any]
MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = MESSAGES + "/{message_id}"
REACTION = MESSAGE + "/reactions/{emoji}"
_EMOJI = regex.compile(r"(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|[0-9#*]\uFE0F?\u20E3)")


def writable_channel(call: Call) -> Channel:
    """The channel in the path, if this bot may write there."""
    channel = call.channel()
    if channel.kind == FORUM:
        raise ApiError(400, 40058, "Cannot send a message in a forum channel")
    if channel.kind == CATEGORY:
        raise ApiError(400, 50008, "Cannot send messages in a non-text channel")
    if channel.is_dm:
        _check_recipient(call, channel)
    elif channel.archived and channel.locked:
        raise errors.archived_thread()
    call.need(channel, needed_to_send(channel))
    return channel


def _check_recipient(call: Call, channel: Channel) -> None:
    for user in channel.recipients:
        if user.id in call.bot.blocked_by:
            raise ApiError(403, 50007, "Cannot send messages to this user")
        guilds = call.sim.world.guilds_of(user.id)
        if user.id != call.bot.id and not any(call.bot.id in guild.members for guild in guilds):
            message = "Cannot send messages to this user due to having no mutual guilds"
            raise ApiError(403, 50278, message)


@route("createMessage", "POST", MESSAGES)
def create_message(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/message#create-message."""
    channel = writable_channel(call)
    draft = read_draft(call.body)
    check_says_something(draft)
    check_extras(call, channel, draft)
    answered, answered_id = _answered(call, channel, draft.reference)
    again = _same_nonce(call, draft)
    if again is not None:
        return call.shown(again) | {"nonce": draft.nonce}
    message = call.sim.post(
        channel,
        call.bot.user,
        draft.content or "",
        type=DEFAULT if answered_id is None else REPLY,
        embeds=draft.embeds or [],
        components=draft.components or [],
        attachments=[call.sim.store(upload, about) for upload, about in draft.uploads],
        pings=pings(
            draft.content or "",
            channel,
            call.bot.user,
            call.sim.world.users,
            allowed=draft.allowed,
            reply_to=answered,
        ),
        reply_to=answered,
        reply_to_id=answered_id,
        nonce=draft.nonce,
        flags=draft.flags & ~EPHEMERAL,
        request=call.record.number,
    )
    call.touched(message)
    return call.shown(message) | ({} if draft.nonce is None else {"nonce": draft.nonce})


def check_extras(call: Call, channel: Channel, draft: Draft) -> None:
    """Files and embeds need permissions of their own."""
    if draft.uploads:
        call.need(channel, ATTACH_FILES)
    if draft.embeds:
        call.need(channel, EMBED_LINKS)


def _same_nonce(call: Call, draft: Draft) -> Message | None:
    """The message of the past minutes that has this nonce, when uniqueness is asked for."""
    if not draft.enforce_nonce or draft.nonce is None:
        return None
    found = call.sim.nonces.get((call.bot.id, str(draft.nonce)))
    recent = found is not None and found.sent_at >= call.sim.clock() - call.sim.nonce_window_s
    return found if recent else None


def _answered(call: Call, channel: Channel, reference: Any) -> tuple[Message | None, int | None]:
    """The message to be answered. Raises ``ApiError`` 50035 if it is not there."""
    if reference is None:
        return None, None
    if not isinstance(reference, dict) or not str(reference.get("message_id", "")).isdecimal():
        raise invalid(("message_reference", "message_id"), "BASE_TYPE_REQUIRED", "This field is required")
    if reference.get("type", 0) != 0:
        raise invalid(("message_reference", "type"), "NOT_SIMULATED", "This simulator forwards nothing.")
    path = ("message_reference",)
    if not can(channel, call.bot.id, READ_MESSAGE_HISTORY):
        code = "REPLIES_CANNOT_REPLY_WITHOUT_READ_HISTORY_PERMISSION"
        raise invalid(path, code, "Cannot reply without permission to read message history")
    found = channel.messages.get(int(reference["message_id"]))
    if found is None or found.deleted or found.ephemeral_for is not None:
        if reference.get("fail_if_not_exists", True):
            raise invalid(path, "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return None, None
    if found.is_system:
        code = "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE"
        raise invalid(path, code, "Cannot reply to a system message")
    return found, found.id


@route("getMessage", "GET", MESSAGE)
def get_message(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/message#get-channel-message."""
    channel = call.channel(READ_MESSAGE_HISTORY)
    return call.shown(call.message(channel))


@route("listMessages", "GET", MESSAGES)
def list_messages(call: Call) -> list[Json]:
    """https://docs.discord.com/developers/resources/message#get-channel-messages: newest first."""
    channel = call.channel()
    form, collected = call.asked()
    most = form.integer("limit", 1, limits.MAX_MESSAGES, default=limits.DEFAULT_MESSAGES) or 0
    around, before, after = (form.snowflake(name) for name in ("around", "before", "after"))
    collected.refuse_if_any()
    if not can(channel, call.bot.id, READ_MESSAGE_HISTORY):
        return []
    shown = channel.shown()
    if around is not None:
        half = most // 2
        older = [m for m in shown if m.id < around][-half:] if half else []
        shown = older + [m for m in shown if m.id >= around][: most - len(older)]
    elif before is not None:
        shown = [m for m in shown if m.id < before][-most:]
    elif after is not None:
        shown = [m for m in shown if m.id > after][:most]
    return [call.shown(message) for message in reversed(shown[-most:])]


@route("editMessage", "PATCH", MESSAGE)
def edit_message(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/message#edit-message."""
    channel = call.channel()
    message = call.message(channel)
    if message.author.id != call.bot.id:
        raise ApiError(403, 50005, "Cannot edit a message authored by another user")
    if channel.archived:
        raise errors.archived_thread()
    draft = read_draft(call.body)
    check_extras(call, channel, draft)
    return call.shown(apply_edit(call, message, draft))


def apply_edit(call: Call, message: Message, draft: Draft) -> Message:
    """Gives a message what the draft speaks of. Raises ``ApiError`` 50006 if nothing would be left."""
    content = "" if draft.clears_content else draft.content
    kept = _kept(message, draft)
    left = message.content if content is None else content
    if not left and _only_content(message, draft):
        raise errors.empty_message()
    fields: Json = {"attachments": kept + [call.sim.store(upload, about) for upload, about in draft.uploads]}
    if content is not None:
        fields["content"] = content
        fields["pings"] = pings(
            content,
            message.channel,
            call.bot.user,
            call.sim.world.users,
            allowed=draft.allowed,
            reply_to=message.reply_to,
        )
    fields |= {} if draft.embeds is None else {"embeds": draft.embeds}
    fields |= {} if draft.components is None else {"components": draft.components}
    call.sim.change(message, call.record.number, **fields)
    return call.touched(message)


def _kept(message: Message, draft: Draft) -> list[Any]:
    if draft.keep is None:
        return list(message.attachments)
    wanted = {entry["id"]: entry for entry in draft.keep}
    for number, entry in wanted.items():
        if number not in {attachment.id for attachment in message.attachments}:
            raise invalid(entry["path"], "ATTACHMENT_NOT_FOUND", "Uploaded attachment not found")
    return [attachment for attachment in message.attachments if attachment.id in wanted]


def _only_content(message: Message, draft: Draft) -> bool:
    """Return whether nothing but the content is left to show."""
    embeds = message.embeds if draft.embeds is None else draft.embeds
    components = message.components if draft.components is None else draft.components
    return not (embeds or components or draft.uploads or _kept(message, draft))


@route("deleteMessage", "DELETE", MESSAGE)
def delete_message(call: Call) -> object:
    """https://docs.discord.com/developers/resources/message#delete-message."""
    channel = call.channel()
    message = call.message(channel)
    if message.author.id != call.bot.id:
        if channel.is_dm:
            raise ApiError(403, 50003, "Cannot execute action on a DM channel")
        call.need(channel, MANAGE_MESSAGES)
    call.sim.remove(call.touched(message))
    return NO_CONTENT


# -- reactions


def _emoji(call: Call) -> str:
    name = unquote(call.path["emoji"])
    if _EMOJI.match(name) is None:
        raise errors.unknown_emoji()
    return name


@route("addReaction", "PUT", REACTION + "/@me")
def add_reaction(call: Call) -> object:
    """https://docs.discord.com/developers/resources/message#create-reaction."""
    channel = call.channel(READ_MESSAGE_HISTORY)
    message, emoji = call.message(channel), _emoji(call)
    if emoji not in message.reactions:
        call.need(channel, ADD_REACTIONS)
        if len(message.reactions) >= limits.MAX_REACTIONS:
            raise ApiError(400, 30010, f"Maximum number of reactions reached ({limits.MAX_REACTIONS})")
    call.sim.react(call.touched(message), call.bot.user, emoji, on=True)
    return NO_CONTENT


@route("removeReaction", "DELETE", REACTION + "/@me")
def remove_reaction(call: Call) -> object:
    """https://docs.discord.com/developers/resources/message#delete-own-reaction."""
    message, emoji = call.message(call.channel()), _emoji(call)
    if call.bot.id in message.reactions.get(emoji, []):
        call.sim.react(call.touched(message), call.bot.user, emoji, on=False)
    return NO_CONTENT


@route("listReactions", "GET", REACTION)
def list_reactions(call: Call) -> list[Json]:
    """https://docs.discord.com/developers/resources/message#get-reactions."""
    message, emoji = call.message(call.channel(READ_MESSAGE_HISTORY)), _emoji(call)
    form, collected = call.asked()
    most = form.integer("limit", 1, limits.MAX_REACTION_USERS, default=25) or 0
    after = form.snowflake("after") or 0
    collected.refuse_if_any()
    by = sorted(user_id for user_id in message.reactions.get(emoji, []) if user_id > after)
    return [user_json(call.sim.world.users[user_id]) for user_id in by[:most]]
