"""People: a user has a role and one or more identities on channels."""

from dataclasses import field
from enum import StrEnum

from core.events import Verbosity
from core.lazy import dataclass


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


# People, and the keys of their conversations.


class Role(StrEnum):
    """A person's role; each is an explicit list of tools (see `[roles]`)."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"


@dataclass(frozen=True, slots=True)
class Principal:
    """The person a turn is run for. Role, grants, budget and requester derive from it."""

    user_id: str
    role: Role
    name: str


class Via(StrEnum):
    """The way an account was allowed.

    `CONFIG`, `ALLOWLIST` and `OPEN` apply as long as the rule does; `PAIRED` until it is revoked;
    `LINKED` as long as the account it was joined to is allowed. `REVOKED` gives no access.
    """

    CONFIG = "config"
    ALLOWLIST = "allowlist"
    OPEN = "open"
    PAIRED = "paired"
    LINKED = "linked"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account on one channel, and how it was allowed (see Via)."""

    channel: str
    platform_user_id: str
    via: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """The user an account belongs to.

    `via`: see Via.
    `root`: the account that vouches for a linked one, None if it belongs to somebody else by now.
    `direct_address`: the account's last private address, if any."""

    channel: str
    platform_user_id: str
    user: Principal
    via: str
    root: Account | None = None
    direct_address: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Person:
    """A user with all accounts ever bound to them, and their preferences."""

    user: Principal
    accounts: tuple[Account, ...]
    preferences: Preferences = NO_PREFERENCES


# The key that finds a person's conversation on a channel again.


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The key (user, channel, external id) of one thread. None and "" are different external ids."""

    user_id: str
    channel: str
    external_id: str | None

    @property
    def scope(self) -> str:
        """The external id as a non-null text: `-` for None, otherwise `=` and the id."""
        return scope_of(self.external_id)


def scope_of(external_id: str | None) -> str:
    """Return the storable form of an external id, which distinguishes None from the empty string."""
    return "-" if external_id is None else f"={external_id}"
