"""Which events a session asked for: https://docs.discord.com/developers/events/gateway#list-of-intents."""

GUILDS = 1 << 0
GUILD_MEMBERS = 1 << 1
GUILD_PRESENCES = 1 << 8
GUILD_MESSAGES = 1 << 9
GUILD_MESSAGE_REACTIONS = 1 << 10
GUILD_MESSAGE_TYPING = 1 << 11
DIRECT_MESSAGES = 1 << 12
DIRECT_MESSAGE_REACTIONS = 1 << 13
DIRECT_MESSAGE_TYPING = 1 << 14
MESSAGE_CONTENT = 1 << 15
KNOWN = sum(1 << bit for bit in (*range(17), 20, 21, 24, 25))

_OF_EVENT = {
    "GUILD_CREATE": GUILDS,
    "GUILD_UPDATE": GUILDS,
    "GUILD_DELETE": GUILDS,
    "CHANNEL_CREATE": GUILDS,
    "CHANNEL_UPDATE": GUILDS,
    "CHANNEL_DELETE": GUILDS,
    "THREAD_CREATE": GUILDS,
    "THREAD_UPDATE": GUILDS,
    "THREAD_DELETE": GUILDS,
    "THREAD_MEMBERS_UPDATE": GUILDS,
    "GUILD_MEMBER_ADD": GUILD_MEMBERS,
    "GUILD_MEMBER_REMOVE": GUILD_MEMBERS,
}
_OF_EVENT_GUILD_OR_DM = {
    "MESSAGE_CREATE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_UPDATE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_DELETE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_REACTION_ADD": (GUILD_MESSAGE_REACTIONS, DIRECT_MESSAGE_REACTIONS),
    "MESSAGE_REACTION_REMOVE": (GUILD_MESSAGE_REACTIONS, DIRECT_MESSAGE_REACTIONS),
    "TYPING_START": (GUILD_MESSAGE_TYPING, DIRECT_MESSAGE_TYPING),
}


def wants(intents: int, event: str, *, in_guild: bool) -> bool:
    """Return whether a session with these intents gets this event; events of no intent always come."""
    pair = _OF_EVENT_GUILD_OR_DM.get(event)
    needed = _OF_EVENT.get(event, 0) if pair is None else pair[0 if in_guild else 1]
    return not needed or bool(intents & needed)


def disallowed(intents: int, *, message_content: bool, members: bool, presences: bool) -> bool:
    """Return whether a privileged intent is asked for that the application's settings do not allow."""
    allowed = {MESSAGE_CONTENT: message_content, GUILD_MEMBERS: members, GUILD_PRESENCES: presences}
    return any(intents & bit and not on for bit, on in allowed.items())
