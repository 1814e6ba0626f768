"""Consent of several people on two platforms: who is asked, who counts, and what everybody sees of it."""

import asyncio
from pathlib import Path

import pytest

from core.users import Role
from tests.scenarios.team import BEN, LEA, LEA_ID, OWNER, RUN, open_team

ONE_OF_OPS = """
[[approvals.rules]]
approvers = "team:ops"
not_requester = true
"""
ESCALATES = f"""
[approvals]
expires_after_s = 3600
[[approvals.rules]]
role = "member"
escalate_after_s = 60
escalate_to = "team:leads"
[teams.leads]
users = ["{LEA_ID}"]
"""


async def test_two_of_a_team_agree_across_platforms_without_the_requester(tmp_path: Path) -> None:
    async with open_team(tmp_path) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        own = await house.card(BEN)
        owners, leas = await house.card(OWNER), await team.leas_card()
        assert "2 people have to agree." in owners.text
        assert (
            await house.pressed(BEN, own, 0) == "Someone else has to decide this: the one who asked may not."
        )
        assert await house.pressed(OWNER, owners, 0) == "Counted. 1 more needed."
        assert await house.pressed(OWNER, owners, 0) == "Your answer is already counted."
        assert team.lines == []
        await team.lea_presses(leas, "Approve")
        await house.telegram.wait_text(BEN, "Done:")
        assert team.lines == ["line"]
        for person, card in ((BEN, own), (OWNER, owners)):
            await team.sees(person, card, "Approved by Lea")
            assert not house.open_cards(person)
        await team.lea_sees(leas, "Approved by Lea")
        # A copy that is stale by now: pressed all the same, it is answered with the outcome.
        assert await house.pressed(OWNER, owners, 1) == "Already settled: Approved by Lea"
        assert team.lines == ["line"]


@pytest.mark.slow
async def test_one_refusal_on_the_other_platform_is_enough(tmp_path: Path) -> None:
    async with open_team(tmp_path) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        owners, leas = await house.card(OWNER), await team.leas_card()
        assert await house.pressed(OWNER, owners, 0) == "Counted. 1 more needed."
        await team.lea_presses(leas, "Deny")
        await house.telegram.wait_text(BEN, "Done:")
        await team.sees(OWNER, owners, "Denied by Lea")
        assert team.lines == []


async def test_opposite_votes_at_one_instant_have_one_outcome(tmp_path: Path) -> None:
    async with open_team(tmp_path, ONE_OF_OPS) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        owners, leas = await house.card(OWNER), await team.leas_card()
        _, word = await asyncio.gather(team.lea_presses(leas, "Deny"), house.pressed(OWNER, owners, 0))
        await house.telegram.wait_text(BEN, "Done:")
        outcome = "Approved by owner" if word == "Approved by owner" else "Denied by Lea"
        assert word in {outcome, f"Already settled: {outcome}"}
        await team.sees(OWNER, owners, outcome)
        await team.lea_sees(leas, outcome)
        assert team.lines == (["line"] if word == "Approved by owner" else [])


@pytest.mark.slow
async def test_who_lost_their_role_meanwhile_neither_counts_nor_decides(tmp_path: Path) -> None:
    async with open_team(tmp_path) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        owners, leas = await house.card(OWNER), await team.leas_card()
        await team.lea_presses(leas, "Approve")
        assert house.app is not None
        await house.app.store.ensure_user(LEA_ID, Role.GUEST, "Lea")
        assert await house.pressed(OWNER, owners, 0) == "Counted. 1 more needed."
        assert team.lines == []
        await house.pressed(BEN, await house.card(BEN), 0)
        house.telegram.user_sends_text(BEN, "/stop")
        await team.sees(OWNER, owners, "Stopped.")


@pytest.mark.slow
async def test_nobody_is_shown_a_card_whose_account_was_put_out(tmp_path: Path) -> None:
    async with open_team(tmp_path, ONE_OF_OPS) as team:
        house = team.house
        assert house.app is not None
        await house.app.store.revoke_account("slack", LEA)
        house.telegram.user_sends_text(BEN, RUN)
        owners = await house.card(OWNER)
        await house.pressed(OWNER, owners, 0)
        await house.telegram.wait_text(BEN, "Done:")
        assert not team.slack.bot_messages(team.leas)


@pytest.mark.slow
async def test_a_call_can_be_put_to_another_conversation(tmp_path: Path) -> None:
    rules = f"{ONE_OF_OPS}ask_in = 'telegram:{OWNER}'\n"
    async with open_team(tmp_path, rules) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        owners = await house.card(OWNER)
        await house.pressed(OWNER, owners, 0)
        await house.telegram.wait_text(BEN, "Done:")
        assert team.lines == ["line"]
        assert not team.slack.bot_messages(team.leas)


@pytest.mark.slow
async def test_what_nobody_decides_is_put_to_others_also_across_a_restart(tmp_path: Path) -> None:
    async with open_team(tmp_path, ESCALATES, speed=100) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        await house.card(BEN)
        assert not team.slack.bot_messages(team.leas)
        await house.stop()
        await house.start()
        await house.channel_becomes("running", "slack")
        leas = await team.leas_card()
        await house.telegram.wait_text(BEN, "I have asked Lea, too.")
        await team.lea_changes(leas, {"command": "echo changed >> out.txt"})
        await house.telegram.wait_text(BEN, "Done:")
        assert team.lines == ["changed"]
        await team.lea_sees(leas, "Approved by Lea, edited")
        assert sum("I have asked" in text for text in house.says(BEN)) == 1


async def test_people_are_reminded_once_before_it_expires(tmp_path: Path) -> None:
    rules = f"[approvals]\nexpires_after_s = 400\n{ONE_OF_OPS}"
    async with open_team(tmp_path, rules, speed=200) as team:
        house = team.house
        house.telegram.user_sends_text(BEN, RUN)
        owners = await house.card(OWNER)
        reminded = await house.telegram.wait_text(OWNER, "Still waiting for you: May I run shell?")
        assert "it counts as not approved" in reminded.text
        assert reminded.reply_to is not None
        await house.telegram.wait_text(BEN, "Still waiting for you")
        await team.sees(OWNER, owners, "Nobody answered in time: not approved.")
        await house.telegram.wait_text(BEN, "Done:")
        for person in (BEN, OWNER):
            assert sum("Still waiting" in text for text in house.says(person)) == 1
        assert team.lines == []
