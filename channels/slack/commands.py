"""The hub's commands as they are typed on Slack.

Slack takes whatever begins with a slash for a command of its own and sends it to nobody, so the hub's stand
behind the app's one: `/hubbub status`. Commands that somebody is told to type on another platform stay.
"""

import re
from collections.abc import Iterable

from core.messages import Block, Plain
from core.texts import COMMANDS

APP_COMMAND = "/hubbub"

_NAMES = frozenset(name for name, _ in COMMANDS)
_ALONE = frozenset({"help", "new", "pause", "resume", "status"})
"""With words behind them they are no commands, but how somebody begins to say something."""
_ELSEWHERE = r"(?:\s\S+)?\s[0-9A-Z]{8}\b"
"""A person's code: it is typed where they are known."""
_TOLD = re.compile(rf"(?<![\w/])/({'|'.join(sorted(_NAMES))})(?![\w/])(?!{_ELSEWHERE})")


def meant_by(typed: str) -> str:
    """What the hub is to read where somebody typed this behind the app's command."""
    text = typed.strip() or "help"
    word, *more = text.split(maxsplit=1)
    is_command = word.lower() in (_NAMES - _ALONE if more else _NAMES)
    return f"/{text}" if is_command else text


def typed_here(said: Iterable[Block]) -> tuple[Block, ...]:
    """What the hub says, with its commands as people here can type them."""
    return tuple(
        Plain(_TOLD.sub(rf"{APP_COMMAND} \1", block.text)) if isinstance(block, Plain) else block
        for block in said
    )
