"""Records are chained after they were written: by a hub that runs on, ends, dies, or finds no room."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.audit.linker import START, Head, HeadFile
from core.audit_chain import ChainKey
from core.errors import StoreUnavailable
from core.store.feed import Changes
from core.users import Role
from tests.contracts.store.bench import Bench
from tests.core.audit.chain import Office
from tests.patience import PATIENCE_S
from tests.tree import ROOT

LIMIT_S = PATIENCE_S

DIES = """
import asyncio, os, signal, sys
from pathlib import Path
from core.audit_chain import ChainKey
from tests.core.audit.chain import Office

class Keys:
    def newest(self):
        return ChainKey.of(b"k" * 32)

async def main():
    office = Office(Path(sys.argv[1]))
    office.keys = Keys()
    async with office.opened() as world:
        await office.a_day(world)
        if sys.argv[2] == "linked":
            await world.store.audit.link_audit(100)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


class Keys:
    def newest(self) -> ChainKey:
        return ChainKey.of(b"k" * 32)


@pytest.mark.parametrize("when", ["written", pytest.param("linked", marks=pytest.mark.slow)])
async def test_after_a_kill_the_chain_continues(tmp_path: Path, when: str) -> None:
    """Between the record and its link, and between the link and the head's note."""
    died = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", DIES, str(tmp_path), when], cwd=ROOT, check=False
    )
    assert died.returncode == -signal.SIGKILL
    office = Office(tmp_path)
    office.keys = Keys()
    assert office.heads.heads() == ()
    before = office.verified(noted=False)
    assert before.waiting == (before.records if when == "written" else 0)
    office.clock.advance(100)
    async with office.opened() as world:
        await office.linker(world).catch_up()
    verified = office.verified()
    assert (verified.findings, verified.waiting) == ((), 0)
    assert [str(head) for head in office.heads.heads()] == [START, verified.head]


async def test_a_kill_between_the_first_links_and_their_head_is_no_finding(tmp_path: Path) -> None:
    office = Office(tmp_path)
    async with office.opened() as world:
        await office.a_day(world)
        heads, office.heads = office.heads, _CutOff(office.heads.path)
        with pytest.raises(OSError, match="killed"):
            await office.linker(world).catch_up()
        office.heads = heads
    assert office.verified().findings == ()


class _CutOff(HeadFile):
    """Notes one head and no more."""

    def append(self, head: str, now: int) -> None:
        if self.newest() is not None:
            raise OSError("killed")
        super().append(head, now)


async def test_a_running_linker_chains_new_records_and_at_the_end_the_rest(tmp_path: Path) -> None:
    office = Office(tmp_path)
    async with office.opened() as world:
        linker = office.linker(world)
        world.store.watch(linker)
        running = asyncio.create_task(linker.run())
        await office.a_day(world)
        await noted(office, world)
        await office.a_day(world)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert office.verified().findings == ()
    assert office.verified().waiting == 0


async def noted(office: Office, world: Bench) -> None:
    async with asyncio.timeout(LIMIT_S):
        while True:
            head, _ = await world.store.audit.link_audit(0)
            newest = office.heads.newest()
            if newest is not None and str(newest) == head:
                return
            await asyncio.sleep(0)


async def test_a_commit_without_records_wakes_no_one(tmp_path: Path) -> None:
    office = Office(tmp_path)
    told: list[Changes] = []

    class Listener:
        def changed(self, changes: Changes) -> None:
            told.append(changes)

    async with office.opened() as world:
        await world.finish(await world.turn())
        world.store.watch(Listener())
        await world.finish(await world.turn(), "fine", world.draft())
        assert [changes.audit for changes in told if changes.audit] == []
        await office.a_day(world)
        assert any(changes.audit for changes in told)


async def test_a_head_that_could_not_be_noted_is_noted_later(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.heads.path.mkdir()
    async with office.opened() as world:
        linker = office.linker(world)
        with pytest.raises(OSError, match="directory"):
            await linker.catch_up()
        office.heads.path.rmdir()
        await linker.catch_up()
    assert office.verified().findings == ()


async def test_a_write_fails_if_it_cannot_be_audited(tmp_path: Path) -> None:
    class NoKeys:
        def newest(self) -> ChainKey:
            raise ValueError("vault.key does not hold keys")

    office = Office(tmp_path)
    office.keys = NoKeys()
    async with office.opened() as world:
        with pytest.raises(StoreUnavailable, match="writing to the audit log failed"):
            await world.store.people.ensure_user("eve", Role.MEMBER, "Eve")
        assert await world.store.people.user("eve") is None


def test_a_truncated_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    heads = HeadFile(tmp_path / "audit.heads")
    heads.append("3:k:aa", 0)
    with heads.path.open("a") as file:
        file.write("1970-01-01T00:00:00Z 4:k")
    heads.append("5:k:bb", 1_000_000)
    assert heads.heads() == [Head(3, "k:aa", "1970-01-01T00:00:00Z"), Head(5, "k:bb", "1970-01-01T00:00:01Z")]
    assert heads.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "41", "41:", "41:x", "x:k:ff", "-1:k:ff", "٤:k:ff"])
def test_an_invalid_head_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a head"):
        Head.parse(text)
