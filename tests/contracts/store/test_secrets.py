"""Secrets are kept as they were sealed, one for each name."""

from core.store.facets import SealedSecret
from tests.contracts.store.bench import Bench


def sealed(name: str, value: bytes = b"\x00sealed\xff") -> SealedSecret:
    return SealedSecret(name, "key-1", value, 5)


async def test_secrets_are_kept_under_their_names(world: Bench) -> None:
    assert await world.store.secrets.secrets() == []
    await world.store.secrets.set_secrets([sealed("b"), sealed("a")])
    assert await world.store.secrets.secrets() == [sealed("a"), sealed("b")]
    again = SealedSecret("a", "key-2", b"another", 6)
    await world.store.secrets.set_secrets([again])
    assert await world.store.secrets.secrets() == [again, sealed("b")]


async def test_a_removed_secret_is_gone(world: Bench) -> None:
    await world.store.secrets.set_secrets([sealed("a"), sealed("b")])
    assert await world.store.secrets.drop_secret("a")
    assert not await world.store.secrets.drop_secret("a")
    assert await world.store.secrets.secrets() == [sealed("b")]
