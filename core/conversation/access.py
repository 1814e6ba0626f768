"""Who may speak to the hub where: closed unless the configuration or a person opened it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core import texts
from core.ids import Ids
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Unreadable, plain
from core.store.accept import Admission, Admitted, TurnedAway
from core.users import Identity, Principal, Role


class DirectMode(StrEnum):
    """Who may write to the bot in private."""

    PAIRING = "pairing"
    ALLOWLIST = "allowlist"
    OPEN = "open"


class GroupMode(StrEnum):
    """What the bot hears in groups."""

    OFF = "off"
    ADDRESSED = "addressed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ChannelAccess:
    """One channel's rules. `allow`: platform user ids that are let in as members."""

    direct: DirectMode = DirectMode.PAIRING
    groups: GroupMode = GroupMode.OFF
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Access:
    """All rules of who may speak. `owner_identities`: (channel, platform user id) pairs."""

    owner: Principal
    owner_identities: frozenset[tuple[str, str]] = frozenset()
    channels: Mapping[str, ChannelAccess] = field(default_factory=dict[str, ChannelAccess])

    def admit(self, event: InboundEvent, identity: Identity | None, ids: Ids) -> Admission:
        """The person behind the event, or why they are turned away."""
        if isinstance(event, Unreadable):
            return TurnedAway("failed: unreadable")
        rules = self.channels.get(event.channel, ChannelAccess())
        turned_away = _wrong_place(event, rules)
        if turned_away is not None:
            return turned_away
        return self._person(event, rules, identity, ids)

    def _person(
        self, event: InboundMessage | ChoiceAnswer, rules: ChannelAccess, identity: Identity | None, ids: Ids
    ) -> Admission:
        sender = event.sender
        if (event.channel, sender.platform_user_id) in self.owner_identities:
            return Admitted(self.owner, "config")
        if identity is not None and identity.via == "paired":
            return Admitted(identity.user, "paired")
        # An identity that came in by a rule stays only as long as the rule does.
        if sender.platform_user_id in rules.allow:
            return Admitted(_user_of(identity, "allowlist", Role.MEMBER, sender.name, ids), "allowlist")
        if rules.direct is DirectMode.OPEN:
            return Admitted(_user_of(identity, "open", Role.GUEST, sender.name, ids), "open")
        answer = plain(texts.NOT_PAIRED) if event.direct else None
        return TurnedAway("refused: not let in", answer, word=texts.NOT_ALLOWED_HERE)


def _wrong_place(event: InboundMessage | ChoiceAnswer, rules: ChannelAccess) -> TurnedAway | None:
    if event.direct:
        return None
    if rules.groups is GroupMode.OFF:
        return TurnedAway("ignored: groups are off", noise=isinstance(event, InboundMessage))
    if isinstance(event, InboundMessage) and rules.groups is GroupMode.ADDRESSED and not event.addressed:
        return TurnedAway("ignored: not addressed")
    return None


def _user_of(identity: Identity | None, via: str, role: Role, name: str, ids: Ids) -> Principal:
    if identity is not None and identity.via == via:
        return identity.user
    return Principal(ids.row_id(), role, name)
