"""Tools of chats in containers, from a message to what was done inside: nothing of it on the host, nothing of
one person's at another's, nothing after its end."""

import asyncio
import hashlib
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.core.tools.processes_support import shells_in, until
from tests.crash.mortal import UNKNOWN, open_mortal_hub, survivors
from tests.harness.images import run
from tests.harness.people import card
from tests.harness.simulators import IN_CONTAINERS, person_files
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.team import BEN_ID, Team, open_team
from tests.scenarios.test_tools import answered, call

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]

AWAY = "(unset HOME; sleep 999) & setsid sleep 999 & sleep 999"


@pytest.fixture(autouse=True)
def hubs_with_containers(monkeypatch: pytest.MonkeyPatch, worker_image: str) -> None:
    monkeypatch.setenv(IN_CONTAINERS, worker_image)


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened
        await opened.stop()
        assert containers(tmp_path) == []


def containers(directory: Path) -> list[str]:
    """The containers for commands of the hub in a directory."""
    name = hashlib.sha256(str((directory / "data").resolve()).encode()).hexdigest()[:16]
    return run("docker", "ps", "--all", "--quiet", "--filter", f"label=hubbub.commands={name}").split()


async def agreed(house: Hub, line: str) -> str:
    """What the model is told of a command that the owner approves."""
    said = len(house.says(OWNER))
    house.telegram.user_sends_text(OWNER, call("shell", command=line))
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await house.telegram.wait_for(lambda: len(house.says(OWNER)) > said + 1, LIMIT_S)
    told: str = house.model.log[-1].body["messages"][-1]["content"]
    return told


async def test_a_command_and_file_tools_work_on_the_same_files_and_never_on_the_host(house: Hub) -> None:
    secret = house.directory / "secret"
    secret.write_text("of the host")
    told = await agreed(house, "mkdir notes; echo inside > notes/a; id -u; head -c 9 /proc/1/cmdline")
    assert "exit code: 0" in told
    assert "\n0\n" not in told, "not as root"
    assert "inside" in await answered(house, call("read_file", path="notes/a"))
    house.telegram.user_sends_text(OWNER, call("write_file", path="notes/new/b", content="of a tool"))
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await house.telegram.wait_text(OWNER, "Wrote 9 bytes")
    seen = await agreed(
        house,
        "echo ' and a command' >> notes/new/b; touch notes/new/c; cat notes/new/b;"
        f" cat {secret}; ls {house.directory}/workspace; touch /made; env; ls /sys/class/net",
    )
    assert "of a tool and a command" in seen
    assert seen.count("No such file") == 2
    assert "Read-only file system" in seen
    assert "\nlo\n" in seen
    assert "HOME=/tmp" in seen
    assert "DOCKER_HOST" not in seen
    assert (house.workspace / "notes" / "new" / "b").read_text() == "of a tool and a command\n"
    assert list((house.directory / "workspace").iterdir()) == []


async def test_stop_ends_everything_in_the_container_within_three_seconds(
    house: Hub, quickly_s: float
) -> None:
    house.telegram.user_sends_text(OWNER, call("shell", command=f"touch ready; {AWAY}"))
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await until((house.workspace / "ready").exists, "the command has begun")
    began = time.monotonic()
    house.telegram.user_sends_text(OWNER, "/stop")
    await until(lambda: not shells_in(house.workspace), "all of it has ended")
    assert time.monotonic() - began < quickly_s
    await house.telegram.wait_text(OWNER, "Stopped.", timeout_s=LIMIT_S)
    await house.telegram.wait_for(lambda: not house.open_cards(OWNER), LIMIT_S)
    assert "ready" in await agreed(house, "ls")


async def test_a_container_that_someone_else_ends_leaves_one_unknown_outcome(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, call("shell", command="echo line >> out; touch ready; sleep 999"))
    await house.pressed(OWNER, await house.card(OWNER), 0)
    await until((house.workspace / "ready").exists, "the command has begun")
    (used,) = containers(house.directory)
    run("docker", "kill", used)
    await house.telegram.wait_text(OWNER, UNKNOWN)
    assert (house.workspace / "out").read_text() == "line\n"


async def test_a_container_of_one_person_is_not_another_s(tmp_path: Path) -> None:
    async with open_team(tmp_path, "") as team:
        files = {name: person_files(tmp_path, user) for name, user in (("owner", "owner"), ("ben", BEN_ID))}
        await asks(team, "owner", "echo mine > f; echo mine > /tmp/f; touch ready; sleep 999")
        await until((files["owner"] / "ready").exists, "the owner's command has begun")
        looks = "ls -A > seen; cat /tmp/f | wc -c >> seen; cat /proc/[0-9]*/comm | grep -c sleep >> seen"
        await asks(team, "ben", f"{looks}; touch over")
        await until((files["ben"] / "over").exists, "Ben's command is over")
        assert (files["ben"] / "seen").read_text() == "seen\n0\n0\n"
        assert (files["owner"] / "f").read_text() == "mine\n"
        team.owner.say("/stop")
        await until(lambda: not shells_in(files["owner"]), "the owner's command has ended")


async def asks(team: Team, name: str, line: str) -> None:
    """Have a person ask for a command, and approve it."""
    who = team.owner if name == "owner" else team.ben
    who.say(call("shell", command=line))
    await who.press(await card(who), "Approve")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
async def test_a_killed_hub_leaves_one_unknown_outcome_and_no_process(
    tmp_path: Path, sent: signal.Signals
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        town.workspace.mkdir(parents=True)
        os.mkfifo(town.workspace / "gate")
        await town.run()
        town.telegram.user_sends_text(OWNER, "please run: echo line >> out && cat gate")
        await town.telegram.wait_text(OWNER, "Run `", timeout_s=LIMIT_S)
        town.answer_cards(OWNER)
        # Opening it waits for the command to open its end; while it is open, the command reads on.
        with await asyncio.to_thread((town.workspace / "gate").open, "w"):
            left = containers(tmp_path)
            await town.end(sent)
            await until(lambda: not survivors(town), "the container has ended with the hub")
        await town.run()
        await town.telegram.wait_text(OWNER, UNKNOWN, timeout_s=LIMIT_S)
        await town.answer_cards_until([OWNER], lambda: bool(town.answers(OWNER, "Done:")))
        await until(lambda: not set(left) & set(containers(tmp_path)), "what was left is removed")
        await town.stop()
        assert left
        assert containers(tmp_path) == []
        assert (town.workspace / "out").read_text() == "line\n"
        assert len([one for one in town.shown_to(OWNER) if UNKNOWN in one.text]) == 1
