"""Permissions: https://docs.discord.com/developers/topics/permissions."""

from tests.simulators.discord.world import PRIVATE_THREAD, Channel, Guild, Overwrite

ADD_REACTIONS = 1 << 6
ADMINISTRATOR = 1 << 3
MANAGE_CHANNELS = 1 << 4
VIEW_CHANNEL = 1 << 10
SEND_MESSAGES = 1 << 11
MANAGE_MESSAGES = 1 << 13
EMBED_LINKS = 1 << 14
ATTACH_FILES = 1 << 15
READ_MESSAGE_HISTORY = 1 << 16
MENTION_EVERYONE = 1 << 17
USE_APPLICATION_COMMANDS = 1 << 31
MANAGE_THREADS = 1 << 34
CREATE_PUBLIC_THREADS = 1 << 35
CREATE_PRIVATE_THREADS = 1 << 36
SEND_MESSAGES_IN_THREADS = 1 << 38

ALL = (1 << 50) - 1
EVERYONE = (
    VIEW_CHANNEL
    | SEND_MESSAGES
    | EMBED_LINKS
    | ATTACH_FILES
    | READ_MESSAGE_HISTORY
    | ADD_REACTIONS
    | USE_APPLICATION_COMMANDS
    | CREATE_PUBLIC_THREADS
    | CREATE_PRIVATE_THREADS
    | SEND_MESSAGES_IN_THREADS
)
"""What @everyone of a new guild may do here."""
IN_DM = EVERYONE | MENTION_EVERYONE


def base_permissions(guild: Guild, user_id: int) -> int:
    """Return what a member may do in the guild as a whole; 0 for somebody who is not in it."""
    member = guild.members.get(user_id)
    if member is None:
        return 0
    if guild.owner_id == user_id:
        return ALL
    granted = guild.roles[guild.id].permissions
    for role_id in member.roles:
        granted |= guild.roles[role_id].permissions
    return ALL if granted & ADMINISTRATOR else granted


def permissions_in(channel: Channel, user_id: int) -> int:
    """Return what somebody may do in a channel; a thread has the permissions of its channel."""
    if channel.guild is None:
        return IN_DM if any(user.id == user_id for user in channel.recipients) else 0
    granted = base_permissions(channel.guild, user_id)
    if granted in {0, ALL}:
        return granted
    place = channel.parent if channel.is_thread and channel.parent is not None else channel
    roles = set(channel.guild.members[user_id].roles)
    of_roles = [o for o in place.overwrites if o.type == 0 and o.id in roles]
    granted = _apply(granted, [o for o in place.overwrites if o.id == channel.guild.id])
    granted = _apply(granted, of_roles)
    granted = _apply(granted, [o for o in place.overwrites if o.type == 1 and o.id == user_id])
    private = channel.kind == PRIVATE_THREAD and user_id not in channel.thread_members
    return 0 if not granted & VIEW_CHANNEL or (private and not granted & MANAGE_THREADS) else granted


def _apply(granted: int, overwrites: list[Overwrite]) -> int:
    denied = allowed = 0
    for overwrite in overwrites:
        denied |= overwrite.deny
        allowed |= overwrite.allow
    return (granted & ~denied) | allowed


def can(channel: Channel, user_id: int, *wanted: int) -> bool:
    """Return whether somebody has every one of these permissions in a channel."""
    granted = permissions_in(channel, user_id)
    return all(granted & permission for permission in wanted)


def needed_to_send(channel: Channel) -> int:
    """The permission for writing here."""
    return SEND_MESSAGES_IN_THREADS if channel.is_thread else SEND_MESSAGES
