"""Python extensions in a hub: closed by default, not trusted by their word; a failure is their own."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.bot.cli.in_process import command
from tests.bot.extensions.installed import install
from tests.harness.telegram_hub import OWNER, open_hub
from tests.scenarios.test_mcp import answered, call, offered

MODELS = "".join(
    f'[[models]]\nname = "{name}"\nprovider = "extension"\nentry_point = "{name}"\n'
    for name in ("broken", "crashing", "nowhere")
)
KINDS = {"extension", "channel", "model"}
CHANNEL = '[channels.wire]\nplatform = "extension"\nentry_point = "broken"\noptions = { kind = "wire" }\n'


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def named(*tools: str, trusted: tuple[str, ...] = ()) -> str:
    lists = f"tools = {json.dumps(tools)}\ntrusted_tools = {json.dumps(trusted)}\n"
    return f'[extensions]\n{lists}[approvals]\npreset = "whitelist"\n'


async def test_nothing_is_loaded_that_the_configuration_does_not_name(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await answered(house, "hello")
        assert "roll" not in offered(house)


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_tools_own_requirement_counts_only_if_the_operator_trusts_it(
    tmp_path: Path, *, trusted: bool
) -> None:
    extra = named("good", trusted=("roll",) if trusted else ())
    extra += 'whitelist = ["roll"]\n' if trusted else ""
    async with open_hub(tmp_path, extra=extra) as house:
        house.telegram.user_sends_text(OWNER, call("roll"))
        if not trusted:
            await house.pressed(OWNER, await house.card(OWNER), 0)
        await house.telegram.wait_text(OWNER, "It shows 4.")
        job = await house.store.jobs.jobs("owner", 1)
        assert job == []
        house.telegram.user_sends_text(OWNER, "/job roll it")
        await house.telegram.wait_text(OWNER, "completed")
        (found,) = await house.store.jobs.jobs("owner", 1)
        assert ("roll" in found.scope) is trusted


async def test_a_failing_extension_affects_nothing_else(tmp_path: Path) -> None:
    extra = named("missing", "nonsense", "twice", "good") + CHANNEL
    async with open_hub(tmp_path, extra=extra) as house:
        assert "You said: hello" in await answered(house, "hello")
        assert "roll" in offered(house)
        assert "never" not in await house.told("time")
        assert "wire has no wire" in await house.channel_becomes("failed", "wire")
        assert (await house.readyz())[0] == 200


async def test_installed_packages_are_listed_with_what_they_bring(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=named("good")) as house:
        said = await answered(house, "/extensions")
        assert "example 1 (set by the operator): Python package: " in said
        assert "channel broken (not in the configuration)" in said
        assert "tools good (in use), tools missing (not in the configuration)" in said
        listed = json.loads((await asyncio.to_thread(command, tmp_path, "extensions", "list", "--json")).out)
        assert [(one["name"], one["package"], one["state"] in said) for one in listed] == [
            ("example 1", True, True)
        ]


async def test_when_a_model_fails_the_next_one_is_called(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False) as house:
        config = tmp_path / "hubbub.toml"
        config.write_text(config.read_text().replace("[[models]]", f"{MODELS}[[models]]", 1))
        await house.start()
        assert "You said: hello" in await answered(house, "hello")


def test_the_doctor_names_what_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text(f"{named('good', 'missing')}\n{CHANNEL}\n{MODELS}")
    said = command(tmp_path, "doctor", "--json")
    found = {one["what"]: one["health"] for one in json.loads(said.out) if one["what"].split()[0] in KINDS}
    assert found == {
        "extension good": "fine",
        "extension missing": "broken",
        "channel wire": "fine",
        "model broken": "fine",
        "model crashing": "fine",
        "model nowhere": "broken",
    }
