"""Consent of several people on several platforms: who is asked, who counts, and what everybody sees of it."""

import asyncio
from pathlib import Path

import pytest

from core.users import Role
from tests.harness.people import Person, card, hears, sees, told
from tests.scenarios.team import CASTS, LEA_ID, RUN, Cast, open_team

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
ONE, *OTHERS = CASTS
OUTDATED = "Someone changed this call after"
ALL = pytest.mark.parametrize(
    "cast", [ONE, *(pytest.param(other, marks=pytest.mark.slow) for other in OTHERS)], ids=str
)


def count(person: Person, text: str) -> int:
    return sum(text in one.text for one in person.shown())


@ALL
async def test_two_of_a_team_agree_across_platforms_without_the_requester(tmp_path: Path, cast: Cast) -> None:
    async with open_team(tmp_path, cast=cast) as team:
        team.ben.say(RUN)
        own, owners, leas = await card(team.ben), await card(team.owner), await card(team.lea)
        assert "2 people must approve." in owners.text
        await team.ben.press(own, "Approve")
        await told(team.ben, "You made this request, so someone else must decide it.")
        await team.owner.press(owners, "Approve")
        await told(team.owner, "Counted. 1 more needed.")
        await team.owner.press(owners, "Approve")
        await told(team.owner, "Your answer has already been counted.")
        assert team.lines == []
        await team.lea.press(leas, "Approve")
        await hears(team.ben, "Done:")
        assert team.lines == ["line"]
        for person, copy in ((team.ben, own), (team.owner, owners), (team.lea, leas)):
            await sees(person, copy, "Approved by Lea")
            # A copy that is stale by now: pressed all the same, it is answered with the outcome.
            await person.press(copy, "Deny")
            await told(person, "Already closed: Approved by Lea")
        assert team.lines == ["line"]


@pytest.mark.slow
@pytest.mark.parametrize("cast", CASTS, ids=str)
async def test_one_denial_on_the_other_platform_is_enough(tmp_path: Path, cast: Cast) -> None:
    async with open_team(tmp_path, cast=cast) as team:
        team.ben.say(RUN)
        owners, leas = await card(team.owner), await card(team.lea)
        await team.owner.press(owners, "Approve")
        await told(team.owner, "Counted. 1 more needed.")
        await team.lea.press(leas, "Deny")
        await hears(team.ben, "Done:")
        await sees(team.owner, owners, "Denied by Lea")
        assert team.lines == []


@ALL
async def test_opposite_votes_at_one_instant_have_one_outcome(tmp_path: Path, cast: Cast) -> None:
    async with open_team(tmp_path, ONE_OF_OPS, cast=cast) as team:
        team.ben.say(RUN)
        owners, leas = await card(team.owner), await card(team.lea)
        await asyncio.gather(team.lea.press(leas, "Deny"), team.owner.press(owners, "Approve"))
        await hears(team.ben, "Done:")
        approved = team.lines == ["line"]
        outcome = "Approved by owner" if approved else "Denied by Lea"
        await told(team.lea if approved else team.owner, f"Already closed: {outcome}")
        await sees(team.owner, owners, outcome)
        await sees(team.lea, leas, outcome)
        assert team.lines == (["line"] if approved else [])


@pytest.mark.slow
@pytest.mark.parametrize("cast", CASTS, ids=str)
async def test_a_press_on_the_old_card_does_not_approve_the_edited_call(tmp_path: Path, cast: Cast) -> None:
    async with open_team(tmp_path, cast=cast) as team:
        team.ben.say(RUN)
        owners, stale = await card(team.owner), await card(team.lea)
        await team.owner.change(owners, "echo changed >> out.txt")
        await team.lea.until(lambda: any("echo changed" in one.text for one in team.lea.shown()))
        await team.hub.stop()
        await team.starts()
        await team.lea.press(stale, "Approve")
        await told(team.lea, "Someone else changed this in the meantime. Review it again.")
        assert team.lines == []
        await team.lea.press(await card(team.lea), "Approve")
        await hears(team.ben, "Done:")
        assert team.lines == ["changed"]
        await sees(team.owner, owners, "Approved by Lea")
        await team.lea.press(stale, "Approve")
        await told(team.lea, "Already closed: Approved by Lea")
        assert team.lines == ["changed"]


@ALL
async def test_an_edit_begun_before_another_persons_edit_is_not_accepted(tmp_path: Path, cast: Cast) -> None:
    """It would take the other one back without anybody having decided so."""
    async with open_team(tmp_path, cast=cast) as team:
        team.ben.say(RUN)
        owners, leas = await card(team.owner), await card(team.lea)
        leas_hand_in = await team.lea.begins_change(leas)
        await team.owner.change(owners, "echo changed >> out.txt")
        await team.lea.until(lambda: any("echo changed" in one.text for one in team.lea.shown()))
        await leas_hand_in("echo overwritten >> out.txt")
        await team.lea.until(lambda: any(OUTDATED in why for why in team.lea.refusals()))
        assert not count(team.owner, "overwritten")
        owners_hand_in = await team.owner.begins_change(await card(team.owner))
        await team.lea.change(await card(team.lea), "echo both >> out.txt")
        await team.owner.until(lambda: any("echo both" in one.text for one in team.owner.shown()))
        await owners_hand_in("echo overwritten >> out.txt")
        await team.owner.until(lambda: any(OUTDATED in why for why in team.owner.refusals()))
        await team.owner.press(await card(team.owner), "Approve")
        await hears(team.ben, "Done:")
        assert team.lines == ["both"]


@pytest.mark.slow
@pytest.mark.parametrize("cast", CASTS, ids=str)
async def test_an_edit_that_changes_nothing_is_an_approval(tmp_path: Path, cast: Cast) -> None:
    async with open_team(tmp_path, cast=cast) as team:
        team.ben.say(RUN)
        owners, leas = await card(team.owner), await card(team.lea)
        await team.owner.change(owners, RUN.partition(": ")[2])
        await team.lea.press(leas, "Approve")
        await hears(team.ben, "Done:")
        assert team.lines == ["line"]
        await sees(team.owner, owners, "Approved by Lea")


@pytest.mark.slow
async def test_a_person_without_their_role_neither_counts_nor_decides(tmp_path: Path) -> None:
    async with open_team(tmp_path) as team:
        team.ben.say(RUN)
        owners, leas = await card(team.owner), await card(team.lea)
        await team.lea.press(leas, "Approve")
        await team.hub.store.people.ensure_user(LEA_ID, Role.GUEST, "Lea")
        await team.owner.press(owners, "Approve")
        await told(team.owner, "Counted. 1 more needed.")
        assert team.lines == []
        team.ben.say("/stop")
        await sees(team.owner, owners, "Stopped.")


@pytest.mark.slow
async def test_removed_accounts_are_shown_no_card(tmp_path: Path) -> None:
    async with open_team(tmp_path, ONE_OF_OPS) as team:
        await team.hub.store.people.revoke_account(team.cast.lea, team.cast.account("Lea"))
        team.ben.say(RUN)
        await team.owner.press(await card(team.owner), "Approve")
        await hears(team.ben, "Done:")
        assert not count(team.lea, "Run `")


@pytest.mark.slow
async def test_a_call_can_be_asked_about_in_another_conversation(tmp_path: Path) -> None:
    rules = f"{ONE_OF_OPS}ask_in = '{ONE.owner}:{ONE.account('Olivia')}'\n"
    async with open_team(tmp_path, rules, cast=ONE) as team:
        team.ben.say(RUN)
        await team.owner.press(await card(team.owner), "Approve")
        await hears(team.ben, "Done:")
        assert team.lines == ["line"]
        assert not count(team.lea, "Run `")


@pytest.mark.slow
@pytest.mark.parametrize("cast", CASTS, ids=str)
async def test_undecided_gates_escalate_even_across_a_restart(tmp_path: Path, cast: Cast) -> None:
    async with open_team(tmp_path, ESCALATES, cast=cast) as team:
        team.ben.say(RUN)
        own = await card(team.ben)
        assert not count(team.lea, "Run `")
        await team.hub.stop()
        await team.starts()
        team.hub.clock.pass_by(70)
        leas = await card(team.lea)
        await hears(team.ben, "I have also asked Lea.")
        await team.lea.change(leas, "echo changed >> out.txt")
        await hears(team.ben, "Done:")
        assert team.lines == ["changed"]
        for person, copy in ((team.lea, leas), (team.ben, own)):
            await sees(person, copy, "Approved by Lea, edited")
        assert count(team.ben, "I have also asked") == 1


@ALL
async def test_people_are_reminded_once_before_it_expires(tmp_path: Path, cast: Cast) -> None:
    rules = f"[approvals]\nexpires_after_s = 400\n{ONE_OF_OPS}"
    async with open_team(tmp_path, rules, cast=cast) as team:
        team.ben.say(RUN)
        owners, leas = await card(team.owner), await card(team.lea)
        team.hub.clock.pass_by(310)
        for person in (team.owner, team.lea, team.ben):
            await hears(person, "Still waiting for your answer: Run `")
            await hears(person, "counts as not approved")
        team.hub.clock.pass_by(100)
        for person, copy in ((team.owner, owners), (team.lea, leas)):
            await sees(person, copy, "Not approved: no answer in time.")
            await person.press(copy, "Approve")
            await told(person, "Already closed: Not approved: no answer in time.")
        await hears(team.ben, "Done:")
        assert [count(person, "Still waiting") for person in (team.ben, team.owner, team.lea)] == [1, 1, 1]
        assert team.lines == []
