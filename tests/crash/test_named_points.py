"""Single points, one test each: what a planted fault of the product must turn red without much waiting."""

import asyncio
import inspect
import os
from pathlib import Path
from typing import get_type_hints

import pytest

from core.store import container_port, unattended_port
from core.store.port import Store
from tests.crash.asking import cards
from tests.crash.deliveries import judge_copies, judge_marks, turns_of
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, open_mortal_hub, survivors
from tests.crash.points import COMMITS, READS, parse_commit_point
from tests.crash.story import judge, play


def test_every_unit_of_the_store_is_known_to_write_or_to_read() -> None:
    """One that nobody listed would never be killed around."""
    facets = [
        get_type_hints(of.fget, localns=vars(unattended_port) | vars(container_port))["return"]
        for _, of in inspect.getmembers(Store)
        if isinstance(of, property)
    ]
    units = {name for facet in facets for name, _ in inspect.getmembers(facet, inspect.iscoroutinefunction)}
    assert len(facets) > 20
    assert units == COMMITS | READS
    assert not COMMITS & READS


@pytest.mark.parametrize(
    "point",
    [
        "accept_event:1:after",  # accepted, and the platform does not know: it delivers the message again
        "mark_running:1:before",  # nothing was run yet
        "finish_calls:1:before",  # run, and the outcome is not recorded
        "record_part_sent:1:before",  # the card was taken, and the hub does not know
        "record_part_sent:1:after",  # the card was taken, and the hub knows
    ],
)
async def test_killed_at_this_point_the_hub_keeps_its_promises(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        kill = await play(town, parse_commit_point(point))
        events = await town.account()
        await town.stop()
        await judge(town, kill)
        assert len(turns_of(events)) == 1
        dead = town.ledger(1)
        judge_marks(events, dead, judge_copies(town, dead))
        assert not survivors(town)


async def test_a_child_that_outlives_its_hub_is_gone_before_anybody_is_asked(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        gate, away = town.workspace / "gate", town.workspace / "away"
        os.mkfifo(gate)
        os.mkfifo(away)
        await town.start()
        # One child stays in the tool's process group, the other leaves it.
        town.telegram.user_sends_text(OWNER, "please run: setsid cat away & echo line >> out; cat gate")
        await cards(town, 1)
        town.answer_cards(OWNER)
        # Opening them waits for the children to open their ends; while they are open, the children read on.
        # One that has not left the group yet would die with it, and none would outlive the hub.
        with await asyncio.to_thread(gate.open, "w"), await asyncio.to_thread(away.open, "w"):
            await town.kill()
            assert survivors(town)
            await town.start()
            asked = await town.telegram.wait_text(OWNER, UNKNOWN, timeout_s=LIMIT_S)
            assert not survivors(town)
            assert '{"' not in asked.text, "it shows the call as the card does on which it was agreed to"
            assert "\ncommand: " in asked.text
