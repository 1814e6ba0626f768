"""The hub's own key: made at the first start, stored next to the database, readable by its user only."""

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.runtime import StartError, needed_to_start
from core.errors import VaultError
from core.lazy import LazyModule

if TYPE_CHECKING:
    from core.audit_chain import ChainKey
    from core.clock import Clock
    from core.store.facets import Secrets
    from core.vault import VaultKeys

if TYPE_CHECKING:
    from core import audit_chain, vault
else:
    audit_chain = LazyModule("core.audit_chain")
    vault = LazyModule("core.vault")


KEY_NAME = "hub.key"
KEY_BYTES = 32


def hub_key(data_dir: Path) -> bytes:
    """Return the key that binds consent to exact arguments; the caller holds the directory's lock.

    Raises StartError if the file is damaged or cannot be used.
    """
    path = data_dir / KEY_NAME
    with needed_to_start(path, "make it readable by the hub's user"):
        if not path.exists():
            write_for_its_user(path, secrets.token_hex(KEY_BYTES))
        return _read(path)


def write_for_its_user(path: Path, text: str) -> None:
    """Replace a file, whole or not at all, readable by its user only."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _read(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text().strip())
    except ValueError as error:
        raise StartError(f"{path} is not a key; restore it from a backup, or remove it") from error
    if len(key) != KEY_BYTES:
        raise StartError(f"{path} is not a complete key; restore it from a backup, or remove it")
    return key


# The vault's keys: in the environment (HUBBUB_VAULT_KEY), else in a file of the data directory.
#
# Written as 64 hexadecimal digits each, several of them with the newest first, separated by commas or
# lines. The file is made with the first secret, or the first record of the audit, for its user alone.
# Without it the secrets are lost, and the audit cannot be verified.

VAULT_KEY_NAME = "vault.key"
VAULT_KEY_VARIABLE = "HUBBUB_VAULT_KEY"

_HEX = re.compile(r"[0-9A-Fa-f]{64}")


class VaultKeyRing:
    """The keys of one data directory's vault. Methods raise StartError if they cannot be used.

    `sealed`: called with each value that they seal."""

    def __init__(
        self, data_dir: Path, environ: Mapping[str, str], sealed: Callable[[str], None] = lambda _: None
    ) -> None:
        self._sealed = sealed
        self.path = data_dir / VAULT_KEY_NAME
        self._given = environ.get(VAULT_KEY_VARIABLE, "")
        self._chain: ChainKey | None = None
        self._first = threading.Lock()

    @property
    def from_environment(self) -> bool:
        """Return whether the keys are stored elsewhere."""
        return bool(self._given)

    def require_sound(self) -> None:
        """Raise StartError for keys that can't be used: without them no audit record can be made,
        and so no event accepted."""
        self._read()

    def keys(self) -> "VaultKeys | None":
        """Return the keys; None if there are none yet."""
        keys = self._read()
        return vault.VaultKeys(keys, self._sealed) if keys else None

    def keys_to_seal(self) -> "VaultKeys":
        """Return the keys; makes the first one if there is none. The caller holds the directory's lock."""
        self._make_first()
        found = self.keys()
        assert found is not None  # noqa: S101 - it was just made
        return found

    def newest(self) -> "ChainKey":
        """Read once, until the key is changed; made like `keys_to_seal`."""
        if self._chain is None:
            try:
                self._make_first()
                self._chain = audit_chain.ChainKey.of(audit_chain.master_of(self._read()[0]))
            except StartError as error:
                raise ValueError(str(error)) from error
        return self._chain

    def audit_masters(self) -> Sequence[bytes]:
        """Return the audit's master keys, one for each of the vault's keys, the newest first."""
        return [audit_chain.master_of(key) for key in self._read()]

    def add_newest(self) -> None:
        """Put a new key before the others, in the file."""
        self._write([secrets.token_bytes(KEY_BYTES), *self._read()])

    def drop_older(self) -> None:
        """Keep only the newest key in the file: secrets encrypted with another one are lost."""
        self._write(self._read()[:1])

    def _read(self) -> Sequence[bytes]:
        if self._given:
            return _parsed(self._given, VAULT_KEY_VARIABLE)
        with needed_to_start(self.path, "make it readable by the hub's user"):
            with contextlib.suppress(FileNotFoundError):
                return _parsed(self.path.read_text(errors="replace"), str(self.path))
            return ()

    def _make_first(self) -> None:
        """Make a key if there is none; the store's thread and a request may want it at the same moment."""
        with self._first:
            if not self._read():
                self._write([secrets.token_bytes(KEY_BYTES)])

    def _write(self, keys: Sequence[bytes]) -> None:
        self._chain = None
        with needed_to_start(self.path, "make the directory writable by the hub's user"):
            write_for_its_user(self.path, "".join(f"{key.hex()}{os.linesep}" for key in keys))


def _parsed(text: str, where: str) -> Sequence[bytes]:
    words = [word for word in re.split(r"[\s,]+", text) if word]
    if not words or not all(_HEX.fullmatch(word) for word in words):
        raise StartError(f"{where} must contain keys of 64 hexadecimal digits; restore it from a backup")
    return [bytes.fromhex(word) for word in words]


async def secret_of(ring: VaultKeyRing, store: "Secrets", clock: "Clock", name: str) -> str:
    """Return a secret of the vault. Raises VaultError, which says what to do."""
    try:
        keys = ring.keys()  # read each time: they may be changed while the hub runs
    except StartError as error:
        raise VaultError(str(error)) from error
    if keys is None:
        raise VaultError(f"the vault's key is missing; restore {ring.path}, or set HUBBUB_VAULT_KEY")
    return await vault.Vault(store, keys, clock).value(name)
