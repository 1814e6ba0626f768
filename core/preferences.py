"""Settings of a conversation and of a person that their runs follow."""

from enum import StrEnum

from core.events import Verbosity
from core.lazy_dataclass import dataclass


class Thinking(StrEnum):
    """The effort a model spends on reasoning before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The chosen model, by its name in the configuration, and its effort. None: not chosen."""

    model: str | None = None
    thinking: Thinking | None = None

    def over(self, other: "ModelChoice") -> "ModelChoice":
        """Return this choice, with the parts it leaves open taken from another."""
        return ModelChoice(self.model or other.model, self.thinking or other.thinking)


UNCHOSEN = ModelChoice()


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """The settings of one conversation, for all of its runs."""

    verbosity: Verbosity = Verbosity.OFF
    chosen: ModelChoice = UNCHOSEN


UNSET = ThreadSettings()


@dataclass(frozen=True, slots=True)
class Preferences:
    """A person's settings for all of their conversations. A conversation's own choice comes first.

    `timezone`: an IANA name; None for the hub's."""

    timezone: str | None = None
    chosen: ModelChoice = UNCHOSEN


NO_PREFERENCES = Preferences()
