"""Extensions as people meet them: added with a whole command in sight, there at once, each person's own."""

import json
import sys
from pathlib import Path

import pytest

from bot.app import Seams
from core.extension import Extension, ExtensionChange, ExtensionRefused
from core.job import JobState
from core.routine import RunStatus
from core.tool import Requirement
from core.users import Principal, Role
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.routine_house import OLIVIA, desk_of, ended, greeted
from tests.scenarios.test_access import MIA
from tests.scenarios.test_jobs import becomes as job_becomes
from tests.scenarios.test_jobs import results, started
from tests.scenarios.test_mcp import (
    ASKS,
    LOADED_WITHIN_S,
    NOTE,
    alive,
    answered,
    becomes,
    call,
    offered,
    section,
    told,
)
from tests.simulators.mcp import raw
from tests.simulators.model import Hold, ToolCall, text, tools

MEMBERS = '[roles.member]\ntools = ["time", "create_job", "tool_install"]\n'
NOT_ACTIVE = "is not available to an unattended run: no extension that is active for its owner has it"


def command(directory: Path, mode: str = "") -> tuple[str, ...]:
    directory.mkdir(exist_ok=True)
    return (sys.executable, "-S", "-E", str(raw.__file__), str(directory), mode or "good")


async def member(house: Hub) -> None:
    house.telegram.add_user(MIA, first_name="Mia")
    await house.store.people.ensure_user("mia", Role.MEMBER, "Mia")
    await house.store.people.link_account("mia", "telegram", str(MIA), "Mia")


async def gone(house: Hub, name: str) -> None:
    async def off_the_list() -> bool:
        return name not in (await house.readyz())[1]["mcp"]

    await house.until(off_the_list)


async def stopped(house: Hub, directory: Path) -> None:
    """Wait until no server that was started there runs."""

    async def none_left() -> bool:
        return not alive(directory)

    await house.until(none_left)


async def put(house: Hub, name: str, argv: tuple[str, ...], owner: str = "owner") -> None:
    """As commands add it, with tools that need no approval."""
    await house.store.extensions.put_extension(
        Extension(name, owner, argv, requirement=Requirement.NEVER), owner
    )
    await becomes(house, "ready", name)


async def test_an_extension_is_approved_with_its_whole_command_and_is_there_at_once(tmp_path: Path) -> None:
    argv = command(tmp_path / "raw")
    async with open_hub(tmp_path) as house:
        house.telegram.user_sends_text(OWNER, call("tool_install", name="mine", command=argv))
        card = await house.card(OWNER)
        assert json.dumps(list(argv)) in card.text
        assert "starts this command on the hub's machine" in card.text
        assert [choice[-1] for choice in card.choices] == ["0", "1", "e"]  # approve, deny, edit
        assert not (tmp_path / "raw" / "starts").exists()
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "mine__add, mine__note", timeout_s=LOADED_WITHIN_S)
        assert "42" in await answered(house, call("mine__add", a=20, b=22))
        assert "mine: ready, 5 tools" in await answered(house, "/extensions")
        assert "mine is disabled." in await answered(house, "/extensions disable mine")
        await gone(house, "mine")
        await stopped(house, tmp_path / "raw")
        assert "I have no tool named" in await answered(house, call("mine__add", a=20, b=22))
        assert "mine is enabled." in await answered(house, "/extensions enable mine")
        await becomes(house, "ready", "mine")
        await house.stop()
        assert alive(tmp_path / "raw") == []
        await house.start()
        await becomes(house, "ready", "mine")
        assert "42" in await answered(house, call("mine__add", a=20, b=22))
        assert "mine is removed." in await answered(house, "/extensions remove mine")
        await stopped(house, tmp_path / "raw")
        assert "You have no extensions." in await answered(house, "/extensions")


@pytest.mark.parametrize(
    "arguments,why",
    [
        ({"name": "mine", "command": ["sh", "-c", "x" * 1001]}, "too long to be shown whole"),
        ({"name": "mine", "command": ["sh", "\u202etxt"]}, "characters that can't be seen"),
        ({"name": "mine__x", "command": ["sh"]}, "lowercase letters"),
        ({"name": "mine", "command": ["sh"], "url": "https://mcp.example"}, "either a command or an address"),
        ({"name": "mine", "url": "file:///etc/passwd"}, "must begin with https://"),
    ],
)
async def test_an_extension_that_cannot_be_shown_or_added_is_refused_without_asking(
    tmp_path: Path, arguments: dict[str, str], why: str
) -> None:
    async with open_hub(tmp_path) as house:
        assert why in await answered(house, call("tool_install", **arguments))
        assert not house.open_cards(OWNER)
        assert await house.store.extensions.extensions() == []


async def test_the_owner_approves_a_members_extension_and_it_belongs_to_the_member(tmp_path: Path) -> None:
    argv = command(tmp_path / "raw")
    async with open_hub(tmp_path, extra=MEMBERS) as house:
        await member(house)
        await answered(house, "hello")  # a bot can't begin a conversation
        house.telegram.user_sends_text(MIA, call("tool_install", name="mias", command=argv))
        card = await house.card(OWNER)
        assert json.dumps(list(argv)) in card.text
        assert "not allowed" in await house.pressed(MIA, await house.card(MIA), 0)
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(MIA, "mias__add", timeout_s=LOADED_WITHIN_S)
        await answered(house, "hello")
        assert not any(name.startswith("mias__") for name in offered(house))
        assert "I have no tool named" in await answered(house, call("mias__add", a=1, b=2))
        assert "no extension named mias" in await answered(house, "/extensions remove mias")
        with pytest.raises(ExtensionRefused, match="taken"):
            await house.store.extensions.put_extension(Extension("mias", "owner", argv), "owner")
        await answered(house, "hello", MIA)
        assert "mias__add" in offered(house)


async def test_a_job_has_the_extensions_of_its_owner_as_they_were_when_it_began(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=MEMBERS) as house:
        await member(house)
        await put(house, "mine", command(tmp_path / "mine"))
        await put(house, "mias", command(tmp_path / "mias"), "mia")
        house.model.enqueue(
            tools(ToolCall("mine__add", {"a": 20, "b": 22}), ToolCall("mias__add", {"a": 1, "b": 2}))
        )
        house.model.enqueue(
            tools(ToolCall("mine__add", {"a": 1, "b": 1}), ToolCall("later__add", {"a": 1, "b": 2})),
            fault=Hold(),
        )
        house.model.enqueue(tools(ToolCall("time", {})), fault=Hold())
        house.model.enqueue(tools(ToolCall("mine__add", {"a": 40, "b": 43})))
        house.model.enqueue(text("Done."))
        named = await started(house, "/job add")
        before = (await job_becomes(house, named, JobState.IN_PROGRESS)).scope
        assert "mine__add" in before
        assert not any(name.startswith("mias__") for name in before)
        await house.model.wait_requests(state="held")
        await put(house, "later", command(tmp_path / "later"))
        disable = ExtensionChange.DISABLE
        assert await house.store.extensions.change_extension("mine", "owner", disable, "owner")
        await gone(house, "mine")
        held = house.model.log[-1].number
        house.model.release()
        await house.model.wait_requests(state="held", after=held)
        enable = ExtensionChange.ENABLE
        assert await house.store.extensions.change_extension("mine", "owner", enable, "owner")
        await becomes(house, "ready", "mine")
        house.model.release()
        job = await job_becomes(house, named, JobState.COMPLETED)
        assert job.scope == before
        first, others, after, later, _, again = results(house)
        assert "83" in again
        assert "42" in first
        assert f"mias__add {NOT_ACTIVE}" in others
        assert f"mine__add {NOT_ACTIVE}" in after
        assert "later__add is not available to an unattended run: it is neither in the job's scope" in later
        assert not (tmp_path / "later" / "metas").exists()
        assert not (tmp_path / "mias" / "metas").exists()


async def test_each_persons_jobs_and_routines_have_their_own_extensions(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=MEMBERS) as house:
        await member(house)
        await greeted(house)
        await answered(house, "hi", MIA)
        await put(house, "mine", command(tmp_path / "mine"))
        await put(house, "mias", command(tmp_path / "mias"), "mia")
        both = tools(ToolCall("mine__add", {"a": 20, "b": 22}), ToolCall("mias__add", {"a": 20, "b": 22}))
        desk = desk_of(house)
        action = {"type": "lightweight", "prompt": "add", "use_tools": True}
        page = {"trigger": {"type": "manual"}, "action": action}
        for own, others, person in (
            ("mine", "mias", OLIVIA),
            ("mias", "mine", Principal("mia", Role.MEMBER, "Mia")),
        ):
            house.model.enqueue(both)
            house.model.enqueue(text("ROUTINE_OK"))
            row = await desk.create(person, {"name": f"of {own}", **page})
            await desk.fire(person, row.text.name, "once")
            (run,) = await ended(house, row)
            assert run.state is RunStatus.OK
            by_routine = results(house)
            house.model.enqueue(both)
            house.model.enqueue(text("Done."))
            house.telegram.user_sends_text(OWNER if person is OLIVIA else MIA, "/job add")

            async def completed(owner_id: str = person.user_id) -> bool:
                jobs = await house.store.jobs.jobs(owner_id, 1)
                return [one.state for one in jobs] == [JobState.COMPLETED]

            await house.until(completed)
            (job,) = await house.store.jobs.jobs(person.user_id, 1)
            assert f"{own}__add" in job.scope
            assert not any(name.startswith(f"{others}__") for name in job.scope)
            for said in (by_routine, results(house)):
                first, second = said if own == "mine" else reversed(said)
                assert "42" in first
                assert f"{others}__add {NOT_ACTIVE}" in second


async def test_the_operators_server_keeps_its_name(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=section(tmp_path, name="raw")) as house:
        await becomes(house, "ready")
        assert "raw (set by the operator): ready, 5 tools" in await answered(house, "/extensions")
        assert "stands in the configuration" in await answered(house, "/extensions disable raw")
        house.telegram.user_sends_text(OWNER, call("tool_install", name="raw", command=["true"]))
        await house.pressed(OWNER, await house.card(OWNER), 0)
        await house.telegram.wait_text(OWNER, "That name is taken")
        assert "42" in await answered(house, call("raw__add", a=20, b=22))
        assert "42" in told(house)


async def test_no_unattended_run_changes_extensions(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await put(house, "mine", command(tmp_path / "mine"))
        install = ToolCall("tool_install", {"name": "new", "command": ["true"]})
        asks = ToolCall("tool_auth", {"name": "key", "purpose": "to have it"})
        house.model.enqueue(tools(install, ToolCall("tool_remove", {"name": "mine"}), asks))
        house.model.enqueue(text("Done."))
        await job_becomes(house, await started(house, "/job change them"), JobState.COMPLETED)
        assert not {"tool_install", "tool_remove", "tool_auth"} & offered(house)
        denied = "not available to an unattended run: it is on the denylist"
        assert [denied in one for one in results(house)] == [True] * 3
        assert [one.name for one in await house.store.extensions.extensions()] == ["mine"]
        house.telegram.user_sends_text(OWNER, "/job --tools tool_install change them")
        await house.telegram.wait_text(OWNER, "No job of yours can use")


async def test_a_hub_without_a_manager_has_built_in_tools_alone(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False) as house:
        await house.start()
        await put(house, "mine", command(tmp_path / "mine"))
        await house.stop()
        await house.serve(Seams(clock=house.clock, servers=lambda *_: None))
        house.model.enqueue(tools(ToolCall("mine__add", {"a": 20, "b": 22})))
        house.model.enqueue(text("Done."))
        job = await job_becomes(house, await started(house, "/job add"), JobState.COMPLETED)
        assert "time" in job.scope
        assert not any(name.startswith("mine__") for name in job.scope)
        assert f"mine__add {NOT_ACTIVE}" in results(house)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode,said", [("hangs", "was stopped after"), ("floods", "it sent a line of more than")]
)
async def test_a_hostile_extension_is_contained(tmp_path: Path, mode: str, said: str) -> None:
    async with open_hub(tmp_path, extra="[approvals]\ntool_timeout_s = 2\n") as house:
        await put(house, "good", command(tmp_path / "good"))
        await put(house, "bad", command(tmp_path / "bad", mode))
        house.model.enqueue(
            tools(ToolCall("bad__add", {"a": 1, "b": 2}), ToolCall("good__add", {"a": 20, "b": 22}))
        )
        house.model.enqueue(text("Done."))
        await job_becomes(house, await started(house, "/job add"), JobState.COMPLETED)
        bad, good = results(house)
        assert said in bad
        assert "42" in good
        house.telegram.user_sends_text(OWNER, "/extensions disable bad")
        await house.telegram.wait_text(OWNER, "bad is disabled")
        await stopped(house, tmp_path / "bad")


@pytest.mark.slow
async def test_an_extension_that_changes_a_tool_is_asked_about_again(tmp_path: Path) -> None:
    argv = command(tmp_path / "raw", "changes")
    async with open_hub(tmp_path, extra=ASKS) as house:
        await house.store.extensions.put_extension(Extension("raw", "owner", argv), "owner")
        await becomes(house, "ready")
        house.telegram.user_sends_text(OWNER, call(NOTE, text="milk"))
        await house.pressed(OWNER, await house.card(OWNER), 2)  # always
        await house.telegram.wait_text(OWNER, "noted milk")
        await becomes(house, "ready", tools=2)
        house.telegram.user_sends_text(OWNER, call(NOTE, text="secrets"))
        await house.pressed(OWNER, await house.card(OWNER), 1)
        await house.telegram.wait_text(OWNER, "denied")
        assert (tmp_path / "raw" / "notes").read_text() == "milk\n"
