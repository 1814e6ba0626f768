"""The hub's own key on disk."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.config.keys import KEY_BYTES, VaultKeyRing, hub_key
from bot.runtime import StartError


def test_a_key_is_created_once_and_readable_by_its_user_only(tmp_path: Path) -> None:
    key = hub_key(tmp_path)
    assert len(key) == KEY_BYTES
    assert hub_key(tmp_path) == key
    assert [(file.name, file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == [("hub.key", 0o600)]


def test_every_hub_has_a_different_key(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert hub_key(tmp_path / "one") != hub_key(tmp_path / "two")


def test_a_key_left_unfinished_by_a_crash_is_created_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "hub.new").write_text("12ab")
    key = hub_key(tmp_path)
    assert hub_key(tmp_path) == key
    assert not (tmp_path / "hub.new").exists()


@pytest.mark.parametrize("damage", ["", "12ab", "not a key", "ff" * KEY_BYTES + "ff", "\udcff"])
def test_a_damaged_key_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    written = damage.encode(errors="surrogateescape")
    (tmp_path / "hub.key").write_bytes(written)
    with pytest.raises(StartError, match="key; restore it from a backup, or remove it") as refused:
        hub_key(tmp_path)
    assert str(tmp_path / "hub.key") in str(refused.value)
    assert (tmp_path / "hub.key").read_bytes() == written


def test_concurrent_threads_get_the_same_first_vault_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            directory = tmp_path / str(number)
            directory.mkdir()
            ring, gate = VaultKeyRing(directory, {}), threading.Barrier(8)

            def wanted(ring: VaultKeyRing = ring, gate: threading.Barrier = gate) -> str:
                gate.wait()
                ring.keys_to_seal()
                return ring.path.read_text()

            assert len({*pool.map(lambda wanted: wanted(), [wanted] * 8)}) == 1


def test_a_running_hub_seals_its_audit_records_with_the_newest_key(tmp_path: Path) -> None:
    ring = VaultKeyRing(tmp_path, {})
    first = ring.newest().id
    assert ring.newest().id == first
    ring.add_newest()
    assert ring.newest().id != first
    ring.drop_older()
    assert ring.newest().id == VaultKeyRing(tmp_path, {}).newest().id
