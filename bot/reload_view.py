"""What came of reading the configuration again, as the API and commands show it."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedChannel:
    """One configured channel. `refused`: it goes on as before, for this reason."""

    name: str
    outcome: Literal["unchanged", "replaced", "refused"]
    reason: str | None = None

    def in_words(self) -> str:
        """A line for people."""
        match self.outcome:
            case "unchanged":
                return f"channel {self.name} is unchanged"
            case "replaced":
                return f"channel {self.name} uses what is configured now"
            case "refused":
                return f"channel {self.name} goes on as before: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadView:
    """Every channel that runs, and the keys of what else has changed: that holds from the next start."""

    channels: tuple[ReloadedChannel, ...]
    next_start: tuple[str, ...]


class Reloading(Protocol):
    """How a running hub reads its configuration again."""

    async def reload(self) -> ReloadView:
        """Take over what can be taken over. Raises DeskRefused, and then nothing has changed."""
        ...
