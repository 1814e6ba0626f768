"""Where a message can be whose sending was never answered. Pure."""

import re
from collections.abc import Iterator
from itertools import count, islice

from channels.telegram.places import place_of, ref_of
from core.messages import Address
from core.ports import Surroundings

MAX_CANDIDATES = 5
"""Each costs a request."""

MAX_GROUP_DIGITS = 12
"""Ids of supergroups and channels are -100 followed by at least ten digits, those of other groups shorter."""


def candidates(chat_id: int, around: Surroundings) -> Iterator[int]:
    """Ids to try, likeliest first; none where no earlier message is known.

    Ids are given in order within a supergroup, and else within all of the bot's private chats and groups
    together.
    """
    newest = max(
        (number for at, number in _numbered(around) if _series(at) == _series(chat_id)), default=None
    )
    if newest is None:
        return iter(())
    unknown = (number for number in count(newest + 1) if ref_of(chat_id, number) not in around.shown)
    return islice(unknown, MAX_CANDIDATES)


def _numbered(around: Surroundings) -> Iterator[tuple[int, int]]:
    for address, order_key in around.earlier:
        if (number := _number(order_key)) is not None:
            yield place_of(Address(address)).chat_id, number


def _number(order_key: str) -> int | None:
    """The message's id; an edited message's key goes on after it."""
    digits = re.match("[0-9]+", order_key)
    return None if digits is None else int(digits.group())


def _series(chat_id: int) -> int | None:
    """Whose ids are in one order: a supergroup's own, or (None) all other chats together."""
    return chat_id if chat_id < 0 and len(str(-chat_id)) > MAX_GROUP_DIGITS else None
