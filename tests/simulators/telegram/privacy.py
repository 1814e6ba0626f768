"""Which messages of a group a bot gets: https://core.telegram.org/bots/features#privacy-mode."""

from tests.simulators.telegram.utf16 import utf16_slice
from tests.simulators.telegram.world import CHANNEL, PRESENT, PRIVATE, Bot, Message, World


def sees_message(bot: Bot, message: Message, world: World) -> bool:
    """Return whether an update about this message is made for this bot."""
    chat = message.chat
    if message.sender is not None and message.sender.is_bot:
        return False
    if chat.kind == PRIVATE:
        return chat.bot_id == bot.id
    status = chat.status_of(bot.id)
    if status not in PRESENT:
        return False
    if chat.kind == CHANNEL or status in {"administrator", "creator"}:
        return True
    if bot.can_read_all_group_messages or message.is_service:
        return True
    return _is_meant_for(bot, message, world)


def _is_meant_for(bot: Bot, message: Message, world: World) -> bool:
    """Replies to the bot, commands for it, mentions of it; a plain command when no other bot spoke last."""
    reply = message.reply_to
    if reply is not None and reply.sender is not None and reply.sender.is_bot:
        return reply.sender.id == bot.id
    handle = f"@{bot.user.username}".lower()
    for entity in message.content.get("entities", message.content.get("caption_entities", [])):
        covered = utf16_slice(message.text, entity["offset"], entity["length"]).lower()
        if entity["type"] == "mention" and covered == handle:
            return True
        if entity["type"] == "text_mention" and entity.get("user", {}).get("id") == bot.id:
            return True
        if entity["type"] == "bot_command":
            name, _, addressee = covered.partition("@")
            if addressee:
                if f"@{addressee}" == handle:
                    return True
            elif name and _speaks_last(bot, message, world):
                return True
    return False


def _speaks_last(bot: Bot, message: Message, world: World) -> bool:
    chat = message.chat
    bots_here = [other for other in world.bots.values() if chat.status_of(other.id) in PRESENT]
    return len(bots_here) == 1 or chat.last_bot_to_speak == bot.id
