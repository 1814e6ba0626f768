"""Grants and jobs: a job has those of its owner, and nothing of another owner's or of a routine's."""

import re
from pathlib import Path

import pytest

from core.routine import RunStatus
from core.users import Role
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.routine_house import fired
from tests.scenarios.test_access import MENTION, MIA
from tests.scenarios.test_jobs import NEEDS_A_PERSON, results

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
async def test_a_job_has_nothing_of_the_grants_of_another_owner(tmp_path: Path, reach: str) -> None:
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
