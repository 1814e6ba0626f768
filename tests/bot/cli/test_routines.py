"""`hubbub routines`, beside a running hub and without one: what is changed holds at once."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.bot.cli.in_process import command
from tests.harness.process import Ended
from tests.harness.telegram_hub import OWNER, Hub, open_hub

BESIDE = pytest.mark.parametrize("running", [True, False], ids=["a hub runs", "no hub runs"])
WATCH = ("routines", "add", "watch", "--match", "deploy (\\w+)", "--prompt", "Look.", "--cooldown", "0")


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def said(house: Hub, *words: str) -> Ended:
    return await asyncio.to_thread(command, house.directory, *words)


async def page(house: Hub, *words: str) -> Any:
    done = await said(house, *words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@BESIDE
async def test_a_routine_is_created_shown_changed_and_deleted(house: Hub, running: bool) -> None:
    if not running:
        await house.stop()
    assert (await said(house, *WATCH)).out == "watch saved\n"
    again = await said(house, *WATCH)
    assert (again.code, again.err) == (1, "name is already the name of one of your routines\n")
    (listed,) = await page(house, "routines", "list")
    assert (listed["name"], listed["kind"], listed["status"]) == ("watch", "event", "untested")
    await page(house, "routines", "edit", "watch", "--match", "ship (\\w+)")
    shown = await page(house, "routines", "show", "watch")
    assert shown["definition"]["trigger"] == {"type": "event", "pattern": "ship (\\w+)"}
    assert shown["definition"]["action"]["prompt"] == "Look."
    said_to_people = await said(house, "routines", "show", "watch")
    assert "A message in which “ship (\\w+)” matches" in said_to_people.out
    assert "A message in which “ship (\\w+)” matches" in (await said(house, "routines", "list")).out
    trial = await page(house, "routines", "test", "watch", "--text", "please ship it")
    assert 'You are running the routine "watch"' in trial["system"]
    assert trial["fires"]
    assert "group 1: it" in trial["input"]
    assert not (await page(house, "routines", "test", "watch", "--text", "deploy it"))["fires"]
    used = json.dumps({"action": {"use_tools": True, "allowed_tools": ["shell"], "grants": ["shell rm *"]}})
    (house.directory / "used.json").write_text(used)
    await page(house, "routines", "edit", "watch", "--file", str(house.directory / "used.json"))
    judged = await page(
        house, *("routines", "test", "watch"), *("--call", "shell rm old", "--call", "shell make test")
    )
    expected = [*judged["tools"], *judged["grants"], *judged["calls"]]
    assert [(one["about"], one["outcome"]) for one in expected] == [
        ("shell", "some"),
        ("shell rm *", "runs"),
        ("shell rm old", "runs"),
        ("shell make test", "refused"),
    ]
    told = (await said(house, "routines", "test", "watch", "--call", "shell make test")).out
    assert "refused  shell make test: shell is not available to an unattended run" in told
    assert not (await page(house, "routines", "disable", "watch"))["enabled"]
    refused = await said(house, "routines", "fire", "watch")
    assert (refused.code, refused.err) == (1, "the routine is paused\n")
    assert (await page(house, "routines", "enable", "watch"))["enabled"]
    assert (await said(house, "routines", "delete", "watch")).code == 0
    gone = await said(house, "routines", "show", "watch")
    assert (gone.code, gone.err) == (1, "you have no routine named “watch”\n")
    if not running:
        await house.start()


async def test_a_full_job_routine_is_created_by_command(house: Hub) -> None:
    words = (
        "routines",
        "add",
        "sky",
        "--full-job",
        "Stars",
        "--prompt",
        "Count them",
        "--tools",
        "shell, http",
    )
    made = await page(house, *words, "--max-iterations", "9")
    assert made["definition"]["action"] == {
        "type": "full_job",
        "title": "Stars",
        "description": "Count them",
        "max_iterations": 9,
        "allowed_tools": ["shell", "http"],
    }
    await page(house, "routines", "edit", "sky", "--prompt", "Count all of them")
    shown = await page(house, "routines", "show", "sky")
    assert shown["definition"]["action"]["description"] == "Count all of them"


async def test_a_routine_created_by_command_fires_and_shows_its_history(house: Hub) -> None:
    assert (await said(house, *WATCH)).code == 0
    house.telegram.user_sends_text(OWNER, "deploy production")
    await house.telegram.wait_text(OWNER, "Routine “watch” has something for you")
    (run,) = await page(house, "routines", "history", "watch")
    assert (run["status"], run["input"]["groups"]) == ("attention", ["production"])
    assert run["input_tokens"] > 0
    await page(house, "routines", "fire", "watch")

    async def twice() -> bool:
        runs = await page(house, "routines", "history", "watch")
        return [run["kind"] for run in runs if run["status"] == "attention"] == ["manual", "event"]

    await house.until(twice)


@pytest.mark.parametrize(
    "options, told",
    [
        (("--cron", "61 * * * *"), "trigger.schedule"),
        (("--cron", "0 9 * * *", "--timezone", "Mars/Base"), "trigger.timezone"),
        (("--match", "x", "--webhook", "y"), "trigger.path"),
        (("--cooldown", "-1"), "guardrails.cooldown_s"),
        (("--webhook", "github"), "trigger.secret_name must name the secret"),
        (("--webhook", "github", "--secret", "hook"), "set it with: hubbub secrets set hook"),
    ],
)
def test_errors_name_the_field(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    (tmp_path / "hubbub.toml").write_text('[hub]\ndata_dir = "data"\n')
    done = command(tmp_path, "routines", "add", "x", "--prompt", "p", *options)
    assert done.code == 1
    assert told in done.err


async def test_a_routine_fires_once_and_may_be_a_reminder(house: Hub) -> None:
    await house.stop()
    words = ("routines", "add", "ada", "--in", "20 m", "--remind", "Call Ada.")
    assert (await said(house, *words)).out.startswith("ada saved; next at ")
    shown = await page(house, "routines", "show", "ada")
    assert shown["definition"]["action"] == {"type": "reminder", "text": "Call Ada."}
    assert shown["fires_on"].startswith("Once at ")
    edited = await page(house, "routines", "edit", "ada", "--at", "2099-12-01 09:00", "--timezone", "UTC")
    assert edited["fires_on"] == "Once at 2099-12-01 09:00 (UTC)"
    assert "in the past" in (await said(house, "routines", "edit", "ada", "--at", "2001-12-01 09:00")).err
    both = await said(house, "routines", "add", "bo", "--in", "20 m", "--cron", "@daily", "--prompt", "Look.")
    assert (both.code, "only one of --cron, --at and --in" in both.err) == (2, True)
