"""The suites of plain lines, `/pause`, messages while a turn runs and plans once more, with the tools
of chats in containers: the tests are those of the host, and only where they run differs.

What is left out is about the host itself. A leader in a container is the first process there, so that the
system ends all of it with the leader, and nothing carries a mark by which it would be found. Its container is
taken from the daemon, not started as a child; its environment is fixed; and the hub's own files are in no
person's directory, so that nothing there is closed to a command.
"""

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.jobs.command_containers import CommandContainers, WaitingTerms
from bot.jobs.docker_engine import DockerEngine
from core.clock import SystemClock
from tests.bot.sandbox.test_command_containers import workspace_of
from tests.core.tools import test_leader
from tests.core.tools.plain_lines import PlainLines, lay_out_programs
from tests.core.tools.side_by_side import Sides
from tests.core.tools.support import Call
from tests.core.tools.test_against_bash import differences
from tests.harness.images import run
from tests.harness.simulators import IN_CONTAINERS
from tests.harness.telegram_hub import open_hub
from tests.plugins.profile import Profile
from tests.scenarios import test_pause, test_plans, test_while_busy
from tests.scenarios.test_pause_under_load import rounds

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]

SUITES = (test_leader, test_pause, test_while_busy, test_plans)
ON_THE_HOST = {
    "a leader that is a child process of the hub": {
        "test_a_killed_leader_leaves_nothing_and_no_claim",
        "test_programs_die_with_the_leader_where_no_hub_is",
        "test_a_leader_killed_before_its_gate_opens_does_nothing",
    },
    "the environment of this machine": {
        "test_a_program_starts_with_nothing_of_ours",
        "test_no_program_of_the_workspace_replaces_another",
    },
    "the hub's own files": {"test_a_redirect_does_not_open_a_closed_address"},
    "directories of this machine": {"test_a_program_that_may_not_run_is_reported_if_there_is_no_other"},
    "no command and no file": {
        "test_a_card_names_invisible_characters_in_names_that_wildcards_match",
        "test_a_line_that_matches_nothing_is_refused_in_words",
        "test_names_that_look_like_options_are_not_options",
        "test_lines_only_a_shell_can_read_need_approval_of_their_text",
        "test_only_the_owner_pauses_tools",
        "test_after_a_restore_nothing_runs_until_the_owner_unpauses_tools",
        "test_a_message_while_the_plan_is_made_ends_it_before_its_first_step",
        "test_an_unusable_plan_leaves_the_usual_rounds_and_no_trace_for_the_model",
        "test_a_provider_that_refuses_to_plan_leaves_the_usual_rounds",
    },
}
"""The tests of the suites that are not repeated here, by what they are about."""
SLICES = 12
"""Of the tests here, CI runs one of so many, by the commit; `make proof` runs all."""

LEFT_OUT = frozenset[str]().union(*ON_THE_HOST.values())
REPEATED = {
    name: test
    for suite in SUITES
    for name, test in vars(suite).items()
    if name.startswith("test_") and name not in LEFT_OUT
}
globals().update(REPEATED)
sh, house = test_leader.sh, test_pause.house


def test_every_other_scenario_of_the_host_is_repeated() -> None:
    assert {name for suite in SUITES for name in vars(suite)} >= LEFT_OUT
    assert len(REPEATED) >= 26


@pytest.fixture(autouse=True)
def hubs_with_containers(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, profile: Profile
) -> None:
    mine = Profile(profile.name, profile.seed, profile.seed % SLICES + 1, SLICES)
    if profile.name == "ci" and not mine.takes(request.node.nodeid):
        pytest.skip("another commit's slice")
    monkeypatch.setenv(IN_CONTAINERS, request.getfixturevalue("worker_image"))


@pytest_asyncio.fixture
async def call(tmp_path: Path, worker_image: str) -> AsyncIterator[Call]:
    """A call whose command runs in a container, on files of its person."""
    workspace = workspace_of(tmp_path)
    (tmp_path / "dir").mkdir()
    (tmp_path / "a.txt").write_text("alpha\n")
    if workspace.owner is not None:
        for path in (tmp_path / "dir", tmp_path / "a.txt"):
            os.chown(path, *workspace.owner)
    async with DockerEngine(os.environ) as engine:
        terms = WaitingTerms(worker_image, 256, 50, uuid.uuid4().hex[:16])
        containers = CommandContainers(engine, terms, SystemClock())
        yield Call(workspace=workspace, idempotency_key=str(uuid.uuid4()), commands=containers)
        await containers.close()


@pytest.mark.timeout(1200)
async def test_after_a_pause_is_confirmed_no_effect_begins_in_containers(
    tmp_path: Path, profile: Profile
) -> None:
    """tests/scenarios/test_pause_under_load.py, with fewer rounds."""
    async with open_hub(tmp_path, extra='groups = "addressed"') as house:
        _, held_back = await rounds(house, profile.pick(test=1, ci=2, proof=25))
    assert held_back > 0


@pytest.fixture
def image_with_programs(tmp_path: Path, worker_image: str) -> Iterator[str]:
    """The image with the programs that made lines name, as an operator adds some."""
    name = f"hubbub-test-{uuid.uuid4().hex[:8]}-programs"
    lay_out_programs(tmp_path / "bin")
    (tmp_path / "Dockerfile").write_text(f"FROM {worker_image}\nCOPY bin/ /usr/local/bin/\n")
    run("docker", "build", "--quiet", "--tag", name, str(tmp_path))
    try:
        yield name
    finally:
        run("docker", "image", "rm", "--force", name)


@pytest.mark.timeout(1200)
async def test_command_lines_in_a_container_have_the_same_result_as_in_bash(
    tmp_path: Path, image_with_programs: str, profile: Profile
) -> None:
    """The lines of tests/core/tools/test_against_bash.py. Nothing traces inside, so what programs print and
    leave is compared, not which were started."""
    made = PlainLines(profile.seed)
    root = tmp_path / "both"
    root.mkdir()
    async with DockerEngine(os.environ) as engine:
        terms = WaitingTerms(image_with_programs, 256, 50, uuid.uuid4().hex[:16])
        containers = CommandContainers(engine, terms, SystemClock())
        sides = Sides(root, containers, workspace_of(tmp_path / "person").owner)
        pairs = [await sides.pair(number, made.next()) for number in range(profile.pick(test=4, proof=100))]
        await containers.close()
    assert [f"{pair.line!r}: {found}" for pair in pairs for found in differences(pair)] == []
    assert any(pair.ours.printed for pair in pairs)
