"""Builds what chains the audit of a running hub, and says what is recorded of the operator's rules."""

import asyncio
from dataclasses import asdict
from typing import Any

from bot.config import Loaded
from bot.settings import Config
from core.approvals import ApprovalSettings
from core.audit.heads import HEADS_NAME, HeadFile
from core.audit.linker import AuditLinker
from core.clock import Clock
from core.consent.laws import ConsentLaws
from core.store.base import Store
from core.store.changes import ChangeListener, Changes


def build_audit(loaded: Loaded, store: Store, laws: ConsentLaws, clock: Clock) -> AuditLinker:
    """The linker of this hub. A policy file that changes is recorded once a call was judged by it."""
    config = loaded.config
    linker = AuditLinker(
        store,
        HeadFile(config.hub.data_dir / HEADS_NAME),
        clock,
        lambda: laid_down(config, laws),
        keep_days=config.audit.keep_days,
    )
    loop = asyncio.get_running_loop()
    laws.watch(lambda: loop.call_soon_threadsafe(linker.policy_changed))
    return linker


class ChangeListeners:
    """Tells several of each commit, one after the other."""

    def __init__(self, *listeners: ChangeListener) -> None:
        self._listeners = listeners

    def changed(self, changes: Changes) -> None:
        """See ChangeListener."""
        for listener in self._listeners:
            listener.changed(changes)


def laid_down(config: Config, laws: ConsentLaws) -> dict[str, Any]:
    """What the operator laid down about tools and consent, as plain JSON values."""
    admin = laws.policy().admin
    return {
        "owner": config.hub.owner,
        "owner_identities": list(config.hub.owner_identities),
        "approvals": config.approvals.model_dump(mode="json"),
        "roles": config.roles.model_dump(mode="json"),
        "teams": {name: list(team.users) for name, team in config.teams.items()},
        "policy": {
            "unreadable": admin.unreadable,
            "disabled": sorted(admin.disabled),
            "disabled_for": {user: sorted(tools) for user, tools in admin.disabled_for.items()},
            "ceiling": _bounds(admin.ceiling),
            "ceiling_for": {user: _bounds(ceiling) for user, ceiling in admin.ceiling_for.items()},
        },
    }


def _bounds(settings: ApprovalSettings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if value is not None}
