"""Access to the hub, end to end: strangers, members, second accounts, a group; codes and limits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.clock import SECOND_US
from core.people.pairing import PairAs
from core.store.accounts import CODE_LIFE_US, PairingApproved
from core.users import Principal, Role
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub

MIA, STAN, SECOND, EVE = 8, 9, 10, 11
PEOPLE = {MIA: "Mia", STAN: "Stan", SECOND: "Olivia's tablet", EVE: "Eve"}
OPERATOR = Principal("owner", Role.OWNER, "owner")
MENTION = "@sim123456_bot"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, direct="pairing", extra='groups = "addressed"') as opened:
        invite(opened)
        yield opened


def invite(house: Hub) -> None:
    for person, name in PEOPLE.items():
        house.telegram.add_user(person, first_name=name)


async def says(house: Hub, person: int, text: str) -> str:
    """Return what the bot answers next, in private."""
    before = len(house.says(person))
    house.telegram.user_sends_text(person, text)
    messages = await house.telegram.wait_bot_messages(person, before + 1)
    return messages[before].text


async def code_for(house: Hub, person: int) -> str:
    """A stranger writes and is given a code."""
    answer = await says(house, person, "hello")
    assert answer.startswith("This assistant is private.")
    return answer.split("\n")[1]


async def let_in(house: Hub, person: int) -> None:
    """The owner lets a stranger in as a member."""
    code = await code_for(house, person)
    assert (
        await says(house, OWNER, f"/approve telegram {code}")
        == f"{PEOPLE[person]} now has access as a member."
    )
    await house.telegram.wait_text(person, "You now have access.")


async def link(house: Hub, person: int, second: int) -> None:
    """A known person joins a second account."""
    code = (await says(house, person, "/link")).split("/link ")[1].split("\n")[0]
    assert "This account is now linked" in await says(house, second, f"/start {code}")
    await house.telegram.wait_text(person, "Your code was used")


async def outcomes(house: Hub, *, count: int) -> list[str]:
    """Return what `why` says of the newest events, in order."""
    return [event.outcome for event in reversed(await house.app.store.explanations.explain_recent(count))]


async def everything_has_an_answer(house: Hub) -> None:
    """Each message the platform delivered is explained by its key, or counted."""
    await house.telegram.wait_confirmed()
    store = house.app.store
    messages = [update.payload["message"] for update in house.telegram.updates(kind="message")]
    keys = [f"tg:123456:m:{one['chat']['id']}:{one['message_id']}" for one in messages if "text" in one]
    explained = [await store.explanations.explain(key) for key in keys]
    assert len(keys) > 0
    assert all(one.outcome for one in explained if one is not None)
    assert explained.count(None) == sum(row.seen for row in await store.explanations.noise(1000))


# --- in private -----------------------------------------------------------------------------------------


async def test_a_stranger_gets_one_polite_reply_and_the_model_hears_nothing(house: Hub) -> None:
    code = await code_for(house, STAN)
    for text in ("please", "/help", "/new", "run: echo hi"):
        house.telegram.user_sends_text(STAN, text)
    await house.telegram.wait_confirmed()
    (said,) = house.says(STAN)
    assert f"/approve telegram {code}" in said
    assert house.model.log.taken == 0
    assert await outcomes(house, count=5) == ["refused: not paired"] * 5
    await everything_has_an_answer(house)


async def test_a_paired_person_is_answered_with_a_members_tools(house: Hub) -> None:
    await let_in(house, STAN)
    assert await says(house, STAN, "hello again") == "You said: hello again"
    assert await says(house, STAN, "/approve telegram ABCDEFGH") == (
        "Only the owner of this assistant can pair people."
    )
    assert "shell" not in str(house.model.log[-1].body.get("tools"))
    house.telegram.user_sends_text(OWNER, "and I?")
    await house.telegram.wait_text(OWNER, "You said: and I?")
    assert "shell" in str(house.model.log[-1].body.get("tools"))


async def test_a_code_works_once_and_a_guess_never(house: Hub) -> None:
    code = await code_for(house, STAN)
    assert await says(house, OWNER, "/approve telegram ABCDEFGH") == (
        "Unknown code. A code works once and expires after 15 minutes."
    )
    await says(house, OWNER, f"/approve telegram {code}")
    await house.telegram.wait_text(STAN, "You now have access.")
    again = await says(house, OWNER, f"/approve telegram {code}")
    assert again == "This code has already been used. Ask for a new one."
    for _ in range(4):
        await says(house, OWNER, "/approve telegram ABCDEFGH")
    other = await code_for(house, EVE)
    assert await says(house, OWNER, f"/approve telegram {other}") == (
        "Too many wrong codes. Please try again in 15 minutes."
    )
    assert await outcomes(house, count=1) == ["refused: too many wrong codes"]
    await everything_has_an_answer(house)


async def test_a_code_expires(tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="pairing") as house:
        invite(house)
        code = await code_for(house, STAN)
        house.clock.skip(CODE_LIFE_US / SECOND_US)
        assert await says(house, OWNER, f"/approve telegram {code}") == (
            "This code has expired. Ask for a new one."
        )
        assert await code_for(house, STAN) != code


async def test_a_linking_code_cannot_be_guessed(house: Hub) -> None:
    code = (await says(house, OWNER, "/link")).split("/link ")[1].split("\n")[0]
    for guess in ("ABCDEFGH", "ABCDEFGJ", "ABCDEFGK", "ABCDEFGM", "ABCDEFGN"):
        assert (await says(house, EVE, f"/link {guess}")).startswith("Unknown code.")
    assert await says(house, EVE, f"/link {code}") == (
        "Too many wrong codes. Please try again in 15 minutes."
    )
    assert "now linked" in await says(house, SECOND, f"/link {code}"), "another's guesses cost nobody a code"
    assert await outcomes(house, count=2) == ["refused: too many wrong codes", "linked"]


async def test_a_code_to_join_expires(tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="pairing") as house:
        invite(house)
        code = (await says(house, OWNER, "/link")).split("/link ")[1].split("\n")[0]
        house.clock.skip(CODE_LIFE_US / SECOND_US)
        assert await says(house, SECOND, f"/link {code}") == "This code has expired. Ask for a new one."
        assert (await says(house, SECOND, "hello")).startswith("This assistant is private.")


async def test_of_two_people_who_race_for_a_linking_code_one_joins(house: Hub) -> None:
    code = (await says(house, OWNER, "/link")).split("/link ")[1].split("\n")[0]
    racers = (STAN, SECOND, EVE)
    for person in racers:
        house.telegram.user_sends_text(person, f"/link {code}")
    answers = [(await house.telegram.wait_bot_messages(person, 1))[0].text for person in racers]
    assert sorted(answer.startswith("This account is now linked") for answer in answers) == [0, 0, 1]
    assert answers.count("This code has already been used. Ask for a new one.") == 2
    house.telegram.user_sends_text(OWNER, "please run: echo one >> out.txt")
    gate_id = (await house.card(OWNER)).choices[0].split(":")[1]
    decided = [await says(house, person, f"/approve {gate_id}") for person in racers]
    assert decided.count("Approved by owner") == 1


async def test_of_two_people_who_race_for_a_pairing_code_one_is_paired(house: Hub) -> None:
    await link(house, OWNER, SECOND)
    code = await code_for(house, STAN)
    before = {person: len(house.says(person)) for person in (OWNER, SECOND)}
    for person in before:
        house.telegram.user_sends_text(person, f"/approve telegram {code}")
    decision = await house.app.pairing.approve(code, by=OPERATOR, pair_as=PairAs.MEMBER)
    answers = [isinstance(decision, PairingApproved)]
    for person, count in before.items():
        answers.append("is in" in (await house.telegram.wait_bot_messages(person, count + 1))[count].text)
    assert answers.count(True) == 1
    await house.telegram.wait_text(STAN, "You now have access.")
    assert await says(house, STAN, "hello") == "You said: hello"
    assert (
        house.says(STAN).count(
            "You now have access. Send me a message and I will answer. Type /help for the commands."
        )
        == 1
    )


async def test_pairing_outlives_a_restart(house: Hub) -> None:
    code = await code_for(house, STAN)
    await house.stop()
    await house.start()
    await says(house, OWNER, f"/approve telegram {code}")
    await house.telegram.wait_text(STAN, "You now have access.")
    await house.stop()
    await house.start()
    assert await says(house, STAN, "still there?") == "You said: still there?"


async def test_a_revoked_person_is_refused_at_the_next_message_and_press(tmp_path: Path) -> None:
    members = '[roles.member]\ntools = ["shell"]'
    async with open_hub(tmp_path, direct="pairing", extra=members) as house:
        invite(house)
        await let_in(house, STAN)
        house.telegram.user_sends_text(STAN, "please run: echo mine >> out.txt")
        card = await house.card(STAN)
        assert await house.app.pairing.revoke("telegram", str(STAN))
        assert await house.pressed(STAN, card, 0) == "You are not allowed to decide this."
        assert (await says(house, STAN, "yes")).startswith("This assistant is private.")
        assert not (house.workspace / "out.txt").exists()
        assert await outcomes(house, count=2) == ["refused: not paired"] * 2


async def test_the_first_owner_is_paired_by_the_operator(tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="pairing", start=False) as house:
        invite(house)
        config = house.directory / "hubbub.toml"
        config.write_text(config.read_text().replace(f'owner_identities = ["telegram:{OWNER}"]', ""))
        await house.start()
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        first, second = await code_for(house, STAN), await code_for(house, EVE)
        desk = house.app.pairing
        assert isinstance(await desk.approve(first, by=OPERATOR, pair_as=PairAs.OWNER), PairingApproved)
        assert not isinstance(await desk.approve(second, by=OPERATOR, pair_as=PairAs.OWNER), PairingApproved)
        await house.telegram.wait_text(STAN, "You now have access.")
        assert await says(house, STAN, f"/approve telegram {second}") == "Eve now has access as a member."


# --- a second account -----------------------------------------------------------------------------------


async def test_a_second_account_is_the_same_person(house: Hub) -> None:
    await link(house, OWNER, SECOND)
    code = await code_for(house, STAN)
    assert await says(house, SECOND, f"/approve telegram {code}") == "Stan now has access as a member."
    house.telegram.user_sends_text(OWNER, "please run: echo both >> out.txt")
    card = await house.card(OWNER)
    gate_id = card.choices[0].split(":")[1]
    assert await says(house, STAN, f"/approve {gate_id}") == "There is no request with that ID."
    assert await says(house, SECOND, f"/approve {gate_id}") == "Approved by owner"
    await house.telegram.wait_text(OWNER, "Done:")
    assert (house.workspace / "out.txt").read_text() == "both\n"


async def test_an_account_of_another_person_cannot_be_taken(house: Hub) -> None:
    await let_in(house, STAN)
    code = (await says(house, OWNER, "/link")).split("/link ")[1].split("\n")[0]
    assert (await says(house, STAN, f"/link {code}")).startswith("This account already belongs to a user")
    assert "now linked" in await says(house, SECOND, f"/link {code.lower()}")
    assert await says(house, EVE, f"/link {code}") == "This code has already been used. Ask for a new one."
    await everything_has_an_answer(house)


# --- a group of five ------------------------------------------------------------------------------------


async def test_in_a_group_each_sees_what_is_theirs(house: Hub) -> None:
    await let_in(house, MIA)
    await link(house, OWNER, SECOND)
    await code_for(house, STAN)
    group = house.telegram.create_group("Five", [OWNER, MIA, STAN, SECOND, EVE]).id

    for person in (STAN, EVE):
        house.telegram.user_sends_text(person, f"{MENTION} what do you know?", chat_id=group)
        house.telegram.user_sends_text(person, "/status", chat_id=group)
    house.telegram.user_sends_text(MIA, f"{MENTION} hello from Mia", chat_id=group)
    await house.telegram.wait_text(group, "hello from Mia")
    assert len(house.telegram.bot_messages(group)) == 1, "strangers are met with silence"
    assert await outcomes(house, count=5) == [*["refused: not paired"] * 4, "turn 1"]

    house.telegram.user_sends_text(OWNER, f"{MENTION} please run: echo group >> out.txt", chat_id=group)
    await house.telegram.wait_for(lambda: house.open_cards(group), LIMIT_S)
    (card,) = house.open_cards(group)
    for person in (MIA, STAN, EVE):
        assert await press(house, person, group, card.id, card.choices[0]) == (
            "You are not allowed to decide this."
        )
    assert not (house.workspace / "out.txt").exists()
    assert await press(house, SECOND, group, card.id, card.choices[0]) == "Approved by owner"
    await house.telegram.wait_text(group, "Done:")
    assert (house.workspace / "out.txt").read_text() == "group\n"
    await everything_has_an_answer(house)


async def test_groups_do_not_reveal_private_threads(house: Hub) -> None:
    await let_in(house, MIA)
    await let_in(house, STAN)
    group = house.telegram.create_group("Five", [OWNER, MIA, STAN, SECOND, EVE]).id
    for person, word in ((MIA, "apricot"), (STAN, "banana"), (OWNER, "cherry")):
        for where in (None, group):
            mention = f"{MENTION} " if where else ""
            house.telegram.user_sends_text(person, f"{mention}my word is {word} in {where}.", chat_id=where)
            await house.telegram.wait_text(where or person, f"{word} in {where}.")
            told = str(house.model.log[-1].body["messages"])
            others = {"apricot", "banana", "cherry"} - {word}
            assert word in told
            assert not [other for other in others if other in told], f"{PEOPLE.get(person)} in {where}"
    house.telegram.user_sends_text(MIA, "/threads", chat_id=group)
    listed = await house.telegram.wait_text(group, "Your conversations here")
    assert f"apricot in {group}" in listed.text
    assert "apricot in None" not in listed.text
    assert listed.keyboard is not None
    ((button,),) = listed.keyboard["inline_keyboard"]
    choices = button["callback_data"]
    house.telegram.user_sends_text(MIA, "/thread my word is apricot in None.", chat_id=group)
    await house.telegram.wait_text(group, "You have no conversation here with that ID or title.")
    refused = await press(house, STAN, group, listed.id, choices)
    assert refused == "Only the person who asked for this list can use it."
    await press(house, MIA, group, listed.id, choices)
    await house.telegram.wait_text(group, f"in {group}.”, last active on telegram")
    house.telegram.user_sends_text(MIA, "/threads")
    everything = await house.telegram.wait_text(MIA, "Your conversations, the most recently active first:")
    assert all(f"apricot in {where}" in everything.text for where in (None, group))
    assert await says(house, STAN, "and mine?") == "You said: and mine?"
    assert "apricot" not in str(house.model.log[-1].body["messages"])


async def test_in_a_group_a_members_call_is_decided_by_them_or_the_owner(tmp_path: Path) -> None:
    extra = 'groups = "addressed"\n[roles.member]\ntools = ["shell"]'
    async with open_hub(tmp_path, direct="pairing", extra=extra) as house:
        invite(house)
        for person in (MIA, STAN):
            await let_in(house, person)
        await link(house, OWNER, SECOND)
        group = house.telegram.create_group("Five", [OWNER, MIA, STAN, SECOND, EVE]).id

        for number, decider in enumerate((MIA, SECOND)):
            asked = f"{MENTION} please run: echo {number} >> out.txt"
            house.telegram.user_sends_text(MIA, asked, chat_id=group)
            await house.telegram.wait_for(lambda: house.open_cards(group), LIMIT_S)
            (card,) = house.open_cards(group)
            for other in (STAN, EVE):
                for button in card.choices:
                    refused = await press(house, other, group, card.id, button)
                    assert refused == "You are not allowed to decide this."
                house.telegram.user_sends_text(other, f"{MENTION} yes", chat_id=group)
                house.telegram.user_sends_text(other, "approve", chat_id=group, reply_to=card.id)
            gate_id = card.choices[0].split(":")[1]
            assert await says(house, STAN, f"/approve {gate_id}") == "There is no request with that ID."
            await house.telegram.wait_confirmed()
            assert len(house.open_cards(group)) == 1
            who = "Mia" if decider == MIA else "owner"
            answer = await press(house, decider, group, card.id, card.choices[0])
            assert answer == f"Approved by {who}"
            await house.telegram.wait_for(lambda: not house.open_cards(group), LIMIT_S)
            await house.telegram.wait_for(lambda n=number: done(house, group) > n, LIMIT_S)
        assert (house.workspace / "out.txt").read_text() == "0\n1\n"


def done(house: Hub, chat: int) -> int:
    """Answers after a tool."""
    return sum(text.startswith("Done:") for text in house.says(chat))


async def press(house: Hub, person: int, chat: int, message: int, data: str) -> str:
    """The word that answers a press in a group."""
    query = house.telegram.user_presses_button(person, message, data=data, chat_id=chat)
    answered = await house.telegram.wait_callback_answer(query.id, LIMIT_S)
    return answered.answers[0].get("text", "")


async def test_unaddressed_messages_are_ignored_and_disabled_groups_are_noise(tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="pairing", extra='groups = "addressed"') as house:
        invite(house)
        group = house.telegram.create_group("Two", [OWNER, MIA]).id
        house.telegram.set_member(group, 123456, "administrator")  # who hear everything
        house.telegram.user_sends_text(OWNER, "talking to Mia", chat_id=group)
        await house.telegram.wait_confirmed()
        assert await outcomes(house, count=1) == ["ignored: not addressed"]
    (tmp_path / "off").mkdir()
    async with open_hub(tmp_path / "off", direct="pairing") as house:
        group = house.telegram.create_group("Two", [OWNER]).id
        for _ in range(3):
            house.telegram.user_sends_text(OWNER, f"{MENTION} hello", chat_id=group)
        await everything_has_an_answer(house)
        assert [(row.reason, row.seen) for row in await house.app.store.explanations.noise(5)] == [
            ("ignored: groups are off", 3)
        ]
        assert house.telegram.bot_messages(group) == []


# --- limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direct, kept", [("open", 5), ("pairing", 10)])
async def test_a_flood_of_presses_by_another_person_is_counted_and_not_stored(
    tmp_path: Path, direct: str, kept: int
) -> None:
    extra = 'groups = "addressed"\n[access]\nsender_per_minute = 5'
    async with open_hub(tmp_path, direct=direct, extra=extra) as house:
        invite(house)
        group = house.telegram.create_group("Two", [OWNER, EVE]).id
        house.telegram.user_sends_text(OWNER, f"{MENTION} please run: touch made", chat_id=group)
        await house.telegram.wait_for(lambda: house.open_cards(group), LIMIT_S)
        (card,) = house.open_cards(group)
        said = [await press(house, EVE, group, card.id, card.choices[0]) for _ in range(30)]
        assert said[:kept] == ["You are not allowed to decide this."] * kept
        store = house.app.store
        found = await store.explanations.explain_recent(100)
        assert len([one for one in found if one.sender == "Eve"]) == kept
        (noise,) = await store.explanations.noise(10)
        assert (noise.reason, noise.seen) == ("refused: too many messages", 30 - kept)
        assert not (house.workspace / "made").exists()
        assert await press(house, OWNER, group, card.id, card.choices[0]) == "Approved by owner"
        await house.telegram.wait_text(group, "Done:")


async def test_a_flood_is_refused_once_and_delays_no_one_else(tmp_path: Path) -> None:
    extra = "[access]\nsender_per_minute = 5"
    async with open_hub(tmp_path, direct="pairing", extra=extra) as house:
        invite(house)
        await let_in(house, STAN)
        for number in range(3):  # and one while still a stranger
            await says(house, STAN, f"number {number}")
        house.telegram.redeliver(times=3, new_ids=True)
        assert await says(house, STAN, "number 3") == "You said: number 3", "a redelivery does not count"
        for number in range(4, 25):
            house.telegram.user_sends_text(STAN, f"number {number}")
        await house.telegram.wait_text(STAN, "You are sending messages too fast.")
        await house.telegram.wait_confirmed()
        for number in range(8):
            assert await says(house, OWNER, f"owner {number}") == f"You said: owner {number}"
        await house.stop()
        await house.start()
        house.telegram.user_sends_text(STAN, "after the restart")
        await house.telegram.wait_confirmed()
        assert await outcomes(house, count=1) == ["refused: too many messages"]
        assert len([said for said in house.says(STAN) if "messages too fast" in said]) == 1
        assert house.model.log.taken == 4 + 8
