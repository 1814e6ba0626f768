"""The program from outside: real processes, their output, their exit codes, their end."""

import asyncio
import contextlib
import json
import resource
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.runtime import ending_signals
from core import texts
from core.errors import ModelFault
from core.store.sqlite.maintenance import current_schema
from tests.harness.process import HubProcess, environment, hubbub
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub, write_config
from tests.simulators.model import Hold, HttpError

ANY_PORT = {"HUBBUB__HTTP__PORT": "0"}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    """Both simulators and a configuration; the hub is the test's to start."""
    async with open_hub(tmp_path, start=False) as opened:
        yield opened


# ---------------------------------------------------------------- running and ending


@pytest.fixture
def with_a_terminal() -> Iterator[None]:
    """Return what is started is not as `nohup` leaves it, however these tests were started."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["SIGINT", "SIGTERM", "SIGHUP"]
)
@pytest.mark.usefixtures("with_a_terminal")
async def test_without_a_configuration_it_serves_and_says_what_to_do_next(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with HubProcess(tmp_path, env=ANY_PORT, fresh=True) as hub:
        status, state = await hub.readyz()
        assert (status, state["ready"], state["hub"], state["store"]) == (200, True, "open", "ok")
        assert await hub.stop(number) == 0
        assert "Console: http://" in hub.out
        assert "Next: hubbub init" in hub.out
        assert "Traceback" not in hub.err


@pytest.mark.parametrize("started_with, ends_it", [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_detached_hub_outlives_its_terminal(started_with: signal.Handlers, ends_it: bool) -> None:
    before = signal.signal(signal.SIGHUP, started_with)
    try:
        assert (signal.SIGHUP in ending_signals()) is ends_it
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_ctrl_c_ends_it_while_a_tool_runs(house: Hub) -> None:
    async with HubProcess(house.directory) as hub:
        house.telegram.user_sends_text(OWNER, "please run: echo $$ > pid && exec sleep 600")
        await house.pressed(OWNER, await house.card(OWNER), 0)
        tool = await started_process(house.workspace / "pid")
        assert tool.exists()
        assert await hub.stop(signal.SIGINT) == 0
        assert not tool.exists()
        assert "Traceback" not in hub.err


async def started_process(file: Path) -> Path:
    """Return where the system shows the process whose number a tool writes into a file."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            if file.exists() and (number := file.read_text().strip()):
                return Path("/proc") / number
            await asyncio.sleep(0.02)


async def test_ctrl_c_ends_the_hub_while_the_model_hangs_and_the_turn_resumes_later(
    house: Hub,
) -> None:
    house.model.fault(Hold(at="mid_stream"))
    async with HubProcess(house.directory) as hub:
        house.telegram.user_sends_text(OWNER, "think hard")
        await house.model.wait_requests(state="held", timeout_s=LIMIT_S)
        assert await hub.stop(signal.SIGINT) == 0
        assert "Traceback" not in hub.err
    async with HubProcess(house.directory) as hub:
        await house.telegram.wait_text(OWNER, "You said: think hard", timeout_s=LIMIT_S)
        assert await hub.stop() == 0


async def test_no_secret_is_ever_logged(house: Hub) -> None:
    write_config(house, extra='[log]\nlevel = "debug"')
    house.model.fault(HttpError(401))
    house.telegram.fail("drop", method="getUpdates", count=1)
    house.telegram.fail("server_error", method="getUpdates", count=3, status=500)
    async with HubProcess(house.directory) as hub:
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, texts.model_fault("main", ModelFault.KEY), timeout_s=LIMIT_S)
        house.telegram.user_sends_text(OWNER, "say: fine")
        await house.telegram.wait_text(OWNER, "fine", timeout_s=LIMIT_S)
        assert await hub.stop() == 0
        said = hub.out + hub.err
    assert " DEBUG " in said
    assert "channel=telegram phase=backing_off" in said
    for secret in (TOKEN, TOKEN.partition(":")[2], KEY):
        assert secret not in said


async def test_a_full_disk_stops_acceptance_until_there_is_room_again(house: Hub) -> None:
    house.model.fault(Hold())
    async with HubProcess(house.directory) as hub:
        house.telegram.user_sends_text(OWNER, "first")
        await house.model.wait_requests(state="held", timeout_s=LIMIT_S)
        await house.telegram.wait_confirmed()
        with full_disk(hub):
            house.model.release()
            house.telegram.user_sends_text(OWNER, "second")
            await house.telegram.wait_requests("getMe", count=2)
            status, body = await hub.readyz()
            assert (status, body["ready"], body["hub"]) == (503, False, "open")
            assert body["store"] == "writes fail: no message is accepted until they succeed"
            assert not house.telegram.all_confirmed()
            assert house.says(OWNER) == []
        await house.telegram.wait_text(OWNER, "second", timeout_s=LIMIT_S)
        assert house.says(OWNER) == ["You said: first", "You said: second"]
        assert (await hub.readyz())[0] == 200
        house.model.fault(Hold())
        house.telegram.user_sends_text(OWNER, "third")
        await house.model.wait_requests(state="held", timeout_s=LIMIT_S)
        with full_disk(hub):
            assert await hub.stop() == 0
        assert "Traceback" not in hub.err


@contextlib.contextmanager
def full_disk(hub: HubProcess) -> Iterator[None]:
    """No file the process writes may grow."""
    usual = resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE, (0, usual[1]))
    yield
    if hub.process.returncode is None:
        resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE, usual)


BLOCKED_THREAD = """
import asyncio, time
from bot.cli.serve import run_to_the_end

async def serving():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)

run_to_the_end(serving())
"""


async def test_an_uninterruptible_thread_does_not_delay_shutdown(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BLOCKED_THREAD, cwd=tmp_path, env=environment()
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


# ---------------------------------------------------------------- not starting


BAD = {
    "an unknown key": ("[http]\nprot = 80\n", "hubbub.toml:2: http.prot: unknown key; did you mean port?"),
    "a wrong type": ("\n[http]\nport = 'x'\n", 'hubbub.toml:3: http.port: "x" must be a whole number; '),
    "a missing variable": (
        '[channels.telegram]\ntoken = "env:BOT"\n',
        "hubbub.toml:2: channels.telegram.token: the environment variable BOT is not set; set it",
    ),
    "a syntax error": ("[http\nport = 1\n", "hubbub.toml:1: not valid TOML: "),
}


@pytest.mark.parametrize("text, complaint", BAD.values(), ids=BAD)
async def test_a_bad_configuration_is_one_line_that_says_what_to_do(
    tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "hubbub.toml").write_text(text)
    ended = await hubbub(tmp_path, "run")
    assert ended.code == 2
    assert ended.complaint.startswith(complaint)
    assert ";" in ended.complaint
    assert ended.out == ""


async def test_a_bad_variable_is_named_by_its_name(tmp_path: Path) -> None:
    ended = await hubbub(tmp_path, "run", env={"HUBBUB__HTTP__PORT": "eighty"}, fresh=True)
    assert ended.code == 2
    assert ended.complaint.startswith('HUBBUB__HTTP__PORT: http.port: "eighty" must be a whole number; ')


async def test_an_occupied_port_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = await hubbub(tmp_path, "run", env={"HUBBUB__HTTP__PORT": str(port)})
    assert ended.code == 1
    assert ended.complaint == (
        f"hubbub: can't listen on 127.0.0.1:{port}: Address already in use; "
        "stop the program that uses the port, or set another [http] port"
    )


async def test_a_second_hub_on_the_same_data_names_the_running_one(tmp_path: Path) -> None:
    async with HubProcess(tmp_path, env=ANY_PORT) as hub:
        ended = await hubbub(tmp_path, "run", env=ANY_PORT)
        assert ended.code == 1
        assert ended.complaint == (
            f"hubbub: the hub with process id {hub.process.pid} uses {tmp_path}/data:"
            " stop it, or set another [hub] data_dir"
        )
        assert (await hub.readyz())[0] == 200


@pytest.mark.parametrize("words", [["run"], ["why"]])
async def test_a_database_of_a_newer_version_is_refused(tmp_path: Path, words: list[str]) -> None:
    database = tmp_path / "data" / "hub.db"
    database.parent.mkdir()
    with contextlib.closing(sqlite3.connect(database)) as newer:
        newer.execute("PRAGMA user_version = 999")
    ended = await hubbub(tmp_path, *words, env=ANY_PORT)
    assert ended.code == 1
    assert ended.complaint.startswith(f"hubbub: {database}: the database has schema 999, this version knows ")
    assert ended.complaint.endswith(": install a newer version")


@pytest.mark.parametrize("key, path", [("[hub] data_dir", "data"), ("[workspace] dir", "workspace")])
async def test_a_file_in_place_of_a_directory_is_reported_in_one_line(
    tmp_path: Path, key: str, path: str
) -> None:
    (tmp_path / path).write_text("a file")
    ended = await hubbub(tmp_path, "run", env=ANY_PORT)
    assert ended.code == 1
    assert ended.complaint.startswith(f"hubbub: can't use {tmp_path / path}: ")
    assert ended.complaint.endswith(f"or set another {key}")


async def test_a_damaged_hub_key_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "hub.key").write_text("not a key")
    ended = await hubbub(tmp_path, "run", env=ANY_PORT)
    assert ended.code == 1
    assert ended.complaint == (
        f"hubbub: {tmp_path}/data/hub.key is not a key; restore it from a backup, or remove it"
    )


async def test_a_defect_ends_the_hub_and_is_in_the_log(tmp_path: Path) -> None:
    database = tmp_path / "data" / "hub.db"
    database.parent.mkdir()
    with contextlib.closing(sqlite3.connect(database)) as without_tables:
        without_tables.execute(f"PRAGMA user_version = {current_schema().version}")
    ended = await hubbub(tmp_path, "run", env=ANY_PORT)
    assert (ended.code, ended.out) == (1, "")
    assert "ERROR   bot.cli.serve: hub.crashed\n" in ended.err
    assert "no such table" in ended.err


# ---------------------------------------------------------------- other commands


async def test_why_before_the_first_start_explains_itself(tmp_path: Path) -> None:
    ended = await hubbub(tmp_path, "why", fresh=True)
    assert ended.code == 1
    assert ended.complaint == f"There is no database in {tmp_path}/data yet; start the hub first."


async def test_why_reports_an_empty_history(house: Hub) -> None:
    await house.start()
    ended = await hubbub(house.directory, "why")
    assert (ended.code, ended.out, ended.err) == (0, "No events yet.\n", "")


async def test_why_reports_the_outcome_of_each_message(house: Hub) -> None:
    await house.start()
    house.telegram.add_user(8, first_name="\x1b[2J[/bold]", last_name="[red]x")
    sent = house.telegram.user_sends_text(OWNER, "hello, \x1b[1mwhere are the plums?")
    await house.telegram.wait_text(OWNER, "You said: hello")
    house.model.fault(HttpError(400, body='{"error": {"message": "no [/INST] here"}}'))
    house.telegram.user_sends_text(8, "hello")
    await house.telegram.wait_text(8, texts.MODEL_REFUSED)
    key = f"tg:123456:m:{OWNER}:{sent.id}"
    table, by_words, newest, one, none = await asyncio.gather(
        hubbub(house.directory, "why"),
        hubbub(house.directory, "why", "the PLUMS"),
        hubbub(house.directory, "why", "--json", "--limit", "1"),
        hubbub(house.directory, "why", "--json", key),
        hubbub(house.directory, "why", "--json", "tg:123456:m:7:999"),
    )
    assert (table.code, table.err) == (0, "")
    assert key in table.out
    assert "where are the plums?" in table.out
    assert "\x1b" not in table.out
    titles, found = by_words.out.splitlines()
    assert titles.split()[-5:] == ["from", "text", "outcome", "turn", "answer"]
    assert key in found
    assert "[/bold]" in table.out.replace("\n", "")
    (refused,) = json.loads(newest.out)["events"]
    assert (refused["turn_state"], refused["deliveries"][0]["state"]) == ("failed", "sent")
    assert "no [/INST] here" in refused["turn_error"]
    (answered,) = json.loads(one.out)["events"]
    assert (answered["key"], answered["outcome"], answered["turn_state"]) == (key, "turn 1", "done")
    assert (none.code, none.out) == (1, "")
    assert none.complaint == (
        "No event has the key tg:123456:m:7:999, or contains these words; `hubbub why` lists the newest ones."
    )


async def test_why_counts_noise(house: Hub) -> None:
    house.telegram.add_user(8, first_name="Otto")
    group = house.telegram.create_group("all", [OWNER, 8])
    await house.start()
    for person in (OWNER, 8, 8):
        house.telegram.user_sends_text(person, f"@{house.telegram.bot().user.username} hi", chat_id=group.id)
    await house.telegram.wait_confirmed()
    table, page = await asyncio.gather(
        hubbub(house.directory, "why"), hubbub(house.directory, "why", "--json")
    )
    assert (table.code, table.err) == (0, "")
    assert table.out.startswith("Counted only:\n")
    assert f"telegram {group.id}" in table.out
    told = json.loads(page.out)
    assert told["events"] == []
    reason = "ignored: groups are off"
    counted = {row["platform_user_id"]: (row["address"], row["reason"], row["seen"]) for row in told["noise"]}
    assert counted == {str(OWNER): (str(group.id), reason, 1), "8": (str(group.id), reason, 2)}
    assert all(row["first_at"] <= row["last_at"] for row in told["noise"])


async def test_config_check_says_what_is_configured(house: Hub) -> None:
    fine, bad = await asyncio.gather(
        hubbub(house.directory, "config", "check"),
        hubbub(house.directory, "config", "check", "--config", "nowhere.toml"),
    )
    assert (fine.code, fine.err) == (0, "")
    assert fine.out == "hubbub.toml: valid. Channels: telegram. Models: main (openai).\n"
    assert (bad.code, bad.out) == (2, "")
    assert bad.complaint == "nowhere.toml: no such file; create it or choose another one"


async def test_help_is_printed_and_wrong_usage_is_refused(tmp_path: Path) -> None:
    told, unknown, option = await asyncio.gather(
        hubbub(tmp_path, "--help"),
        hubbub(tmp_path, "frobnicate"),
        hubbub(tmp_path, "why", "--limit", "none"),
    )
    assert told.code == 0
    assert all(command in told.out for command in ("run", "why", "config"))
    assert unknown.code == 2
    assert "frobnicate" in unknown.err
    assert option.code == 2
    assert "--limit" in option.err
    assert "Traceback" not in unknown.err + option.err


BUILD = """
import asyncio, sys
from bot.app import Seams, build
from bot.config.load import load

async def main():
    async with build(load(), Seams()):
        print(*{name.partition(".")[0] for name in sys.modules})

asyncio.run(main())
"""
SDKS = {
    "telegram": ("telegram", f'token = "{TOKEN}"'),
    "slack": ("slack_sdk", 'bot_token = "xoxb-1"\napp_token = "xapp-1"'),
    "discord": ("discord", 'token = "a.b.c"'),
}


@pytest.mark.parametrize(
    "configured",
    [None, "telegram", *(pytest.param(one, marks=pytest.mark.slow) for one in ("slack", "discord"))],
)
async def test_a_platform_is_imported_only_where_it_is_configured(
    tmp_path: Path, configured: str | None
) -> None:
    if configured is not None:
        (tmp_path / "hubbub.toml").write_text(f"[channels.{configured}]\n{SDKS[configured][1]}\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BUILD, cwd=tmp_path, env=environment(**ANY_PORT), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    imported = {name for name, (sdk, _) in SDKS.items() if sdk in out.decode().split()}
    assert imported == ({configured} if configured is not None else set())
