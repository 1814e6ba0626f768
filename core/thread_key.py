"""The key under which a person's conversation on a channel is found again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """(user, channel, external id) names one thread. None and "" are different external ids."""

    user_id: str
    channel: str
    external_id: str | None

    @property
    def scope(self) -> str:
        """The external id as a non-null text: `-` for None, otherwise `=` and the id."""
        return scope_of(self.external_id)


def scope_of(external_id: str | None) -> str:
    """Storable form of an external id; keeps None apart from the empty string."""
    return "-" if external_id is None else f"={external_id}"
