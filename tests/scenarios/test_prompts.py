"""A chat's prompt as its provider gets it: a stable beginning, identity documents, skills and their tools."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest_asyncio

from tests.harness.process import hubbub
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.routine_house import fired
from tests.simulators.model import Exchange, ToolCall, tools

GUEST = 8
NOTE = "[Note from the hub, not from a person: time: "
DOCUMENTS = ("AGENTS.md", "SOUL.md", "USER.md")
DEPLOY = "---\ndescription: Ship the site\nkeywords: ship\n---\nCheck twice before you ship.\n"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, direct="open", extra='groups = "all"', start=False) as opened:
        config = tmp_path / "hubbub.toml"
        trusting = '[workspace]\ntrusted_skills = ["deploy"]'
        config.write_text(config.read_text().replace("[workspace]", trusting))
        opened.telegram.add_user(GUEST, first_name="Mia")
        await opened.start()
        yield opened


async def said(house: Hub, text: str, answer: str, person: int = OWNER) -> Exchange:
    """The last request about a message; the next one comes in another minute."""
    house.telegram.user_sends_text(person, text)
    await house.telegram.wait_text(person, answer)
    house.clock.skip(61)
    return house.model.log[-1]


def messages(request: Exchange) -> list[dict[str, Any]]:
    return request.body["messages"]


def system(request: Exchange) -> str:
    first, *others = messages(request)
    assert first["role"] == "system"
    assert not any(one["role"] == "system" for one in others), "strict providers take one, at the beginning"
    return str(first["content"])


def offered(request: Exchange) -> set[str]:
    return {tool["function"]["name"] for tool in request.body.get("tools", ())}


def skill(house: Hub, name: str, text: str) -> None:
    (house.workspace / "skills" / name).mkdir(parents=True)
    (house.workspace / "skills" / name / "SKILL.md").write_text(text)


def all_but_tools(request: Exchange) -> bytes:
    return request.raw.partition(b'],"tools":[{"type"')[0]


async def test_a_request_begins_with_all_of_the_one_before_it(house: Hub) -> None:
    await said(house, "one", "You said: one")
    await said(house, 'please call: echo {"text": "ho"}', "Done:")
    await said(house, "three", "You said: three")
    await house.stop()
    await house.start()
    last = await said(house, "four", "You said: four")
    requests = house.model.log.all()
    assert len(requests) == 5
    for before, after in pairwise(requests):
        shared = all_but_tools(after).startswith(all_but_tools(before))
        assert shared, f"request {after.number} begins otherwise: {messages(after)}"
    times = [one["content"].partition(NOTE)[2] for one in messages(last) if one["role"] == "user"]
    assert len(set(times)) == 4, "each message has a time of its own"
    assert all(times)


async def test_only_the_owners_runs_are_given_the_identity_documents(house: Hub) -> None:
    for name in DOCUMENTS:
        (house.workspace / name).write_text(f"What {name} says.")
    skill(house, "private", "---\nkeywords: hello\n---\nThe owner's own way.")
    ours, theirs = [
        system(await said(house, "hello", "You said: hello", person)) for person in (OWNER, GUEST)
    ]
    order = [f"What {name} says." for name in DOCUMENTS]
    order += ["You are a careful assistant", "Text inside <tool_output>", "Available tools:"]
    order += ["The owner's own way.", "You are talking with", "You are the model sim-1 in hubbub"]
    places = [ours.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)
    assert "NO_REPLY" not in ours
    assert ours.count("<suggestions>") == theirs.count("<suggestions>") == 1
    assert "says." not in theirs
    assert "own way" not in theirs
    assert 'You are talking with "Mia" (guest) in a direct conversation on telegram. Markdown' in theirs
    await fired(house, "report", {"prompt": "look around"})
    (routine,) = house.model.log.select(match="look around")
    beginning, _, end = system(routine).rpartition("\n\n")
    assert beginning.startswith("# AGENTS.md\n\nWhat AGENTS.md says.")
    assert "You are a careful assistant" in beginning
    assert "(or NO_REPLY)" in beginning
    assert end.startswith("It is "), "the time comes last"
    (house.workspace / "AGENTS.md").unlink()
    group = house.telegram.create_group("all of us", [OWNER]).id
    house.telegram.user_sends_text(OWNER, f"@{house.telegram.bot().user.username} all", chat_id=group)
    await house.telegram.wait_text(group, "all")
    there = system(house.model.log[-1])
    assert "(owner) in a group conversation on telegram. Others read along;" in there
    assert "If nothing needs an answer, reply with exactly NO_REPLY: nothing is sent then." in there
    assert "What AGENTS.md says." not in there


async def test_an_untrusted_skill_leaves_only_tools_that_need_no_approval(house: Hub) -> None:
    skill(house, "wild", "---\nkeywords: purge\n---\nRun rm first.")
    skill(house, "deploy", DEPLOY)
    skill(house, "odd", "---\ntools: time")
    usual = await said(house, "hello", "You said: hello")
    trusted = await said(house, "ship it", "You said: ship it")
    assert "Check twice before you ship." in system(trusted)
    assert "Check twice" not in system(usual)
    assert offered(trusted) == offered(usual) >= {"shell", "time", "list_dir"}
    house.model.enqueue(tools(ToolCall("shell", {"command": "echo out > out.txt"})), match="purge")
    both = await said(house, "purge and ship", "Done: Denied")
    assert "Run rm first." in system(both)
    assert {"time", "list_dir"} <= offered(both) < offered(usual)
    assert "shell" not in offered(both)
    assert "shell can't be used with the active skills" in messages(both)[-1]["content"]
    assert not (house.workspace / "out.txt").exists()
    assert offered(await said(house, "hello again", "You said: hello again")) == offered(usual)
    house.telegram.user_sends_text(OWNER, "/skills")
    await house.telegram.wait_text(OWNER, "deploy: Ship the site · keywords: ship")
    listed = house.says(OWNER)[-1]
    assert "wild: no description · keywords: purge · only tools that need no approval" in listed
    assert "odd: not used: its first lines are not closed by a line of ---." in listed
    house.telegram.user_sends_text(GUEST, "/skills")
    await house.telegram.wait_text(GUEST, "There are no skills for you here.")


async def test_a_routine_follows_the_skills_that_its_prompt_names(house: Hub) -> None:
    skill(house, "wild", "---\nkeywords: purge\n---\nRun rm first.")
    tool = {"use_tools": True, "allowed_tools": ["shell"]}
    for words in ("tidy", "purge"):
        await fired(house, words, {"prompt": f"please {words}", **tool})
    tidy, purge = (house.model.log.select(match=f"please {words}")[0] for words in ("tidy", "purge"))
    assert "shell" in offered(tidy)
    assert "Run rm first." not in system(tidy)
    assert "Run rm first." in system(purge)
    assert {"time"} <= offered(purge) <= offered(tidy) - {"shell"}


async def test_the_time_is_that_of_the_persons_time_zone(house: Hub) -> None:
    for zone in ("Asia/Tokyo", "default"):
        house.telegram.user_sends_text(OWNER, f"/timezone {zone}")
        await house.telegram.wait_for(lambda: "time zone" in "".join(house.says(OWNER)[-1:]))
        request = await said(house, f"hello {zone}", f"You said: hello {zone}")
        notes = [one["content"] for one in messages(request) if "time: " in str(one["content"])]
        assert all(("(Asia/Tokyo)" if zone != "default" else "(UTC)") in note for note in notes)
        assert notes


async def test_the_next_prompt_is_shown_with_its_sizes(house: Hub) -> None:
    (house.workspace / "SOUL.md").write_text("You are called Hal.")
    skill(house, "deploy", DEPLOY)
    requests = [await said(house, "ship it", "You said: ship it", person) for person in (GUEST, OWNER)]
    guests, owners = requests
    ours, theirs = json.loads((await hubbub(house.directory, "threads", "list", "--json")).out)
    show = ("threads", "show", "--prompt", "--message", "ship more")
    page = json.loads((await hubbub(house.directory, *show, ours["id"], "--json")).out)
    other = json.loads((await hubbub(house.directory, *show, theirs["id"].replace("-", ""), "--json")).out)
    assert (page["thread_id"], page["user_id"]) == (ours["id"], ours["owner_id"])
    assert (page["prompt"], set(page["tools"])) == (system(owners), offered(owners))
    assert (other["prompt"], set(other["tools"])) == (system(guests), offered(guests))
    parts = {part["name"]: part["text"] for part in page["parts"]}
    named = ["SOUL.md", "system_prompt", "fence rule", "tools", "skill deploy", "conversation", "model"]
    assert list(parts) == named
    assert "\n\n".join(parts.values()) == page["prompt"]
    assert [part["chars"] for part in page["parts"]] == list(map(len, parts.values()))
    assert page["time"].startswith("time: ")
    assert page["messages"] == 3
    await house.stop()
    plain = await hubbub(house.directory, *show, ours["id"])
    none = await hubbub(house.directory, *show, "x")
    assert "skill deploy" in plain.out
    assert plain.out.rstrip().endswith(page["prompt"].rpartition("\n")[2])
    assert (none.code, none.complaint.split(";")[0]) == (1, "No thread has the ID x")
