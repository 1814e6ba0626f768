"""Vault values can be read with their key, under their name, and by nobody else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import SystemClock
from core.errors import VaultError
from core.store.facets import SealedSecret
from core.vault import VALUE_LIMIT_BYTES, Vault, VaultKeys

FIRST, SECOND = b"1" * 32, b"2" * 32


class Shelf:
    """A SecretStore in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, SealedSecret] = {}

    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        del own
        return list(self.kept.values())

    async def set_secrets(self, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        del by
        self.kept |= {secret.name: secret for secret in sealed}

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        del by
        return self.kept.pop(name, None) is not None


def vault(shelf: Shelf, *keys: bytes) -> Vault:
    return Vault(shelf, VaultKeys(keys or (FIRST,)), SystemClock())


async def test_vault_values_are_read_back_and_stored_encrypted() -> None:
    shelf = Shelf()
    await vault(shelf).keep("telegram", "123:the-token")
    assert await vault(shelf).value("telegram") == "123:the-token"
    assert b"the-token" not in shelf.kept["telegram"].sealed
    assert "the-token" not in repr(shelf.kept)
    assert await vault(shelf).drop("telegram")
    with pytest.raises(VaultError, match="hubbub secrets set telegram"):
        await vault(shelf).value("telegram")


@given(st.text(min_size=1, max_size=200), st.binary(min_size=32, max_size=40))
def test_any_text_is_opened_as_it_was_sealed(value: str, key: bytes) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return
    keys = VaultKeys([key])
    one, two = keys.seal("n", value, 1), keys.seal("n", value, 1)
    assert keys.open(one) == keys.open(two) == value
    assert one.sealed != two.sealed


@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_changed_bit_is_detected(position: int, bit: int) -> None:
    keys = VaultKeys([FIRST])
    secret = keys.seal("name", "the value", 1)
    changed = bytearray(secret.sealed)
    changed[position % len(changed)] ^= 1 << bit
    with pytest.raises(VaultError, match="is damaged") as refused:
        keys.open(replace(secret, sealed=bytes(changed)))
    assert "the value" not in str(refused.value)


@pytest.mark.parametrize("length", [0, 5, 12, 20])
def test_a_truncated_secret_is_detected(length: int) -> None:
    keys = VaultKeys([FIRST])
    secret = keys.seal("name", "the value", 1)
    with pytest.raises(VaultError, match="is damaged"):
        keys.open(replace(secret, sealed=secret.sealed[:length]))


def test_a_secret_opens_under_its_own_name_only() -> None:
    keys = VaultKeys([FIRST])
    secret = keys.seal("harmless", "the value", 1)
    with pytest.raises(VaultError, match='"telegram" is damaged'):
        keys.open(replace(secret, name="telegram"))


async def test_another_key_says_what_to_do() -> None:
    shelf = Shelf()
    await vault(shelf, FIRST).keep("telegram", "123:the-token")
    with pytest.raises(VaultError, match=r"encrypted with another key: restore vault\.key"):
        await vault(shelf, SECOND).value("telegram")


async def test_a_key_is_changed_without_a_moment_in_which_a_secret_cannot_be_read() -> None:
    shelf = Shelf()
    await vault(shelf, FIRST).keep("a", "one")
    both = vault(shelf, SECOND, FIRST)
    await both.keep("b", "two")
    assert [await both.value(name) for name in "ab"] == ["one", "two"]
    assert await both.reseal() == 1
    assert await both.reseal() == 0
    assert [await vault(shelf, SECOND).value(name) for name in "ab"] == ["one", "two"]


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a/b", "a" * 65, "vault:a", "ä", "a\n"])
async def test_a_name_that_cannot_be_written_in_a_configuration_is_refused(name: str) -> None:
    with pytest.raises(VaultError, match="not a valid secret name"):
        await vault(Shelf()).keep(name, "value")


@pytest.mark.parametrize("value", ["", "x" * (VALUE_LIMIT_BYTES + 1)])
async def test_empty_and_oversized_secrets_are_refused(value: str) -> None:
    shelf = Shelf()
    with pytest.raises(VaultError, match="nothing was stored"):
        await vault(shelf).keep("name", value)
    assert shelf.kept == {}


@pytest.mark.parametrize("keys", [[], [b""], [FIRST, b"short"]])
def test_a_vault_without_a_whole_key_is_refused(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="key"):
        VaultKeys(keys)
