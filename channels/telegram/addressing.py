"""Whom a message speaks to, and what is left of it without the bot's name. Pure, and raises for no entity.

Whoever is in a group has to name the bot to be heard; that is no part of what they say to it. So the name is
cut off where it begins or ends a message, and `@bot yes` answers a card as `yes` does.
"""

from channels.telegram.account import Account
from channels.telegram.wire import Entity

_BEHIND_A_NAME = ",: \t\n"
"""What parts a name from what is said: `Hub, what time is it?`"""


def to_whom(text: str, entities: list[Entity], account: Account) -> tuple[str, bool]:
    """The text without the bot's name behind its command and at its ends, and whether it calls the bot by
    name or command. A text that is nothing but the name stays."""
    first = next((e for e in entities if e.type == "bot_command" and e.offset == 0), None)
    if first is not None:
        said = _covered(text, first)
        command, _, to = said.partition("@")
        if to.casefold() in ("", account.username.casefold()):
            return command + text[len(said) :], True
    names = [entity for entity in entities if _is_name(text, entity, account)]
    return (_without(text, names), True) if names else (text, False)


def _is_name(text: str, entity: Entity, account: Account) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == account.id
    return entity.type == "mention" and _covered(text, entity).casefold() == f"@{account.username.casefold()}"


def _without(text: str, names: list[Entity]) -> str:
    """Entities count in UTF-16 code units."""
    units = text.encode("utf-16-le")
    start, end = 0, len(units)
    for name in sorted(names, key=lambda entity: entity.offset):
        if not _text(units[start : 2 * name.offset]).strip(_BEHIND_A_NAME):
            start = max(start, 2 * (name.offset + name.length))
    for name in sorted(names, key=lambda entity: -entity.offset):
        if name.offset * 2 >= start and not _text(units[2 * (name.offset + name.length) : end]).strip():
            end = 2 * name.offset
    said = _text(units[start:end])
    return (said.lstrip(_BEHIND_A_NAME) if start else said).strip() or text


def _covered(text: str, entity: Entity) -> str:
    return _text(text.encode("utf-16-le")[2 * entity.offset : 2 * (entity.offset + entity.length)])


def _text(units: bytes) -> str:
    return units.decode("utf-16-le", "replace")
