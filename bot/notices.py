"""What tells people something of the hub's own accord; loaded by the first who has something to tell."""

from channels.manager import ChannelManager
from channels.webchat import WEB
from core.conversation.judging import HouseRules
from core.notices import Notices
from core.safety.leaks import LeakDetector
from core.store.base import Store


def build_notices(store: Store, manager: ChannelManager, rules: HouseRules, leaks: LeakDetector) -> Notices:
    """Notices through all channels that are there."""
    return Notices(store, manager, manager, rules.access, in_threads=[WEB], leaks=leaks)
