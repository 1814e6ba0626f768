"""Calls of models that fail, break off or are killed: each that the provider saw has exactly one row."""

import asyncio
import contextlib
import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Drop, EndEarly, Fault, HttpError

PEOPLE = (OWNER, 8, 9)
SETUP = Setup(owners=tuple(f"telegram:{person}" for person in PEOPLE))
AT_ONCE = 9
FAULTS: tuple[Fault, ...] = (
    HttpError(500),
    HttpError(429),
    HttpError(502),
    Drop("mid_stream", after_events=2),
    Drop("before_headers"),
    EndEarly(after_events=2),
)
ROUTINE = {
    "trigger": {"type": "event", "pattern": "fire-[0-9]+"},
    "guardrails": {"cooldown_s": 0, "rerun_interrupted": True, "dedup_window_s": 1},
}
MAX_ROUNDS = 400
CALM_S = 0.4
BLOCKS = 5
"""Of 200 calls each, so that a run can be cut into slices."""


def said(rng: random.Random, number: int) -> str:
    kind = rng.choice(("words", "words", "tools", "routine"))
    match kind:
        case "tools":
            return f'please call: time {{"zone": "UTC"}}\nplease call: json {{"text": "{number}"}}'
        case "routine":
            return f"say: fire-{number}"
        case _:
            return f"say: mark-{number} {'x' * rng.randrange(400)}"


async def play(town: MortalHub, rng: random.Random, calls: int) -> int:
    """Until the provider has seen so many calls; how often the hub was killed."""
    kills = number = 0
    for _ in range(MAX_ROUNDS):
        if len(town.model.log) >= calls:
            break
        await town.start()
        await town.telegram.wait_for(town.listens, LIMIT_S)
        seen = len(town.model.log)
        if rng.random() < 0.6:
            town.model.fault(rng.choice(FAULTS), times=rng.randint(1, 2))
        for _ in range(AT_ONCE):
            number += 1
            town.telegram.user_sends_text(rng.choice(PEOPLE), said(rng, number))
        wanted = seen + rng.randint(1, AT_ONCE)
        with contextlib.suppress(TimeoutError):
            await town.model.wait_for(lambda log, wanted=wanted: len(log) >= wanted, 3)
        await asyncio.sleep(rng.uniform(0, CALM_S))  # the moment itself, not a wait for something
        await town.kill()
        kills += 1
    town.model.clear_faults()
    await town.start()
    await town.telegram.wait_for(town.listens, LIMIT_S)
    await town.account()
    await nothing_runs(town)
    await town.stop()
    return kills


async def nothing_runs(town: MortalHub) -> None:
    """Until every run has ended and every call of a model has an end."""
    async with asyncio.timeout(LIMIT_S):
        while selected(town, "SELECT 1 FROM runs WHERE state = 'running'") or selected(  # noqa: ASYNC110
            town, "SELECT 1 FROM routine_runs WHERE ended_at IS NULL"
        ):
            await asyncio.sleep(0.1)


def selected(town: MortalHub, sql: str) -> list[dict[str, Any]]:
    where = f"file:{town.directory / 'data' / 'hub.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(where, uri=True, timeout=10)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(sql)]


def judge(town: MortalHub) -> Counter[str]:
    """Compare rows and calls; how many rows there are of each kind and state."""
    rows = {row["id"]: row for row in selected(town, "SELECT * FROM usage")}
    calls = [one for one in town.model.log.all() if one.state != "refused"]
    names = Counter(one.headers["x-client-request-id"] for one in calls)
    assert max(names.values()) == 1, "no two calls share a row"
    assert names.keys() <= rows.keys(), "every call has a row"
    for one in calls:
        row = rows[one.headers["x-client-request-id"]]
        read, written, cached, _ = one.counted
        assert row["reserved_tokens"] >= read + written
        if row["state"] == "estimated":
            assert row["input_tokens"] is None
            continue
        assert row["state"] == "settled"
        counted = (0, 0, 0) if isinstance(one.fault, HttpError) else (read, written, cached)
        assert (row["input_tokens"], row["output_tokens"], row["cached_input_tokens"]) == counted
        assert one.state in {"answered", "failed"}
    never_asked = [row for id_, row in rows.items() if id_ not in names]
    assert {row["state"] for row in never_asked} <= {"estimated"}
    return Counter(f"{row['kind']} {row['state']}" for row in rows.values())


async def killed_and_judged(
    directory: Path, seed: int, calls: int, proof_record: ProofRecord
) -> Counter[str]:
    """Rows by kind and state, after so many calls, each of which has been found in them."""
    async with open_mortal_hub(directory, SETUP) as town:
        for person in PEOPLE[1:]:
            town.telegram.add_user(person, first_name=f"Person {person}")
        page = directory / "watch.json"
        page.write_text(json.dumps(ROUTINE))
        await town.command("routines", "add", "watch", "--prompt", "Look.", "--file", str(page))
        kills = await play(town, random.Random(seed), calls)
        kinds = judge(town)
        listed = json.loads(await town.command("usage", "--by", "kind", "--json"))["rows"]
    for row in listed:
        settled, estimated = kinds[f"{row['key']} settled"], kinds[f"{row['key']} estimated"]
        assert (row["calls"], row["estimated_calls"]) == (settled + estimated, estimated)
    assert kinds["chat settled"] > 0
    assert kinds["routine settled"] > 0
    assert kinds["chat estimated"] + kinds["routine estimated"] > 0
    print(f"calls of models with seed {seed}: {kinds.total()} rows, {kills} kills, {dict(kinds)}")
    proof_record("crash", metered_calls=kinds.total(), kills_while_metered=kills)
    return kinds


async def test_every_call_the_provider_saw_has_one_row_with_its_tokens(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    await killed_and_judged(tmp_path, profile.seed, 20, proof_record)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("block", range(1, BLOCKS + 1))
async def test_a_thousand_calls_have_a_row_each(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, block: int
) -> None:
    await killed_and_judged(tmp_path, profile.seed * 1000 + block, 200, proof_record)
