"""People: a user has a role, one or more identities on channels, preferences, and a time zone."""

from collections.abc import Awaitable, Callable
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from core.clock import SECOND_US
from core.events import Verbosity
from core.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    import difflib
    import zoneinfo

    from core.routine import QuietHours
else:
    difflib, zoneinfo = LazyModule("difflib"), LazyModule("zoneinfo")


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


# Time zones: the one that a name means, near matches of a wrong one, and each person's own.

MAX_NEAR = 3
MAX_COMPARED_CHARS = 60


def zone_of(name: str) -> "zoneinfo.ZoneInfo | None":
    """Return the time zone of that IANA name; None if there is none."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a file name; a directory, such as "Europe"
        return None


def timezone_named(typed: str) -> str | None:
    """Return the IANA name of a zone as a person types it, in any case; None if there is none."""
    return _by_name().get(_folded(typed))


def timezones_like(typed: str) -> tuple[str, ...]:
    """Return the names nearest to a wrong one, best first. A city alone is enough: `Berln`."""
    wanted = _folded(typed[:MAX_COMPARED_CHARS])
    candidates = {**_by_city(), **_by_name()}
    found = difflib.get_close_matches(wanted, candidates, n=2 * MAX_NEAR)
    return tuple(dict.fromkeys(candidates[one] for one in found))[:MAX_NEAR]


class TimeZones:
    """The time zones of people. `preferences`: returns a person's own. `default`: the hub's, for others."""

    def __init__(self, preferences: Callable[[str], Awaitable[Preferences]], default: str) -> None:
        self._preferences = preferences
        self.default = default

    async def of(self, user_id: str) -> str:
        """Return a person's time zone. Raises StoreUnavailable."""
        return timezone_in_force((await self._preferences(user_id)).timezone, self.default)


def timezone_in_force(chosen: str | None, default: str) -> str:
    """Return the chosen zone; the default if there is none, or this computer knows it no more."""
    return default if chosen is None or zone_of(chosen) is None else chosen


def told_at(hours: "QuietHours | None", now: int, timezone: str) -> int:
    """Return when a notice of something that happened now is sent: after the quiet hours, if it is quiet
    now."""
    if hours is None:
        return now
    moment = datetime.fromtimestamp(now / SECOND_US, zoneinfo.ZoneInfo(timezone))
    if not hours.cover(moment.hour * 60 + moment.minute):
        return now
    end = moment.replace(
        hour=hours.end_minute // 60, minute=hours.end_minute % 60, second=0, microsecond=0, fold=0
    )
    if end <= moment:
        end += timedelta(days=1)
    return max(now, int(end.timestamp() * SECOND_US))


def _folded(typed: str) -> str:
    return "_".join(typed.casefold().split())


@cache  # the names are those of files, which takes a moment to read
def _by_name() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(zoneinfo.available_timezones())}


@cache
def _by_city() -> dict[str, str]:
    # The first of several: Europe/Berlin, not an older name further down the alphabet.
    names = sorted(zoneinfo.available_timezones(), reverse=True)
    return {name.rpartition("/")[2].casefold(): name for name in names}
