""" "Always" where somebody else decides: for whom it is granted, and that one of several cannot grant it."""

import json
from pathlib import Path

import pytest

from tests.harness.people import Person, card, hears, told
from tests.scenarios.team import Cast, Team, open_team

HERE = Cast("telegram", "telegram", "telegram")
ANOTHER = """
[[approvals.rules]]
approvers = "team:ops"
not_requester = true
"""
TWO = f"{ANOTHER}quorum = 2\n"


def writes(content: str) -> str:
    return f"please call: write_file {json.dumps({'path': 'notes.txt', 'content': content})}"


def notes(team: Team) -> str:
    path = team.hub.directory / "workspace" / "notes.txt"
    return path.read_text() if path.exists() else ""


def asked(person: Person) -> bool:
    return any(one.buttons for one in person.shown())


async def test_always_is_granted_to_the_requester_of_the_call_and_not_to_the_approver(tmp_path: Path) -> None:
    async with open_team(tmp_path, ANOTHER, cast=HERE) as team:
        team.ben.say(writes("one"))
        await team.owner.press(await card(team.owner, "Always allow"), "Always allow")
        await hears(team.ben, "Done:")
        assert notes(team) == "one"
        team.ben.say(writes("two"))
        await hears(team.ben, "Done:", times=2)
        assert notes(team) == "two", "Ben may go on"
        assert not any(map(asked, (team.ben, team.owner, team.lea)))
        team.owner.say(writes("three"))
        await card(team.lea)
        assert notes(team) == "two", "the owner agreed for Ben, not for themselves"


@pytest.mark.parametrize("word", ["always", "session"])
async def test_a_quorum_offers_no_permanent_grant(tmp_path: Path, word: str) -> None:
    async with open_team(tmp_path, TWO, cast=HERE) as team:
        team.ben.say(writes("one"))
        shown = await card(team.owner)
        assert "Always allow" not in shown.buttons
        assert "Always allow" not in (await card(team.lea)).buttons
        gate_id = await only_prompt(team)
        for person in (team.owner, team.lea):
            person.say(f"/approve {gate_id} {word}")
            await hears(person, '"Always allow" is not available')
        assert notes(team) == ""
        for person in (team.owner, team.lea):
            await person.press(await card(person), "Approve")
        await told(team.owner, "Counted. 1 more needed.")
        await hears(team.ben, "Done:")
        assert notes(team) == "one"
        team.ben.say(writes("two"))
        await card(team.owner)
        assert notes(team) == "one", "the next one is asked about again"
        team.ben.say("/stop")
        team.ben.say("please run: ls")
        await team.owner.until(lambda: any("ls" in one.text and one.buttons for one in team.owner.shown()))
        await team.lea.change(await card(team.lea), "ls -a")
        await team.owner.until(lambda: any("ls -a" in one.text and one.buttons for one in team.owner.shown()))
        assert not any("Always allow" in one.buttons for one in team.owner.shown()), "nor once it was edited"


async def only_prompt(team: Team) -> str:
    (view,) = await team.hub.store.gates.open_gates()
    return view.gate.id
