"""The lists of tools that a new configuration holds name tools that exist."""

import pytest

from bot.config.load import load
from bot.tools import build_tools
from core.clock import SystemClock
from core.consent.roles import GUEST_TOOLS
from core.consent.rules import AUTONOMOUS_DENYLIST, DANGEROUS_TOOLS

_CONFIG = load(environ={}).config
LISTS = {
    "[approvals] whitelist": _CONFIG.approvals.whitelist,
    "[approvals] dangerous_tools": _CONFIG.approvals.dangerous_tools,
    "[approvals] autonomous_denylist": _CONFIG.approvals.autonomous_denylist,
    "[roles.member] tools": _CONFIG.roles.member.tools,
    "[roles.guest] tools": _CONFIG.roles.guest.tools,
    "core: guests": GUEST_TOOLS,
    "core: dangerous": tuple(DANGEROUS_TOOLS),
    "core: denied without a person": AUTONOMOUS_DENYLIST,
}


@pytest.mark.parametrize("tools", LISTS.values(), ids=LISTS.keys())
def test_every_default_names_a_tool_that_exists(tools: tuple[str, ...]) -> None:
    registry = build_tools(load(environ={}), None, SystemClock())
    assert tools
    assert [name for name in tools if not name.endswith("*") and name not in registry.names] == []
