"""The suites of `shell` and of the file tools once more, with the tools of chats in containers: the tests are
those of the host, and only where they run differs."""

import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.jobs.command_containers import CommandContainers, WaitingTerms
from bot.jobs.docker_engine import DockerEngine
from core.clock import SystemClock
from tests.bot.sandbox.test_command_containers import workspace_of
from tests.core.tools import test_shell_tool
from tests.core.tools.support import Call
from tests.harness.simulators import IN_CONTAINERS
from tests.harness.telegram_hub import Hub, open_hub
from tests.scenarios import (
    test_attachments,
    test_hard_links,
    test_script_grants,
    test_tools,
    test_written_places,
)

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]

SUITES = (
    test_shell_tool,
    test_tools,
    test_attachments,
    test_hard_links,
    test_script_grants,
    test_written_places,
)
ON_THE_HOST = {
    "a child process of the hub": {
        "test_no_descriptor_is_left_open",
        "test_a_command_that_cannot_be_recorded_never_begins",
        "test_the_child_is_recorded_before_the_command_begins",
        "test_a_hub_that_dies_before_the_gate_opens_leaves_no_effect",
        "test_a_later_hub_ends_what_a_killed_one_left_running",
    },
    "the environment of this machine": {
        "test_a_command_sees_no_secret_of_the_hub",
        "test_only_harmless_names_pass",
    },
    "one workspace of several calls": {"test_many_calls_end_only_their_own"},
    "no command and no file": {
        "test_the_tool_asks_has_an_effect_and_reaches_everything",
        "test_the_risk_of_a_call_is_that_of_its_command_line",
        "test_arguments_that_make_no_sense_are_refused",
        "test_the_web_tool_does_not_reach_this_machine",
        "test_sending_to_the_web_is_asked_about_with_all_that_would_be_sent",
        "test_a_failed_download_is_reported_to_the_model",
        "test_a_text_file_is_read_in_the_conversation_it_was_attached_in",
        "test_a_link_to_a_sent_file_is_valid_for_that_file_and_one_minute",
        "test_workspace_tools_belong_to_the_owner",
        "test_no_personal_setting_covers_what_is_run_unseen",
    },
}
"""The tests of the suites that are not repeated here, by what they are about."""


LEFT_OUT = frozenset[str]().union(*ON_THE_HOST.values())
REPEATED = {
    name: test
    for suite in SUITES
    for name, test in vars(suite).items()
    if name.startswith("test_") and name not in LEFT_OUT
}
globals().update(REPEATED)


def test_every_other_scenario_of_the_host_is_repeated() -> None:
    assert {name for suite in SUITES for name in vars(suite)} >= LEFT_OUT
    assert len(REPEATED) >= 22


@pytest.fixture(autouse=True)
def hubs_with_containers(monkeypatch: pytest.MonkeyPatch, worker_image: str) -> None:
    monkeypatch.setenv(IN_CONTAINERS, worker_image)


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


@pytest_asyncio.fixture
async def call(tmp_path: Path, worker_image: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Call]:
    """A call whose command runs in a container; `shell` is the tool that has it."""
    async with DockerEngine(os.environ) as engine:
        terms = WaitingTerms(worker_image, 256, 50, uuid.uuid4().hex[:16])
        containers = CommandContainers(engine, terms, SystemClock())
        yield Call(workspace=workspace_of(tmp_path), idempotency_key=str(uuid.uuid4()), commands=containers)
        await containers.close()
