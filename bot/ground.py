"""What every part of a running hub stands on."""

from typing import TYPE_CHECKING

from bot.config import Loaded
from bot.guarding import build_leaks
from bot.hooked import configured_hooks
from bot.metrics import Metrics
from bot.settings import Config
from bot.vault_keys import VaultKeyRing
from bot.web.live import Live
from core.clock import Clock
from core.ids import Ids
from core.store.base import Store
from core.users import Principal

if TYPE_CHECKING:
    from bot.hooks import Hooks


class Ground:
    """The configuration, the open store, its owner, time, ids and keys; who watches; what must not get out.

    Raises StartError for a hook that is not there, or must not be asked.
    """

    def __init__(
        self, loaded: Loaded, store: Store, owner: Principal, ring: VaultKeyRing, clock: Clock, ids: Ids
    ) -> None:
        self.loaded = loaded
        self.config: Config = loaded.config
        self.store = store
        self.owner = owner
        self.ring = ring
        self.clock = clock
        self.ids = ids
        self.metrics = Metrics()
        self.live = Live()
        self.leaks = build_leaks(loaded.config)
        self.hooks: Hooks | None = configured_hooks(loaded.config, self.leaks, store, clock, ids)
