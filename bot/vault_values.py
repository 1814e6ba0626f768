"""What the vault holds, read before any store is open: the configuration needs it to be complete."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.errors import StartError
from bot.places import DATABASE_NAME
from bot.vault_keys import VaultKeyRing
from core.errors import StoreError, VaultError


@dataclass(frozen=True, slots=True)
class NoValue:
    """Why there is no value, and what to do, as a line of the configuration's problems says it."""

    text: str


class VaultValues:
    """Reads the database of a data directory, whether or not a hub runs on it."""

    def __init__(self, data_dir: Path, environ: Mapping[str, str]) -> None:
        self._database = data_dir / DATABASE_NAME
        self._ring = VaultKeyRing(data_dir, environ)

    def value(self, name: str) -> str | NoValue:
        """What is kept under the name."""
        from core.store.sqlite.secrets import sealed_in

        try:
            secret = next((one for one in sealed_in(self._database) if one.name == name), None)
            if secret is None:
                return NoValue(f'there is no secret "{name}" in the vault; run: hubbub secrets set {name}')
            keys = self._ring.keys()
            if keys is None:
                where = self._ring.path
                return NoValue(f"the vault's key is missing; restore {where}, or set HUBBUB_VAULT_KEY")
            return keys.open(secret)
        except (StoreError, StartError, VaultError) as error:
            return NoValue(str(error))
