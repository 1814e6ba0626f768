"""Heartbeats: nothing for an empty list, nothing at night, and otherwise what the list says."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.clock import SECOND_US
from core.ids import RandomIds
from core.routine import Lightweight, QuietHours, RunStatus
from core.routine_json import read_hours
from core.routines.run import Told, read_reply
from core.routines.triggers import (
    HEARTBEAT_ID,
    SWITCHED_OFF,
    Asleep,
    Heartbeat,
    asks_for_nothing,
    keep_heartbeat,
    schedule_of_beats,
)
from core.store.routine_rows import RoutineRow, RoutineText
from core.store.sqlite.store import open_store
from core.users import Role
from tests.clock import ManualClock
from tests.databases import lay_database

BERLIN = "Europe/Berlin"


def beat(at: datetime, hours: str = "08:00-22:00", listed: str = "- call Ada", zone: str = BERLIN) -> object:
    clock = ManualClock(int(at.timestamp()) * SECOND_US)

    def read(path: str, limit_bytes: int) -> bytes:
        assert (path, limit_bytes > 0) == ("HEARTBEAT.md", True)
        return listed.encode()

    return Heartbeat(read, read_hours(hours), clock).action(zone)


@pytest.mark.parametrize(
    "listed",
    [
        "",
        "\n \n",
        "# Heartbeat\n## Later\n",
        "<!-- add what is to be looked at -->\n#Tasks",
        "- [ ]\n- [x] \n-\n*\n1.\n- [X]\n---\n",
        "# Tasks\n<!-- a comment\nover lines -->\n",
        "<!-- without an end hides the rest\n- call Ada",
    ],
)
def test_a_list_without_entries_calls_no_model(listed: str) -> None:
    assert asks_for_nothing(listed)
    assert isinstance(beat(datetime(2026, 7, 1, 12, tzinfo=UTC), listed=listed), Asleep)


@pytest.mark.parametrize(
    "listed",
    ["call Ada", "- call Ada", "- [ ] call Ada", "# Tasks\n\n* x", "<!-- a -->- b", "<!-- a -->\nb", "1. b"],
)
def test_a_list_with_entries_is_worked_through(listed: str) -> None:
    assert not asks_for_nothing(listed)
    asked = beat(datetime(2026, 7, 1, 12, tzinfo=UTC), listed=listed)
    assert isinstance(asked, Lightweight)
    assert asked.prompt.endswith(listed)
    assert not asked.use_tools


@pytest.mark.parametrize(
    "hours, at, awake",
    [
        ("08:00-22:00", "2026-07-01T06:00+00:00", True),  # eight in Berlin's summer
        ("08:00-22:00", "2026-07-01T05:59+00:00", False),
        ("08:00-22:00", "2026-01-01T06:59+00:00", False),  # not yet eight in its winter
        ("08:00-22:00", "2026-01-01T07:00+00:00", True),
        ("08:00-22:00", "2026-07-01T20:00+00:00", False),  # until before ten
        ("22:00-06:00", "2026-07-01T20:00+00:00", True),  # across midnight
        ("22:00-06:00", "2026-07-01T22:30+00:00", True),
        ("22:00-06:00", "2026-07-01T04:00+00:00", False),
        ("22:00-06:00", "2026-07-01T12:00+00:00", False),
        ("09:00-09:00", "2026-07-01T01:00+00:00", True),  # the whole day
        ("", "2026-07-01T01:00+00:00", True),
        ("02:15-02:45", "2026-03-29T01:20+00:00", False),  # hours that the clocks skip are nobody's
        ("02:15-02:45", "2026-10-25T01:20+00:00", True),  # and those they show twice are both
    ],
)
def test_the_heartbeat_is_active_in_the_owners_hours(hours: str, at: str, awake: bool) -> None:
    found = beat(datetime.fromisoformat(at), hours=hours)
    assert isinstance(found, Lightweight) == awake
    if not awake:
        assert found == Asleep("outside active_hours")


def test_a_missing_list_is_reported() -> None:
    def missing(path: str, limit_bytes: int) -> bytes:
        raise ValueError(f"there is no {path} below {limit_bytes}")

    found = Heartbeat(missing, QuietHours(0, 0), ManualClock()).action("UTC")
    assert isinstance(found, Asleep)
    assert "HEARTBEAT.md" in found.why


async def test_the_heartbeat_routine_follows_the_configuration(tmp_path: Path) -> None:
    clock = ManualClock()
    store = await open_store(lay_database(tmp_path / "hub.db"), clock, RandomIds())
    try:
        await store.people.ensure_user("owner", Role.OWNER, "Olivia")

        async def kept(every_s: int | None, at: str = "") -> RoutineRow | None:
            schedule = None if every_s is None else schedule_of_beats(every_s, at)
            await keep_heartbeat(store, "owner", schedule, "UTC", clock)
            return await store.routines.routine(HEARTBEAT_ID)

        assert await kept(None) is None
        made = await kept(1800)
        assert made is not None
        assert made.text.next_slot_at is not None
        assert 0 < made.text.next_slot_at - clock.now() <= 1800 * SECOND_US
        assert await kept(1800) == made  # nothing is written where nothing changed
        clock.advance(100)
        changed = await kept(7200)
        assert changed is not None
        assert '"every 120 m"' in changed.text.definition
        assert (changed.enabled, changed.created_at) == (True, made.created_at)
        await store.routines.switch_routine(HEARTBEAT_ID, enabled=False, next_slot_at=None)
        paused = await kept(7200)
        assert paused is not None
        assert not paused.enabled  # whoever paused it finds it paused
        await store.routines.switch_routine(HEARTBEAT_ID, enabled=True, next_slot_at=clock.now())
        off = await kept(None)
        assert off is not None
        assert (off.enabled, off.paused_because) == (False, SWITCHED_OFF)
        again = await kept(7200)
        assert again is not None
        assert (again.enabled, again.text.next_slot_at) == (True, changed.text.next_slot_at)
        daily = await kept(7200, "08:05")
        assert daily is not None
        assert daily.text.next_slot_at is not None
        assert f"{datetime.fromtimestamp(daily.text.next_slot_at // SECOND_US, UTC):%H:%M}" == "08:05"
    finally:
        await store.close()


async def test_the_heartbeat_takes_no_name_of_the_owners_routines(tmp_path: Path) -> None:
    store = await open_store(lay_database(tmp_path / "hub.db"), ManualClock(), RandomIds())
    try:
        await store.people.ensure_user("owner", Role.OWNER, "Olivia")
        await store.routines.save_routine("mine", "owner", RoutineText("heartbeat", "manual", "{}", 0), None)
        await keep_heartbeat(store, "owner", "every 30 m", "UTC", ManualClock())
        assert [row.text.name for row in await store.routines.routines("owner")] == [
            "heartbeat",
            "heartbeat of the hub",
        ]
    finally:
        await store.close()


@pytest.mark.parametrize(
    "reply",
    [
        "ROUTINE_OK",
        "HEARTBEAT_OK",
        "\n HEARTBEAT_OK \n",
        "ROUTINE_OK.",
        "**ROUTINE_OK**",
        "`HEARTBEAT_OK`",
        "“ROUTINE_OK.”",
        '"ROUTINE\\_OK"!',
        "_*ROUTINE_OK*_",
    ],
)
def test_only_the_word_for_silence_alone_is_silence(reply: str) -> None:
    silent = read_reply(reply)
    assert silent is not None
    assert silent.status is RunStatus.OK
    told = read_reply(f"{reply.strip()} but the disk is full")
    assert told is not None
    assert told.status is RunStatus.ATTENTION


def test_a_reply_that_only_remembers_is_silent() -> None:
    assert read_reply("ROUTINE_STATE:\nup to 7") == Told(RunStatus.OK, "", "up to 7")
