"""Builds what keeps credentials out of conversations."""

from bot.config_secrets import secret_values
from bot.errors import StartError
from bot.settings import Config
from bot.vault_keys import VaultKeyRing
from core.clock import Clock
from core.conversation.credentials import InboundCredentials
from core.errors import VaultError
from core.ids import Ids
from core.safety.leaks import LeakDetector
from core.store.kept import SealedSecret


def build_leaks(config: Config) -> LeakDetector:
    """What no conversation may hold: the configuration's own secrets, and what looks like one."""
    return LeakDetector(secret_values(config))


def build_credentials(leaks: LeakDetector, ring: VaultKeyRing, clock: Clock, ids: Ids) -> InboundCredentials:
    """Takes credentials out of what people write, into the vault."""

    def seal(name: str, value: str) -> SealedSecret:
        try:
            return ring.keys_to_seal().seal(name, value, clock.now())
        except StartError as error:
            raise VaultError(str(error)) from error

    return InboundCredentials(leaks, seal, ids)
