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
from core.tools.builtin.shell import shell_tool
from tests.bot.sandbox.test_command_containers import workspace_of
from tests.core.tools import test_shell_tool
from tests.core.tools.support import Call
from tests.core.tools.test_shell_tool import (
    test_a_cancelled_call_ends_its_processes_before_it_returns,
    test_a_command_over_its_time_ends_and_its_output_is_returned,
    test_a_command_that_ignores_signals_is_ended_all_the_same,
    test_a_nul_character_is_said,
    test_a_workspace_that_is_missing_is_said,
    test_background_processes_end_with_the_command,
    test_bash_is_what_runs_because_bash_is_what_is_judged,
    test_cancelling_twice_still_ends_everything,
    test_exit_code_and_output_come_back,
    test_it_has_no_input,
    test_it_runs_in_the_workspace_and_its_effects_stay,
    test_long_output_keeps_its_beginning_and_end,
    test_the_deadline_of_the_call_counts_too,
)
from tests.harness.simulators import IN_CONTAINERS
from tests.harness.telegram_hub import Hub, open_hub
from tests.scenarios.test_attachments import (
    test_a_file_of_the_workspace_is_sent_and_no_other,
    test_a_saved_file_replaces_none_and_leaves_its_folder_never,
    test_a_sent_file_can_be_had_in_the_console_as_it_was_sent_and_not_otherwise,
)
from tests.scenarios.test_hard_links import test_no_tool_opens_a_hard_link_to_what_the_hub_keeps
from tests.scenarios.test_script_grants import test_always_on_a_script_asks_again_once_the_script_is_another
from tests.scenarios.test_tools import (
    test_a_denied_write_leaves_the_workspace_as_it_was,
    test_a_file_is_written_after_a_yes_and_read_without_one,
    test_a_guest_has_none_of_these_tools,
    test_always_covers_the_one_file,
    test_files_outside_the_workspace_are_refused,
)
from tests.scenarios.test_written_places import test_always_is_offered_for_documents_alone

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]

TESTS = [
    *(test_a_cancelled_call_ends_its_processes_before_it_returns,),
    *(test_a_command_over_its_time_ends_and_its_output_is_returned,),
    *(test_a_command_that_ignores_signals_is_ended_all_the_same, test_a_nul_character_is_said),
    *(test_a_workspace_that_is_missing_is_said, test_background_processes_end_with_the_command),
    *(test_bash_is_what_runs_because_bash_is_what_is_judged, test_cancelling_twice_still_ends_everything),
    *(test_exit_code_and_output_come_back, test_it_has_no_input),
    *(test_it_runs_in_the_workspace_and_its_effects_stay, test_long_output_keeps_its_beginning_and_end),
    *(test_the_deadline_of_the_call_counts_too, test_a_file_of_the_workspace_is_sent_and_no_other),
    *(test_a_saved_file_replaces_none_and_leaves_its_folder_never,),
    *(test_a_sent_file_can_be_had_in_the_console_as_it_was_sent_and_not_otherwise,),
    *(test_no_tool_opens_a_hard_link_to_what_the_hub_keeps,),
    *(test_always_on_a_script_asks_again_once_the_script_is_another,),
    *(test_a_denied_write_leaves_the_workspace_as_it_was,),
    *(test_a_file_is_written_after_a_yes_and_read_without_one, test_a_guest_has_none_of_these_tools),
    *(test_always_covers_the_one_file, test_files_outside_the_workspace_are_refused),
    *(test_always_is_offered_for_documents_alone,),
]


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
        tool = shell_tool(os.environ, commands=containers)
        monkeypatch.setattr(test_shell_tool, "shell", lambda: tool)
        yield Call(workspace=workspace_of(tmp_path), idempotency_key=str(uuid.uuid4()))
        await containers.close()
