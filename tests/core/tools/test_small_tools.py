"""`time`, `memory_write`, `memory_search`."""

from dataclasses import dataclass

import pytest

from core.clock import SECOND_US
from core.errors import InvalidArguments
from core.tool import Data, Effect, Requirement
from core.tools.builtin.basics import time_tool
from core.tools.builtin.notes import memory_tools
from core.users import Principal, Role
from tests.clock import ManualClock
from tests.core.tools.support import Call, run

WINTER = 1_767_225_600 * SECOND_US  # 2026-01-01 00:00:00 UTC, a Thursday
SUMMER = 1_782_907_200 * SECOND_US  # 2026-07-01 12:00:00 UTC


@dataclass(frozen=True)
class Note:
    text: str
    created_at: int
    path: str | None = None


class Notes:
    """Notes in memory, found as the store finds them."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Note] = {}
        self.limits: list[int] = []

    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        self.kept.setdefault((user_id, key), Note(text, WINTER + len(self.kept)))

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> object | None:
        raise NotImplementedError("documents are tried on a whole hub")

    async def search_memory(self, user_id: str, query: str, limit: int) -> list[Note]:
        self.limits.append(limit)
        mine = [note for (owner, _), note in self.kept.items() if owner == user_id]
        return [note for note in reversed(mine) if query in note.text][:limit]


@pytest.mark.parametrize(
    "now,arguments,said",
    [
        (WINTER, {}, "Thursday, 2026-01-01 00:00:00+00:00 (UTC)"),
        (WINTER, {"timezone": ""}, "Thursday, 2026-01-01 00:00:00+00:00 (UTC)"),
        (WINTER, {"timezone": "America/New_York"}, "Wednesday, 2025-12-31 19:00:00-05:00 (America/New_York)"),
        (SUMMER, {"timezone": "Europe/Paris"}, "Wednesday, 2026-07-01 14:00:00+02:00 (Europe/Paris)"),
        (
            SUMMER + 999_999,
            {"timezone": "Asia/Kolkata"},
            "Wednesday, 2026-07-01 17:30:00+05:30 (Asia/Kolkata)",
        ),
    ],
)
async def test_time_gives_the_time_and_the_zone(now: int, arguments: dict[str, str], said: str) -> None:
    assert await run(time_tool(ManualClock(now)), arguments) == said


async def test_time_knows_the_hubs_own_zone() -> None:
    tool = time_tool(ManualClock(WINTER), "Asia/Tokyo")
    assert await run(tool, {}) == "Thursday, 2026-01-01 09:00:00+09:00 (Asia/Tokyo)"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "\x00", "x" * 500])
async def test_an_unknown_zone_is_an_error_of_the_model(zone: str) -> None:
    with pytest.raises(InvalidArguments, match=r"^timezone: "):
        await run(time_tool(ManualClock(WINTER)), {"timezone": zone})


def test_time_needs_no_approval_and_changes_nothing() -> None:
    tool = time_tool(ManualClock())
    assert (tool.requirement, tool.effect, tool.data) == (Requirement.NEVER, Effect.NONE, Data.NONE)


async def test_a_note_is_kept_once_however_often_its_call_is_run() -> None:
    notes = Notes()
    write, _ = memory_tools(notes)
    for _ in range(3):
        assert await run(write, {"text": "tea at four"}, Call(idempotency_key="c1")) == "Noted: tea at four"
    await run(write, {"text": "tea at four"}, Call(idempotency_key="c2"))
    assert len(notes.kept) == 2


async def test_notes_are_found_again_newest_first() -> None:
    notes = Notes()
    write, search = memory_tools(notes)
    for number, text in enumerate(["tea at four", "coffee at five", "tea at six"]):
        await run(write, {"text": text}, Call(idempotency_key=str(number)))
    assert await run(search, {"query": "tea"}) == "- 2026-01-01: tea at six\n- 2026-01-01: tea at four"
    assert (await run(search, {})).count("\n") == 2


async def test_notes_are_found_only_by_their_owner() -> None:
    write, search = memory_tools(Notes())
    await run(write, {"text": "tea"}, Call())
    milan = Call(principal=Principal("u2", Role.MEMBER, "Milan"))
    assert await run(search, {"query": "tea"}, milan) == "No note contains 'tea'."
    assert await run(search, {}, milan) == "There are no notes yet."


async def test_notes_are_limited() -> None:
    notes = Notes()
    write, search = memory_tools(notes)
    await run(search, {"limit": 50})
    assert notes.limits == [50]
    for tool, arguments in [(write, {"text": ""}), (write, {"text": "x" * 10_001}), (search, {"limit": 51})]:
        with pytest.raises(InvalidArguments):
            await run(tool, arguments)


def test_memory_is_private_and_needs_no_approval() -> None:
    write, search = memory_tools(Notes())
    assert (write.name, write.requirement, write.effect, write.data) == (
        "memory_write",
        Requirement.NEVER,
        Effect.IDEMPOTENT,
        Data.OWN,
    )
    assert (search.name, search.requirement, search.effect, search.data) == (
        "memory_search",
        Requirement.NEVER,
        Effect.NONE,
        Data.OWN,
    )
