"""Jobs that are to work in a container where there is none: refused or failed with a hint."""

import asyncio
import gc
import json
from pathlib import Path

import pytest

from core.job import JobState
from tests.bot.cli.in_process import command
from tests.bot.web.api_client import client
from tests.harness.simulators import person_files
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub
from tests.scenarios.team import BEN_ID, card, hears, open_team
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import ToolCall, tools


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_without_docker_a_job_fails_with_a_hint_and_does_nothing_on_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    async with open_hub(tmp_path, extra="[sandbox]\nenabled = true\n") as house:
        house.model.enqueue(tools(ToolCall("shell", {"command": "touch here"})))
        job = await becomes(house, await started(house, "/job --sandbox touch here"), JobState.FAILED)
        assert job.reason.startswith("no Docker daemon answers; install and start Docker")
        assert (len(house.model.log), list(house.workspace.iterdir())) == (0, [])
        # Jobs of the host are as they were.
        await becomes(house, await started(house, "/job say hello", 2), JobState.COMPLETED)
    gc.collect()  # the SDK leaves sockets that could not connect


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_without_docker_a_command_of_a_chat_fails_with_a_hint_and_runs_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    async with open_hub(tmp_path, extra="[sandbox]\nenabled = true\nchat_tools = true\n") as house:
        for line in (f"touch {tmp_path}/ran", "touch ran"):
            said = len(house.says(OWNER))
            house.telegram.user_sends_text(OWNER, f"please run: {line}")
            await house.pressed(OWNER, await house.card(OWNER), 0)
            await house.telegram.wait_for(lambda said=said: len(house.says(OWNER)) > said + 1, LIMIT_S)
            told = house.model.log[-1].body["messages"][-1]["content"]
            assert "not started, nor run on the host: no Docker daemon answers; install and start" in told
        assert list(tmp_path.rglob("ran")) == []
    gc.collect()  # the SDK leaves sockets that could not connect


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_files_of_two_people_are_apart_where_chat_tools_work_in_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    async with open_team(tmp_path, "[sandbox]\nenabled = true\nchat_tools = true\n") as team:
        for who, name in ((team.owner, "Olivia"), (team.ben, "Ben")):
            who.say(f'please call: write_file {{"path": "notes.txt", "content": "of {name}"}}')
            await who.press(await card(who), "Approve")
            await hears(who, "to notes.txt (new).")
        for user_id, text in (("owner", "of Olivia"), (BEN_ID, "of Ben")):
            assert (person_files(tmp_path, user_id) / "notes.txt").read_text() == text
        assert list((tmp_path / "workspace").iterdir()) == []
    gc.collect()  # the SDK leaves sockets that could not connect


@pytest.mark.parametrize(
    "said, answer",
    [
        (
            "/job --sandbox=../out tidy up",
            'A job can\'t work on "../out": the path is outside the workspace.',
        ),
        ("/job --sandbox", "Type /job and what is to be done."),
        ("/job --sandbox --tools time tidy up", "A job in a container has the container's own tools"),
    ],
)
async def test_a_job_that_no_container_can_take_is_refused(tmp_path: Path, said: str, answer: str) -> None:
    async with open_hub(tmp_path, extra="[sandbox]\nenabled = true\n") as house:
        house.telegram.user_sends_text(OWNER, said)
        await house.telegram.wait_text(OWNER, answer)


IMAGES = '[sandbox]\nenabled = true\nimages = ["hubbub-worker-node"]\n'


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_job_chooses_among_the_images_that_the_operator_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    named = {"task": "tidy up", "sandbox": True, "image": "hubbub-worker-node"}
    work = {"type": "full_job", "title": "Tidy", "description": "tidy up", "sandbox": "."}
    async with open_hub(tmp_path, extra=IMAGES) as house:
        house.telegram.user_sends_text(OWNER, "/job --sandbox --image=python tidy up")
        await house.telegram.wait_text(OWNER, 'No job can have the image "python" here. The images are:')
        house.telegram.user_sends_text(OWNER, "/job --sandbox --image=hubbub-worker-node --mode=claude tidy")
        await house.telegram.wait_text(OWNER, 'No job can work by "claude" here')
        job = await becomes(
            house, await started(house, "/job --sandbox --image=hubbub-worker-node tidy up"), JobState.FAILED
        )
        assert job.image == "hubbub-worker-node"
        words = ("--sandbox", ".", "--image", "hubbub-worker-node", "--json")
        done = await asyncio.to_thread(command, house.directory, "jobs", "start", "tidy up", *words)
        assert (done.code, json.loads(done.out)["task"]) == (0, "tidy up"), done.err
        job = await becomes(house, json.loads(done.out)["short_id"], JobState.FAILED)
        assert (job.image, job.project) == ("hubbub-worker-node", ".")
        async with client(house.directory) as api:
            for body, status in (
                (named, 200),
                ({**named, "image": "python"}, 409),
                ({**named, "sandbox": False}, 409),
            ):
                assert (await api.ask("POST", "/api/jobs", body))[0] == status
            for image, status in (("hubbub-worker-node", 200), ("python", 422)):
                page = {"name": image, "trigger": {"type": "manual"}, "action": {**work, "image": image}}
                assert (await api.ask("POST", "/api/routines", page))[0] == status
    gc.collect()  # the SDK leaves sockets that could not connect


async def test_where_containers_are_turned_off_none_is_promised(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.telegram.user_sends_text(OWNER, "/job --sandbox tidy up")
        await house.telegram.wait_text(OWNER, "Jobs in containers are turned off in this hub")
