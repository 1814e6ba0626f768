"""Access rules for people and channels: closed unless the configuration or a person opened them."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from core.ids import Ids
from core.lazy import dataclass
from core.messages import ChoiceAnswer, InboundMessage
from core.store.accept import Admitted, TurnedAway
from core.users import Account, Identity, Principal, Role, Via

CONSOLE = "(console)"
"""The channel of a person who proved to the program itself to be its owner: commands on its
machine, and the API.

No configured channel can have this name."""


class DirectMode(StrEnum):
    """The people who may write to the bot in private."""

    PAIRING = "pairing"
    ALLOWLIST = "allowlist"
    OPEN = "open"


class GroupMode(StrEnum):
    """The messages the bot handles in groups."""

    OFF = "off"
    ADDRESSED = "addressed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Console:
    """The console as invitations name it. `url`: its login page; empty while only the hub's machine reaches
    it. `channel`: of its people's accounts."""

    url: str
    channel: str


NO_CONSOLE = Console("", "")


@dataclass(frozen=True, slots=True)
class ChannelAccess:
    """One channel's rules. `allow`: platform user ids that are allowed as members."""

    direct: DirectMode = DirectMode.PAIRING
    groups: GroupMode = GroupMode.OFF
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Access:
    """All access rules.

    `owner_identities`: (channel, platform user id) pairs.
    `sender_per_minute`: the messages a person may send in a minute, 0 for no limit; the owner has
    none.
    `proven`: accounts that the hub itself verified as the owner's, in addition to the configured
    ones."""

    owner: Principal
    owner_identities: frozenset[tuple[str, str]] = frozenset()
    channels: Mapping[str, ChannelAccess] = field(default_factory=dict[str, ChannelAccess])
    sender_per_minute: int = 0
    proven: frozenset[tuple[str, str]] = frozenset()

    def admit(
        self,
        event: InboundMessage | ChoiceAnswer,
        identity: Identity | None,
        ids: Ids,
        *,
        redeems: bool = False,
    ) -> Admitted | TurnedAway | None:
        """Return the person of the event, or why they are refused. None: a stranger, whom a code may
        admit.

        `redeems`: the event brings a code, so that a guest is treated as a stranger.
        """
        rules = self.channels.get(event.channel)
        turned_away = _wrong_place(event, rules or ChannelAccess())
        if turned_away is not None:
            return turned_away
        found = self._known(event, rules or ChannelAccess(), identity, ids)
        if found is None and rules is None:
            return TurnedAway("refused: no access")
        if found is None and rules is not None and rules.direct is DirectMode.OPEN and not redeems:
            guest = _user_of(identity, Via.OPEN, Role.GUEST, event.sender.name, ids)
            return self._admitted(guest, Via.OPEN)
        return found

    def holds(self, identity: Identity) -> bool:
        """Return True if the current rules still admit the account as the person it belongs to."""
        account = (identity.channel, identity.platform_user_id)
        if account in self.owner_identities or account in self.proven:
            return identity.user.user_id == self.owner.user_id
        rules = self.channels.get(identity.channel, ChannelAccess())
        match identity.via:
            case Via.PAIRED:
                return True
            case Via.LINKED:
                return self.vouches(identity.root, identity.user)
            case Via.ALLOWLIST:
                return identity.platform_user_id in rules.allow
            case Via.OPEN:
                return rules.direct is DirectMode.OPEN
            case _:
                return False

    def vouches(self, root: Account | None, user: Principal) -> bool:
        """Return True if an account is itself allowed as that user, not through another account. A guest's
        is not."""
        if root is None:
            return False
        if (root.channel, root.platform_user_id) in self.owner_identities:
            return user.user_id == self.owner.user_id
        if root.via == Via.PAIRED:
            return True
        rules = self.channels.get(root.channel)
        return root.via == Via.ALLOWLIST and rules is not None and root.platform_user_id in rules.allow

    def _known(
        self,
        event: InboundMessage | ChoiceAnswer,
        rules: ChannelAccess,
        identity: Identity | None,
        ids: Ids,
    ) -> Admitted | None:
        sender = event.sender
        account = (event.channel, sender.platform_user_id)
        if event.channel == CONSOLE or account in self.owner_identities or account in self.proven:
            return self._admitted(self.owner, Via.CONFIG)
        if identity is not None and identity.via == Via.PAIRED:
            return self._admitted(identity.user, Via.PAIRED)
        # Access by a rule or by another account ends when that rule or account does.
        if identity is not None and identity.via == Via.LINKED and self.vouches(identity.root, identity.user):
            return self._admitted(identity.user, Via.LINKED)
        if sender.platform_user_id in rules.allow:
            member = _user_of(identity, Via.ALLOWLIST, Role.MEMBER, sender.name, ids)
            return self._admitted(member, Via.ALLOWLIST)
        return None

    def _admitted(self, user: Principal, via: Via) -> Admitted:
        return Admitted(user, via, limited=user.role is not Role.OWNER and self.sender_per_minute > 0)


def _wrong_place(event: InboundMessage | ChoiceAnswer, rules: ChannelAccess) -> TurnedAway | None:
    if event.direct:
        return None
    if rules.groups is GroupMode.OFF:
        return TurnedAway("ignored: groups are off", noise=True)
    if isinstance(event, InboundMessage) and rules.groups is GroupMode.ADDRESSED and not event.addressed:
        return TurnedAway("ignored: not addressed")
    return None


def _user_of(identity: Identity | None, via: Via, role: Role, name: str, ids: Ids) -> Principal:
    if identity is not None and identity.via == via:
        return identity.user
    return Principal(ids.row_id(), role, name)
