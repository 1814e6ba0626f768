"""Which received messages nobody has accepted yet: Discord brings none of them again by itself."""

from collections.abc import Mapping

from channels.discord.places import snowflake_of


class Pending:
    """Order keys by conversation. Outlives a run, so that the next one catches up from there, also in
    conversations that the inbox has not heard of."""

    def __init__(self) -> None:
        self._keys: dict[str, set[str]] = {}

    def came(self, channel_id: str, order_key: str) -> None:
        """A message was received."""
        self._keys.setdefault(channel_id, set()).add(order_key)

    def taken(self, channel_id: str, order_key: str) -> None:
        """It was accepted."""
        keys = self._keys.get(channel_id)
        if keys is not None:
            keys.discard(order_key)
            if not keys:
                del self._keys[channel_id]

    def caught_up(self, channel_id: str, newest: int) -> None:
        """All of a conversation's messages up to this id were brought from its history."""
        for key in [key for key in self._keys.get(channel_id, ()) if snowflake_of(key) <= newest]:
            self.taken(channel_id, key)

    def before(self) -> Mapping[str, int]:
        """By conversation, the id just before the first message that waits."""
        return {channel_id: snowflake_of(min(keys)) - 1 for channel_id, keys in self._keys.items()}

    def __len__(self) -> int:
        return sum(len(keys) for keys in self._keys.values())
