"""Logs as operators read them: one line a record, with its fields and traces, and never a secret."""

import asyncio
import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.ops.logs import Record, Redactor, configure, fields, following, strike_out
from tests.bot.cli.in_process import logging_as_it_was
from tests.patience import PATIENCE_S

TOKEN = "123456:ABC-def_ghi"
KEY = 'sk-"quoted"\nand two lines'


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    with logging_as_it_was():
        yield


def start(format: Literal["plain", "json"], level: Literal["debug", "info"] = "info") -> io.StringIO:
    stream = io.StringIO()
    configure(level, format, secrets=[TOKEN, KEY, "abc"], stream=stream)
    return stream


def test_a_record_is_formatted_as_a_plain_line() -> None:
    stream = start("plain")
    with fields(channel="telegram", thread="a b"):
        logging.getLogger("core.inbound.hub").info("turn %d\nstarted", 7)
    logging.getLogger("core.inbound.hub").warning("idle")
    first, second = stream.getvalue().splitlines()
    at = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
    expected = r'INFO    core\.inbound\.hub: turn 7\\nstarted \[channel=telegram thread="a b"\]'
    assert re.fullmatch(at + expected, first)
    assert re.fullmatch(at + r"WARNING core\.inbound\.hub: idle", second)


def test_a_record_is_formatted_as_a_json_line() -> None:
    stream = start("json")
    with fields(channel="telegram"), fields(thread="t1", message="a field cannot hide the message"):
        logging.getLogger("core.inbound.hub").error("失敗 🚀 %s", "x\ny")
    (line,) = stream.getvalue().splitlines()
    record = json.loads(line)
    assert record.pop("at").endswith("Z")
    assert record == {
        "level": "error",
        "logger": "core.inbound.hub",
        "message": "失敗 🚀 x\ny",
        "channel": "telegram",
        "thread": "t1",
    }


@pytest.mark.parametrize("format", ["plain", "json"])
def test_a_trace_is_there_for_operators_and_holds_no_secret(format: Literal["plain", "json"]) -> None:
    stream = start(format)
    try:
        raise ValueError(f"refused {TOKEN}")
    except ValueError:
        with fields(note=f"with {TOKEN}"):
            logging.getLogger("bot").exception("call of %s with %r failed", TOKEN, KEY)
    text = stream.getvalue()
    assert "Traceback (most recent call last)" in text
    assert "ValueError: refused ***" in text
    assert "call of *** with " in text
    assert TOKEN not in text
    assert "quoted" not in text
    if format == "plain":
        assert all(line.startswith("    ") for line in text.splitlines()[1:])
    else:
        assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    "text,shown",
    [
        (f"POST https://api.telegram.org/bot{TOKEN}/getMe", "POST https://api.telegram.org/bot***/getMe"),
        ("GET http://h/file/bot99:zzz-unknown/p.jpg", "GET http://h/file/bot***/p.jpg"),
        ("Authorization: Bearer eyJh.abc-123", "Authorization: Bearer ***"),
        ("postgresql://hub:pass@db/hub", "postgresql://***@db/hub"),
        ("GET /login?code=1&token=t0p&x=2", "GET /login?code=1&token=***&x=2"),
        ("GET /?api_key=t0p", "GET /?api_key=***"),
        ("a robot 12:30 and abc stay", "a robot 12:30 and abc stay"),
    ],
)
def test_text_that_looks_like_a_secret_is_redacted(text: str, shown: str) -> None:
    assert Redactor(["abc"])(text) == shown


printable = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="*"), max_size=20)


@given(secret=printable.filter(lambda text: len(text) >= 4), before=printable, after=printable)
def test_a_known_secret_never_appears(secret: str, before: str, after: str) -> None:
    redact = Redactor([secret, "another-one", secret[:4]])
    for shown in (before + secret + after, json.dumps([before, secret]), repr({secret: after})):
        assert secret not in redact(shown)


def test_a_secret_that_begins_with_another_is_struck_out_whole() -> None:
    assert Redactor(["hunter", "hunter-and-more"])("it is hunter-and-more!") == "it is ***!"


def test_libraries_are_quiet_and_warnings_are_records() -> None:
    stream = start("plain", level="debug")
    for name in ("httpx", "telegram.Bot", "aiohttp.access"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).debug("chatter")
    logging.getLogger("httpx").warning("a real one")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("deprecated thing", DeprecationWarning, stacklevel=1)
    lines = stream.getvalue().splitlines()
    assert "chatter" not in stream.getvalue()
    assert len([line for line in lines if "httpx: a real one" in line]) == 1
    assert "deprecated thing" in stream.getvalue()


def test_configuring_twice_writes_once() -> None:
    start("plain")
    stream = start("json")
    logging.getLogger("bot").info("once")
    assert len(stream.getvalue().splitlines()) == 1


def test_a_record_that_cannot_be_formatted_does_not_fail_the_caller() -> None:
    stream = start("plain")
    logging.getLogger("bot").info("%d apples", "many")
    assert re.fullmatch(r"a log record of bot at line \d+ could not be written\n", stream.getvalue())


def test_a_closed_standard_error_does_not_fail_the_caller() -> None:
    stream = start("plain")
    stream.close()
    logging.getLogger("bot").info("into the void")


async def test_fields_follow_the_task_that_bound_them() -> None:
    stream = start("json")
    both_bound = asyncio.Barrier(2)

    async def turn(thread: str) -> None:
        with fields(thread=thread):
            await both_bound.wait()
            logging.getLogger("core").info("working")

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(turn("a"))
        group.create_task(turn("b"))
    logging.getLogger("core").info("idle")
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert sorted(record.get("thread", "-") for record in records) == ["-", "a", "b"]


async def test_followers_get_records_from_their_level_without_secrets() -> None:
    start("plain")
    heard: list[Record] = []
    log = logging.getLogger("core.inbound.hub")
    with following("warning", heard.append):
        strike_out(["found-later"])
        log.info("below")
        with fields(thread="t1"):
            await asyncio.to_thread(log.warning, "with %s and found-later", TOKEN)
        await asyncio.sleep(0)
    log.warning("after")
    await asyncio.sleep(0)
    (record,) = heard
    assert (record["level"], record["message"], record["thread"]) == ("warning", "with *** and ***", "t1")
