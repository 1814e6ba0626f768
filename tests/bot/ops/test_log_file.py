"""The log on disk, and `hubbub logs` that reads it."""

import json
import logging
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.config.schema import Config, Hub, Log, Model
from bot.ops.logs import LOG_NAME, log_file, log_files
from tests.bot.cli.in_process import command
from tests.bot.cli.terminal import Terminal
from tests.harness.process import HubProcess

KEY = "a-key-that-must-not-be-logged"
LEVELS = ["debug", "info", "warning", "error"]


def config(data_dir: Path, log: Log | None = None) -> Config:
    model = Model(provider="openai", model="m", api_key=SecretStr(KEY))
    return Config(hub=Hub(data_dir=data_dir), models=(model,), log=log or Log())


def write(data_dir: Path, name: str, *records: dict[str, str]) -> None:
    data_dir.mkdir(exist_ok=True)
    (data_dir / name).write_text("".join(json.dumps(record) + "\n" for record in records))


def record(
    message: str, level: str = "info", at: str = "2026-01-01T10:00:00.000Z", **more: str
) -> dict[str, str]:
    return {"at": at, "level": level, "logger": "core.inbound.hub", "message": message, **more}


def messages(tmp_path: Path, *words: str) -> list[str]:
    ended = command(tmp_path, "logs", "--json", *words)
    assert (ended.code, ended.err) == (0, "")
    return [json.loads(line)["message"] for line in ended.out.splitlines()]


# ---------------------------------------------------------------- writing


def test_records_are_kept_for_the_user_alone_without_secrets(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with log_file(config(tmp_path)):
            logging.getLogger("core.inbound.hub").warning("refused with %s", KEY)
    finally:
        os.umask(before)
    logging.getLogger("core.inbound.hub").warning("after the end")
    file = tmp_path / LOG_NAME
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["message"] == "refused with ***"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_full_log_files_rotate_up_to_a_maximum(tmp_path: Path) -> None:
    with log_file(config(tmp_path, Log(file_limit_mb=1, files_kept=2))):
        for number in range(9):
            logging.getLogger("bot").warning("%d %s", number, "x" * 500_000)
    assert [path.name for path in log_files(tmp_path)] == ["hub.log.2", "hub.log.1", "hub.log"]
    assert all(path.stat().st_size <= 1024 * 1024 for path in log_files(tmp_path))
    last = log_files(tmp_path)[-1].read_text().splitlines()[-1]
    assert json.loads(last)["message"].startswith("8 ")


def test_no_log_file_is_written_when_it_is_turned_off(tmp_path: Path) -> None:
    with log_file(config(tmp_path, Log(file_limit_mb=0))):
        logging.getLogger("bot").warning("nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_does_not_fail_the_caller(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).symlink_to("/dev/full")
    with log_file(config(tmp_path)):
        logging.getLogger("bot").warning("lost")


async def test_a_hub_writes_the_log_file(tmp_path: Path) -> None:
    async with HubProcess(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}) as hub:
        assert await hub.stop() == 0
    told = [json.loads(line)["message"] for line in (tmp_path / "data" / LOG_NAME).read_text().splitlines()]
    assert f"hub.serving url={hub.url}" in told
    assert told[-1] != ""


# ---------------------------------------------------------------- reading


def test_rotated_files_are_read_as_one_log_in_order(tmp_path: Path) -> None:
    write(tmp_path / "data", "hub.log.10", record("one"))
    write(tmp_path / "data", "hub.log.2", record("two"), record("three"))
    write(tmp_path / "data", "hub.log", record("four"))
    assert messages(tmp_path) == ["one", "two", "three", "four"]
    assert messages(tmp_path, "-n", "2") == ["three", "four"]
    assert messages(tmp_path, "-n", "0") == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_shows_that_level_and_above(tmp_path: Path, level: str) -> None:
    write(tmp_path / "data", "hub.log", *(record(one, one) for one in LEVELS))
    assert messages(tmp_path, "--level", level.upper()) == LEVELS[LEVELS.index(level) :]


def test_since_shows_records_from_that_time_on(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    times = [now - timedelta(hours=hours) for hours in (30, 3, 0)]
    stamps = [f"{at:%Y-%m-%dT%H:%M:%S}.000Z" for at in times]
    write(tmp_path / "data", "hub.log", *(record(at, at=at) for at in stamps))
    assert messages(tmp_path, "--since", "2h") == stamps[2:]
    assert messages(tmp_path, "--since", "240m") == stamps[1:]
    assert messages(tmp_path, "--since", "2d") == stamps
    assert messages(tmp_path, "--since", stamps[1].removesuffix(".000Z")) == stamps[1:]


@pytest.mark.parametrize(
    "words, complaint",
    [
        (
            ["--since", "yesterday"],
            "yesterday is not a time; use 30s, 10m, 2h or 3d (ago), or 2026-01-31T08:00",
        ),
        (["--level", "loud"], "loud is not a log level; use one of debug, info, warning, error, critical"),
    ],
)
def test_unknown_arguments_are_refused(tmp_path: Path, words: list[str], complaint: str) -> None:
    ended = command(tmp_path, "logs", *words)
    assert (ended.code, ended.out, ended.complaint) == (2, "", complaint)


def test_lines_for_people_cannot_control_the_terminal(tmp_path: Path) -> None:
    told = record("a\x1b[2J\nb", "error", channel="tele\x07gram", trace="Traceback\n  File\x1b")
    write(tmp_path / "data", "hub.log", told)
    with (tmp_path / "data" / "hub.log").open("a") as file:
        file.write('{"cut sho')
    ended = command(tmp_path, "logs")
    assert ended.out == (
        "2026-01-01T10:00:00.000Z ERROR   core.inbound.hub: a\ufffd[2J\\nb [channel=tele\ufffdgram]\n"
        "    Traceback\n      File\ufffd\n"
    )


def test_before_the_first_start_logs_says_so(tmp_path: Path) -> None:
    ended = command(tmp_path, "logs")
    assert (ended.code, ended.complaint) == (
        1,
        f"There is no log in {tmp_path}/data yet; start the hub first.",
    )


async def test_follow_continues_across_rotation(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write(data, "hub.log", record("before"), record("noise", "debug"))
    async with Terminal(tmp_path, "logs", "-f", "--level", "info") as terminal:
        await terminal.shows("before")
        with (data / "hub.log").open("a") as file:
            file.write(json.dumps(record("now"))[:20])
            file.flush()
            file.write(json.dumps(record("now"))[20:] + "\n")
        await terminal.shows("now")
        with (data / "hub.log").open("a") as file:
            file.write(json.dumps(record("last of the old")) + "\n")
        (data / "hub.log").rename(data / "hub.log.1")
        write(data, "hub.log", record("first of the new"))
        await terminal.shows("first of the new")
        terminal.interrupts()
        assert await terminal.ended() == 0
    assert terminal.shown.count("last of the old") == 1
    assert "noise" not in terminal.shown
    assert "Traceback" not in terminal.shown
