"""The vault: secrets sealed in the store, readable only with a key that is never in it.

A value is sealed with AES-256-GCM under a key derived (HKDF-SHA256) from the vault's own for
this purpose alone, with a fresh random 96-bit nonce, and bound to its name: under another name
it cannot be opened. A vault may have several keys, the newest first. The first one seals and
every one opens, so secrets stay readable during a key change: add a new key in front, `reseal`,
drop the old one.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.audit_chain import RETIRED, ChainKey
from core.clock import Clock
from core.errors import VaultError
from core.ids import OWN_SECRET, is_secret_name
from core.lazy import LazyModule
from core.store.facets import SealedSecret, Secrets

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.ciphers import aead
    from cryptography.hazmat.primitives.kdf import hkdf
else:
    exceptions = LazyModule("cryptography.exceptions")
    hashes = LazyModule("cryptography.hazmat.primitives.hashes")
    aead = LazyModule("cryptography.hazmat.primitives.ciphers.aead")
    hkdf = LazyModule("cryptography.hazmat.primitives.kdf.hkdf")

KEY_BYTES = 32
VALUE_LIMIT_BYTES = 8 * 1024
"""Maximum size of a secret. Secrets are tokens and keys, not files of many of them."""

_NONCE_BYTES = 12
_KEY_ID_BYTES = 8
_SEALING = b"hubbub vault 1: secrets"
_NAMING = b"hubbub vault 1: name of the key"


class VaultKeys:
    """A set of keys: the newest seals, any opens. `sealed`: called with each sealed value. Raises
    ValueError if there is none, or one is too short."""

    def __init__(self, keys: Iterable[bytes], sealed: Callable[[str], None] = lambda _: None) -> None:
        made = [_Key(key) for key in keys]
        if not made:
            raise ValueError("a vault needs a key")
        self._newest = made[0]
        self._sealed = sealed
        self._by_id: Mapping[str, _Key] = {key.id: key for key in reversed(made)}

    @property
    def newest_id(self) -> str:
        """The id of the key that seals."""
        return self._newest.id

    def seal(self, name: str, value: str, now: int) -> SealedSecret:
        """Seal the value for storage. `now`: microseconds UTC."""
        self._sealed(value)
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._newest.cipher.encrypt(nonce, value.encode(), name.encode())
        return SealedSecret(name, self._newest.id, sealed, now)

    def open(self, secret: SealedSecret) -> str:
        """Return the value. Raises VaultError if it was sealed with another key, or was altered."""
        key = self._by_id.get(secret.key_id)
        if key is None:
            raise VaultError(
                f'the secret "{secret.name}" was encrypted with another key: restore vault.key (or'
                f" HUBBUB_VAULT_KEY), or set it again: hubbub secrets set {secret.name}"
            )
        nonce, sealed = secret.sealed[:_NONCE_BYTES], secret.sealed[_NONCE_BYTES:]
        try:
            return key.cipher.decrypt(nonce, sealed, secret.name.encode()).decode()
        except (exceptions.InvalidTag, ValueError) as error:
            raise VaultError(
                f'the secret "{secret.name}" is damaged: set it again: hubbub secrets set {secret.name}'
            ) from error


class _Key:
    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise ValueError(f"a vault's key has {KEY_BYTES} bytes")
        self.cipher = aead.AESGCM(_derived(key, _SEALING, KEY_BYTES))
        self.id = _derived(key, _NAMING, _KEY_ID_BYTES).hex()


def _derived(key: bytes, purpose: bytes, length: int) -> bytes:
    return hkdf.HKDF(hashes.SHA256(), length, salt=None, info=purpose).derive(key)


class Vault:
    """A store of secrets by name. Raises VaultError, whose message says how to fix the problem, and
    StoreError."""

    def __init__(self, store: Secrets, keys: VaultKeys, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock

    async def keep(self, name: str, value: str, *, by: str | None = None) -> None:
        """Store a secret, replacing any of the same name. `by`: a user's id, for the audit."""
        if not is_secret_name(name):
            raise VaultError(
                f"{name!r} is not a valid secret name; use letters and digits, with _ . - between them"
            )
        if not value:
            raise VaultError(f'the secret "{name}" would be empty; nothing was stored')
        if len(value.encode()) > VALUE_LIMIT_BYTES:
            raise VaultError(
                f'the secret "{name}" is larger than {VALUE_LIMIT_BYTES} bytes; nothing was stored'
            )
        await self._store.set_secrets([self._keys.seal(name, value, self._clock.now())], by=by)

    async def value(self, name: str) -> str:
        """Return the secret stored under the name."""
        for secret in await self._store.secrets():
            if secret.name == name:
                return self._keys.open(secret)
        raise VaultError(f'there is no secret "{name}"; set it with: hubbub secrets set {name}')

    async def drop(self, name: str) -> bool:
        """Delete a secret. Return False if there is none of that name."""
        return await self._store.drop_secret(name)

    async def keep_audit_keys(self, masters: Sequence[bytes]) -> None:
        """Store the keys that verify older audit records once the vault's older keys are gone."""
        now = self._clock.now()
        await self._store.set_secrets(
            [self._keys.seal(f"{RETIRED}{ChainKey.of(key).id}", key.hex(), now) for key in masters]
        )

    async def reseal(self) -> int:
        """Reseal with the newest key all secrets sealed with an older one, all or none. Return how many of
        people's secrets."""
        kept = await self._store.secrets(own=True)
        old = [secret for secret in kept if secret.key_id != self._keys.newest_id]
        await self._store.set_secrets(
            [self._keys.seal(secret.name, self._keys.open(secret), secret.changed_at) for secret in old]
        )
        return sum(1 for secret in old if not secret.name.startswith(OWN_SECRET))
