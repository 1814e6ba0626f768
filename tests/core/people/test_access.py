"""Access to the hub: closed unless the configuration opened it."""

import pytest

from core.ids import RandomIds
from core.messages import Address, ChoiceAnswer, InboundMessage, Sender
from core.people.access import Access, ChannelAccess, DirectMode, GroupMode
from core.store.accept import Admitted, TurnedAway
from core.users import Account, Identity, Principal, Role, Via

OWNER = Principal("owner", Role.OWNER, "Olivia")
ANN = Sender("7", "Ann")


def message(*, direct: bool = True, addressed: bool = True, sender: Sender = ANN) -> InboundMessage:
    return InboundMessage(
        key="k",
        order_key="1",
        channel="chat",
        address=Address("7"),
        scope="7",
        sender=sender,
        text="hi",
        sent_at=0,
        direct=direct,
        addressed=addressed,
    )


def press(*, direct: bool = True) -> ChoiceAnswer:
    return ChoiceAnswer("k", "chat", Address("7"), ANN, "p", 0, 0, direct)


def access(rules: ChannelAccess, owners: frozenset[tuple[str, str]] = frozenset()) -> Access:
    return Access(OWNER, owners, {"chat": rules})


def identity(via: str, role: Role) -> Identity:
    return Identity("chat", "7", Principal("u1", role, "Ann"), via)


def admit(rules: Access, event: InboundMessage | ChoiceAnswer, known: Identity | None = None) -> object:
    return rules.admit(event, known, RandomIds())


def test_an_unconfigured_channel_admits_no_one_and_gives_no_codes() -> None:
    assert isinstance(admit(Access(OWNER), message()), TurnedAway)


def test_the_owner_is_known_by_identity_in_every_mode() -> None:
    rules = access(ChannelAccess(DirectMode.ALLOWLIST), frozenset({("chat", "7")}))
    assert admit(rules, message()) == Admitted(OWNER, "config")


def test_a_listed_person_is_a_member_and_others_are_strangers() -> None:
    rules = access(ChannelAccess(DirectMode.ALLOWLIST, allow=frozenset({"7"})))
    admitted = admit(rules, message())
    assert isinstance(admitted, Admitted)
    assert admitted.principal.role is Role.MEMBER
    assert admit(rules, message(sender=Sender("8", "Bob"))) is None


def test_open_access_makes_guests() -> None:
    admitted = admit(access(ChannelAccess(DirectMode.OPEN)), message())
    assert isinstance(admitted, Admitted)
    assert admitted.principal.role is Role.GUEST


def test_a_known_person_stays_the_same_user() -> None:
    known = identity("open", Role.GUEST)
    assert admit(access(ChannelAccess(DirectMode.OPEN)), message(), known) == Admitted(known.user, "open")


def test_access_by_a_rule_ends_with_the_rule() -> None:
    rules = access(ChannelAccess(DirectMode.ALLOWLIST))
    assert admit(rules, message(), identity("allowlist", Role.MEMBER)) is None
    assert admit(rules, message(), identity("config", Role.OWNER)) is None
    assert admit(rules, message(), identity("open", Role.GUEST)) is None
    assert admit(rules, message(), identity("revoked", Role.MEMBER)) is None


def test_a_paired_person_keeps_access() -> None:
    known = identity("paired", Role.MEMBER)
    rules = access(ChannelAccess(DirectMode.ALLOWLIST))
    assert admit(rules, message(), known) == Admitted(known.user, "paired")


def test_a_guest_who_gets_listed_becomes_a_member_not_the_guest_again() -> None:
    rules = access(ChannelAccess(DirectMode.OPEN, allow=frozenset({"7"})))
    admitted = admit(rules, message(), identity("open", Role.GUEST))
    assert isinstance(admitted, Admitted)
    assert admitted.principal.role is Role.MEMBER


@pytest.mark.parametrize(
    "mode, addressed, turned_away",
    [
        (GroupMode.OFF, True, True),
        (GroupMode.ADDRESSED, False, True),
        (GroupMode.ADDRESSED, True, False),
        (GroupMode.ALL, False, False),
    ],
)
def test_groups_follow_their_mode(mode: GroupMode, *, addressed: bool, turned_away: bool) -> None:
    rules = access(ChannelAccess(DirectMode.OPEN, mode))
    verdict = admit(rules, message(direct=False, addressed=addressed))
    assert isinstance(verdict, TurnedAway) is turned_away


def test_messages_in_disabled_groups_are_noise() -> None:
    rules = access(ChannelAccess(DirectMode.OPEN, GroupMode.OFF))
    noise = admit(rules, message(direct=False))
    assert isinstance(noise, TurnedAway)
    assert noise.noise
    pressed = admit(rules, press(direct=False))
    assert isinstance(pressed, TurnedAway)
    assert pressed.noise


def test_a_code_is_redeemed_even_with_open_access() -> None:
    rules = access(ChannelAccess(DirectMode.OPEN))
    assert rules.admit(message(), identity("open", Role.GUEST), RandomIds(), redeems=True) is None
    known = identity("paired", Role.MEMBER)
    assert isinstance(rules.admit(message(), known, RandomIds(), redeems=True), Admitted)


@pytest.mark.parametrize(
    "via, platform_user_id, vouches",
    [
        (Via.PAIRED, "9", True),
        (Via.ALLOWLIST, "7", True),
        (Via.ALLOWLIST, "9", False),
        (Via.OPEN, "9", False),
        (Via.CONFIG, "9", False),
        (Via.REVOKED, "9", False),
    ],
)
def test_a_linked_account_has_access_while_its_sponsor_does(
    via: Via, platform_user_id: str, *, vouches: bool
) -> None:
    rules = access(ChannelAccess(DirectMode.OPEN, allow=frozenset({"7"})))
    member = Principal("u1", Role.MEMBER, "Ann")
    known = Identity("chat", "8", member, Via.LINKED, Account("chat", platform_user_id, via))
    admitted = admit(rules, message(sender=Sender("8", "Ann")), known)
    assert isinstance(admitted, Admitted)
    assert (admitted.principal == member) is vouches
    assert admitted.via == (Via.LINKED if vouches else Via.OPEN)


def test_an_owners_account_vouches_only_for_the_owner() -> None:
    rules = access(ChannelAccess(DirectMode.PAIRING), frozenset({("chat", "1")}))
    root = Account("chat", "1", Via.CONFIG)
    assert rules.vouches(root, OWNER)
    assert not rules.vouches(root, Principal("u1", Role.MEMBER, "Ann"))
    assert not rules.vouches(None, OWNER)


def test_everyone_but_the_owner_is_limited() -> None:
    rules = Access(
        OWNER,
        frozenset({("chat", "1")}),
        {"chat": ChannelAccess(DirectMode.OPEN, allow=frozenset({"7"}))},
        sender_per_minute=30,
    )
    limited: dict[str, bool] = {}
    for person in ("1", "7", "8"):
        admitted = admit(rules, message(sender=Sender(person, "Ann")))
        assert isinstance(admitted, Admitted)
        limited[person] = admitted.limited
    assert limited == {"1": False, "7": True, "8": True}
    mine = identity("paired", Role.OWNER)
    assert admit(rules, message(sender=Sender("9", "Olivia")), mine) == Admitted(mine.user, "paired")
