"""The built-in hook on `session_end`: a summary in the workspace, waited for when the hub stops."""

from pathlib import Path

import pytest

from core.hooks.chain import Point
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.installed_hooks import installed
from tests.simulators.model import Hold

ON = "[sessions]\nidle_days = 0.001\nsummary = true\n"
HOOK = '[[hooks]]\nname = "watch"\non = ["session_end"]\nask = "watch"\n'
FAST = 60.0
FENCED = "<tool_output"
SUMMARY = "- Olivia asked for the report."


def written(house: Hub) -> list[Path]:
    return sorted((house.workspace / "sessions").glob("*/*.md"))


async def talked(house: Hub, person: int = OWNER) -> None:
    house.telegram.user_sends_text(person, "where is the report")
    await house.telegram.wait_text(person, "You said: where is the report")


async def test_a_session_that_ends_is_summarized_into_the_workspace(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=ON, speed=FAST) as house:
        house.model.rule(FENCED, SUMMARY)
        await talked(house)

        async def is_written() -> bool:
            return bool(written(house))

        await house.until(is_written)
        (path,) = written(house)
        assert path.parent.name == "owner"
        text = path.read_text()
        assert text.startswith(f"## {path.stem} ")
        assert SUMMARY in text
        (asked,) = house.model.log.select(match=FENCED)
        assert asked.user_text is not None
        assert "where is the report" in asked.user_text
        assert "assistant: You said: where is the report" in asked.user_text
        await talked(house)

        async def twice() -> bool:
            return path.read_text().count(SUMMARY) == 2

        await house.until(twice)
        assert path.read_text().startswith(text)


async def test_summaries_are_off_by_default_and_hooks_get_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = installed(tmp_path / "packages", monkeypatch)
    idle = "[sessions]\nidle_days = 0.001\n"
    async with open_hub(tmp_path, extra=idle + HOOK, speed=FAST) as house:
        await talked(house)

        async def ended() -> bool:
            return bool(watch.at(Point.SESSION_END))

        await house.until(ended)
        assert house.app is not None
        (thread,) = await house.app.store.threads.threads(10)
        (event,) = watch.at(Point.SESSION_END)
        assert (event.user_id, event.thread_ids) == ("owner", (thread.id,))
        assert not (house.workspace / "sessions").exists()
        assert house.model.log.select(match=FENCED) == []


async def test_sessions_of_guests_are_not_summarized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = installed(tmp_path / "packages", monkeypatch)
    async with open_hub(tmp_path, extra=ON + HOOK, speed=FAST) as house:
        house.telegram.add_user(8, first_name="Gus")
        await talked(house, 8)

        async def ended() -> bool:
            return bool(watch.at(Point.SESSION_END))

        await house.until(ended)
        await house.stop()
        assert written(house) == []


async def test_a_hub_that_stops_waits_for_a_summary(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=ON, speed=FAST) as house:
        house.model.rule(FENCED, SUMMARY, fault=Hold(at_most_s=1))
        await talked(house)
        await house.model.wait_requests(match=FENCED, timeout_s=LIMIT_S)
        assert written(house) == []
        await house.stop()
        (path,) = written(house)
        assert SUMMARY in path.read_text()


async def test_a_hub_that_stops_still_tells_hooks_of_sessions_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first hook is given up after a second; the summary comes after it."""
    watch = installed(tmp_path / "packages", monkeypatch)
    watch.gate.clear()
    async with open_hub(tmp_path, extra=f"{ON}{HOOK}timeout_s = 1\n", speed=FAST) as house:
        house.model.rule(FENCED, SUMMARY)
        await talked(house)

        async def asked() -> bool:
            return bool(watch.at(Point.SESSION_END))

        await house.until(asked)
        await house.stop()
        (path,) = written(house)
        assert SUMMARY in path.read_text()


@pytest.mark.slow
async def test_a_hub_that_stops_waits_for_a_summary_only_for_a_limited_time(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=ON, speed=FAST) as house:
        house.model.rule(FENCED, SUMMARY, fault=Hold())
        await talked(house)
        await house.model.wait_requests(match=FENCED, timeout_s=LIMIT_S)
        await house.stop()  # within its limit, though the model never answers
        assert written(house) == []
        assert "sessions.unfinished count=1" in (house.directory / "data" / "hub.log").read_text()


async def test_a_link_in_the_workspace_leads_no_summary_out_of_it(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=ON, speed=FAST) as house:
        outside = tmp_path / "outside"
        outside.mkdir()
        (house.workspace / "sessions").symlink_to(outside)
        house.model.rule(FENCED, SUMMARY)
        await talked(house)
        log = house.directory / "data" / "hub.log"

        async def failed() -> bool:
            return "session.summary_failed user=owner" in log.read_text()

        await house.until(failed)
        assert list(outside.iterdir()) == []
