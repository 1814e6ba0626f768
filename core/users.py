"""People: a user has a role and one or more identities on channels."""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Identity:
    """A person's account on one channel. `via`: how it was let in (config, allowlist, open, paired)."""

    channel: str
    platform_user_id: str
    user: Principal
    via: str
