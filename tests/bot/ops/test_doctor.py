"""`hubbub doctor`: every finding says how a thing is and what to do; exit 1 if something is broken."""

import asyncio
import gc
import json
import socket
import sqlite3
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from bot.config.load import load
from bot.jobs.worker_image import sandbox_problem
from bot.ops.doctor import examine, hub_findings
from bot.ops.probes import Answer, Health, provider
from bot.runtime import AdminError
from bot.views import StatusView
from core.clock import SystemClock
from tests.bot.cli.in_process import command
from tests.harness.process import Ended, HubProcess, hubbub
from tests.harness.telegram_hub import KEY, LIMIT_S, TOKEN, Hub, open_hub, write_config
from tests.simulators.searxng import SearxngSimulator


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    """Started once and stopped again: there is a database, and nobody uses it."""
    async with open_hub(tmp_path) as opened:
        await opened.stop()
        (opened.directory / "hubbub.toml").chmod(0o600)
        yield opened


async def examined(house: Hub) -> Ended:
    return await asyncio.to_thread(command, house.directory, "doctor", "--json")


def findings(ended: Ended) -> dict[str, dict[str, Any]]:
    """By what was looked at; the worst where it was looked at more than once."""
    order = ["fine", "warning", "broken"]
    found = sorted(json.loads(ended.out), key=lambda finding: order.index(finding["health"]))
    return {finding["what"]: finding for finding in found}


async def test_everything_is_fine_without_a_hub(house: Hub) -> None:
    ended = await examined(house)
    found = findings(ended)
    assert (ended.code, ended.err) == (0, "")
    assert {finding["health"] for finding in found.values()} == {"fine"}
    assert found["channel telegram"]["message"].startswith("the token is valid: @")
    assert found["model main"]["message"].endswith("accepts the key and lists sim-1")
    assert found["clock"]["message"].startswith("agrees with 127.0.0.1")
    assert found["network"]["message"] == "tools may reach the public internet only"
    assert TOKEN not in ended.out
    assert KEY not in ended.out


async def test_everything_is_fine_with_a_running_hub(house: Hub) -> None:
    async with HubProcess(house.directory):
        await house.telegram.wait_polling(TOKEN)
        ended = await examined(house)
        found = findings(ended)
        assert (ended.code, ended.err) == (0, "")
        assert found["hub"]["message"].startswith("running, version ")
        assert found["channel telegram"]["message"].startswith("running since ")
        assert "port" not in found
        assert found["configuration"]["health"] == "fine"
        write_config(house, direct="pairing", extra="[agent]\nqueue = 'one_by_one'")
        (house.directory / "hubbub.toml").chmod(0o600)
        waits = findings(await examined(house))["configuration"]
        assert waits["message"] == (
            "2 changed settings wait for a restart: agent.queue, channels.telegram.direct"
        )
        assert "restart the hub" in waits["fix"]


async def test_before_the_first_start_doctor_creates_nothing(tmp_path: Path) -> None:
    ended = await hubbub(tmp_path, "doctor", env={"HUBBUB__HTTP__PORT": "0"})
    assert (ended.code, ended.err) == (0, "")
    assert "no channel" in ended.out
    assert list(tmp_path.iterdir()) == []


GROUPS = {
    "commands and mentions": (
        "addressed",
        False,
        True,
        "fine",
        "receives commands, replies to it and messages",
    ),
    "more than it answers": ("addressed", True, True, "fine", "(its privacy mode is off) and answers those"),
    "all, as wanted": ("all", True, True, "fine", "the bot receives every message and answers each one"),
    "less than wanted": ("all", False, True, "warning", 'groups = "all" has the same effect as "addressed"'),
    "no groups at all": ("addressed", False, False, "warning", "the bot can't be added to groups"),
}


@pytest.mark.parametrize("groups, reads, joins, health, said", GROUPS.values(), ids=GROUPS)
async def test_the_check_reports_group_privacy(
    house: Hub, groups: str, health: str, said: str, *, reads: bool, joins: bool
) -> None:
    write_config(house, extra=f'groups = "{groups}"')
    bot = house.telegram.bot()
    bot.can_read_all_group_messages, bot.can_join_groups = reads, joins
    ended = await examined(house)
    finding = findings(ended)["groups of telegram"]
    assert (ended.code, finding["health"]) == (0, health)
    assert said in finding["message"]
    assert ("@BotFather" in finding["fix"]) == (health == "warning")


async def test_with_a_running_hub_doctor_requests_only_missing_facts(house: Hub) -> None:
    write_config(house, extra='groups = "all"')
    async with HubProcess(house.directory) as hub:
        await house.telegram.wait_polling(TOKEN)
        ended = await examined(house)
        hint = (
            "telegram.group_hint channel=telegram hint=in groups the bot only receives commands, "
            "replies to it and messages that mention"
        )
        assert hub.err.count(hint) == 1
        assert "@BotFather (/setprivacy)" in hub.err
    assert findings(ended)["groups of telegram"]["fix"].startswith(
        "turn it off with @BotFather (/setprivacy)"
    )


@pytest.mark.parametrize("running", [True, False], ids=["a hub runs", "no hub runs"])
async def test_a_refused_token_is_reported(house: Hub, *, running: bool) -> None:
    write_config(house, token="1:refused")
    if running:
        async with HubProcess(house.directory) as hub:
            await _refused(hub)
            ended = await examined(house)
    else:
        ended = await examined(house)
    finding = findings(ended)["channel telegram"]
    assert (ended.code, finding["health"]) == (1, "broken")
    assert "token" in finding["message"]
    assert "1:refused" not in ended.out
    assert ("hubbub config reload" in finding["fix"]) is running
    assert ended.complaint.startswith("1 of ")


async def _refused(hub: HubProcess) -> None:
    """Until the hub itself knows."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            _, body = await hub.readyz()
            channels = body["channels"]
            assert isinstance(channels, dict)
            if channels["telegram"]["reason"]:
                return
            await asyncio.sleep(0.02)


async def broken(house: Hub, what: str) -> dict[str, Any]:
    """The one broken finding."""
    ended = await examined(house)
    found = findings(ended)
    assert ended.code == 1
    assert [name for name, finding in found.items() if finding["health"] == "broken"] == [what]
    assert found[what]["fix"]
    return found[what]


async def test_a_refused_model_key_is_reported(house: Hub) -> None:
    config = house.directory / "hubbub.toml"
    config.write_text(config.read_text().replace(KEY, "another-key"))
    assert "rejected the API key" in (await broken(house, "model main"))["message"]


async def test_an_anthropic_model_is_checked(house: Hub) -> None:
    config = house.directory / "hubbub.toml"
    section = house.simulators.model_section("anthropic")
    config.write_text(config.read_text().replace(house.simulators.model_section(), section))
    found = findings(await examined(house))
    assert found["model main"]["message"].endswith("accepts the key and lists sim-1")
    assert [one.path for one in house.model.log.all() if one.wire == "anthropic"] == ["/v1/models"]
    config.write_text(config.read_text().replace(KEY, "another-key"))
    assert "rejected the API key" in (await broken(house, "model main"))["message"]


async def test_an_unserved_model_is_reported(house: Hub) -> None:
    config = house.directory / "hubbub.toml"
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    config.write_text(config.read_text().replace(house.model.openai_base_url, f"http://127.0.0.1:{port}/v1"))
    finding = await broken(house, "model main")
    assert finding["message"] == f"can't reach 127.0.0.1:{port}: Connection refused"


SEARCHES: dict[str, tuple[dict[str, Any] | None, str, str]] = {
    "answers": ({}, "fine", "answers searches"),
    "gives out no JSON": ({"formats": ("html",)}, "broken", "does not give out JSON"),
    "limits": ({"limited": True}, "warning", "refuses searches: too many"),
    "is something else": ({"body": b"<html>"}, "broken", "does not answer like SearXNG"),
    "nests": ({"body": b"[" * 100_000}, "broken", "does not answer like SearXNG"),
    "is away": (None, "broken", "can't reach 127.0.0.1:1: Connection refused"),
    "is silent": ({"silent": True}, "broken", "no response within 10 s"),
}


@pytest.mark.parametrize("trouble, health, said", SEARCHES.values(), ids=SEARCHES)
async def test_the_search_engine_is_checked_by_a_search(
    house: Hub, trouble: dict[str, Any] | None, health: str, said: str
) -> None:
    async with SearxngSimulator() as engine:
        where = "http://127.0.0.1:1" if trouble is None else engine.base_url
        write_config(house, extra=f'[web_search]\nbase_url = "{where}"')
        for name, value in (trouble or {}).items():
            setattr(engine, name, value)
        finding = findings(await examined(house))["web search"]
        assert (finding["health"], bool(finding["fix"])) == (health, health != "fine")
        assert said in finding["message"]
        assert engine.asked == [{"q": "hubbub", "format": "json"}] * (trouble is not None)


async def test_an_occupied_port_is_reported(house: Hub) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        write_config(house, http=f"port = {port}")
        finding = await broken(house, "port")
    assert finding["message"] == f"can't listen on 127.0.0.1:{port}: Address already in use"


async def test_a_key_that_others_can_read_is_reported(house: Hub) -> None:
    key = house.directory / "data" / "hub.key"
    key.chmod(0o644)
    finding = await broken(house, "files")
    assert finding["fix"] == f"chmod 600 {key}"


async def test_a_database_of_a_newer_version_is_reported(house: Hub) -> None:
    database = sqlite3.connect(house.database)
    ((version,),) = database.execute("PRAGMA user_version").fetchall()
    database.execute("PRAGMA user_version = 9999")
    assert "install a newer version" in (await broken(house, "store"))["message"]
    database.execute(f"PRAGMA user_version = {version}")
    database.close()


@pytest.mark.parametrize("ahead_s", [600, -600])
async def test_a_clock_that_is_ten_minutes_off_is_reported(house: Hub, ahead_s: int) -> None:
    async def get_me(_: web.Request) -> web.Response:
        now_s = SystemClock().now() / 1_000_000
        bot = {"ok": True, "result": {"id": 1, "is_bot": True, "first_name": "B", "username": "a_bot"}}
        return web.json_response(bot, headers={"Date": formatdate(now_s - ahead_s, usegmt=True)})

    app = web.Application()
    app.router.add_get("/{bot}/getMe", get_me)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        config = house.directory / "hubbub.toml"
        config.write_text(config.read_text().replace(house.telegram.url, f"http://{host}:{port}"))
        finding = await broken(house, "clock")
    finally:
        await runner.cleanup()
    assert f" s {'ahead of' if ahead_s > 0 else 'behind'} {host}:{port}" in finding["message"]
    assert 590 < int(finding["message"].split()[0]) < 650


@pytest.mark.parametrize("name", ["vault.key", "hub.db", "hub.log"])
async def test_a_private_file_that_others_can_read_is_reported(house: Hub, name: str) -> None:
    file = house.directory / "data" / name
    file.touch(0o600)
    if name == "vault.key":
        file.write_text("ab" * 32)
    file.chmod(0o640)
    finding = await broken(house, "files")
    assert finding["fix"] == f"chmod 600 {file}"


async def test_an_environment_file_that_others_can_read_is_reported(house: Hub) -> None:
    env = house.directory / "hubbub.env"
    env.write_text("OTHER=1\n")
    env.chmod(0o644)
    finding = await broken(house, "environment file")
    assert finding["fix"] == f"chmod 600 {env}"
    env.chmod(0o600)
    assert findings(await examined(house))["environment file"]["health"] == "fine"


async def test_tokens_in_a_configuration_file_that_others_can_read_are_reported(house: Hub) -> None:
    (house.directory / "hubbub.toml").chmod(0o644)
    ended = await examined(house)
    finding = findings(ended)["configuration"]
    assert (ended.code, finding["health"]) == (0, "warning")
    assert "hubbub secrets set NAME" in finding["fix"]


async def test_a_workspace_that_is_a_file_is_reported(house: Hub) -> None:
    house.workspace.rmdir()
    house.workspace.write_text("in the way")
    assert (await broken(house, "workspace"))["message"] == f"{house.workspace} is not a directory"


async def test_secrets_whose_key_is_lost_are_reported(house: Hub) -> None:
    await asyncio.to_thread(command, house.directory, "secrets", "set", "one", stdin=b"a-value")
    assert findings(await examined(house))["vault"]["message"] == "1 secrets are readable"
    key = house.directory / "data" / "vault.key"
    key.write_text("ab" * 32)
    finding = await broken(house, "vault")
    assert finding["message"] == 'the secret "one" was encrypted with another key'
    key.unlink()
    assert str(key) in (await broken(house, "vault"))["fix"]


async def test_a_wrong_configuration_is_reported(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text("[http]\nprot = 80\n")
    ended = await hubbub(tmp_path, "doctor", "--json")
    (finding,) = json.loads(ended.out)
    assert (ended.code, finding["health"]) == (2, "broken")
    assert finding["message"] == "hubbub.toml:2: http.prot: unknown key; did you mean port?"


@pytest.mark.parametrize("at_work, warned", [(999, False), (1_000, True)])
async def test_a_thousand_conversations_at_work_are_reported(at_work: int, *, warned: bool) -> None:
    async def status() -> StatusView:
        return StatusView(
            version="1",
            ready=True,
            hub="open",
            store="ok",
            channels={},
            mcp={},
            approvals=0,
            pairing_requests=0,
            at_work=at_work,
            timers=(),
        )

    found = await hub_findings(status)
    assert ("1000 conversations are at work; answers may take long" in str(found)) is warned


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_containers_without_docker_are_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text("[sandbox]\nenabled = true\n")
    loaded = load(tmp_path / "hubbub.toml", environ={"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"})

    async def status() -> StatusView:
        raise AdminError("unavailable", "no hub")

    async def problem() -> str | None:
        return await sandbox_problem(loaded.environment, loaded.config.sandbox)

    found = {one.what: one for one in await examine(loaded, status, problem)}
    assert found["containers"].health is Health.BROKEN
    assert "install and start Docker" in found["containers"].message
    chats = found["chat tools"]
    assert (chats.health, "set [sandbox] chat_tools = true" in str(chats.fix)) == (Health.WARNING, True)
    gc.collect()  # the SDK leaves a socket that could not connect to it


@pytest.mark.parametrize(
    "status, page, health, said",
    [
        (200, {"data": [{"id": "m"}]}, Health.FINE, "accepts the key and lists m"),
        (200, {"data": [{"id": "other"}]}, Health.WARNING, "does not list m"),
        (401, None, Health.BROKEN, "rejected the API key"),
        (403, None, Health.BROKEN, "rejected the API key"),
        (404, None, Health.WARNING, "does not list models (HTTP 404)"),
        (503, None, Health.BROKEN, "returned an error (HTTP 503)"),
    ],
)
def test_what_a_provider_answers_is_read_as_it_means_it(
    status: int, page: Any, health: Health, said: str
) -> None:
    found = provider("model main", "api.example", "m", Answer(status, page, None), "/chat/completions")
    assert (found.health, said in found.message, bool(found.fix)) == (health, True, health is not Health.FINE)
