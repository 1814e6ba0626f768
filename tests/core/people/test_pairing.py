"""Pairing by codes: the rules over a real store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core import texts
from core.ids import CODE_ALPHABET, RandomIds, is_code, normalise_code
from core.people import pairing
from core.people.access import ChannelAccess, DirectMode, GroupMode
from core.people.pairing import GUESSES_EACH, GUESSES_IN_ALL, KEPT_PER_MINUTE, TOLD_LIMIT, PairAs
from core.store.accounts import CODE_LIFE_US, ClaimRefused, PairingApproved, PairingDenied
from core.users import Role
from tests.contracts.store.bench import SECOND
from tests.core.inbound.front import CHANNEL, OWNER, OWNER_ACCOUNT, Front
from tests.core.inbound.test_answers import CHOICES, Asked

LIFE_S = CODE_LIFE_US // SECOND
WRONG = "ABCDEFGH"


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path)
    yield opened
    await opened.store.close()


def refusal(decision: object) -> str:
    assert isinstance(decision, ClaimRefused)
    return decision.reason


def test_codes_avoid_ambiguous_letters() -> None:
    assert len(set(CODE_ALPHABET)) == 32
    assert not set(CODE_ALPHABET) & set("IO01")
    assert all(is_code(RandomIds().code()) for _ in range(100))
    assert is_code(normalise_code(" k3f9-a7 mz "))
    assert not any(is_code(text) for text in ("", "ABCDEFG", "ABCDEFGHJ", "ABCDEFG0", "ABCDEFGI", "abcdefgh"))


# --- asking ---------------------------------------------------------------------------------------------


async def test_a_stranger_is_notified_once_in_the_life_of_a_code(front: Front) -> None:
    code = await front.code_for("stan")
    for _ in range(3):
        assert (await front.says("stan")).outcome == "refused: not paired"
    (said,) = front.heard("stan")
    assert f"/approve {CHANNEL} {code}" in said
    front.clock.advance(LIFE_S)
    assert (await front.says("stan")).outcome == "refused: not paired"
    assert len(front.heard("stan")) == 2
    assert code not in front.heard("stan")[1]


async def test_three_codes_are_valid_at_a_time_and_the_fourth_stranger_is_turned_away_once(
    front: Front,
) -> None:
    for name in ("a", "b", "c"):
        await front.code_for(name)
    assert (await front.says("d")).outcome == "refused: too many access requests"
    assert front.heard("d") == [pairing.TRY_LATER]
    for _ in range(3):
        await front.says("d")
    assert front.heard("d") == [pairing.TRY_LATER]
    (noise,) = await front.store.explanations.noise(5)
    assert (noise.platform_user_id, noise.seen) == ("d", 3)
    front.clock.advance(LIFE_S)
    for name in ("a", "b", "c"):
        await front.code_for(name)
    await front.says("d")
    assert front.heard("d") == [pairing.TRY_LATER] * 2
    front.clock.advance(LIFE_S)
    assert is_code(await front.code_for("d"))


async def test_a_crowd_of_strangers_is_counted_and_not_answered(front: Front) -> None:
    for number in range(TOLD_LIMIT + 10):
        await front.says(f"s{number}")
    assert len(front.sent.rows) == 3 + TOLD_LIMIT
    assert sum(row.seen for row in await front.store.explanations.noise(100)) == 7


async def test_a_flood_by_one_stranger_is_counted_and_not_stored(front: Front) -> None:
    for _ in range(KEPT_PER_MINUTE + 20):
        await front.says("stan")
    assert len(await front.store.explanations.explain_recent(100)) == KEPT_PER_MINUTE
    assert [row.seen for row in await front.store.explanations.noise(5)] == [20]
    front.clock.advance(60)
    assert (await front.says("stan")).outcome == "refused: not paired"


async def test_in_groups_strangers_are_met_with_silence(tmp_path: Path) -> None:
    front = await Front.open(tmp_path, rules=ChannelAccess(groups=GroupMode.ALL))
    for text in ("hello", "/start", f"/link {WRONG}", f"/approve {CHANNEL} {WRONG}"):
        assert (await front.says("stan", text, direct=False)).outcome == "refused: not paired"
    assert front.sent.rows == []
    assert not await front.store.people.pairing_requests()
    await front.store.close()


async def test_an_allowlist_gives_no_codes(tmp_path: Path) -> None:
    front = await Front.open(tmp_path, rules=ChannelAccess(DirectMode.ALLOWLIST))
    for _ in range(2):
        assert (await front.says("stan")).outcome == "refused: no access"
    assert front.heard("stan") == [pairing.NOT_PAIRED_SAID]
    assert not await front.store.people.pairing_requests()
    await front.store.close()


# --- deciding -------------------------------------------------------------------------------------------


async def test_the_owner_pairs_a_member_by_a_message(front: Front) -> None:
    code = await front.code_for("stan")
    accepted = await front.says(OWNER_ACCOUNT, f"/approve {CHANNEL.upper()} {code[:4].lower()}-{code[4:]}")
    assert accepted.outcome == "command: /approve"
    assert front.heard(OWNER_ACCOUNT) == ["Stan now has access as a member."]
    assert front.heard("stan")[1:] == [pairing.ACCESS_GRANTED]
    assert (await front.says("stan")).outcome == "turn 1"
    member = await front.store.people.user(await front.user_of("stan") or "")
    assert member is not None
    assert (member.role, member.name) == (Role.MEMBER, "Stan")


async def test_only_an_owner_pairs_people(front: Front) -> None:
    await front.says(OWNER_ACCOUNT, f"/approve {CHANNEL} {await front.code_for('stan')}")
    code = await front.code_for("eve")
    assert (await front.says("stan", f"/approve {CHANNEL} {code}")).outcome == (
        "refused: only the owner can pair people"
    )
    assert (await front.says("stan", f"approve {CHANNEL} {code}")).outcome == "turn 1", "it is just text"
    assert (await front.says("eve")).outcome == "refused: not paired"


async def test_codes_are_refused_with_the_reason(front: Front) -> None:
    used, expired = await front.code_for("stan"), await front.code_for("eve")
    await front.says(OWNER_ACCOUNT, f"/approve {CHANNEL} {used}")
    front.clock.advance(LIFE_S)
    for code, outcome in (
        (used, "refused: code already used"),
        (expired, "refused: code expired"),
        (WRONG, "refused: unknown code"),
    ):
        assert (await front.says(OWNER_ACCOUNT, f"approve {CHANNEL} {code}")).outcome == outcome
    assert (
        await front.says(OWNER_ACCOUNT, f"/approve nowhere {WRONG}")
    ).outcome == "refused: unknown channel"
    assert (await front.says(OWNER_ACCOUNT, f"approve nowhere {WRONG}")).outcome == "turn 1"
    assert (await front.says("eve")).outcome == "refused: not paired"


async def test_a_code_is_valid_only_on_its_channel(front: Front) -> None:
    code = await front.code_for("stan")
    assert refusal(await front.desk.approve(code, by=OWNER, channel="other")) == "unknown code"
    assert isinstance(await front.desk.approve(code, by=OWNER, channel=CHANNEL), PairingApproved)


async def test_guesses_are_limited_and_a_right_code_counts_as_one(front: Front) -> None:
    code = await front.code_for("stan")
    for _ in range(GUESSES_EACH):
        assert (await front.says(OWNER_ACCOUNT, f"/approve {CHANNEL} {WRONG}")).outcome == (
            "refused: unknown code"
        )
    locked = await front.says(OWNER_ACCOUNT, f"/approve {CHANNEL} {code}")
    assert locked.outcome == "refused: too many wrong codes"
    assert isinstance(await front.desk.approve(code, by=OWNER), PairingApproved), (
        "each guesser is counted for themselves"
    )


async def test_all_guesses_together_are_limited(front: Front) -> None:
    code = await front.link_code(OWNER_ACCOUNT)
    for number in range(GUESSES_IN_ALL):
        assert (await front.says(f"s{number}", f"/link {WRONG}")).outcome == "refused: unknown code"
    assert (await front.says("stan", f"/link {code}")).outcome == "refused: too many wrong codes"
    assert front.heard("stan") == [pairing.TOO_MANY_CODES_SAID]
    front.clock.advance(LIFE_S)
    fresh = await front.link_code(OWNER_ACCOUNT)
    assert (await front.says("stan", f"/link {fresh}")).outcome == "linked"


async def test_a_request_is_decided_by_its_id_too(front: Front) -> None:
    await front.code_for("stan")
    (request,) = await front.desk.requests()
    assert request.sender.name == "Stan"
    assert refusal(await front.desk.approve("no such id", by=OWNER)) == "no such request"
    assert isinstance(await front.desk.approve(request.id, by=OWNER), PairingApproved)
    assert refusal(await front.desk.approve(request.id, by=OWNER)) == "code already used"
    assert front.heard("stan")[1:] == [pairing.ACCESS_GRANTED]


async def test_a_chat_and_a_console_approval_at_once_pair_once(front: Front) -> None:
    code = await front.code_for("stan")
    chat, as_me, as_member = await asyncio.gather(
        front.says(OWNER_ACCOUNT, f"/approve {CHANNEL} {code}"),
        front.desk.approve(code, by=OWNER, pair_as=PairAs.ME),
        front.desk.approve(code, by=OWNER, pair_as=PairAs.MEMBER),
    )
    won = [
        chat.outcome == "command: /approve",
        isinstance(as_me, PairingApproved),
        isinstance(as_member, PairingApproved),
    ]
    assert won.count(True) == 1
    assert front.heard("stan")[1:] == [pairing.ACCESS_GRANTED]


async def test_a_denied_person_gets_no_code_for_a_day(front: Front) -> None:
    code = await front.code_for("stan")
    assert isinstance(await front.desk.reject(code, by=OWNER), PairingDenied)
    assert front.heard("stan")[1:] == [pairing.REQUEST_DENIED]
    assert refusal(await front.desk.approve(code, by=OWNER)) == "code already used"
    front.clock.advance(23 * 3600)
    assert (await front.says("stan")).outcome == "refused: not paired"
    assert len(front.heard("stan")) == 2
    front.clock.advance(3600)
    assert is_code(await front.code_for("stan"))


async def test_an_account_linked_as_me_is_the_owner(front: Front) -> None:
    code = await front.code_for("stan")
    assert isinstance(await front.desk.approve(code, by=OWNER, pair_as=PairAs.ME), PairingApproved)
    assert await front.user_of("stan") == OWNER.user_id
    other = await front.code_for("eve")
    assert (await front.says("stan", f"/approve {CHANNEL} {other}")).outcome == "command: /approve"


async def test_the_first_account_may_become_the_owner_and_only_the_first(tmp_path: Path) -> None:
    front = await Front.open(tmp_path, owners=())
    first, second = await front.code_for("stan"), await front.code_for("eve")
    decisions = await asyncio.gather(
        *(front.desk.approve(code, by=OWNER, pair_as=PairAs.OWNER) for code in (first, second))
    )
    assert [type(decision) for decision in decisions].count(PairingApproved) == 1
    assert (
        refusal(next(one for one in decisions if not isinstance(one, PairingApproved)))
        == "there is already an owner"
    )
    assert (
        await front.user_of("stan" if isinstance(decisions[0], PairingApproved) else "eve") == OWNER.user_id
    )
    await front.store.close()


async def test_with_a_configured_owner_no_one_becomes_owner(front: Front) -> None:
    code = await front.code_for("stan")
    decision = await front.desk.approve(code, by=OWNER, pair_as=PairAs.OWNER)
    assert refusal(decision) == "there is already an owner"
    assert isinstance(await front.desk.approve(code, by=OWNER), PairingApproved), "the code is still good"


# --- revoking -------------------------------------------------------------------------------------------


async def test_revoked_people_are_strangers_until_paired_as_themselves(
    front: Front,
) -> None:
    await front.desk.approve(await front.code_for("stan"), by=OWNER)
    user_id = await front.user_of("stan")
    linked = await front.link_code("stan")
    await front.says("second", f"/link {linked}")
    assert await front.user_of("second") == user_id

    assert await front.desk.revoke(CHANNEL, "stan")
    assert (await front.says("stan")).outcome == "refused: not paired"
    assert (await front.says("second")).outcome == "refused: not paired", "its voucher is gone"
    assert not await front.desk.revoke(CHANNEL, OWNER_ACCOUNT)

    (request,) = [one for one in await front.desk.requests() if one.sender.platform_user_id == "stan"]
    await front.desk.approve(request.code, by=OWNER)
    assert await front.user_of("stan") == user_id
    assert (await front.says("second")).outcome.startswith("turn"), "and vouches again"


async def test_a_revoked_account_of_the_owner_comes_back_as_another_person(front: Front) -> None:
    await front.desk.approve(await front.code_for("stan"), by=OWNER, pair_as=PairAs.ME)
    await front.desk.revoke(CHANNEL, "stan")
    await front.desk.approve(await front.code_for("stan"), by=OWNER)
    assert await front.user_of("stan") != OWNER.user_id


# --- linking --------------------------------------------------------------------------------------------


async def test_a_second_account_joins_by_a_code_of_the_first(front: Front) -> None:
    code = await front.link_code(OWNER_ACCOUNT)
    assert (await front.says("second", f"/start {code.lower()}")).outcome == "linked"
    assert front.heard("second") == [pairing.linked("Olivia")]
    assert front.heard(OWNER_ACCOUNT)[-1] == pairing.link_used("Second", CHANNEL)
    assert await front.user_of("second") == OWNER.user_id
    stranger = await front.code_for("stan")
    assert (await front.says("second", f"/approve {CHANNEL} {stranger}")).outcome == "command: /approve"


async def test_linking_codes_are_refused_with_the_reason(front: Front) -> None:
    replaced = await front.link_code(OWNER_ACCOUNT)
    code = await front.link_code(OWNER_ACCOUNT)
    assert (await front.says("s1", f"/link {replaced}")).outcome == "refused: unknown code"
    assert (await front.says("s1", f"/link {code}")).outcome == "linked"
    assert (await front.says("s2", f"/link {code}")).outcome == "refused: code already used"
    late = await front.link_code(OWNER_ACCOUNT)
    front.clock.advance(LIFE_S)
    assert (await front.says("s2", f"/link {late}")).outcome == "refused: code expired"
    assert await front.user_of("s2") is None


async def test_of_two_people_with_the_same_code_one_joins(front: Front) -> None:
    code = await front.link_code(OWNER_ACCOUNT)
    accepted = await asyncio.gather(*(front.says(name, f"/link {code}") for name in ("s1", "s2", "s3")))
    assert sorted(one.outcome for one in accepted) == ["linked", *["refused: code already used"] * 2]


async def test_a_known_person_stays_who_they_are(front: Front) -> None:
    await front.desk.approve(await front.code_for("stan"), by=OWNER)
    user_id = await front.user_of("stan")
    code = await front.link_code(OWNER_ACCOUNT)
    for text in (f"/link {code}", f"/start {code}"):
        assert (await front.says("stan", text)).outcome == "refused: already known"
    assert await front.user_of("stan") == user_id
    assert (await front.says("s1", f"/link {code}")).outcome == "linked", "the code is still good"


async def test_a_code_of_a_person_who_has_lost_access_is_void(front: Front) -> None:
    await front.desk.approve(await front.code_for("stan"), by=OWNER)
    code = await front.link_code("stan")
    await front.desk.revoke(CHANNEL, "stan")
    assert (await front.says("s1", f"/link {code}")).outcome == "refused: code expired"


async def test_a_guest_can_link_accounts_but_not_vouch(tmp_path: Path) -> None:
    rules = ChannelAccess(DirectMode.OPEN, GroupMode.ALL)
    front = await Front.open(tmp_path, rules=rules)
    assert (await front.says("guest")).outcome == "turn 1"
    assert (await front.says("guest", "/link")).outcome == "refused: guests can't link accounts"
    assert (await front.says("guest", "/link", direct=False)).outcome == (
        "refused: codes work in private conversations only"
    )
    assert (await front.says("new", "/start campaign")).outcome == "command: /start", "that is no code"
    assert (await front.says("guest", f"/link {WRONG}")).outcome == "refused: unknown code"
    code = await front.link_code(OWNER_ACCOUNT)
    assert (await front.says("guest", f"/link {code}")).outcome == "linked"
    assert await front.user_of("guest") == OWNER.user_id
    await front.store.close()


# --- limits ---------------------------------------------------------------------------------------------


async def test_a_member_who_writes_too_fast_is_warned_once_a_minute_and_the_owner_never(
    tmp_path: Path,
) -> None:
    rules = ChannelAccess(DirectMode.PAIRING, GroupMode.ALL, frozenset({"mia"}))
    front = await Front.open(tmp_path, rules=rules, sender_per_minute=5)
    outcomes = [(await front.says("mia", "/status")).outcome for _ in range(8)]
    assert outcomes == ["command: /status"] * 5 + ["refused: too many messages"] * 3
    assert front.heard("mia")[5:] == [texts.TOO_MANY_MESSAGES]
    assert (await front.says("mia", direct=False)).outcome == "refused: too many messages"
    assert front.heard("group") == [], "in a group nobody is told"
    await Asked.open(front, CHOICES)
    pressed = await front.presses("mia", "0123456789", 0)
    for _ in range(20):
        assert (await front.says(OWNER_ACCOUNT, "/status")).outcome == "command: /status"
    front.clock.advance(60)
    assert (await front.says("mia", "/status")).outcome == "command: /status"
    await front.store.close()
    assert pressed.outcome == "refused: too many messages"


@pytest.mark.parametrize("direct", [True, False], ids=["in private", "in a group"])
async def test_a_person_at_their_message_limit_can_still_stop_a_turn(tmp_path: Path, *, direct: bool) -> None:
    rules = ChannelAccess(groups=GroupMode.ALL, allow=frozenset({"mia"}))
    front = await Front.open(tmp_path, rules=rules, sender_per_minute=2)
    await front.says("mia", "think hard", direct=direct)
    await front.says("mia", "and this", direct=direct)
    too_many = await front.says("mia", "and that", direct=direct)
    stopped = await front.says("mia", "/stop", direct=direct)
    await front.store.close()
    assert too_many.outcome == "refused: too many messages"
    assert stopped.outcome == "command: /stop"
    assert stopped.stopped_turn_id is not None
