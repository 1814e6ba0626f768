"""`hubbub audit` and `hubbub policy test`: what was recorded, is it sound, and what other rules would say."""

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from bot.config.keys import VaultKeyRing
from bot.config.load import load
from bot.parts import open_store as open_configured
from core.audit.linker import HEADS_NAME, AuditLinker, HeadFile
from core.clock import SystemClock
from core.ids import RandomIds
from core.store.rows import NewCall, TurnStart
from core.store.sqlite.store import open_store
from core.tool import Effect
from core.transcript import AssistantSaid, ResultStatus, ToolResult
from tests.bot.cli.in_process import command
from tests.contracts.store.bench import Bench, CountingIds, StoppedClock


def chain(directory: Path) -> None:
    """Return what a running hub does about what commands left behind."""

    async def catch_up() -> None:
        loaded = load(cwd=directory, environ={})
        data, clock = loaded.config.hub.data_dir, SystemClock()
        ring = VaultKeyRing(data, {})
        async with open_configured(loaded.config, ring, clock, RandomIds()) as store:
            await AuditLinker(
                store.audit, HeadFile(data / HEADS_NAME), clock, lambda: {"preset": "auto"}
            ).catch_up()

    asyncio.run(catch_up())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory in which tools were paused and let go, and whose audit is chained."""
    directory = tmp_path_factory.mktemp("hub")
    for word in ("pause", "unpause"):
        assert command(directory, "tools", word).code == 0
    chain(directory)
    return directory


@pytest.fixture
def hub(made: Path, tmp_path: Path) -> Path:
    """One of one's own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def tamper(directory: Path, sql: str) -> None:
    connection = sqlite3.connect(directory / "data" / "hub.db")
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_records_are_exported_for_people_and_for_programs(hub: Path) -> None:
    lines = command(hub, "audit", "export").out.splitlines()
    assert [line.split()[3] for line in lines] == ["paused", "resumed", "policy"]
    assert "owner" in lines[0]
    pages = [json.loads(line) for line in command(hub, "audit", "export", "--json").out.splitlines()]
    assert [page["position"] for page in pages] == [1, 2, 3]
    assert {"at", "kind", "actor", "subject", "thread_id", "detail", "key_id", "seal"} <= set(pages[0])
    (last,) = command(hub, "audit", "export", "--after", "2", "--json").out.splitlines()
    assert json.loads(last) == pages[2]


def test_a_sound_chain_is_reported_with_its_head(hub: Path) -> None:
    done = command(hub, "audit", "verify")
    assert (done.code, done.err) == (0, "")
    said, head = done.out.splitlines()
    assert said == "The audit log is intact: 3 records."
    kept = head.removeprefix("head: ")
    page = json.loads(command(hub, "audit", "verify", "--json", "--head", kept).out)
    assert (page["ok"], page["records"], page["head"], page["findings"]) == (True, 3, kept, [])
    assert command(hub, "tools", "pause").code == 0
    assert "4 records, 1 not chained yet" in command(hub, "audit", "verify", "--head", kept).out


def test_a_broken_chain_is_reported_and_the_command_fails(hub: Path) -> None:
    head = json.loads(command(hub, "audit", "verify", "--json").out)["head"]
    tamper(hub, "UPDATE audit SET actor = 'somebody else' WHERE position = 2")
    done = command(hub, "audit", "verify")
    assert done.code == 1
    assert done.out == '2: record 2 ("resumed" of tools) was changed, moved here, or not written by the hub\n'
    assert done.complaint == "hubbub: the audit log is not intact: 1 finding"
    assert not json.loads(command(hub, "audit", "verify", "--json").out)["ok"]
    tamper(hub, "DELETE FROM audit WHERE position >= 2")
    (hub / "data" / HEADS_NAME).unlink()
    cut = command(hub, "audit", "verify", "--head", head)
    assert cut.code == 1
    assert "records 2 to 3 are missing: the end was cut off (the head given)" in cut.out
    done = command(hub, "audit", "verify", "--head", "yesterday's")
    assert (done.code, done.out) == (2, "")
    assert "is not a head; a head looks like 41:" in done.complaint


def test_before_the_first_start_the_audit_commands_report_no_records(tmp_path: Path) -> None:
    for words in (("audit", "export"), ("audit", "verify"), ("policy", "test")):
        assert command(tmp_path, *words).code == 1
    assert list(tmp_path.iterdir()) == []


def test_older_records_are_verified_after_the_vaults_key_was_changed(hub: Path) -> None:
    assert command(hub, "secrets", "set", "one", stdin=b"value").code == 0
    for word in ("pause", "unpause"):
        assert command(hub, "secrets", "rotate").code == 0
        assert command(hub, "tools", word).code == 0
        chain(hub)
    assert command(hub, "audit", "verify").code == 0
    keys = {json.loads(line)["key_id"] for line in command(hub, "audit", "export", "--json").out.splitlines()}
    assert len(keys) == 3
    names = [secret["name"] for secret in json.loads(command(hub, "secrets", "list", "--json").out)]
    assert names == ["one"], "the keys kept for older records are the hub's own"
    assert command(hub, "secrets", "delete", f".audit-key.{min(keys)}").code == 1
    tamper(hub, "DELETE FROM secrets WHERE name <> 'one'")
    done = command(hub, "audit", "verify")
    assert done.code == 1
    assert "was made with a missing key" in done.out


def test_a_restored_backup_starts_a_new_file_of_heads(hub: Path) -> None:
    backup = hub / "backup.db"
    assert command(hub, "db", "backup", str(backup)).code == 0
    assert command(hub, "tools", "pause").code == 0
    chain(hub)
    assert command(hub, "db", "restore", str(backup)).code == 0
    assert len(list((hub / "data").glob(f"{HEADS_NAME}.before-*"))) == 1
    restored = command(hub, "audit", "verify")
    assert restored.code == 0
    assert "audit.heads starts over at the next start" in restored.out
    assert command(hub, "tools", "pause").code == 0
    chain(hub)
    going_on = command(hub, "audit", "verify")
    assert (going_on.code, "starts over" in going_on.out) == (0, False)
    (hub / "data" / HEADS_NAME).unlink()
    assert "audit.heads is missing or empty" in command(hub, "audit", "verify").out


# --- policy test ----------------------------------------------------------------------------------------


async def _past(directory: Path) -> None:
    """Three calls: one ran, one was asked about, one was refused."""
    (directory / "data").mkdir()
    clock, ids = StoppedClock(), CountingIds()
    store = await open_store(directory / "data" / "hub.db", clock, ids)
    world = Bench(store, clock, ids)
    start = await world.turn()

    async def call(name: str, arguments: str) -> str:
        clock.advance(1)
        made = NewCall(ids.row_id(), name, arguments, Effect.NONE)
        await store.turns.record_reply_and_intents(start.turn_id, AssistantSaid(""), [made])
        return made.call_id

    ran = await call("time", "{}")
    await _ends(world, start, ToolResult(ran, ResultStatus.OK, "noon"), started_at=clock.now())
    refused = await call("json", '{"text": "{}"}')
    await _ends(world, start, ToolResult(refused, ResultStatus.DENIED, "json is disabled."))
    paused = await call("echo", '{"text": "hi"}')
    await _ends(world, start, ToolResult(paused, ResultStatus.DENIED, "Not run: all tools are paused."))
    gone = await call("abacus", "{}")
    await _ends(world, start, ToolResult(gone, ResultStatus.OK, "5"), started_at=clock.now())
    await world.ask(start, await call("shell", '{"command": "ls"}'))
    await store.close()


async def _ends(world: Bench, start: TurnStart, result: ToolResult, started_at: int | None = None) -> None:
    await world.store.turns.finish_calls(start.turn_id, [result], started_at=started_at)


def test_a_message_is_explained_with_what_was_recorded_of_its_calls(tmp_path: Path) -> None:
    asyncio.run(_past(tmp_path))
    (event,) = json.loads(command(tmp_path, "why", "--json").out)["events"]
    page = json.loads(command(tmp_path, "why", event["key"], "--json").out)
    assert [one["kind"] for one in page["audit"]] == ["ended", "ended", "ended", "ended", "asked"]
    shown = command(tmp_path, "why", event["key"]).out
    assert "Audit records" in shown
    assert "json denied" in shown


def test_why_with_an_empty_key_explains_keys(tmp_path: Path) -> None:
    ended = command(tmp_path, "why", " ")
    assert ended.code == 1
    assert "Pass an event's key, such as tg:12345:m:7:8, or words of its text;" in ended.err


def otherwise(directory: Path, *words: str) -> list[tuple[str, str, str]]:
    page = json.loads(command(directory, "policy", "test", "--json", *words).out)
    assert (page["judged"], page["left_out"]) == (4, 1)
    about = {one["tool"]: one["about"] for one in page["otherwise"]}
    assert (about.get("json", "text: {}"), about.get("shell", "ls")[-2:]) == ("text: {}", "ls")
    return [(one["tool"], one["was"], one["now"]) for one in page["otherwise"]]


def test_policy_test_shows_past_calls_that_other_rules_would_decide_differently(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    asyncio.run(_past(tmp_path))
    before = (tmp_path / "data" / "hub.db").read_bytes()
    gone = ("abacus", "runs", "can't be decided")
    assert otherwise(tmp_path) == [("json", "refused", "runs"), gone]
    (tmp_path / "tight.toml").write_text('disabled_tools = ["json", "shell"]\npreset = "manual"\n')
    tight = otherwise(tmp_path, "--policy", "tight.toml")
    assert tight == [("time", "runs", "asks"), gone, ("shell", "asks", "refused")]
    (tmp_path / "loose.toml").write_text("[approvals]\ndangerous_tools = []\n")
    loose = otherwise(tmp_path, "--config", "loose.toml")
    assert loose == [("json", "refused", "runs"), gone, ("shell", "asks", "runs")]
    told = command(tmp_path, "policy", "test", "--policy", "tight.toml")
    assert told.code == 0
    assert told.out.splitlines()[-1].startswith("3 of 4 calls would be decided differently.")
    assert (tmp_path / "data" / "hub.db").read_bytes() == before


def test_policy_test_predicts_the_outcome_of_a_jobs_tools_and_calls(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "Makefile").write_text("test:\n\ttouch tested\n")
    asyncio.run(_past(tmp_path))
    calls = ("--call", "shell make test", "--call", "shell echo hi", "--call", "time {}")
    words = ("--tools", "shell,create_job,abacus", *calls)
    found = json.loads(command(tmp_path, "policy", "test", "--json", *words).out)
    assert [(one["about"], one["outcome"]) for one in found] == [
        ("shell", "some"),
        ("create_job", "refused"),
        ("abacus", "refused"),
        ("shell make test", "refused"),
        ("shell echo hi", "runs"),
        ("time {}", "runs"),
    ]
    assert found[3]["grants"][0].startswith("shell make test")
    assert not (tmp_path / "workspace" / "tested").exists()
    told = command(tmp_path, "policy", "test", "--call", "shell make test").out
    assert "refused  shell make test: shell is not available" in told
    assert "the grant that allows exactly this: shell make test" in told


def test_policy_test_refuses_an_unreadable_policy(tmp_path: Path) -> None:
    asyncio.run(_past(tmp_path))
    (tmp_path / "bad.toml").write_text("disabled = 1\n")
    done = command(tmp_path, "policy", "test", "--policy", "bad.toml")
    assert (done.code, done.out) == (2, "")
    assert "bad.toml is not valid" in done.complaint
