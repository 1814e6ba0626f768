"""People: a user has a role and one or more identities on channels."""

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """What a person may do here; each role is an explicit list of tools (see `[roles]`)."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"


@dataclass(frozen=True, slots=True)
class Principal:
    """The person a turn is run for: role, grants, budget and requester come from here."""

    user_id: str
    role: Role
    name: str


class Via(StrEnum):
    """How an account was let in.

    `CONFIG`, `ALLOWLIST` and `OPEN` hold as long as the rule does; `PAIRED` until it is revoked; `LINKED` as
    long as the account it was joined to holds. `REVOKED` lets nobody in.
    """

    CONFIG = "config"
    ALLOWLIST = "allowlist"
    OPEN = "open"
    PAIRED = "paired"
    LINKED = "linked"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account on one channel, and how it was let in (see Via)."""

    channel: str
    platform_user_id: str
    via: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom an account belongs to. `via`: see Via; `root`: of a linked account the one that vouches for it,
    None where that one belongs to somebody else by now; `direct_address`: where it was last heard in private,
    if it was."""

    channel: str
    platform_user_id: str
    user: Principal
    via: str
    root: Account | None = None
    direct_address: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Person:
    """A user with all accounts ever bound to them."""

    user: Principal
    accounts: tuple[Account, ...]


# The key under which a person's conversation on a channel is found again.


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
