"""Grants and jobs: a job has those of its owner, and nothing of another owner's or of a routine's."""

import re
from pathlib import Path

import pytest

from core.gates import GrantScope
from core.routine import RunStatus
from core.users import Role
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Card, Hub, open_hub
from tests.scenarios.routine_house import fired
from tests.scenarios.test_access import MENTION, MIA
from tests.scenarios.test_jobs import NEEDS_A_PERSON, results
from tests.simulators.model import Hold

EXTRA = 'groups = "addressed"\n[roles.member]\ntools = ["shell", "create_job"]'
RUNS = "please run: make tally"


async def job_of(house: Hub, person: int, group: int) -> str:
    """The result of the one call of a job that this person starts in the group."""
    said = len(house.says(group))
    house.telegram.user_sends_text(person, f"{MENTION} /job --tools shell {RUNS}", chat_id=group)

    def completed() -> bool:
        return any("” completed" in one for one in house.says(group)[said:])

    await house.telegram.wait_for(completed, LIMIT_S)
    (result,) = results(house)
    return result


async def grant(house: Hub, reach: str, group: int) -> None:
    """The owner grants the line: for good, for the group, or to a routine."""
    if reach == "routine":
        (pattern,) = re.findall(r"grant exactly this: (.*)", await job_of(house, OWNER, group))
        action = {"prompt": RUNS, "use_tools": True, "allowed_tools": ["shell"]}
        run = await fired(house, "tally", {**action, "grants": [f"shell {pattern}"]})
        assert run.state is RunStatus.ATTENTION
        return
    house.telegram.user_sends_text(OWNER, f"{MENTION} {RUNS}", chat_id=group)
    gate_id = (await house.card(group)).choices[0].split(":")[1]
    house.telegram.user_sends_text(OWNER, f"{MENTION} /approve {gate_id} {reach}", chat_id=group)
    await house.telegram.wait_for(lambda: "Done:" in "\n".join(house.says(group)), LIMIT_S)


@pytest.mark.parametrize("reach", ["always", "session", "routine"])
async def test_a_job_has_none_of_the_grants_of_another_owner(tmp_path: Path, reach: str) -> None:
    async with open_hub(tmp_path, extra=EXTRA) as house:
        (house.workspace / "Makefile").write_text("tally:\n\techo line >> out.txt\n")
        house.telegram.add_user(MIA, first_name="Mia")
        await house.store.people.ensure_user("mia", Role.MEMBER, "Mia")
        await house.store.people.link_account("mia", "telegram", str(MIA), "Mia")
        group = house.telegram.create_group("Work", [OWNER, MIA]).id
        await grant(house, reach, group)
        out = house.workspace / "out.txt"
        assert out.read_text() == "line\n"
        assert NEEDS_A_PERSON in await job_of(house, MIA, group)
        assert out.read_text() == "line\n"
        # The owner's own job has it, unless it is the routine's.
        assert (NEEDS_A_PERSON in await job_of(house, OWNER, group)) is (reach == "routine")
        assert out.read_text() == "line\n" * (1 if reach == "routine" else 2)


ALLOW, AGAIN = "Allow for this job", "Do it again"


def buttons(house: Hub) -> dict[str, tuple[Card, int]]:
    """The buttons of the newest message that has some, by their words."""
    newest = [one for one in house.telegram.bot_messages(OWNER) if one.keyboard][-1]
    words = [b["text"] for row in (newest.keyboard or {})["inline_keyboard"] for b in row]
    (card,) = [card for card in house.open_cards(OWNER) if card.id == newest.id]
    return {word: (card, position) for position, word in enumerate(words)}


async def ends(house: Hub, nth: int) -> str:
    """What is said of the end of that job."""

    def told() -> list[str]:
        return [one for one in house.says(OWNER) if "” completed" in one]

    await house.telegram.wait_for(lambda: len(told()) == nth, LIMIT_S)
    return told()[-1]


async def test_a_refused_call_is_granted_to_its_job_which_makes_it_when_it_is_repeated(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path) as house:
        (house.workspace / "Makefile").write_text("tally:\n\techo line >> out.txt\n")
        out = house.workspace / "out.txt"
        house.telegram.user_sends_text(OWNER, f"/job --tools shell {RUNS}")
        said = await ends(house, 1)
        assert NEEDS_A_PERSON in said
        assert "shell make tally" in said
        allow, again = buttons(house)[ALLOW], buttons(house)[AGAIN]
        assert "may do this when it is done again" in await house.pressed(OWNER, *allow)
        await house.pressed(OWNER, *allow)
        (granted,) = await house.store.consents.grants("owner")
        assert (granted.tool, granted.scope) == ("shell", GrantScope.JOB)
        assert granted.subject is not None

        await house.pressed(OWNER, *again)
        assert "did not run" not in await ends(house, 2)
        assert out.read_text() == "line\n"
        # No other job has it, also of the same words.
        house.telegram.user_sends_text(OWNER, f"/job --tools shell {RUNS}")
        assert "shell make tally" in await ends(house, 3)
        assert out.read_text() == "line\n"

        house.telegram.user_sends_text(OWNER, "/approvals")
        await house.telegram.wait_text(OWNER, "1 grant in force: /grants lists and revokes them.")
        house.telegram.user_sends_text(OWNER, "/grants")
        listed = await house.telegram.wait_text(OWNER, f"({granted.subject})")
        assert "make tally" in listed.text
        house.telegram.user_sends_text(OWNER, f"/grants revoke {granted.id[-8:]}")
        await house.telegram.wait_text(OWNER, "Grant revoked")
        done = next(one for one in await house.store.jobs.jobs("owner", 10) if one.parent is not None)
        async with client(house.directory) as api:
            status, restarted = await api.ask("POST", f"/api/jobs/{done.id}/restart")
        assert (status, restarted["parent"]) == (200, done.id)
        assert "shell make tally" in await ends(house, 4)
        assert out.read_text() == "line\n"


async def test_a_grant_that_is_revoked_while_its_job_runs_no_longer_holds(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        (house.workspace / "Makefile").write_text("tally:\n\techo line >> out.txt\n")
        house.telegram.user_sends_text(OWNER, f"/job --tools shell {RUNS}")
        await ends(house, 1)
        await house.pressed(OWNER, *buttons(house)[ALLOW])
        (granted,) = await house.store.consents.grants("owner")
        house.model.fault(Hold())
        await house.pressed(OWNER, *buttons(house)[AGAIN])
        await house.model.wait_requests(state="held")  # it was offered the tool already
        await house.store.consents.revoke_grant(granted.id)
        house.model.release()
        assert "shell did not run" in await ends(house, 2)
        assert not (house.workspace / "out.txt").exists()
