"""Puts the webhooks together. Imported when the first request comes for one (see bot.web.ondemand)."""

from starlette.types import ASGIApp

from bot.errors import StartError
from bot.vault_keys import VaultKeyRing
from bot.web.webhooks import WebhookEndpoint
from core.clock import Clock
from core.errors import VaultError
from core.ids import Ids
from core.routines.service import RoutineService
from core.routines.webhooks import Webhooks
from core.safety.leaks import LeakDetector
from core.store.base import Store
from core.vault import Vault


def build_webhooks(
    store: Store,
    service: RoutineService,
    ring: VaultKeyRing,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector,
) -> ASGIApp:
    """The application below `/api/webhooks`."""

    async def secret(name: str) -> str:
        try:
            keys = ring.keys()  # read each time: they may be changed while the hub runs
        except StartError as error:
            raise VaultError(str(error)) from error
        if keys is None:
            raise VaultError(f"the vault's key is missing; restore {ring.path}, or set HUBBUB_VAULT_KEY")
        return await Vault(store, keys, clock).value(name)

    return WebhookEndpoint(Webhooks(store, service.door, secret, service.fired, clock, ids, leaks), clock)
