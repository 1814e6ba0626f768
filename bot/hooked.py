"""Whether there are hooks: who has none loads nothing of them."""

from typing import TYPE_CHECKING

from bot.settings import Config
from core.clock import Clock
from core.ids import Ids
from core.safety.leaks import LeakDetector
from core.store.base import Store

if TYPE_CHECKING:
    from bot.hooks import Hooks


def holds_inputs(config: Config) -> bool:
    """Whether messages wait for hooks before a turn takes them."""
    return any("before_inbound" in hook.on for hook in config.hooks)


def configured_hooks(
    config: Config, leaks: LeakDetector, store: Store, clock: Clock, ids: Ids
) -> "Hooks | None":
    """Those the configuration names. Raises StartError for one that is not there, or must not be asked."""
    if not config.hooks:
        return None
    from bot.hooks import build_hooks

    return build_hooks(config, leaks, store, clock, ids)
