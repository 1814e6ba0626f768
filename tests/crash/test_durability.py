"""Durability that no killed process shows: the disk has what was acknowledged, whatever happens to the
machine."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.crash import syscalls
from tests.crash.asking import cards
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.syscalls import Syscall
from tests.plugins.proof import ProofRecord
from tests.tree import ROOT

GUESTS = (21, 22, 23, 24, 25)
OFFSET = re.compile(r"offset\W+(\d+)")


@contextlib.asynccontextmanager
async def traced_hub(town: MortalHub, trace: Path) -> AsyncIterator[None]:
    """`hubbub run` under strace for the time of the block."""
    words = ("-m", "bot", "run", "--config", str(town.directory / "hubbub.toml"))
    with (town.directory / "hub.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *syscalls.command(trace),
            *(sys.executable, *words),
            cwd=ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        async with asyncio.timeout(LIMIT_S):
            await process.wait()


async def talk(town: MortalHub) -> None:
    """Messages at once and one after the other, and a pressed button."""
    await town.telegram.wait_polling(timeout_s=LIMIT_S)
    for number, person in enumerate((OWNER, *GUESTS)):
        town.telegram.user_sends_text(person, f"say: together {number}.")
    for number, person in enumerate((OWNER, *GUESTS)):
        await town.telegram.wait_text(person, f"together {number}.", timeout_s=LIMIT_S)
    for number in range(3):
        town.telegram.user_sends_text(OWNER, f"say: alone {number}.")
        await town.telegram.wait_text(OWNER, f"alone {number}.", timeout_s=LIMIT_S)
    town.telegram.user_sends_text(OWNER, "please run: echo line >> out")
    await cards(town, 1)
    town.answer_cards(OWNER)
    await town.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    await town.telegram.wait_confirmed(timeout_s=LIMIT_S)


def sync_after(calls: Sequence[Syscall], key: str) -> Syscall:
    """The first sync of the write-ahead log that began after the event's row was first written there."""
    row = re.compile(re.escape(key) + r"(?!\d)")
    log = [call for call in calls if call.target.endswith("hub.db-wal")]
    written = next((call for call in log if call.name == "pwrite64" and row.search(call.data)), None)
    assert written is not None, f"{key} was never written to the write-ahead log"
    syncs = [call for call in log if call.name in ("fdatasync", "fsync") and call.began > written.ended]
    assert syncs, f"the write-ahead log was not synced after {key} was written"
    return syncs[0]


def first_sent(calls: Sequence[Syscall], method: str, wanted: re.Pattern[str], least: int = 0) -> Syscall:
    """The first request of that method whose parameter is the one wanted, or a number at `least`."""
    for call in calls:
        found = wanted.search(call.data) if f"/{method} " in call.data else None
        if found and (not least or int(found[1]) >= least):
            return call
    raise AssertionError(f"no {method} with {wanted.pattern} {least or ''}")


@pytest.mark.strace
async def test_every_acknowledgement_follows_the_sync_of_what_it_acknowledges(
    tmp_path: Path, proof_record: ProofRecord
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        for person in GUESTS:
            town.telegram.add_user(person)
        async with traced_hub(town, tmp_path / "strace"):
            await talk(town)
    calls = syscalls.read((tmp_path / "strace").read_text().splitlines())
    updates = town.telegram.updates()
    for update in updates:
        if update.kind == "callback_query":
            query = update.payload["callback_query"]["id"]
            key = f"tg:{update.bot_id}:cb:{query}"
            told = first_sent(calls, "answerCallbackQuery", re.compile(f"callback_query_id\\W+{query}"))
            assert sync_after(calls, key).ended < told.began, f"the press {key} was answered too early"
        else:
            message = update.payload["message"]
            key = f"tg:{update.bot_id}:m:{message['chat']['id']}:{message['message_id']}"
        confirmed = first_sent(calls, "getUpdates", OFFSET, update.update_id + 1)
        assert sync_after(calls, key).ended < confirmed.began, f"{key} was confirmed too early"
    print(f"{len(updates)} updates, each confirmed after the sync of its row")
    proof_record("crash", synced_before_confirmed=len(updates))
